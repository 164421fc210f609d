// save and load: a model in a file, with all that predictions need; and data that is made from numbers at hand.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  Matrix X(8, 2);  // a row per sample
  X << 0, 1, 1, 0, 4, 5, 5, 4, 1, 1, 0, 2, 5, 5, 6, 4;
  const Dataset data(X, {"no", "no", "yes", "yes", "no", "no", "yes", "yes"},
                     {"north", "north", "north", "north", "south", "south", "south", "south"});
  const Model model = train(data, {.kernels = {linear(), gauss({1, 4})}});
  save(model, "example_model.h5");

  const Model loaded = load("example_model.h5");
  std::printf("%zu tasks, %s\n", loaded.tasks.size(), loaded == model ? "the same" : "changed");
  return loaded == model ? 0 : 1;
}
