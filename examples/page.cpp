// as_page: a model, and the path of lambda, as HTML files to look at.
#include <coterie/coterie.hpp>
#include <cstdio>
#include <fstream>

int main() {
  using namespace coterie;
  const Dataset data =
      cast_into_tasks(plant_groups({.tasks = 6, .groups = 2}).samples, Casting::binary);
  const Settings settings{.C = 1, .kernels = {linear(), gauss({2, 8})}, .tolerance = 1e-7};
  const Model model = train(data, settings);
  std::ofstream("model.html") << as_page(ModelPage{.title = "planted", .model = model});

  const LambdaPath path = trace_path(data, settings);
  const MergeTree tree = merge_tree(path);
  const std::vector<std::string> kernels = {"linear", "gauss:2", "gauss:8"};
  const std::string page = as_page(PathPage{.title = "planted",
                                            .data = data,
                                            .settings = settings,
                                            .kernels = kernels,
                                            .path = path,
                                            .tree = tree});
  std::ofstream("path.html") << page;
  std::printf("%zu points on a page of %zu kB\n", path.points.size(), page.size() / 1000);
  return page.starts_with("<!DOCTYPE html>") ? 0 : 1;
}
