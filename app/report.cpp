#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coterie/model/method.hpp"
#include "coterie/mtmkl/group_list.hpp"

namespace coterie::app {

std::vector<Index> group_of_tasks(const Model& model) {
  return group_numbers(std::ssize(model.tasks), model.groups());
}

std::vector<std::string> task_names(const Model& model, const std::vector<Index>& group) {
  std::vector<std::string> names;
  for (const Index t : group) names.push_back(model.tasks[static_cast<std::size_t>(t)].name);
  return names;
}

std::vector<std::string> kernel_names(const Model& model) {
  std::vector<std::string> names;
  for (const Kernel& kernel : model.kernels) names.push_back(to_string(kernel));
  return names;
}

Json json_groups(const Model& model) {
  Json groups = Json::array();
  for (const std::vector<Index>& group : listed(model.groups()))
    groups.push_back(task_names(model, group));
  return groups;
}

namespace {

bool is_linear(const Model& model) {
  return model.settings.method->family == Method::Family::linear;
}

// Clusters of tasks without weights: those of linear methods have no kernel.
std::string clusters_text(const Model& model) {
  std::string out = fmt::format("{} in {}\n", plural(std::ssize(model.tasks), "task"),
                                plural(std::ssize(model.groups()), "cluster"));
  std::vector<std::string> alone;
  Index number = 0;
  for (const std::vector<Index>& group : listed(model.groups())) {
    ++number;
    if (group.size() == 1)
      alone.push_back(task_names(model, group).front());
    else
      out += fmt::format("  cluster {}, {}\n{}", number, plural(std::ssize(group), "task"),
                         wrap(task_names(model, group), 4));
  }
  if (!alone.empty()) out += fmt::format("  alone\n{}", wrap(alone, 4));
  return out;
}

}  // namespace

std::string groups_text(const Model& model) {
  if (is_linear(model)) return clusters_text(model);
  const Groups groups = listed(model.groups());
  const auto weights = [&](const std::vector<Index>& group) {
    return weights_text(model.tasks[static_cast<std::size_t>(group.front())].theta(),
                        model.kernels);
  };

  const Index alone =
      std::ranges::count(groups, std::size_t{1}, [](const auto& group) { return group.size(); });
  const Index shared = std::ssize(groups) - alone;
  const Index all = std::ssize(model.tasks);
  std::string out = fmt::format("{}: ", plural(all, "task"));
  if (shared == 0) {
    out += all == 1 ? "its kernel\n" : "each with a kernel of its own\n";
  } else {
    out += fmt::format("{} in {}, {} alone; tasks of a group share {}\n", all - alone,
                       plural(shared, "group"), alone, model.settings.method->shared_in_group());
  }
  Table table({shared == 0 ? "task" : "alone", "kernel"}, "ll");
  for (Index g = 0; g < std::ssize(groups); ++g) {
    const std::vector<Index>& group = groups[static_cast<std::size_t>(g)];
    if (g < shared)
      out += fmt::format("  group {}, {}: {}\n{}", g + 1, plural(std::ssize(group), "task"),
                         weights(group), wrap(task_names(model, group), 4));
    else
      table.add({task_names(model, group).front(), weights(group)});
  }
  if (alone == 0) return out;
  return out + table.text();
}

std::string tasks_text(const Model& model) {
  const std::vector<Index> group = group_of_tasks(model);
  Table table({"task", "-1", "+1", "n", "C", "support", "objective", "bias", "group"}, "lll");
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    table.add({task.name, task.negative, task.positive, fmt::to_string(task.n),
               short_number(task.C), fmt::to_string(task.expansion().support.size()),
               fmt::format("{:.6g}", task.objective), short_number(task.bias),
               fmt::to_string(group[t])});
  }
  return table.text();
}

std::string strength_text(const Model& model) {
  const Settings& settings = model.settings;
  if (!settings.method->is_main()) {
    const Parameters parameters = parameters_of(settings);
    if (parameters.empty()) return fmt::format("method {}", settings.method->name);
    return fmt::format("method {}: {}", settings.method->name, text_of(parameters));
  }
  std::string value = fmt::format("lambda {:.5g}", model.certificate().lambda);
  if (!model.settings.lambda.relative) return value;
  const bool kept =
      std::isfinite(model.certificate().lambda);  // else: stopped, or fused by any lambda
  return fmt::format("{} ({}{})", value, kept ? "" : "asked for: ", text_of(model.settings.lambda));
}

Json json_fit(const Model& model) {
  const Certificate& proof = model.certificate();
  const std::vector<Index> group = group_of_tasks(model);
  Json out;
  out["method"] = model.settings.method->name;
  if (!model.settings.method->is_main()) {
    for (const auto& [name, value] : parameters_of(model.settings))
      out["parameters"][name] = value == std::floor(value) && std::abs(value) < 1e15
                                    ? Json(static_cast<Index>(value))
                                    : json_number(value);
    if (is_linear(model)) {
      out["loss"] = text_of(model.settings.loss);
      out["map"] = text_of(model.settings.map);
    }
    out["claim"] = to_string(proof.claim);
  }
  out["status"] = to_string(proof.status);
  out["objective"] = json_number(proof.primal);
  out["dual"] = json_number(proof.dual);
  out["gap"] = json_number(proof.gap);
  out["bound"] = json_number(proof.bound);
  out["outer_steps"] = proof.outer_steps;
  out["C"] = json_number(model.settings.C);
  out["lambda"] = json_number(proof.lambda);
  out["norm"] = json_number(model.settings.norm);
  out["solver"] = text_of(model.settings.solver);
  out["tolerance"] = json_number(model.settings.tolerance);
  out["kernels"] = kernel_names(model);
  out["tasks"] = Json::array();
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    out["tasks"].push_back({{"name", task.name},
                            {"n", task.n},
                            {"theta", json_vector(task.theta())},
                            {"bias", json_number(task.bias)},
                            {"support_vectors", task.expansion().support.size()},
                            {"objective", json_number(task.objective)},
                            {"group", group[t]}});
  }
  out["groups"] = json_groups(model);
  return out;
}

}  // namespace coterie::app
