// The smallest class (1) that a fitted model lies in, and the scores of its training samples.
#pragma once

#include <string>
#include <vector>

#include "coterie/kernel/task_grams.hpp"
#include "coterie/math/simplex.hpp"
#include "coterie/model/model.hpp"

namespace coterie {

struct FittedClass {
  WeightSet D = WeightSet(1);
  Matrix theta;  // T x M
  Vector norms;  // ||w_t||^2
  double R = 0, gamma = 0, largest_bias = 0;
  Vector margins;  // y f(x) of all samples, task after task
};

// Throws InputError unless every task of the model has a function in its own kernels, with weights in the set of the method.
void require_kernel_weights(const Model& model);

// Gram matrices of the model's tasks on their (unscaled) training data, computed when asked for.
std::vector<TaskGrams> grams_on(const Model& model, Dataset data,
                                const PrecomputedMatrices& precomputed, int threads);

FittedClass fitted_class(const Model& model, const Dataset& data,
                         const std::vector<TaskGrams>& grams, int threads);

// Tasks in rounds, numbers ascending: no row occurs twice in a round. Few rounds, not always the fewest.
std::vector<std::vector<Index>> rounds_of(const Dataset& data);

// sum over rows of the square of the number of tasks that the row is in.
double squared_uses(const Dataset& data);

}  // namespace coterie
