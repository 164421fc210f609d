// What models of the tasks say about a row, as columns that kernels can look at: docs/methods.md (31), (32).
//
//   @pooled   the score of one model of the samples of all tasks
//   @group    the score of the model of the task's group (method `groups`)
//   @others   a column for every task: the score of its model
//
// The score of a training row is cross-fitted: rows are dealt into parts, equal ones into the same part, and a row is scored by models of the
// rows outside its part alone, so that a fit sees what prediction will see. Rows that nobody was trained on are scored by models of all
// training rows. What is not known is 0, the mean: the score of a task's own model where every row belongs to one task (binary casting), and
// that of a task whose classes are not both there. Where rows belong to many tasks (pairs of classes), the own score is among the others.
//
// Columns have mean 0 and variance 1 over the training rows that have such a score, as standardised columns of the data do: kernels may look at both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coterie/model/model.hpp"

namespace coterie {

struct FirstStage {
  std::vector<std::string> blocks;  // of kScoreBlocks, in that order
  std::vector<Model> models;        // one per block, of all training rows
  Vector shift, factor;             // per column: kernels see (score - shift) * factor
  Matrix scores;                    // training rows x columns, as kernels see them
  Index columns() const { return shift.size(); }
  bool operator==(const FirstStage&) const;
};

// Names of the columns: "@pooled", "@others:" and the task, "@group".
std::vector<std::string> score_names(const std::vector<std::string>& blocks,
                                     const std::vector<std::string>& tasks);
// Those of the data, then those of the scores that kernels of the settings look at.
std::vector<std::string> features_with_scores(const Settings& settings, const Dataset& data);
// The kernels of the settings on this data, before any scores are learnt.
std::vector<Kernel> kernels_for(const Settings& settings, const Dataset& data);

// Data with its scores, and where they come from: nothing, and the data as it is, where no kernel looks at scores.
struct Scored {
  Dataset data;
  std::shared_ptr<const FirstStage> first;
};
// Throws InputError where scores mean nothing: labels of pairs of classes under `pooled` and `group`, others of a single task.
// `memory` bounds the bytes that kernel values of its fits take, and changes no bit.
Scored learn_scores(Dataset data, const Settings& settings, int threads,
                    double memory = std::numeric_limits<double>::infinity());
// The settings of a block's model, of the largest C that may be tried where that is open.
Settings first_stage_settings(const std::string& block, const Settings& settings);

// The training data as the second stage saw it.
Dataset with_stored_scores(const FirstStage& first, Dataset data);

// Rows that nobody was trained on, with the scores that they have as rows of task t.
Matrix with_scores(const FirstStage& first, Index t, ConstMatrixRef X);

// Of the kernel weights of a task, the share of kernels that look at scores.
double share_of_scores(const Model& model, Index t);

}  // namespace coterie
