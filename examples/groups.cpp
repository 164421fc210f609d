// Twelve small tasks, planted in three groups: train on all, print the groups that were found.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  const coterie::Planted planted =
      coterie::plant_groups({.tasks = 12, .groups = 3, .samples = 80, .noise = 0.05, .seed = 3});
  const coterie::Dataset data = coterie::cast_into_tasks(planted.samples, coterie::Casting::binary);

  coterie::Settings settings;
  settings.lambda = "0.6max";
  settings.kernels =
      "linear@f1-f4 gauss:2@f1-f4 linear@f5-f8 gauss:2@f5-f8 linear@f9-f12 gauss:2@f9-f12";

  const coterie::Prepared prepared = coterie::prepare(data, settings, {}, 0);
  const coterie::Fitted fitted = coterie::fit_prepared(prepared, settings, 0);
  const coterie::Model model =
      coterie::make_model(prepared, settings, fitted, coterie::fingerprint(data));

  std::printf("%zu groups, proved within %.1e of the optimum\n", model.groups.size(),
              model.certificate.gap);
  for (const auto& group : model.groups) {
    for (const auto task : group)
      std::printf(" %s", model.tasks[static_cast<std::size_t>(task)].name.c_str());
    std::printf("\n");
  }
}
