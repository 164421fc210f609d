#include "coterie/search/fold.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

// The tasks with only the samples listed, without features.
Dataset tasks_only(const Dataset& data, const std::vector<std::vector<Index>>& kept) {
  Dataset out;
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

Fold make_fold(const SearchData& search, const Split& split, const Normalisation& normalisation,
               const WholeGrams& whole) {
  Fold fold;
  fold.split = split;
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
  Divisors divisors = find_divisors(grams.tasks, grams.kernels, normalisation, search.threads);
  divide(grams.tasks, divisors.values);
  divide(fold.whole, divisors.values);
  grams.divisors = std::move(divisors.values);
  grams.bounded = std::move(divisors.bounded);
  return fold;
}

}  // namespace

WholeGrams whole_grams(const SearchData& search, const Normalisation& normalisation,
                       const std::vector<Index>& rows) {
  WholeGrams out;
  out.kernels = prepare_kernels(search.settings.kernels, normalisation, search.data.features);
  Settings largest = search.settings;
  largest.C = search.largest_C;
  const double C = largest_cost(sample_costs(search.data, largest, search.extras));
  out.scaling = learn_scaling(search.settings.scale.value_or(Scale::none), search.data.X, rows);
  const auto compute = [&](const Dataset& data) {
    return compute_grams(data, out.kernels, Normalisation::cosine(), search.extras.precomputed,
                         search.threads, search.storage, C)
        .tasks;
  };
  if (out.scaling.kind == Scaling::Kind::none) {
    out.tasks = compute(search.data);
  } else {
    Dataset scaled = search.data;
    scaled.X = apply_scaling(out.scaling, std::move(scaled.X));
    out.tasks = compute(scaled);
  }
  return out;
}

std::vector<Fold> make_folds(const SearchData& search, const std::vector<Split>& splits,
                             const Normalisation& normalisation, GramCache& cache) {
  const bool scaled = search.settings.scale.value_or(Scale::none) != Scale::none;
  const std::vector<Kernel> kernels =
      prepare_kernels(search.settings.kernels, normalisation, search.data.features);
  cache.resize(splits.size());
  std::vector<Fold> folds;
  for (std::size_t k = 0; k < splits.size(); ++k) {
    if (!cache[k] || cache[k]->kernels != kernels)
      cache[k] = k > 0 && !scaled
                     ? cache[0]
                     : std::make_shared<const WholeGrams>(whole_grams(
                           search, normalisation, training_rows(search.data, splits[k])));
    folds.push_back(make_fold(search, splits[k], normalisation, *cache[k]));
  }
  return folds;
}

Vector decisions_at(const Fold& fold, const Fit& fit, Index t, const std::vector<Index>& samples) {
  const auto k = static_cast<std::size_t>(t);
  std::vector<Index> support;
  std::vector<double> beta;
  for (Index i = 0; i < fit.alpha[k].size(); ++i) {
    if (!(fit.alpha[k][i] > 0)) continue;
    support.push_back(fold.split.train[k][static_cast<std::size_t>(i)]);
    beta.push_back(fit.alpha[k][i] * fold.train.set.y[k][i]);
  }
  const Vector f = cross_decisions(fold.whole[k], samples, support, fit.theta.row(t).transpose(),
                                   Eigen::Map<const Vector>(beta.data(), std::ssize(beta)));
  return f.array() + fit.bias[t];
}

Storage storage_within(const SearchData& search, Index folds, double budget) {
  const std::vector<Kernel> kernels = search.settings.kernels.list();
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
  const double wholes =
      search.settings.scale.value_or(Scale::none) == Scale::none ? 1 : static_cast<double>(folds);
  return whole * (wholes + static_cast<double>(folds)) <= budget ? Storage::stored
                                                                 : Storage::on_demand;
}

}  // namespace coterie
