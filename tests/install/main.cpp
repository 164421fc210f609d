// Writes planted groups as a table and reads them, trains on them, writes the model, reads it back and checks its proof: one call into every room.
#include <coterie/coterie.hpp>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const coterie::Planted planted =
      coterie::plant_groups({.tasks = 4, .groups = 2, .samples = 30, .noise = 0.05, .seed = 5});
  const std::string table = std::string(argv[1]) + ".mat";
  coterie::write_samples(planted.samples, table);
  const coterie::Dataset data =
      coterie::cast_into_tasks(coterie::read_samples({table}), coterie::Casting::binary);
  coterie::Settings settings;
  settings.kernels = "linear gauss:1,2";
  const coterie::Prepared prepared = coterie::prepare(data, settings, {}, 1);
  const coterie::Fitted fitted = coterie::fit_prepared(prepared, settings, 1);
  coterie::write_model(coterie::make_model(prepared, settings, fitted, coterie::fingerprint(data)),
                       argv[1]);

  const coterie::Model model = coterie::read_model(argv[1]);
  const coterie::Verification check = coterie::verify(model, data);
  const coterie::Vector f = coterie::decision_values(model, 0, data.X);
  std::printf("tasks %zu gap %.3e findings %zu scores %ld\n", model.tasks.size(), check.gap,
              check.findings.size(), static_cast<long>(f.size()));
  return check.findings.empty() && check.gap <= settings.tolerance ? 0 : 1;
}
