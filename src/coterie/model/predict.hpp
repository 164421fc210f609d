// Predictions of a fitted model, docs/maths.md (47), (48).
#pragma once

#include <string>
#include <vector>

#include "coterie/model/model.hpp"

namespace coterie {

// Decision values of task t at the rows of X (unscaled features in the order of model.features_of_data()):
//   f(x) = sum_m theta^m / divisor_m sum_j alpha_j y_j k_m(x, x_j) + bias,   label positive iff f(x) > 0;
// of linear models w'x + bias.
// `cross` holds, for precomputed kernels, the values between the rows of X and all training rows.
Vector decision_values(const Model& model, Index t, ConstMatrixRef X,
                       const PrecomputedMatrices& cross = {});

// The same at rows that have the columns of the first stage already.
Vector second_stage_values(const Model& model, Index t, ConstMatrixRef X,
                           const PrecomputedMatrices& cross = {});

// Classes of a one-vs-one or one-vs-rest model: index into model.classes for every row of `scores` (rows x tasks).
// One-vs-one: most votes, ties by summed scores; one-vs-rest: largest score.
std::vector<Index> vote(const Model& model, ConstMatrixRef scores);

// Probabilities of the labels at every row of `scores` (rows x tasks), through the tasks' calibrations. Binary models of one task:
// columns for its negative and its positive label. Others: a column per class; one-vs-one by coupling, one-vs-rest normalised. The
// class that is most probable need not be the one that vote() finds.
Matrix label_probabilities(const Model& model, ConstMatrixRef scores);

}  // namespace coterie
