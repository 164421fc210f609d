// Labels, scores and probabilities of rows that a model has not seen, and how good they are.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Samples all = plant_groups({.tasks = 6, .groups = 2}).samples;
  const RowSplit split = split_samples(all, 0.5, 1);
  const Dataset data = cast_into_tasks(select_rows(all, split.train), Casting::binary);
  const Samples rows = select_rows(all, split.rest);

  Model model = train(data, {.C = 1, .scale = Scale::standard});
  model = *calibrate(model, data);
  save(model, "example_model.h5");

  const Model loaded = load("example_model.h5");
  const Predictions p = predict(loaded, rows);
  std::printf("row 1: label %s, score %.3f, probability %.3f\n", p.label(0).c_str(), p.score(0),
              p.probability(0));
  const Evaluation e = evaluate(loaded, rows);
  std::printf("accuracy %.3f on %td rows, mean AUC of the tasks %.3f\n", e.accuracy, e.n,
              e.mean.auc);
  return loaded == model && p.rows() == rows.X.rows() ? 0 : 1;
}
