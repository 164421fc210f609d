#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "coterie/model/method.hpp"

namespace coterie::app {

std::vector<Index> group_of_tasks(const Model& model) {
  std::vector<Index> group(model.tasks.size(), 0);
  for (std::size_t g = 0; g < model.groups.size(); ++g)
    for (const Index t : model.groups[g])
      group[static_cast<std::size_t>(t)] = static_cast<Index>(g) + 1;
  return group;
}

std::vector<std::string> group_names(const Model& model, std::size_t group) {
  std::vector<std::string> names;
  for (const Index t : model.groups[group])
    names.push_back(model.tasks[static_cast<std::size_t>(t)].name);
  return names;
}

std::vector<std::string> kernel_names(const Model& model) {
  std::vector<std::string> names;
  for (const Kernel& kernel : model.kernels) names.push_back(to_string(kernel));
  return names;
}

Json json_groups(const Model& model) {
  Json groups = Json::array();
  for (std::size_t g = 0; g < model.groups.size(); ++g) groups.push_back(group_names(model, g));
  return groups;
}

namespace {

bool is_linear(const Model& model) {
  return model.settings.method->family == Method::Family::linear;
}

// Clusters of tasks without weights: those of linear methods have no kernel.
std::string clusters_text(const Model& model) {
  std::string out = fmt::format("{} in {}\n", plural(std::ssize(model.tasks), "task"),
                                plural(std::ssize(model.groups), "cluster"));
  std::vector<std::string> alone;
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    if (model.groups[g].size() == 1)
      alone.push_back(group_names(model, g).front());
    else
      out += fmt::format("  cluster {}, {}\n{}", g + 1, plural(std::ssize(model.groups[g]), "task"),
                         wrap(group_names(model, g), 4));
  }
  if (!alone.empty()) out += fmt::format("  alone\n{}", wrap(alone, 4));
  return out;
}

}  // namespace

std::string groups_text(const Model& model) {
  if (is_linear(model)) return clusters_text(model);
  std::vector<std::size_t> shared;
  for (std::size_t g = 0; g < model.groups.size(); ++g)
    if (model.groups[g].size() > 1) shared.push_back(g);
  std::ranges::stable_sort(shared, std::greater(),
                           [&](std::size_t g) { return model.groups[g].size(); });
  const auto weights = [&](std::size_t g) {
    return weights_text(model.tasks[static_cast<std::size_t>(model.groups[g].front())].theta(),
                        model.kernels);
  };

  const Index alone = std::ssize(model.groups) - std::ssize(shared);
  const Index all = std::ssize(model.tasks);
  std::string out = fmt::format("{}: ", plural(all, "task"));
  if (shared.empty()) {
    out += all == 1 ? "its kernel\n" : "each with a kernel of its own\n";
  } else {
    out += fmt::format("{} in {}, {} alone; tasks of a group share one kernel\n", all - alone,
                       plural(std::ssize(shared), "group"), alone);
  }
  for (const std::size_t g : shared) {
    out += fmt::format("  group {}, {}: {}\n", g + 1, plural(std::ssize(model.groups[g]), "task"),
                       weights(g));
    out += wrap(group_names(model, g), 4);
  }
  if (alone == 0) return out;
  Table table({"alone", "kernel"}, "ll");
  for (std::size_t g = 0; g < model.groups.size(); ++g)
    if (model.groups[g].size() == 1) table.add({group_names(model, g).front(), weights(g)});
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
  std::string value = fmt::format("lambda {:.5g}", model.certificate.lambda);
  if (!model.settings.lambda.relative) return value;
  const bool kept =
      std::isfinite(model.certificate.lambda);  // else: stopped, or fused by any lambda
  return fmt::format("{} ({}{})", value, kept ? "" : "asked for: ", text_of(model.settings.lambda));
}

Json json_fit(const Model& model) {
  const Certificate& proof = model.certificate;
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
  out["status"] = proof.status;
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
