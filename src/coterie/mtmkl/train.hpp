// From a dataset to a model, in three steps that a program can time and report: prepare, fit, make_model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coterie/mtmkl/fit.hpp"
#include "coterie/mtmkl/model.hpp"
#include "coterie/mtmkl/settings.hpp"

namespace coterie {

// What is given besides data and settings.
struct TrainExtras {
  PrecomputedMatrices precomputed;       // behind precomputed:FILE kernels
  std::map<std::string, double> task_C;  // C of single tasks, by name
  bool complete = true;                  // every pair of tasks, or:
  TaskGraph graph;
};

// C of every task, before class weights.
Vector task_costs(const Dataset& data, const TrainSettings& settings, const TrainExtras& extras);

// C of every sample, [task], with the weights of tasks and classes; and the largest of all.
std::vector<Vector> sample_costs(const Dataset& data, const TrainSettings& settings,
                                 const TrainExtras& extras);
double largest_cost(const std::vector<Vector>& costs);

// Data scaled, kernels resolved, Gram matrices at hand.
struct Prepared {
  Dataset data;
  Scaling scaling;
  std::vector<Kernel> kernels;
  Grams grams;
  std::vector<Vector> y, C;  // [task]
  Vector task_C;             // per task, before class weights
  bool complete = true;
  TaskGraph graph;
  WeightSet weights{1};
};

// Values of kernels are computed by the fit where it needs them; Storage::stored computes them all beforehand. Precomputed matrices
// of the extras must outlive the result.
Prepared prepare(Dataset data, const TrainSettings& settings, const TrainExtras& extras,
                 int threads, Storage storage = Storage::on_demand);

// The fit of the settings' lambda (a relative one is resolved by a fit at lambda = inf first), and that lambda. `memory` bounds the
// bytes that kernel values take.
struct Fitted {
  Fit fit;
  double lambda = 0;
  double lambda_max = 0;   // 0 unless it was needed
  Index common_steps = 0;  // outer steps of the fit at lambda = inf that found it
};
Fitted fit_prepared(const Prepared& prepared, const TrainSettings& settings, int threads,
                    const ProgressCallback& progress = {},
                    double memory = std::numeric_limits<double>::infinity());

Model make_model(const Prepared& prepared, const TrainSettings& settings, const Fitted& fitted,
                 std::string fingerprint);

}  // namespace coterie
