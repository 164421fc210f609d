// From a dataset to a model by any of the methods, in three steps that a program can time and report: prepare, fit, make a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "coterie/baseline/feature_map.hpp"
#include "coterie/baseline/linear.hpp"
#include "coterie/model/model.hpp"
#include "coterie/model/settings.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

// What is given besides data and settings.
struct Extras {
  PrecomputedMatrices precomputed = {};       // behind precomputed:FILE kernels
  std::map<std::string, double> task_C = {};  // C of single tasks, by name
  bool complete = true;                       // every pair of tasks, or:
  TaskGraph graph = {};
};

// C of every task, before class weights.
Vector task_costs(const Dataset& data, const Settings& settings, const Extras& extras);

// C of every sample, [task], with the weights of tasks and classes; and the largest of all.
std::vector<Vector> sample_costs(const Dataset& data, const Settings& settings,
                                 const Extras& extras);
double largest_cost(const std::vector<Vector>& costs);

// The tasks of a fit: scaled features, labels, costs, and who is drawn to whom.
struct TrainingSet {
  Dataset data;
  Scaling scaling;
  std::vector<Vector> y, C;                       // [task]
  Vector task_C;                                  // per task, before class weights
  std::shared_ptr<const FirstStage> first_stage;  // behind columns of scores
  std::vector<Index>
      pooled;  // samples of each task behind a pool, one behind the other; else empty
  bool complete = true;
  TaskGraph graph;
};

// Scales the data and sets labels, costs and graph. `data` is checked already.
TrainingSet make_training_set(Dataset data, const Scaling& scaling, const Settings& settings,
                              const Extras& extras);

// A training set with its kernels.
struct Prepared {
  TrainingSet set;
  Grams grams;
};

// Values of kernels are computed by the fit where it needs them; Storage::stored computes them all beforehand. Precomputed matrices
// of the extras must outlive the result. `first_stage_memory` bounds the bytes of kernel values while scores are learnt.
Prepared prepare(Dataset data, const Settings& settings, const Extras& extras, int threads,
                 Storage storage = Storage::on_demand,
                 double first_stage_memory = std::numeric_limits<double>::infinity());

// The joint problem of a training set, which must outlive it, at costs C of its samples. Throws InputError where doubles cannot hold it.
MtmklProblem joint_problem(const Prepared& prepared, const std::vector<Vector>& C, double lambda,
                           double norm);

// How the solver is asked to solve it. `memory` bounds the bytes that kernel values take.
FitSettings fit_settings_of(const Settings& settings, int threads,
                            double memory = std::numeric_limits<double>::infinity());

// The fit of the settings' lambda (a relative one is resolved by a fit at lambda = inf first), and that lambda.
struct Fitted {
  Fit fit;
  double lambda = 0;
  double lambda_max = 0;   // 0 unless it was needed
  Index common_steps = 0;  // outer steps of the fit at lambda = inf that found it
  // Of methods that search for groups: what the search says of them. Weights, bias and alphas of the fit are of groups, and alphas
  // over the whole pool.
  std::optional<FoundGroups> found = {};
};
Fitted fit_prepared(const Prepared& prepared, const Settings& settings, int threads,
                    const ProgressCallback& progress = {},
                    double memory = std::numeric_limits<double>::infinity());
Fitted fit_prepared(const Prepared& prepared, const std::vector<Vector>& C,  // at other costs
                    const Settings& settings, int threads, const ProgressCallback& progress,
                    double memory);

Model make_model(const Prepared& prepared, const Settings& settings, const Fitted& fitted,
                 std::string fingerprint);

// ---- Any method --------------------------------------------------------------------------------------------------------------------

struct Pool {
  Prepared prepared;  // all samples as one task
  Dataset tasks;      // behind the pool, without their features
};
struct LinearTraining {
  TrainingSet set;
  Grams grams;     // kernels and divisors, where features are mapped
  FeatureMap map;  // the same
  LinearProblem problem;
};
using MethodProblem = std::variant<Prepared, Pool, LinearTraining>;

// Precomputed matrices of the extras must outlive the result.
MethodProblem prepare_method(Dataset data, const Settings& settings, const Extras& extras,
                             int threads,
                             double first_stage_memory = std::numeric_limits<double>::infinity());
const TrainingSet& training_set(const MethodProblem& problem);
const Grams& grams_of(const MethodProblem& problem);  // without kernels for linear methods

// Bytes that a linear method takes, by estimate: features of every task and their curvature.
double linear_bytes(const Dataset& data, const Settings& settings);

// A fit by either family.
struct MethodFit {
  std::variant<Fitted, LinearFit> result = {};
  const Fitted* kernel() const { return std::get_if<Fitted>(&result); }
  const LinearFit* linear() const { return std::get_if<LinearFit>(&result); }
  Status status() const;
  double gap() const;
  double coarseness() const;
  Index steps() const;
};
// Settings must be those of prepare_method but for C of kernel methods' problems, which is part of the problem, and `parameters`,
// tolerance and max_steps, which may differ. `start`: a fit of the same problem at other parameters.
MethodFit fit_method(const MethodProblem& problem, const Settings& settings, int threads,
                     const ProgressCallback& progress = {}, const MethodFit* start = nullptr,
                     double memory = std::numeric_limits<double>::infinity());
// The same for a training set whose kernels are at hand: folds of a search. Not for pools and linear methods.
MethodFit fit_method(const Prepared& prepared, const std::vector<Vector>& C,
                     const Settings& settings, int threads, const ProgressCallback& progress,
                     const MethodFit* start, double memory);

Model make_model(const MethodProblem& problem, const Settings& settings, const MethodFit& fit,
                 std::string fingerprint);

}  // namespace coterie
