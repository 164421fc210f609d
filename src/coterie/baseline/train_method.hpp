// From a dataset to a model by any of the methods, in the three steps of mtmkl/train.hpp: prepare, fit, make a model.
#pragma once

#include "coterie/baseline/feature_map.hpp"
#include "coterie/baseline/linear.hpp"
#include "coterie/baseline/method.hpp"
#include "coterie/mtmkl/train.hpp"

namespace coterie {

// Data made ready for a method: Gram matrices for those that learn kernel weights, scaled or mapped features for linear ones.
struct MethodProblem {
  Prepared
      prepared;  // linear methods: data, scaling and task_C, and kernels with divisors when features are mapped
  LinearProblem linear;  // linear methods
  FeatureMap map;        // linear methods on mapped features
  Dataset tasks;         // `pooled`: the tasks behind the pool, without their features
};
// Precomputed matrices of the extras must outlive the result.
MethodProblem prepare_method(Dataset data, const TrainSettings& settings, const TrainExtras& extras,
                             int threads);

// Bytes that a linear method takes, by estimate: features of every task and their curvature.
double linear_bytes(const Dataset& data, const TrainSettings& settings);

// A fit by either family; the other member is empty.
struct MethodFit {
  Fitted kernel;
  LinearFit linear;
  bool is_linear = false;
  Status status() const { return is_linear ? linear.status : kernel.fit.status; }
  double gap() const { return is_linear ? linear.gap : kernel.fit.gap; }
  double coarseness() const { return is_linear ? linear.coarseness : kernel.fit.coarseness; }
  Index steps() const { return is_linear ? linear.steps : kernel.fit.outer_steps; }
};
// Settings must be those of prepare_method but for C of kernel methods' problems, which is part of the problem, and `parameters`,
// tolerance and max_steps, which may differ. `start`: a fit of the same problem at other parameters.
MethodFit fit_method(const MethodProblem& problem, const TrainSettings& settings, int threads,
                     const ProgressCallback& progress = {}, const MethodFit* start = nullptr,
                     double memory = std::numeric_limits<double>::infinity());

Model make_model(const MethodProblem& problem, const TrainSettings& settings, const MethodFit& fit,
                 std::string fingerprint);

}  // namespace coterie
