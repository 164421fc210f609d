// How fits are judged on samples that they did not see.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coterie/data/split.hpp"

namespace coterie {

enum class Score { accuracy, balanced_accuracy, auc, log_loss };
std::string to_string(Score score);
std::optional<Score> score_from(
    const std::string& text);  // "accuracy", "balanced", "auc", "logloss"
bool higher_is_better(Score score);

// Decision values of task t at its held-out samples.
using Decisions = std::function<Vector(Index t)>;

// What one fit gives on the held-out samples of its split: one score per task, NaN where it is not defined; for log loss the decision
// values themselves, task after task.
Vector judge_held_out(const Dataset& data, const Split& split, Score score,
                      const Decisions& decisions);

// The scores (folds x tasks) of fits of all folds. Log loss needs all of them together: its probabilities come from sigmoids that are
// fitted to other folds.
Matrix cells_of(const Dataset& data, const std::vector<Split>& splits, Score score,
                const std::vector<Vector>& judged);

// Mean over tasks of the mean over folds, of the cells that are defined.
double mean_score(const Matrix& cells);
// Standard error of that mean: from the folds, or from the tasks when there is a single fold. NaN when there is one of both.
double standard_error(const Matrix& cells);

}  // namespace coterie
