// select: C and lambda by cross-validation, and the model of the choice on all rows. select_among: the same for several methods.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Dataset data =
      cast_into_tasks(plant_groups({.tasks = 6, .groups = 2}).samples, Casting::binary);
  // grid::best() also tries norms and normalisations; here a small grid of our own.
  const Grid grid = parse_grid(
      {.C = "0.25,1,4", .lambda = "0,0.1max,0.5max,inf", .norm = "1", .normalise = "cosine"});
  const Selection best =
      select(data, grid,
             {.settings = {.kernels = {linear(), gauss({2, 8})}}, .folds = 3, .score = Score::auc});
  std::printf("chosen: C %g, lambda %s, AUC %.3f\n", best.settings.C,
              text_of(best.settings.lambda).c_str(), best.of_chosen().score);
  for (const Alternative& other : best.alternatives)
    if (other.would_do_better())
      std::printf("%s would score %.3f\n", other.settings.method->name.c_str(), other.score);
  // Every point with its scores, as a table and as a picture, for files of your own.
  std::printf("%zu characters of CSV, %zu of SVG\n", csv_grid(best).size(),
              as_svg(heat_map_of(best)).size());

  // Methods side by side, on the same folds.
  const Settings main{.kernels = {linear(), gauss({2, 8})}};
  const Settings cmtl{.method = "cmtl"};
  const Contest both = select_among(
      data, {{main, grid}, {cmtl, parse_method_grid(cmtl, {}, "lambda=0.01,0.1 clusters=2")}},
      {.folds = 3, .score = Score::auc});
  for (const Contender& one : both.contenders)
    std::printf("%-8s AUC %.3f, behind by %.3f\n", both.name(one).c_str(),
                one.selection.of_chosen().score, one.behind);
  return verify(best.model(), data).holds() && verify(both.trained->model, data).holds() ? 0 : 1;
}
