// Tables of C for single tasks, read as the program does (app/problem.cpp), and put to use.
#include "coterie/io/memory_file.hpp"
#include "coterie/model/train.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

Dataset three_tasks() {
  Dataset data;
  data.X = Matrix::Ones(6, 1);
  data.features = {"f1"};
  for (Index t = 0; t < 3; ++t) {
    Task task{
        {std::string(1, static_cast<char>('a' + t)), "-1", "1", ""}, {2 * t, 2 * t + 1}, Vector(2)};
    task.y << -1, 1;
    data.tasks.push_back(std::move(task));
  }
  return data;
}

void fuzz_task_costs(Bytes bytes) {
  detail::MemoryFile file;
  file.append(bytes);
  accepts([&] {
    const Samples table =
        read_samples({file.path()}, {.task = "task", .features = {"C"}, .label_required = false});
    check_samples(table);
    Extras extras;
    for (Index i = 0; i < table.X.rows(); ++i)
      extras.task_C.emplace(
          table.tasks[static_cast<std::size_t>(table.task[static_cast<std::size_t>(i)])],
          table.X(i, 0));
    static const Dataset data = three_tasks();
    const Vector costs = task_costs(data, {}, extras);
    require(costs.size() == 3 && costs.allFinite() && (costs.array() > 0).all(),
            "every task has a C > 0");
  });
}

const Target task_costs_target("task_costs", fuzz_task_costs);

}  // namespace
}  // namespace coterie::fuzz
