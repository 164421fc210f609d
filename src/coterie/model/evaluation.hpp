// How good predictions are where the labels are known: coterie/stats/scores.hpp on every task, and on all rows.
#pragma once

#include <string>
#include <vector>

#include "coterie/model/model.hpp"
#include "coterie/model/prediction.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {

// NaN where undefined: no rows, a class absent, a task without calibration.
struct Scores {
  double accuracy = 0;
  double balanced_accuracy = 0;
  double auc = 0;
  double log_loss = 0;  // of calibrated probabilities
  double uncalibrated_log_loss =
      0;                   // of the plain sigmoid of the same scores, to see what calibration gives
  double brier_score = 0;  // of calibrated probabilities
};

struct ScoreField {
  const char* name;
  double Scores::*value;
};
inline constexpr ScoreField score_fields[] = {
    {"accuracy", &Scores::accuracy},
    {"balanced_accuracy", &Scores::balanced_accuracy},
    {"auc", &Scores::auc},
    {"log_loss", &Scores::log_loss},
    {"uncalibrated_log_loss", &Scores::uncalibrated_log_loss},
    {"brier_score", &Scores::brier_score},
};

struct TaskScores {
  std::string name;
  Index n = 0, errors = 0;
  Scores scores;
};

// Of tasks, on the rows that are about them, those that the model does not know last; and of all rows of the table, by the label and the
// probabilities that are printed.
struct Evaluation {
  std::vector<TaskScores> tasks;
  Scores mean;  // of every score, over the tasks where it is defined
  Index n = 0, errors = 0;
  double accuracy = 0, balanced_accuracy = 0;
  Index rows_with_probability = 0;                 // those whose tasks are calibrated
  double log_loss = 0, uncalibrated_log_loss = 0;  // on these; NaN when there are none
  Matrix
      confusion;  // true x printed label, counts; of all classes, or of all labels of a binary model
  // On the same rows, when the model has a calibration: of the probability of the positive label; multi-class: of that of every class.
  std::vector<ReliabilityBin> reliability;
};

// Throws InputError for a label that the model does not know.
Evaluation evaluate(const Model& model, const Samples& rows, const Predictions& predictions,
                    const std::string& source);

Evaluation evaluate(const Model& model, const Samples& rows, const PredictSettings& settings = {});

}  // namespace coterie
