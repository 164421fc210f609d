// train: tasks that are planted in three groups, and which of them share a kernel.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Planted planted =
      plant_groups({.tasks = 12, .groups = 3, .samples = 80, .noise = 0.05, .seed = 3});
  const Dataset data = cast_into_tasks(planted.samples, Casting::binary);
  Kernels kernels = {};
  for (const char* block : {"f1-f4", "f5-f8", "f9-f12"})
    kernels = {kernels, linear().on(block), gauss({2}).on(block)};
  const Model model = train(data, {.C = 1, .lambda = Lambda::share(0.6), .kernels = kernels});
  for (const std::vector<Index>& group : model.groups()) {
    for (const Index t : group)
      std::printf("%s ", model.tasks[static_cast<std::size_t>(t)].name.c_str());
    std::printf("\n");
  }
  std::printf("%zu groups, certified within %.1e of the optimum\n", model.groups().size(),
              model.certificate().gap + model.certificate().bound);
}
