// verify: the certificate of a model, recomputed from the raw data by separate code. A changed model does not pass.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Dataset data =
      cast_into_tasks(plant_groups({.tasks = 6, .groups = 2}).samples, Casting::binary);
  Model model = train(data, {.C = 1, .tolerance = 1e-6});
  const Verification check = verify(model, data);
  std::printf("gap %.1e in the model, %.1e recomputed: %s\n", model.certificate().gap, check.gap,
              check.holds() ? "holds" : "does not hold");

  model.certificate().primal *= 0.99;
  const Verification forged = verify(model, data);
  for (const std::string& finding : forged.findings) std::printf("forged: %s\n", finding.c_str());
  return check.holds() && !forged.holds() ? 0 : 1;
}
