// A fitted model: all that prediction, inspection and the check of optimality need.
#pragma once

#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/data/scaling.hpp"
#include "coterie/kernel/gram.hpp"
#include "coterie/mtmkl/problem.hpp"
#include "coterie/mtmkl/settings.hpp"
#include "coterie/stats/calibration.hpp"

namespace coterie {

struct TaskModel {
  std::string name;
  std::string negative, positive;  // label names of y = -1 and y = +1
  Index n = 0;                     // training samples
  double C = 1;                    // before class weights
  Vector theta;                    // M
  double bias = 0;
  double objective = 0;        // primal value of the task's SVM
  std::vector<Index> support;  // per support vector: row of Model::support_vectors
  std::vector<Index> sample;   // per support vector: its position among the task's training samples
  Vector alpha;                // per support vector, > 0
  Vector y;                    // per support vector, -1 or +1
  Calibration calibration;     // from decision values to probabilities of the positive label
  bool operator==(const TaskModel&) const;
};

// The proof: primal and dual values with the pair duals that give the latter, docs/maths.md (5).
struct Certificate {
  double primal = 0, dual = 0, gap = 0;  // gap relative to max(1, |primal|)
  double lambda = 0;                     // the number used, possibly infinite
  bool complete = true;                  // every pair of tasks with weight 1
  TaskGraph graph;                       // the edges, when not complete
  Matrix nu;                             // edges x M; no rows when lambda is 0 or infinite
  std::string status;
  Index outer_steps = 0;
  bool operator==(const Certificate&) const;
};

struct Model {
  TrainSettings settings;
  std::vector<std::string> features;
  Scaling scaling;
  std::vector<Kernel> kernels;
  Vector divisors;  // one per kernel
  Casting casting = Casting::binary;
  std::vector<std::string> classes;  // of one-vs-one and one-vs-rest
  Matrix support_vectors;  // scaled features; every sample once, however many tasks it supports
  std::vector<Index> training_row;  // per support vector: its row in the training data
  Index training_rows = 0;          // of the whole training table
  std::vector<TaskModel> tasks;
  Groups groups;
  Certificate certificate;
  std::string fingerprint;  // of the training data
  bool operator==(const Model&) const;
};

// Either every task is calibrated, or none; a model without tasks is not.
bool is_calibrated(const Model& model);

}  // namespace coterie
