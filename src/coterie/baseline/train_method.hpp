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
      prepared;  // linear methods: data, scaling, y, task_C; and kernels with divisors when features are mapped
  LinearProblem linear;  // linear methods
  FeatureMap map;        // linear methods on --map kernels
};
MethodProblem prepare_method(Dataset data, const TrainSettings& settings, const TrainExtras& extras,
                             int threads);

// A fit by either family; the other member is empty.
struct MethodFit {
  Fitted kernel;     // of the kernel family
  LinearFit linear;  // of the linear one
};
MethodFit fit_method(const MethodProblem& problem, const TrainSettings& settings, int threads,
                     const ProgressCallback& progress = {}, const MethodFit* start = nullptr,
                     double memory = std::numeric_limits<double>::infinity());

Model make_model(const MethodProblem& problem, const TrainSettings& settings, const MethodFit& fit,
                 std::string fingerprint);

}  // namespace coterie
