// Writes the page of a made-up path of many tasks, to try it in a browser: large_page FILE TASKS POINTS.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>

#include "coterie/math/random.hpp"
#include "coterie/page/page.hpp"

namespace {

using namespace coterie;

constexpr Index kKernels = 10;

// What every task would have alone: neighbours are alike. On three kernels each, as fits have.
Matrix own_weights(Index tasks, Random& random) {
  Matrix theta = Matrix::Zero(tasks, kKernels);
  for (Index t = 0; t < tasks; ++t) {
    const Index kind = 8 * t / tasks;
    for (Index k = 0; k < 3; ++k)
      theta(t, (kind + k * k) % kKernels) +=
          1.0 / static_cast<double>(1 + k) + 0.3 * random.uniform();
    theta.row(t) /= theta.row(t).sum();
  }
  return theta;
}

// Groups of neighbours, each cut in two or more at every point, until all tasks are alone.
LambdaPath made_up_path(Index tasks, Index points) {
  Random random(5);
  LambdaPath path;
  path.lambda_max = 2;
  const Matrix own = own_weights(tasks, random);
  std::vector<Index> cuts = {0, tasks};  // where groups begin, and the end
  for (Index k = 0; k < points; ++k) {
    const double part = static_cast<double>(k) / static_cast<double>(points - 1);
    const auto wanted = static_cast<std::size_t>(
        std::max(1.0, std::round(std::pow(static_cast<double>(tasks), part))));
    while (cuts.size() - 1 < wanted) {
      const Index place = 1 + random.below(tasks - 1);
      const auto where = std::ranges::lower_bound(cuts, place);
      if (*where != place) cuts.insert(where, place);
    }
    PathPoint point;
    point.lambda = k == 0            ? std::numeric_limits<double>::infinity()
                   : k == points - 1 ? 0
                                     : 2 * std::pow(1e-4, part);
    point.train_accuracy = 0.8 + 0.1 * part;
    point.held_out_accuracy = 0.7 + 0.3 * part * (1 - part);
    Fit& fit = point.fit;
    fit.primal = 1000 - 300 * part;
    fit.gap = 1e-7;
    fit.dual = fit.primal * (1 - fit.gap);
    fit.alpha.resize(static_cast<std::size_t>(tasks));
    fit.theta.resize(tasks, kKernels);
    for (std::size_t g = 0; g + 1 < cuts.size(); ++g) {
      const Vector theta = own.middleRows(cuts[g], cuts[g + 1] - cuts[g]).colwise().mean();
      std::vector<Index> group;
      for (Index t = cuts[g]; t < cuts[g + 1]; ++t) {
        fit.theta.row(t) = theta.transpose();
        group.push_back(t);
      }
      fit.groups.push_back(std::move(group));
    }
    path.points.push_back(std::move(point));
  }
  return path;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Index tasks = std::atol(argv[2]);
  Dataset data;
  for (Index t = 0; t < tasks; ++t) {
    Task task;
    task.name = fmt::format("sensor {}", t + 1);
    task.rows.resize(static_cast<std::size_t>(20 + t % 37));
    data.tasks.push_back(std::move(task));
  }
  std::vector<std::string> kernels = {"linear", "poly:2"};
  for (int k = 0; k < 8; ++k) kernels.push_back(fmt::format("gauss:{}", 1 << k));
  const LambdaPath path = made_up_path(tasks, std::atol(argv[3]));
  const Settings settings;
  std::ofstream(argv[1]) << as_page(PathPage{.title = fmt::format("{} tasks", tasks),
                                             .data = data,
                                             .settings = settings,
                                             .kernels = kernels,
                                             .path = path,
                                             .tree = merge_tree(path),
                                             .command = "coterie train many.csv"});
}
