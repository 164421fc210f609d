// bound: what a model is guaranteed on new data, from its training data alone. The published formula is shown because it is wrong.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Samples samples =
      plant_groups({.tasks = 6, .groups = 2, .samples = 800, .noise = 0.02}).samples;
  const Dataset data = cast_into_tasks(samples, Casting::binary);
  const Model model =
      train(data, {.C = 0.02, .lambda = Lambda::infinite(), .kernels = {linear(), gauss({2})}});
  const std::optional<Bound> found = bound(model, data, {.delta = 0.05, .samples = 200});
  if (!found) return 1;  // nobody stops it here
  std::printf("complexity: published %.3f, Monte Carlo %.3f, separate kernels %.3f\n",
              found->published, found->complexity.monte_carlo.value,
              found->separate.monte_carlo.value);
  const Guarantee& best = found->by_monte_carlo;
  std::printf("training error %.3f, margin %.3g, bound %.3f\n", found->training_error, best.margin,
              best.bound);
  std::printf("with probability 0.95 between %.2f and %.2f of new samples are wrong\n", best.low,
              best.high);
  return found->published < found->complexity.monte_carlo.value ? 0 : 1;
}
