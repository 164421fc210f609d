#include "coterie/search/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "coterie/math/random.hpp"

namespace coterie {

namespace {

// Scores are means of few numbers: what differs less than this is rounding.
constexpr double kTie = 1e-12;

double sign_of(Score score) { return higher_is_better(score) ? 1 : -1; }

// Stronger sharing first: lambdas of a grid fall, and lists of parameters go from simple to complex.
auto simplicity(const GridPoint& p) {
  return std::tie(p.lambda, p.parameters, p.C, p.norm, p.normalise);
}

bool neighbours(const GridPoint& p, const GridPoint& q) {
  const auto next = [](Index a, Index b) { return std::abs(a - b) <= 1; };
  return p.norm == q.norm && p.normalise == q.normalise && next(p.C, q.C) &&
         next(p.lambda, q.lambda) && std::ranges::equal(p.parameters, q.parameters, next);
}

bool better(double a, const GridPoint& p, double b, const GridPoint& q) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  if (std::abs(a - b) > kTie * std::max({1.0, std::abs(a), std::abs(b)})) return a > b;
  return simplicity(p) < simplicity(q);
}

std::set<Index> steps_of(Index count, Index step) {
  std::set<Index> out;
  for (Index i = 0; i < count; i += step) out.insert(i);
  if (count > 0) out.insert(count - 1);
  return out;
}

// Mean over folds of how much better the fold's own best point is than the point at `place`, of scores as points x (fold, task).
double mean_optimism(const Matrix& values, const std::vector<std::pair<Index, Index>>& cells,
                     Index folds, Index place) {
  double sum = 0;
  Index judged = 0;
  for (Index k = 0; k < folds; ++k) {
    Vector weight = Vector::Zero(values.cols());
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (cells[c].first == k) weight[static_cast<Index>(c)] = 1;
    if (weight.sum() == 0) continue;
    const Vector mean = values * weight / weight.sum();
    sum += mean.maxCoeff() - mean[place];
    ++judged;
  }
  return sum / static_cast<double>(judged);
}

}  // namespace

