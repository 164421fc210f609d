#include "coterie/search/cross_validation.hpp"

#include <limits>

namespace coterie {

std::vector<Vector> cross_validated_scores(
    const SearchData& search, const std::vector<Split>& splits,
    const std::function<bool(Index done, Index folds)>& progress) {
  std::vector<Vector> scores;
  for (const Task& task : search.data.tasks)
    scores.emplace_back(Vector::Constant(task.size(), std::numeric_limits<double>::quiet_NaN()));
  GramCache cache;
  Index done = 0;
  const auto go_on = [&] { return !progress || progress(done, std::ssize(splits)); };
  for (const Fold& fold : make_folds(search, splits, search.settings.normalise, cache)) {
    const MethodFit fitted = fit_fold(
        fold, search, search.settings, search.threads, [&](const Progress&) { return go_on(); },
        nullptr, search.memory);
    ++done;
    if (fitted.status() == Status::stopped || !go_on()) return {};
    for (std::size_t t = 0; t < scores.size(); ++t)
      if (const std::vector<Index>& rest = fold.held_out->split.rest[t]; !rest.empty())
        scores[t](rest) = held_out_decisions(fold, fitted, static_cast<Index>(t));
  }
  return scores;
}

}  // namespace coterie
