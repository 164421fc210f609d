// Tables of C for single tasks, read and put to use.
#include "coterie/io/task_costs.hpp"

#include "coterie/io/memory_file.hpp"
#include "coterie/model/train.hpp"
#include "target.hpp"

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
    Extras extras;
    extras.task_C = read_task_costs(file.path());
    static const Dataset data = three_tasks();
    const Vector costs = task_costs(data, {}, extras);
    require(costs.size() == 3 && costs.allFinite() && (costs.array() > 0).all(),
            "every task has a C > 0");
  });
}

const Target task_costs_target("task_costs", fuzz_task_costs);

}  // namespace
}  // namespace coterie::fuzz
