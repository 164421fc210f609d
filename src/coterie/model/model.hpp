// A fitted model: all that prediction, inspection and the check of optimality need.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/data/scaling.hpp"
#include "coterie/kernel/gram.hpp"
#include "coterie/model/settings.hpp"
#include "coterie/mtmkl/fit.hpp"
#include "coterie/mtmkl/problem.hpp"
#include "coterie/stats/calibration.hpp"

namespace coterie {

// The function of a task in kernels: f(x) = sum_m theta^m / divisor_m sum_j alpha_j y_j k_m(x, x_j) + bias.
struct KernelExpansion {
  Vector theta;                // M
  std::vector<Index> support;  // per support vector: row of Model::support_vectors
  // Per support vector: its position among the samples it was fitted to: the task's; `pooled`: those of all tasks, one behind the other;
  // mapped: the pivots.
  std::vector<Index> sample;
  Vector alpha;  // per support vector, > 0
  Vector y;      // per support vector, -1 or +1
  bool operator==(const KernelExpansion&) const;
};

// The same in scaled features: f(x) = w'x + bias.
struct LinearWeights {
  Vector w;
  bool operator==(const LinearWeights&) const;
};

struct TaskModel : TaskId {
  Index n = 0;   // training samples
  double C = 1;  // before class weights
  double bias = 0;
  double objective = 0;  // primal value of the task's SVM
  std::variant<KernelExpansion, LinearWeights> function;
  Vector shared;  // the part of the weights that tasks share, of methods that have one; else empty
  Calibration calibration;  // from decision values to probabilities of the positive label

  // Of the kind that the function is not, these are empty.
  const KernelExpansion& expansion() const;
  const Vector& theta() const { return expansion().theta; }
  const Vector& w() const;
  bool operator==(const TaskModel&) const;
};

// The samples of positive alpha. `place`: of a row of the data among the support vectors of the model.
KernelExpansion expansion_of(Vector theta, const Vector& alpha, const Task& task,
                             const std::vector<Index>& place);

// The proof: primal and dual values with the pair duals that give the latter, docs/maths.md (5).
struct Certificate {
  double primal = 0, dual = 0;
  double gap = 0;                // relative to max(scale_floor, primal)
  double bound = 0;              // of the rounding error of the gap, relative to the same
  double scale_floor = 0;        // 1 in models of the versions that had this rule
  double lambda = 0;             // the number used, possibly infinite
  double lambda_max = 0;         // of which lambda is a share, where it is one; else 0
  bool complete = true;          // every pair of tasks with weight 1
  TaskGraph graph;               // the edges, when not complete
  Matrix nu;                     // edges x M; no rows when lambda is 0 or infinite
  Claim claim = Claim::optimum;  // what the gap means
  Status status = Status::converged;
  Index outer_steps = 0;
  double scale() const { return std::max(scale_floor, primal); }
  bool operator==(const Certificate&) const;
};

// Tasks that were added to a fitted model (extend.hpp). Tasks before them were left as they were: they are the anchors of its proof.
struct Extension {
  Index base_tasks = 0;     // that were there before
  Index tasks = 0;          // added, right behind them
  Index rows = 0;           // of the table that they were trained on
  double tolerance = 1e-4;  // relative gap that was asked for
  Certificate
      certificate;  // edges (t, s) lead to added tasks s, from any task t before s: complete means all of these, (0, s), (1, s), ..
  std::string fingerprint;  // of the added data
  bool operator==(const Extension&) const = default;
};

struct FirstStage;  // first_stage.hpp

struct Model {
  Settings settings;
  std::vector<std::string> features;              // of the data, then scores of the first stage
  std::shared_ptr<const FirstStage> first_stage;  // none: kernels look at the data alone
  Scaling scaling;
  std::vector<Kernel> kernels;
  Vector divisors;  // one per kernel
  Casting casting = Casting::binary;
  std::vector<std::string> classes;  // of one-vs-one and one-vs-rest
  ColumnNames columns;               // of the table it was trained on
  Matrix support_vectors;  // scaled features; every sample once, however many tasks it supports
  std::vector<Index> training_row;  // per support vector: its row in the training data
  Matrix map;  // linear methods on features that stand for kernels: those of the support vectors
  Index training_rows =
      0;  // of the whole training table; tables of extensions count on, one behind the other
  std::vector<TaskModel> tasks;
  std::string fingerprint;  // of the data of the tasks that were trained first
  std::vector<Extension> extensions;

  // What a fit found out: which tasks share their weights, and how near to the optimum those are that were trained first.
  const Groups& groups() const { return groups_; }
  const Certificate& certificate() const { return certificate_; }
  Groups& groups() { return groups_; }
  Certificate& certificate() { return certificate_; }
  std::vector<std::string> features_of_data() const;
  bool operator==(const Model&) const;

 private:
  Groups groups_;
  Certificate certificate_;
};

// Tasks are calibrated one by one: of those that an extension adds, none is.
bool is_calibrated(const TaskModel& task);
bool is_calibrated(const Model& model);    // every task is; a model without tasks is not
bool has_calibration(const Model& model);  // some task is

// The edges of an extension, in the order of its pair duals.
TaskGraph edges_of(const Extension& extension);

// The model as it was before any extension.
Model base_of(const Model& model);

}  // namespace coterie
