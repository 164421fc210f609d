#include "coterie/mtmkl/screening.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "coterie/math/parallel.hpp"

namespace coterie {

Selection::Selection(std::vector<std::vector<Index>> chosen, const MtmklProblem& problem)
    : chosen_(std::move(chosen)) {
  for (const Vector& y : problem.y) sizes_.push_back(y.size());
}

bool Selection::whole() const {
  for (Index t = 0; t < tasks(); ++t)
    if (!whole(t)) return false;
  return true;
}

void Selection::join(Index t, const std::vector<Index>& samples) {
  std::vector<Index>& chosen = chosen_[static_cast<std::size_t>(t)];
  const Index n = sizes_[static_cast<std::size_t>(t)];
  if (samples.empty()) return;
  chosen.insert(chosen.end(), samples.begin(), samples.end());
  if (10 * std::ssize(chosen) > 7 * n) {
    chosen.clear();
    for (Index i = 0; i < n; ++i) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
}

Selection first_selection(const MtmklProblem& problem, const WarmStart& start, Index small_task) {
  std::vector<std::vector<Index>> chosen;
  for (std::size_t t = 0; t < problem.y.size(); ++t) {
    const Vector& y = problem.y[t];
    const Index n = y.size();
    std::vector<Index> picked;
    std::vector<Index> members[2];
    for (Index i = 0; i < n; ++i) members[y[i] > 0].push_back(i);
    std::vector<bool> in(static_cast<std::size_t>(n), n <= small_task);
    for (const std::vector<Index>& side : members) {
      const Index count = std::min<Index>(std::max<Index>(2, small_task / 5), std::ssize(side));
      for (Index k = 0; k < count; ++k)
        in[static_cast<std::size_t>(side[static_cast<std::size_t>(k * std::ssize(side) / count)])] =
            true;
    }
    if (start.alpha.size() == problem.y.size() && start.alpha[t].size() == n)
      for (Index i = 0; i < n; ++i)
        if (start.alpha[t][i] > 0) in[static_cast<std::size_t>(i)] = true;
    for (Index i = 0; i < n; ++i)
      if (in[static_cast<std::size_t>(i)]) picked.push_back(i);
    chosen.push_back(std::move(picked));
  }
  return {std::move(chosen), problem};
}

Restriction::Restriction(const MtmklProblem& whole, const Selection& selection) : whole_(whole) {
  for (Index t = 0; t < whole.T(); ++t) {
    const std::vector<Index>& chosen = selection.of(t);
    const std::size_t k = static_cast<std::size_t>(t);
    TaskGrams grams;
    for (const Matrix& K : whole.grams[k])
      grams.push_back(selection.whole(t) ? K : Matrix(K(chosen, chosen)));
    grams_.push_back(std::move(grams));
    y_.push_back(whole.y[k](chosen));
    C_.push_back(whole.C[k](chosen));
  }
}

WarmStart restrict_start(const Selection& selection, const WarmStart& start) {
  WarmStart restricted = start;
  for (std::size_t t = 0; t < start.alpha.size(); ++t)
    restricted.alpha[t] = start.alpha[t](selection.of(static_cast<Index>(t)));
  return restricted;
}

std::vector<Vector> carry_over(const Selection& before, const Selection& after,
                               const std::vector<Vector>& alpha) {
  std::vector<Vector> carried;
  for (Index t = 0; t < after.tasks(); ++t) {
    const std::vector<Index>& old = before.of(t);
    const std::vector<Index>& now = after.of(t);
    Vector values = Vector::Zero(std::ssize(now));
    std::size_t k = 0;
    for (std::size_t i = 0; i < now.size() && k < old.size(); ++i)
      if (now[i] == old[k])
        values[static_cast<Index>(i)] = alpha[static_cast<std::size_t>(t)][static_cast<Index>(k++)];
    carried.push_back(std::move(values));
  }
  return carried;
}

Fit screen(const MtmklProblem& problem, const Fit& found, Selection& selection, int threads) {
  Fit seen = found;
  std::vector<std::vector<Index>> joining(static_cast<std::size_t>(problem.T()));
  parallel_for(problem.T(), threads, [&](Index t) {
    if (selection.whole(t)) return;
    const std::size_t k = static_cast<std::size_t>(t);
    const Vector& y = problem.y[k];
    const Vector& C = problem.C[k];
    const Index n = y.size();
    const std::vector<Index>& chosen = selection.of(t);
    MixedGram K(problem.grams[k], found.theta.row(t).transpose());
    seen.alpha[k] = Vector::Zero(n);
    Vector f = Vector::Zero(n);
    double squared = 0;  // ||w||^2
    for (std::size_t j = 0; j < chosen.size(); ++j) {
      const double alpha = found.alpha[k][static_cast<Index>(j)];
      if (alpha == 0) continue;
      const Index i = chosen[j];
      seen.alpha[k][i] = alpha;
      f += alpha * y[i] * Eigen::Map<const Vector>(K.row(i), n);
    }
    squared = y.cwiseProduct(seen.alpha[k]).dot(f);
    const Vector ones = Vector::Ones(n);
    const double bias = best_bias(f - y, {y, ones, C});
    const Vector loss = (1 - y.array() * (f.array() + bias)).cwiseMax(0.0);
    seen.bias[t] = bias;
    seen.task_objective[t] = 0.5 * squared + C.dot(loss);
    std::vector<bool> in(static_cast<std::size_t>(n), false);
    for (const Index i : chosen) in[static_cast<std::size_t>(i)] = true;
    std::vector<std::pair<double, Index>> violators;
    for (Index i = 0; i < n; ++i)
      if (!in[static_cast<std::size_t>(i)] && loss[i] > 0) violators.emplace_back(-loss[i], i);
    std::sort(violators.begin(), violators.end());
    const std::size_t limit = static_cast<std::size_t>(std::max<Index>(64, std::ssize(chosen)));
    if (violators.size() > limit) violators.resize(limit);
    for (const auto& [loss_i, i] : violators) joining[k].push_back(i);
  });
  for (Index t = 0; t < problem.T(); ++t) {
    seen.primal += seen.task_objective[t] - found.task_objective[t];
    selection.join(t, joining[static_cast<std::size_t>(t)]);
  }
  seen.gap = (seen.primal - seen.dual) / std::max(1.0, std::abs(seen.primal));
  return seen;
}

}  // namespace coterie