std::vector<Ranked> rank_points(const GridScores& scores) {
  std::vector<Ranked> ranked;
  for (const auto& [point, cells] : scores.cells)
    ranked.push_back({point, mean_score(cells), standard_error(cells)});
  // The comparison is not transitive for scores a rounding apart, so equal ones are made equal first.
  std::vector<double*> order;
  for (Ranked& one : ranked) order.push_back(&one.score);
  std::ranges::sort(order, [](const double* a, const double* b) { return *a < *b; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (*order[i] - *order[i - 1] <= kTie * std::max(1.0, std::abs(*order[i])))
      *order[i] = *order[i - 1];
  const double sign = sign_of(scores.score);
  std::ranges::sort(ranked, [&](const Ranked& a, const Ranked& b) {
    return better(sign * a.score, a.point, sign * b.score, b.point);
  });
  return ranked;
}

GridPoint one_standard_error(const std::vector<Ranked>& ranked, Score score) {
  const Ranked& best = ranked.front();
  const double slack = std::isnan(best.standard_error) ? 0 : best.standard_error;
  const double sign = sign_of(score);
  GridPoint chosen = best.point;
  for (const Ranked& one : ranked)
    if (sign * one.score >= sign * best.score - slack && simplicity(one.point) < simplicity(chosen))
      chosen = one.point;
  return chosen;
}

Confidence judge_choice(const GridScores& scores, const std::vector<Ranked>& ranked,
                        const GridPoint& chosen, Index resamples, std::uint64_t seed) {
  Confidence out;
  out.resamples = resamples;
  const double sign = sign_of(scores.score);
  const Ranked& best = ranked.front();
  const double slack = std::isnan(best.standard_error) ? 0 : best.standard_error;
  for (const Ranked& one : ranked) out.within += sign * one.score >= sign * best.score - slack;

  // Scores, higher is better, as points x defined cells. A cell is defined for all points or for none: it depends on labels alone.
  const Matrix& shape = scores.cells.begin()->second;
  std::vector<std::pair<Index, Index>> cells;
  for (Index k = 0; k < shape.rows(); ++k)
    for (Index t = 0; t < shape.cols(); ++t)
      if (!std::isnan(shape(k, t))) cells.emplace_back(k, t);
  std::vector<GridPoint> points;
  Matrix values(std::ssize(scores.cells), std::ssize(cells));
  for (const auto& [point, of_point] : scores.cells) {
    for (std::size_t c = 0; c < cells.size(); ++c)
      values(std::ssize(points), static_cast<Index>(c)) =
          sign * of_point(cells[c].first, cells[c].second);
    points.push_back(point);
  }
  const auto best_of = [&](const Vector& mean) {
    Index place = 0;
    for (Index p = 1; p < mean.size(); ++p)
      if (better(mean[p], points[static_cast<std::size_t>(p)], mean[place],
                 points[static_cast<std::size_t>(place)]))
        place = p;
    return place;
  };

  Random random(seed);
  for (Index r = 0; r < resamples; ++r) {
    Vector weight = Vector::Zero(values.cols());
    for (Index c = 0; c < values.cols(); ++c) weight[random.below(values.cols())] += 1;
    const GridPoint& winner = points[static_cast<std::size_t>(
        best_of(values * weight / static_cast<double>(values.cols())))];
    out.chosen_again += winner == chosen;
    out.near += neighbours(winner, chosen);
  }
  out.chosen_again /= static_cast<double>(std::max<Index>(1, resamples));
  out.near /= static_cast<double>(std::max<Index>(1, resamples));

  const auto place = static_cast<Index>(std::ranges::find(points, chosen) - points.begin());
  out.optimism = shape.rows() < 2 ? std::numeric_limits<double>::quiet_NaN()
                                  : mean_optimism(values, cells, shape.rows(), place);
  return out;
}

std::vector<GridPoint> refine(const Grid& grid, const Steps& steps,
                              const std::vector<GridPoint>& around) {
  std::set<GridPoint> out;
  for (Index norm = 0; norm < std::ssize(grid.norm); ++norm) {
    const Index lambdas = has_lambda(grid, norm) ? std::ssize(grid.lambda) : 1;
    for (Index normalise = 0; normalise < std::ssize(grid.normalise); ++normalise)
      for (const Index C : steps_of(std::ssize(grid.C), steps.C))
        for (const Index lambda : steps_of(lambdas, steps.lambda)) {
          const auto close = [&](const GridPoint& p) {
            return p.norm == norm && p.normalise == normalise && std::abs(p.C - C) <= steps.C &&
                   std::abs(p.lambda - lambda) <= steps.lambda;
          };
          if (around.empty() || std::ranges::any_of(around, close))
            out.insert({norm, normalise, C, lambda});
        }
  }
  return {out.begin(), out.end()};
}

GridScores score_coarse_to_fine(const SearchData& search, const std::vector<Split>& splits,
                                const Grid& grid, Score score, const SearchHooks& hooks) {
  // Plateaus are wide in lambda, so the best few points may all lie on one of them: one of each C is looked at.
  constexpr std::size_t best_rows = 4;
  GridSearch rounds(search, splits, grid, score, hooks);
  const GridScores& scores = rounds.scores();
  std::vector<GridPoint> around;
  Steps steps{2, 4};
  for (;;) {
    std::vector<GridPoint> points;
    for (const GridPoint& point : refine(grid, steps, around))
      if (!scores.cells.contains(point)) points.push_back(point);
    const bool finest = steps.C == 1 && steps.lambda == 1;
    if (points.empty() && finest) return scores;
    rounds.score(points);
    if (scores.stopped) return scores;
    around.clear();
    for (const Ranked& one : rank_points(scores)) {
      const auto same_row = [&](const GridPoint& p) {
        return p.C == one.point.C && p.norm == one.point.norm && p.normalise == one.point.normalise;
      };
      if (around.size() < best_rows && std::ranges::none_of(around, same_row))
        around.push_back(one.point);
    }
    steps = {1, std::max<Index>(1, steps.lambda / 2)};
  }
}

}  // namespace coterie
