#include "coterie/search/fold.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "coterie/baseline/plain.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

// The tasks with only the samples listed, without features.
Dataset tasks_only(const Dataset& data, const std::vector<std::vector<Index>>& kept) {
  Dataset out;
  out.weight = data.weight;
  out.features = data.features;
  out.classes = data.classes;
  out.casting = data.casting;
  out.columns = data.columns;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    Task& some = out.tasks.emplace_back();
    static_cast<TaskId&>(some) = task;
    some.y = task.y(kept[t]);
    for (const Index i : kept[t]) some.rows.push_back(task.rows[static_cast<std::size_t>(i)]);
  }
  return out;
}

std::vector<Index> training_rows(const Dataset& data, const Split& split) {
  std::set<Index> rows;
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    for (const Index i : split.train[t])
      rows.insert(data.tasks[t].rows[static_cast<std::size_t>(i)]);
  return {rows.begin(), rows.end()};
}

// Whether folds have features of their own.
bool learns_scaling(const Settings& settings) {
  return settings.scale.value_or(Scale::none) != Scale::none || settings.smooth > 1;
}

// One fold of kernels: the training side, and the whole with its divisors.
struct KernelFold {
  Prepared train;
  std::vector<TaskGrams> whole;
};

KernelFold slice_fold(const SearchData& search, const Split& split,
                      const Normalisation& normalisation, const WholeGrams& whole) {
  KernelFold fold;
  fold.whole = whole.tasks;
  fold.train.set =
      make_training_set(tasks_only(search.data, split.train), {}, search.settings, search.extras);
  fold.train.set.scaling = whole.scaling;
  Grams& grams = fold.train.grams;
  grams.kernels = whole.kernels;
  grams.tasks.resize(fold.whole.size());
  parallel_for(std::ssize(fold.whole), search.threads, [&](Index t) {
    const auto k = static_cast<std::size_t>(t);
    grams.tasks[k] = slice(fold.whole[k], split.train[k]);
  });
  Divisors divisors =
      find_divisors(grams.tasks, grams.kernels, normalisation, search.threads, &fold.whole);
  divide(grams.tasks, divisors.values);
  divide(fold.whole, divisors.values);
  grams.divisors = std::move(divisors.values);
  grams.bounded = std::move(divisors.bounded);
  return fold;
}

// All samples with scores: cross-fitted ones on the training side, those of its models on the other.
std::shared_ptr<const Scored> score_fold(const SearchData& search, const Split& split) {
  Scored learnt = learn_scores(subset(search.data, split.train), search.settings, search.threads,
                               search.first_stage_memory);
  learnt.data.tasks = search.data.tasks;
  for (std::size_t t = 0; t < split.rest.size(); ++t) {
    std::vector<Index> rows;
    for (const Index i : split.rest[t])
      rows.push_back(search.data.tasks[t].rows[static_cast<std::size_t>(i)]);
    if (!rows.empty())
      learnt.data.X(rows, Eigen::all) =
          with_scores(*learnt.first, static_cast<Index>(t), search.data.X(rows, Eigen::all));
  }
  return std::make_shared<const Scored>(std::move(learnt));
}

std::vector<KernelFold> slice_folds(const SearchData& search, const std::vector<Split>& splits,
                                    const Normalisation& normalisation, GramCache& cache) {
  const std::vector<std::string> features = features_with_scores(search.settings, search.data);
  const bool scores = features.size() > search.data.features.size();
  const bool own = scores || learns_scaling(search.settings);
  const std::vector<Kernel> kernels =
      prepare_kernels(search.settings.kernels, normalisation, search.data, features);
  cache.resize(splits.size());
  std::vector<KernelFold> folds;
  for (std::size_t k = 0; k < splits.size(); ++k) {
    if (!cache[k] || cache[k]->kernels != kernels)
      cache[k] = k > 0 && !own ? cache[0]
                               : std::make_shared<const WholeGrams>(whole_grams(
                                     search, normalisation, training_rows(search.data, splits[k]),
                                     cache[k] ? cache[k]->scored
                                     : scores ? score_fold(search, splits[k])
                                              : nullptr));
    folds.push_back(slice_fold(search, splits[k], normalisation, *cache[k]));
  }
  return folds;
}

