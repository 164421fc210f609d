// The front door in one screen: every verb once, on tasks in a file. A program for each verb stands beside it.
#include <coterie/coterie.hpp>
#include <cstdio>

using namespace coterie;

// Planted tasks as tables: three to learn from, one that comes later, and rows that nobody has seen.
void write_tables() {
  const Samples all =
      plant_groups({.tasks = 4, .groups = 3, .samples = 120, .noise = 0.05}).samples;
  std::vector<Index> known, added, unseen;
  for (Index i = 0; i < all.X.rows(); ++i) {
    const Index task = all.task[static_cast<std::size_t>(i)];
    (task == 3 ? added : i % 2 == 0 ? known : unseen).push_back(i);
  }
  write_samples(select_rows(all, known), "tasks.csv");
  write_samples(select_rows(all, unseen), "rows.csv");
  write_samples(select_rows(all, added), "new_tasks.csv");
}

int main() {
  write_tables();

  const Dataset data = read_dataset("tasks.csv");  // or Dataset(X, labels, task_of_row)
  const Model model = train(
      data,
      {.C = 10, .lambda = Lambda::share(0.3), .kernels = {linear(), gauss({1, 2, 4}).on("f1-f8")}});
  std::printf("%zu tasks in %zu groups, gap %.1e\n", model.tasks.size(), model.groups().size(),
              model.certificate().gap);

  const Samples rows = read_rows("rows.csv", model);
  const Predictions p = predict(model, rows);  // label, score, probability of every row
  const Evaluation e = evaluate(model, rows);
  std::printf("%td rows, the first is %s; accuracy %.2f\n", p.rows(), p.label(0).c_str(),
              e.accuracy);

  const bool sound = verify(model, data).holds();
  save(model, "model.h5");
  const bool same = load("model.h5") == model;
  std::printf("the certificate %s, the file %s\n", sound ? "holds" : "does not hold",
              same ? "is the same model" : "differs");

  const Selection best = select(data, grid::best(), {.folds = 5, .score = Score::auc});
  std::printf("best: C %g, lambda %s, AUC %.2f\n", best.settings.C,
              text_of(best.settings.lambda).c_str(), best.of_chosen().score);

  const Settings settings = model.settings;
  const LambdaPath path = trace_path(data, settings);
  const Model more = extend(model, read_dataset("new_tasks.csv", model));
  std::printf("%zu points of the path; %zu tasks after extend\n", path.points.size(),
              more.tasks.size());

  const Matrix X{{0, 1}, {4, 5}, {1, 1}, {5, 5}};  // a row per sample
  const std::vector<std::string> labels = {"no", "yes", "no", "yes"};
  const std::vector<std::string> task_of_row = {"north", "north", "south", "south"};
  const Model small = train(Dataset(X, labels, task_of_row));
  std::printf("%s and %s from numbers at hand\n", small.tasks[0].name.c_str(),
              small.tasks[1].name.c_str());

  Index steps = 0;  // one Run for threads, memory, progress and time limit, of all verbs
  const auto f = [&](const Progress& at) { return (steps = at.outer_step) >= 0; };  // false stops
  const Model again = train(data, settings, {.threads = 2, .memory_bytes = 5e8, .progress = f});
  std::printf("trained again in %td steps: %s\n", steps, again == model ? "the same" : "another");
  return sound && same && again == model ? 0 : 1;
}
