#include "coterie/search/rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

constexpr double infinite_lambda = std::numeric_limits<double>::infinity();

// Fits that run side by side share what there is.
double memory_of(const SearchData& search, const Turn& turn) {
  return turn.threads == 1 ? search.memory / thread_count(search.threads) : search.memory;
}

template <typename AnyFit>
Vector judge(const SearchData& search, const Fold& fold, Score score, const AnyFit& fit) {
  return judge_held_out(search.data, fold.held_out->split, score,
                        [&](Index t) { return held_out_decisions(fold, fit, t); });
}

class LambdaRows : public RowStrategy {
 public:
  LambdaRows(const SearchData& search, const Grid& grid, Score score)
      : search_(search), grid_(grid), score_(score) {}

  Index& place(GridPoint& point) const override { return point.lambda; }

  // Along C for every norm, upwards.
  Beginnings begin(const Fold& fold, const std::vector<Row>& rows,
                   const Turn& turn) const override {
    Beginnings out;
    WarmStart start;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const GridPoint& point = rows[k].point;
      if (k > 0 && point.norm != rows[k - 1].point.norm) start = {};
      const std::vector<Vector> costs = costs_of(fold, point);
      const MtmklProblem problem = problem_of(fold, costs, point, infinite_lambda);
      const Fit common = solve(problem, turn, start, nullptr);
      if (turn.stop) return out;
      Beginning& begin = out[point];
      begin.effort.count(common.status, common.outer_steps, common.gap);
      begin.judged = judge(search_, fold, score_, common);
      begin.lambda_max = lambda_max(problem, common);
      begin.start = start = {common.theta, common.alpha, {}};
    }
    return out;
  }

  RowScores score(const Fold& fold, const Row& row, const Beginnings& beginnings,
                  const Turn& turn) const override {
    const Beginning& begin = beginnings.at(row.point);
    const std::vector<Vector> costs = costs_of(fold, row.point);
    RowScores out;
    out.add(begin.effort);
    out.values.resize(std::ssize(row.points), begin.judged.size());
    WarmStart start = begin.start;
    Workspace workspace;
    for (std::size_t k = 0; k < row.points.size(); ++k) {
      const double lambda = lambda_at(row.points[k], begin.lambda_max);
      auto values = out.values.row(static_cast<Index>(k));
      if (lambda >= begin.lambda_max && lambda > 0) {
        values = begin.judged;
        ++out.reused;
        continue;
      }
      Fit found = solve(problem_of(fold, costs, row.point, lambda), turn, start, &workspace);
      if (turn.stop) return out;
      out.count(found.status, found.outer_steps, found.gap);
      values = judge(search_, fold, score_, found);
      start = {std::move(found.theta), std::move(found.alpha), std::move(found.nu)};
    }
    return out;
  }

 private:
  Fit solve(const MtmklProblem& problem, const Turn& turn, const WarmStart& start,
            Workspace* workspace) const {
    return fit(
        problem, fit_settings_of(search_.settings, turn.threads, memory_of(search_, turn)),
        [&](const Progress&) { return !turn.stop.load(); }, start, workspace);
  }

  std::vector<Vector> costs_of(const Fold& fold, const GridPoint& point) const {
    return sample_costs(kernels_of(fold).set.data, settings_at(search_.settings, grid_, point),
                        search_.extras);
  }

  MtmklProblem problem_of(const Fold& fold, const std::vector<Vector>& costs,
                          const GridPoint& point, double lambda) const {
    return joint_problem(kernels_of(fold), costs, lambda,
                         grid_.norm[static_cast<std::size_t>(point.norm)]);
  }

  double lambda_at(const GridPoint& point, double lambda_max) const {
    if (!has_lambda(grid_, point.norm)) return infinite_lambda;
    return grid_.lambda[static_cast<std::size_t>(point.lambda)].at(lambda_max);
  }

  const SearchData& search_;
  const Grid& grid_;
  Score score_;
};

class ListRows : public RowStrategy {
 public:
  ListRows(const SearchData& search, const Grid& grid, Score score)
      : search_(search), grid_(grid), score_(score) {
    std::size_t longest = grid.C.size();
    for (std::size_t k = 0; k < grid.parameters.size(); ++k) {
      const ParameterList& list = grid.parameters[k];
      if (parameter_named(*grid.method, list.name).whole) continue;
      if (list.values.size() < longest) continue;
      longest = list.values.size();
      parameter_ = static_cast<Index>(k);
    }
  }

  Index& place(GridPoint& point) const override {
    return parameter_ < 0 ? point.C : point.parameters[static_cast<std::size_t>(parameter_)];
  }

  Beginnings begin(const Fold&, const std::vector<Row>&, const Turn&) const override { return {}; }

  RowScores score(const Fold& fold, const Row& row, const Beginnings&,
                  const Turn& turn) const override {
    RowScores out;
    MethodFit last;
    for (const GridPoint& point : row.points) {
      const Settings settings = settings_at(search_.settings, grid_, point);
      const bool warm = out.fits > 0 && is_convex(settings);
      MethodFit found = fit_fold(
          fold, search_, settings, turn.threads, [&](const Progress&) { return !turn.stop.load(); },
          warm ? &last : nullptr, memory_of(search_, turn));
      if (turn.stop) return out;
      const Vector judged = judge(search_, fold, score_, found);
      if (out.fits == 0) out.values.resize(std::ssize(row.points), judged.size());
      out.values.row(out.fits) = judged;
      out.count(found.status(), found.steps(), found.gap());
      last = std::move(found);
    }
    return out;
  }

 private:
  const SearchData& search_;
  const Grid& grid_;
  Score score_;
  Index parameter_ = -1;  // that is walked; -1: C is
};

}  // namespace

std::unique_ptr<const RowStrategy> strategy_of(const SearchData& search, const Grid& grid,
                                               Score score) {
  if (search.settings.method->walks_lambda())
    return std::make_unique<LambdaRows>(search, grid, score);
  return std::make_unique<ListRows>(search, grid, score);
}

std::vector<Row> rows_of(const std::vector<GridPoint>& points, const RowStrategy& strategy) {
  std::map<GridPoint, Row> rows;
  for (const GridPoint& point : points) {
    GridPoint key = point;
    strategy.place(key) = 0;
    rows[key].points.push_back(point);
  }
  std::vector<Row> out;
  for (auto& [key, row] : rows) {
    row.point = key;
    std::ranges::sort(row.points);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace coterie
