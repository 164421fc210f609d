// trace_path: the optimum from lambda = inf, where all tasks share a kernel, down to 0; which tasks join, and when.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Dataset data =
      cast_into_tasks(plant_groups({.tasks = 6, .groups = 2}).samples, Casting::binary);
  const Settings settings{.C = 1, .kernels = {linear(), gauss({2, 8})}, .tolerance = 1e-7};
  const LambdaPath path = trace_path(data, settings);
  for (const Merge& merge : merge_tree(path).merges)
    std::printf("%zu tasks together from lambda %.4g\n", merge.members.size(), merge.upper);

  const Model two = model_at(path.points[point_with_groups(path, 2)], data, settings);
  std::printf("%zu points; the model asked for has %zu groups\n", path.points.size(),
              two.groups().size());
  return verify(two, data).holds() ? 0 : 1;
}
