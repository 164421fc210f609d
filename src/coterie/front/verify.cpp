#include "coterie/front/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coterie/data/fingerprint.hpp"

namespace coterie {

namespace {

std::string name_of(const std::optional<std::size_t>& extension) {
  return extension ? fmt::format("extension {}", *extension + 1) : "the training";
}

// The extension that a task belongs to; none where it was trained first, or is not known.
std::optional<std::size_t> extension_of(const Model& model, const std::string& task) {
  const Index t = std::ranges::find(model.tasks, task, &TaskModel::name) - model.tasks.begin();
  for (std::size_t k = 0; k < model.extensions.size(); ++k) {
    const Extension& added = model.extensions[k];
    if (t >= added.base_tasks && t < added.base_tasks + added.tasks) return k;
  }
  return {};
}

std::optional<std::size_t> common_extension(const Model& model, const Dataset& data) {
  if (data.tasks.empty()) throw InputError("the data has no tasks.");
  const std::string& first = data.tasks.front().name;
  const std::optional<std::size_t> common = extension_of(model, first);
  for (const Task& task : data.tasks)
    if (const std::optional<std::size_t> other = extension_of(model, task.name); other != common)
      throw InputError(fmt::format(
          "task '{}' is of {}, task '{}' of {}. Each has a certificate of its own: give the data "
          "of one at a time.",
          first, name_of(common), task.name, name_of(other)));
  return common;
}

// A list of taken things, without those that were checked after all.
void drop_taken(Verification& check, std::string_view what) {
  std::erase_if(check.taken, [&](const std::string& text) { return text.starts_with(what); });
}

void check_costs(const Model& model, const Dataset& data, const VerifyInputs& inputs,
                 Verification& check) {
  if (!inputs.task_C) return;
  Extras extras;
  extras.task_C = *inputs.task_C;
  const Vector expected = task_costs(data, model.settings, extras);
  for (Index t = 0; t < expected.size(); ++t) {
    const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
    if (task.C != expected[t])
      check.findings.push_back(fmt::format("the C of task '{}' is {}, not {} as stated", task.name,
                                           expected[t], task.C));
  }
  drop_taken(check, "the C of");
}

void check_graph(const ModelPart& part, const VerifyInputs& inputs, Verification& check) {
  if (!inputs.task_graph) return;
  const bool added = part.extension.has_value();
  if (part.stated.complete || part.stated.graph != *inputs.task_graph)
    check.findings.emplace_back(added ? "the links are not those given"
                                      : "the task graph is not the one given");
  drop_taken(check, added ? "the links" : "the task graph");
}

}  // namespace

ModelPart part_of(const Model& model, const Dataset& data) {
  ModelPart part{.extension = common_extension(model, data)};
  if (part.extension) {
    const Extension& added = model.extensions[*part.extension];
    part.stated = added.certificate;
    part.fingerprint = added.fingerprint;
    part.tasks = added.base_tasks + added.tasks;
  } else {
    part.stated = model.certificate();
    part.fingerprint = model.fingerprint;
    part.tasks =
        model.extensions.empty() ? std::ssize(model.tasks) : model.extensions.front().base_tasks;
  }
  if (const std::string mark = fingerprint(data); mark != part.fingerprint)
    throw InputError(fmt::format(
        "this is not the {} of the model: its fingerprint is {}, not {}. Give the same files, in "
        "the same order, with the label and task columns of the training.",
        part.extension ? fmt::format("data of extension {}", *part.extension + 1) : "training data",
        mark, part.fingerprint));
  return part;
}

Verification verify(const Model& model, const Dataset& data, const VerifyInputs& inputs,
                    const VerifyProgress& progress) {
  const ModelPart part = part_of(model, data);
  if (part.extension && inputs.task_C)
    throw InputError(
        "`task_C`: the tasks of an extension have no C of their own; give it with the training "
        "data.");
  Verification check = part.extension ? verify_extension(model, *part.extension, data, progress)
                                      : verify_training(model, data, inputs.precomputed, progress);
  if (!part.extension) check_costs(model, data, inputs, check);
  check_graph(part, inputs, check);
  return check;
}

}  // namespace coterie