Split pool_split(const Split& split, const Dataset& data) {
  const auto join = [&](const std::vector<std::vector<Index>>& tasks) {
    std::vector<Index> out;
    Index first = 0;  // where in the pool a task begins
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      for (const Index i : tasks[t]) out.push_back(first + i);
      first += data.tasks[t].size();
    }
    return out;
  };
  return {{join(split.train)}, {join(split.rest)}};
}

std::vector<Fold> pooled_folds(const SearchData& search, const std::vector<Split>& splits,
                               const Normalisation& normalisation, GramCache& cache) {
  const Dataset pool = pool_tasks(search.data);
  const SearchData of_pool{pool,           search.settings, search.extras, search.largest_C,
                           search.storage, search.threads,  search.memory};
  std::vector<Split> pooled;
  for (const Split& split : splits) pooled.push_back(pool_split(split, search.data));
  std::vector<KernelFold> sliced = slice_folds(of_pool, pooled, normalisation, cache);
  std::vector<Fold> folds;
  for (std::size_t k = 0; k < splits.size(); ++k) {
    for (const std::vector<Index>& train : splits[k].train)
      sliced[k].train.set.pooled.push_back(std::ssize(train));
    folds.push_back({Pool{std::move(sliced[k].train), tasks_only(search.data, splits[k].train)},
                     HeldOut{splits[k], std::move(pooled[k]), std::move(sliced[k].whole)}});
  }
  return folds;
}

Fold linear_fold(const SearchData& search, const Split& split, const Settings& settings) {
  HeldOut held_out{split};
  MethodProblem train =
      prepare_method(subset(search.data, split.train), settings, search.extras, search.threads);
  const auto& [set, grams, map, problem] = std::get<LinearTraining>(train);
  const Matrix pivots = set.data.X(map.pivots, Eigen::all);
  for (std::size_t t = 0; t < split.rest.size(); ++t) {
    std::vector<Index> rows;
    for (const Index i : split.rest[t])
      rows.push_back(search.data.tasks[t].rows[static_cast<std::size_t>(i)]);
    Matrix X = apply_scaling(set.scaling, search.data.X(rows, Eigen::all));
    if (map.rank() > 0) X = apply_map(map, X, pivots, grams.kernels, grams.divisors);
    held_out.features.push_back(std::move(X));
  }
  return {std::move(train), std::move(held_out)};
}

// Decision values at some of the samples behind `grams`, of which the task of these labels was trained on `trained`.
Vector decisions(const TaskGrams& grams, const std::vector<Index>& samples,
                 const std::vector<Index>& trained, const Vector& y, const Fit& fit, Index t) {
  const Vector& alpha = fit.alpha[static_cast<std::size_t>(t)];
  std::vector<Index> support;
  std::vector<double> beta;
  for (Index i = 0; i < alpha.size(); ++i) {
    if (!(alpha[i] > 0)) continue;
    support.push_back(trained[static_cast<std::size_t>(i)]);
    beta.push_back(alpha[i] * y[i]);
  }
  const Vector f = cross_decisions(grams, samples, support, fit.theta.row(t).transpose(),
                                   Eigen::Map<const Vector>(beta.data(), std::ssize(beta)));
  return f.array() + fit.bias[t];
}

// Which of the fits of a pool is that of task t.
Index group_of(const Fit& fit, Index t) {
  if (fit.alpha.size() == 1) return 0;
  const auto group = std::ranges::find_if(fit.groups, [t](const std::vector<Index>& tasks) {
    return std::ranges::find(tasks, t) != tasks.end();
  });
  return group - fit.groups.begin();
}

// The held-out samples of task t in the pool, which has those of all tasks one behind the other.
std::vector<Index> rest_in_pool(const HeldOut& held_out, std::size_t t) {
  std::ptrdiff_t first = 0;
  for (std::size_t s = 0; s < t; ++s) first += std::ssize(held_out.split.rest[s]);
  const auto begin = held_out.pooled->rest[0].begin() + first;
  return {begin, begin + std::ssize(held_out.split.rest[t])};
}

}  // namespace

