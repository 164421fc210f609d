// What the README shows. It runs where the session of the README has made its files (tests/readme_test.py).
#include <coterie/coterie.hpp>
#include <cstdio>

using namespace coterie;

int main() {
  const Dataset data = read_dataset("train.csv", {}, Casting::one_vs_rest);
  const Model model = train(data, {.C = 10, .lambda = Lambda::share(0.1)});
  const Evaluation e = evaluate(model, read_rows("test.csv", model));
  const bool sound = verify(model, data).holds();
  save(model, "from_cpp.h5");

  std::printf("%zu groups, accuracy %.2f %%, the certificate %s\n", model.groups().size(),
              100 * e.accuracy, sound ? "holds" : "does not hold");
  return sound ? 0 : 1;
}
