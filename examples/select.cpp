// select: C and lambda by cross-validation, and the model of the choice on all rows.
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
  return verify(best.model(), data).holds() ? 0 : 1;
}
