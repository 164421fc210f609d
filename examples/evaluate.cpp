// evaluate: how good a model is on rows that it has not seen, for every task.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  const Samples all = plant_groups({.tasks = 6, .groups = 2, .samples = 200}).samples;
  const RowSplit split = split_samples(all, 0.5, 1);
  const Dataset data = cast_into_tasks(select_rows(all, split.train), Casting::binary);
  const Model model = train(data, {.C = 1});
  const Evaluation e = evaluate(model, select_rows(all, split.rest));
  for (const TaskScores& task : e.tasks)
    std::printf("%s: %td of %td wrong, AUC %.3f\n", task.name.c_str(), task.errors, task.n,
                task.scores.auc);
  std::printf("accuracy %.3f on %td rows, mean AUC of the tasks %.3f\n", e.accuracy, e.n,
              e.mean.auc);
}
