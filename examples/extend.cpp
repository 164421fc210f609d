// extend: a new task beside a fitted model, whose own tasks stay as they are.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Dataset all =
      cast_into_tasks(plant_groups({.tasks = 7, .groups = 2}).samples, Casting::binary);
  Dataset old_data = all, new_data = all;  // the last task is new
  old_data.tasks.pop_back();
  new_data.tasks = {all.tasks.back()};

  const Model model = train(old_data, {.C = 1, .kernels = {linear(), gauss({2, 8})}});
  const Model more = extend(model, new_data);
  std::printf("%zu tasks, then %zu; the new one is within %.1e of its optimum\n",
              model.tasks.size(), more.tasks.size(), more.extensions.back().certificate.gap);
  return verify_extension(more, 0, new_data).holds() ? 0 : 1;
}
