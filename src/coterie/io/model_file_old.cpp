#include "coterie/io/model_file_old.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coterie/io/model_file_fields.hpp"

namespace coterie::detail {
namespace {

// The bound of a gap that versions before 4, which do not state one, were held to.
constexpr double kBoundBefore = 1e-7;

// Of lists in /certificate and /extensions that are joined: `first` entries, then those of each extension.
void join_offsets(Hdf5Reader& file, const std::string& name, Index first, Index extensions) {
  std::vector<Index> ends = {0, first};
  if (extensions > 0) {
    const std::vector<Index> old = file.integers("/extensions/" + name, extensions + 1);
    if (old.front() != 0 || !std::ranges::is_sorted(old) || old.back() > (Index{1} << 60))
      throw InputError(fmt::format("/extensions/{} does not rise from 0", name));
    for (std::size_t k = 1; k < old.size(); ++k) ends.push_back(first + old[k]);
  }
  file.put("/certificates/" + name, ends);
}

// The value of the task column behind a name such as "site:a|b". A single task "all" had no such column.
std::string part_in(const TaskModel& task, const Model& model) {
  if (model.casting == Casting::binary) {
    const Index base =
        model.extensions.empty() ? std::ssize(model.tasks) : model.extensions.front().base_tasks;
    return base == 1 && &task == &model.tasks.front() && task.name == "all" ? "" : task.name;
  }
  const std::string pair = model.casting == Casting::one_vs_one
                               ? task.negative + "|" + task.positive
                               : task.positive + "|rest";
  if (!task.name.ends_with(":" + pair)) return "";
  return task.name.substr(0, task.name.size() - pair.size() - 1);
}

}  // namespace

void rearrange_old(Hdf5Reader& file) {
  const Index extensions =
      file.has("/extensions/tasks") ? file.length("/extensions/tasks") : Index{0};
  join_offsets(file, "edge_offsets", file.length("/certificate/edge_t"), extensions);
  join_offsets(file, "nu_offsets", file.length("/certificate/nu"), extensions);
  for (const std::string name :
       {"primal", "dual", "gap", "bound", "scale_floor", "lambda", "complete_graph", "status",
        "outer_steps", "edge_t", "edge_s", "edge_weight", "nu"})
    file.join({"/certificate/" + name, "/extensions/" + name}, "/certificates/" + name);
  if (file.has("/certificate/lambda_max")) {
    Vector lambda_max = Vector::Zero(1 + extensions);
    lambda_max[0] = file.real("/certificate/lambda_max");
    file.put("/certificates/lambda_max", lambda_max);
  }
  file.join({"/method/claim"}, "/certificates/claim");
  file.rename("/method/map", "/support_vectors/map");
  for (const std::string name : {"w", "shared"})
    if (file.has("/method/" + name) && file.length("/method/" + name) > 0)
      file.rename("/method/" + name, "/tasks/" + name);
}

void complete_old(const Hdf5Reader& file, Model& model) {
  for (TaskModel& task : model.tasks) task.part = part_in(task, model);
  if (file.has("/certificates/bound")) return;
  for (Certificate* const proof : certificates_of(model)) {
    proof->bound = kBoundBefore;
    proof->scale_floor = 1;
  }
}

}  // namespace coterie::detail
