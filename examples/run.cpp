// Run: threads, memory, a time limit and progress. None of them changes a bit of the answer, unless it stops the fit.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Dataset data = cast_into_tasks(plant_groups({}).samples, Casting::binary);
  Run run{.threads = 2, .memory_bytes = 500e6, .time_limit_seconds = 60};
  run.progress = [shown = Index{0}](const Progress& at) mutable {  // called often within a step
    if (at.outer_step > shown) std::printf("step %td: gap %.1e\n", at.outer_step, at.gap);
    shown = at.outer_step;
    return true;  // false stops; the model then says how far it came
  };
  const Model model = train(data, {.C = 1}, run);
  const bool same = model == train(data, {.C = 1}, {.threads = 1});
  std::printf("one thread gives %s\n", same ? "the same model" : "another model");
  return same ? 0 : 1;
}