WholeGrams whole_grams(const SearchData& search, const Normalisation& normalisation,
                       const std::vector<Index>& rows, std::shared_ptr<const Scored> scored) {
  const Dataset& samples = scored ? scored->data : search.data;
  WholeGrams out;
  out.scored = scored;
  out.kernels = prepare_kernels(search.settings.kernels, normalisation, samples);
  Settings largest = search.settings;
  largest.C = search.largest_C;
  const double C = largest_cost(sample_costs(search.data, largest, search.extras));
  out.scaling = learn_scaling(search.settings.scale.value_or(Scale::none), samples.X, rows,
                              scored ? scored->first->columns() : 0, search.settings.smooth);
  const auto compute = [&](const Dataset& data) {
    return compute_grams(data, out.kernels, Normalisation::cosine(), search.extras.precomputed,
                         search.threads, search.storage, C)
        .tasks;
  };
  if (!out.scaling.changes()) {
    out.tasks = compute(samples);
  } else {
    Dataset scaled = samples;
    scaled.X = apply_scaling(out.scaling, std::move(scaled.X));
    out.tasks = compute(scaled);
  }
  return out;
}

const Prepared& kernels_of(const Fold& fold) {
  const Pool* const pool = std::get_if<Pool>(&fold.train);
  return pool ? pool->prepared : std::get<Prepared>(fold.train);
}

std::vector<Fold> make_folds(const SearchData& search, const std::vector<Split>& splits,
                             const Normalisation& normalisation, GramCache& cache) {
  const Method& method = *search.settings.method;
  if (method.pools) return pooled_folds(search, splits, normalisation, cache);
  std::vector<Fold> folds;
  if (method.is_linear()) {
    Settings settings = search.settings;
    settings.normalise = normalisation;
    for (const Split& split : splits) folds.push_back(linear_fold(search, split, settings));
    return folds;
  }
  std::vector<KernelFold> sliced = slice_folds(search, splits, normalisation, cache);
  for (std::size_t k = 0; k < splits.size(); ++k)
    folds.push_back(
        {std::move(sliced[k].train), HeldOut{splits[k], {}, std::move(sliced[k].whole)}});
  return folds;
}

MethodFit fit_fold(const Fold& fold, const SearchData& search, const Settings& settings,
                   int threads, const ProgressCallback& progress, const MethodFit* start,
                   double memory) {
  if (settings.method->is_linear())
    return fit_method(fold.train, settings, threads, progress, start, memory);
  const Prepared& train = kernels_of(fold);
  return fit_method(train, sample_costs(train.set.data, settings, search.extras), settings, threads,
                    progress, start, memory);
}

Vector held_out_decisions(const Fold& fold, const MethodFit& fit, Index t) {
  const LinearFit* const linear = fit.linear();
  if (!linear) return held_out_decisions(fold, fit.kernel()->fit, t);
  const Matrix& X = fold.held_out->features[static_cast<std::size_t>(t)];
  return (X * linear->W.row(t).transpose()).array() + linear->b[t];
}

Vector held_out_decisions(const Fold& fold, const Fit& fit, Index t) {
  const auto k = static_cast<std::size_t>(t);
  const HeldOut& held_out = *fold.held_out;
  const TrainingSet& set = kernels_of(fold).set;
  if (held_out.pooled)
    return decisions(held_out.whole[0], rest_in_pool(held_out, k), held_out.pooled->train[0],
                     set.y[0], fit, group_of(fit, t));
  return decisions(held_out.whole[k], held_out.split.rest[k], held_out.split.train[k], set.y[k],
                   fit, t);
}

Vector training_decisions(const Fold& fold, const Fit& fit, Index t) {
  const auto k = static_cast<std::size_t>(t);
  const auto& [set, grams] = kernels_of(fold);
  std::vector<Index> all(static_cast<std::size_t>(set.y[k].size()));
  std::iota(all.begin(), all.end(), Index{0});
  return decisions(grams.tasks[k], all, all, set.y[k], fit, t);
}

Storage storage_within(const SearchData& search, Index folds, double budget) {
  const std::vector<Kernel> kernels = kernels_for(search.settings, search.data);
  Settings largest = search.settings;
  largest.C = search.largest_C;
  const double roots = static_cast<double>(
      count_roots(kernels, largest_cost(sample_costs(search.data, largest, search.extras))));
  double pairs = 0, samples = 0;
  for (const Task& task : search.data.tasks) {
    samples += static_cast<double>(task.size());
    pairs += static_cast<double>(task.size()) * static_cast<double>(task.size());
  }
  const double whole = 8 * roots * (search.settings.method->pools ? samples * samples : pairs);
  const bool shared =
      !learns_scaling(search.settings) && score_blocks(kernels, search.data.features).empty();
  const double wholes = shared ? 1 : static_cast<double>(folds);
  return whole * (wholes + static_cast<double>(folds)) <= budget ? Storage::stored
                                                                 : Storage::on_demand;
}

}  // namespace coterie
