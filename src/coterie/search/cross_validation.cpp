#include "coterie/search/cross_validation.hpp"

#include <limits>

namespace coterie {

std::vector<Vector> cross_validated_scores(
    const SearchData& search, const std::vector<Split>& splits,
    const std::function<bool(Index done, Index folds)>& progress) {
  std::vector<Vector> scores;
  for (const Task& task : search.data.tasks)
    scores.push_back(Vector::Constant(task.size(), std::numeric_limits<double>::quiet_NaN()));
  GramCache cache;
  Index done = 0;
  const auto go_on = [&] { return !progress || progress(done, std::ssize(splits)); };
  for (const Fold& fold :
       make_folds(search, splits, parse_normalisation(search.settings.normalise), cache)) {
    const Fitted fitted = fit_prepared(
        fold.prepared, search.settings, search.threads, [&](const Progress&) { return go_on(); },
        search.memory);
    ++done;
    if (fitted.fit.status == Status::stopped || !go_on()) return {};
    for (std::size_t t = 0; t < scores.size(); ++t) {
      const std::vector<Index>& rest = fold.split.rest[t];
      if (!rest.empty())
        scores[t](rest) = decisions_at(fold, fitted.fit, static_cast<Index>(t), rest);
    }
  }
  return scores;
}

}  // namespace coterie
