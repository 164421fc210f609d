// predict: labels, scores and probabilities of rows that the model has not seen. calibrate: where probabilities come from.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Samples all = plant_groups({.tasks = 6, .groups = 2, .samples = 200}).samples;
  const RowSplit split = split_samples(all, 0.5, 1);
  const Dataset data = cast_into_tasks(select_rows(all, split.train), Casting::binary);
  const Samples rows = select_rows(all, split.rest);

  Model model = train(data, {.C = 1, .scale = Scale::standard});
  model = *calibrate(model, data);  // scores to probabilities; labels stay the same
  const Predictions p = predict(model, rows);
  for (Index i = 0; i < 3; ++i)
    std::printf("row %td: label %s, score %.3f, probability %.3f\n", i + 1, p.label(i).c_str(),
                p.score(i), p.probability(i));
  std::printf("%td rows predicted\n", p.rows());
}
