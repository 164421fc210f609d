#include "coterie/search/method_fold.hpp"

#include <utility>

#include "coterie/baseline/plain.hpp"

namespace coterie {

namespace {

// Where each task begins in the pool, which has the samples of all tasks one behind the other.
std::vector<Index> beginnings(const Dataset& data) {
  std::vector<Index> first;
  Index next = 0;
  for (const Task& task : data.tasks) {
    first.push_back(next);
    next += task.size();
  }
  return first;
}

Split pool_split(const Split& split, const std::vector<Index>& first) {
  Split pooled;
  const auto join = [&](const std::vector<std::vector<Index>>& tasks) {
    std::vector<Index> out;
    for (std::size_t t = 0; t < tasks.size(); ++t)
      for (const Index i : tasks[t]) out.push_back(first[t] + i);
    return out;
  };
  pooled.train = {join(split.train)};
  pooled.rest = {join(split.rest)};
  return pooled;
}

MethodFold linear_fold(const SearchData& search, const Split& split, const Settings& settings) {
  MethodFold fold;
  fold.training =
      prepare_method(subset(search.data, split.train), settings, search.extras, search.threads);
  const auto& [set, grams, map, problem] = std::get<LinearTraining>(fold.training);
  const Matrix pivots = set.data.X(map.pivots, Eigen::all);
  for (std::size_t t = 0; t < split.rest.size(); ++t) {
    std::vector<Index> rows;
    for (const Index i : split.rest[t])
      rows.push_back(search.data.tasks[t].rows[static_cast<std::size_t>(i)]);
    Matrix X = apply_scaling(set.scaling, search.data.X(rows, Eigen::all));
    if (map.rank() > 0) X = apply_map(map, X, pivots, grams.kernels, grams.divisors);
    fold.held_out.push_back(std::move(X));
  }
  return fold;
}

bool is_linear(const SearchData& search) { return search.settings.method->is_linear(); }

}  // namespace

std::vector<MethodFold> make_method_folds(const SearchData& search,
                                          const std::vector<Split>& splits,
                                          const Normalisation& normalisation, GramCache& cache) {
  std::vector<MethodFold> out;
  if (is_linear(search)) {
    Settings settings = search.settings;
    settings.normalise = normalisation;
    for (const Split& split : splits) out.push_back(linear_fold(search, split, settings));
  } else if (search.settings.method->pools) {
    const Dataset pool = pool_tasks(search.data);
    const SearchData of_pool{pool,           search.settings, search.extras, search.largest_C,
                             search.storage, search.threads,  search.memory};
    const std::vector<Index> first = beginnings(search.data);
    std::vector<Split> pooled;
    for (const Split& split : splits) pooled.push_back(pool_split(split, first));
    for (Fold& fold : make_folds(of_pool, pooled, normalisation, cache)) {
      out.emplace_back().kernel = std::move(fold);
      out.back().first = first;
    }
  } else {
    for (Fold& fold : make_folds(search, splits, normalisation, cache))
      out.emplace_back().kernel = std::move(fold);
  }
  for (std::size_t k = 0; k < splits.size(); ++k) out[k].split = splits[k];
  return out;
}

MethodFit fit_fold(const MethodFold& fold, const SearchData& search, const Settings& settings,
                   int threads, const ProgressCallback& progress, const MethodFit* start,
                   double memory) {
  if (is_linear(search))
    return fit_method(fold.training, settings, threads, progress, start, memory);
  const Prepared& train = fold.kernel.train;
  return fit_method(train, sample_costs(train.set.data, settings, search.extras), settings, threads,
                    progress, start, memory);
}

Vector held_out_decisions(const MethodFold& fold, const MethodFit& fit, Index t) {
  const auto k = static_cast<std::size_t>(t);
  if (const LinearFit* linear = fit.linear())
    return (fold.held_out[k] * linear->W.row(t).transpose()).array() + linear->b[t];
  std::vector<Index> samples = fold.split.rest[k];
  if (fold.first.empty()) return decisions_at(fold.kernel, fit.kernel()->fit, t, samples);
  for (Index& i : samples) i += fold.first[k];
  return decisions_at(fold.kernel, fit.kernel()->fit, 0, samples);
}

}  // namespace coterie
