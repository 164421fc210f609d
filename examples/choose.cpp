// C and lambda by cross-validation, the path of lambda, and a new task beside a fitted model.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Planted planted = plant_groups({.tasks = 7, .groups = 2});
  const Dataset all = cast_into_tasks(planted.samples, Casting::binary);
  Dataset data = all, newest = all;  // the last task is new
  data.tasks.pop_back();
  newest.tasks = {all.tasks.back()};

  const Grid grid = parse_grid(
      {.C = "0.25,1,4", .lambda = "0,0.1max,0.5max,inf", .norm = "1", .normalise = "cosine"});
  const Settings settings{.kernels = {linear(), gauss({2, 8})}};
  const Selection best =
      select(data, grid, {.settings = settings, .folds = 3, .score = Score::auc});
  std::printf("best: C %g, lambda %s, AUC %.3f\n", best.settings.C,
              text_of(best.settings.lambda).c_str(), best.of_chosen().score);

  const LambdaPath path = trace_path(data, {.C = best.settings.C, .kernels = settings.kernels});
  std::printf("path: %zu points, %zu groups at its end\n", path.points.size(),
              path.points.back().fit.groups.size());

  const Model more = extend(best.model(), newest, {});
  std::printf("extended: %zu tasks, relative gap %.1e\n", more.tasks.size(),
              more.extensions.back().certificate.gap);
  return verify_extension(more, 0, newest).holds() && verify(best.model(), data).holds() ? 0 : 1;
}
