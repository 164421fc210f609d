#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "coterie/model/verify_sums.hpp"

namespace coterie {

namespace {

// The columns without a kernel of an "@each" of the settings, as the model has it.
std::vector<bool> columns_left_out(const Model& model) {
  std::vector<bool> out(model.features.size(), false);
  for (const Kernel& each : model.settings.kernels.list()) {
    if (!each.is_for_each_column()) continue;
    for (std::size_t j = 0; j < out.size(); ++j)
      out[j] = std::ranges::none_of(model.kernels, [&](const Kernel& kernel) {
        return kernel.base == each.base && kernel.parameter == each.parameter &&
               kernel.offset == each.offset &&
               kernel.columns == std::vector<Index>{static_cast<Index>(j)};
      });
  }
  return out;
}

}  // namespace

void check_kernels(const Model& model, const Dataset* data, Verification& check) {
  const Settings& settings = model.settings;
  const std::vector<bool> left_out = data ? constant_columns(*data) : columns_left_out(model);
  const Index count = std::ranges::count(left_out, true);
  std::vector<Kernel> expected;
  try {
    expected = prepare_kernels(settings.kernels, settings.normalise, model.features, left_out);
    if (!data && count > 0)
      check.taken.push_back(
          fmt::format("that {} of {} columns were constant, so that @each left them out", count,
                      left_out.size()));
  } catch (const InputError&) {
  }
  if (expected != model.kernels)
    check.findings.push_back(
        fmt::format("the kernels are not those of the setting '{}'", text_of(settings.kernels)));
}

void check_settings(const Model& model, const Dataset& data, Verification& check) {
  check_kernels(model, &data, check);
  const Settings& settings = model.settings;
  Index own = 0;
  for (const TaskModel& task : model.tasks) own += task.C != settings.C;
  if (own > 0)
    check.taken.push_back(
        fmt::format("the C of {} of {} tasks, which is not the {} of the settings", own,
                    model.tasks.size(), settings.C));
  if (!model.certificate().complete)
    check.taken.push_back(
        fmt::format("the task graph, of {} edges", model.certificate().graph.size()));

  const double lambda = model.certificate().lambda;
  const double largest = model.certificate().lambda_max;
  const Lambda wanted = settings.lambda;
  if (!wanted.relative) {
    if (wanted.value != lambda)
      check.findings.push_back(fmt::format("lambda is {:.10g}, not {} as the settings say", lambda,
                                           text_of(settings.lambda)));
    return;
  }
  if (std::isinf(
          lambda)) {  // stopped before lambda_max was known, or every positive lambda fuses all
    if (model.certificate().status == Status::converged && largest > 0)
      check.findings.push_back(
          fmt::format("lambda is infinite, not {} as the settings say", text_of(settings.lambda)));
    check.taken.push_back(fmt::format(
        "that lambda is infinite, though the settings say {}: the fit was stopped before "
        "lambda_max was known, or every positive lambda fuses all tasks",
        text_of(settings.lambda)));
    return;
  }
  if (largest > 0 && !(std::abs(lambda - wanted.value * largest) <= 4 * unit_roundoff * lambda))
    check.findings.push_back(fmt::format("lambda is {:.10g}, which is not {} of the stated {:.10g}",
                                         lambda, text_of(settings.lambda), largest));
  if (largest > 0)
    check.taken.push_back(fmt::format(
        "lambda_max = {:.10g}, whose share lambda is (it comes from a fit of its own)", largest));
  else
    check.taken.push_back(
        fmt::format("lambda = {:.10g}, said to be {}: the model does not state "
                    "lambda_max",
                    lambda, text_of(settings.lambda)));
}

void check_groups(const Model& model, const TaskGraph& graph, double lambda, Verification& check) {
  check_groups(model, check);
  std::vector<std::size_t> group(model.tasks.size());
  for (std::size_t g = 0; g < model.groups().size(); ++g)
    for (const Index t : model.groups()[g]) group[static_cast<std::size_t>(t)] = g;
  for (const Edge& edge : graph) {
    const std::size_t t = static_cast<std::size_t>(edge.t);
    const std::size_t s = static_cast<std::size_t>(edge.s);
    if (!(lambda > 0 && edge.weight > 0) || !(model.tasks[t].theta() == model.tasks[s].theta()) ||
        group[t] == group[s])
      continue;
    check.findings.push_back(
        fmt::format("tasks '{}' and '{}' are tied and have equal weights, but are not listed as "
                    "one group",
                    model.tasks[t].name, model.tasks[s].name));
    if (check.findings.size() > 20) return;
  }
}

void check_groups(const Model& model, Verification& check) {
  check.groups_exact = true;
  for (const std::vector<Index>& group : model.groups())
    for (const Index t : group)
      if (model.tasks[static_cast<std::size_t>(t)].theta() !=
          model.tasks[static_cast<std::size_t>(group.front())].theta())
        check.groups_exact = false;
  if (!check.groups_exact)
    check.findings.emplace_back("the kernel weights of a group are not equal");
  std::map<std::vector<double>, Index>
      seen;  // weights, and the first task of a group that has them
  for (const std::vector<Index>& group : model.groups()) {
    const TaskModel& task = model.tasks[static_cast<std::size_t>(group.front())];
    const auto [first, is_new] =
        seen.emplace(std::vector<double>(task.theta().begin(), task.theta().end()), group.front());
    if (is_new || task.theta().size() == 0) continue;
    check.taken.push_back(fmt::format(
        "that tasks '{}' and '{}', whose weights are equal, are in different groups (as models of "
        "older versions list them where nothing ties them)",
        model.tasks[static_cast<std::size_t>(first->second)].name, task.name));
    break;
  }
}

void check_support(const Model& model, Verification& check) {
  if (model.settings.map.mapped) return;  // where all pivots are compared
  std::vector<bool> used(model.training_row.size(), false);
  for (const TaskModel& task : model.tasks)
    for (const Index row : task.expansion().support) used[static_cast<std::size_t>(row)] = true;
  const auto idle = std::ranges::find(used, false);
  if (idle != used.end())
    check.findings.push_back(
        fmt::format("support vector {} supports no task", idle - used.begin() + 1));
}

void list_taken(const Model& model, const std::vector<TaskModel>& tasks, Verification& check) {
  if (!model.columns.label.empty() || !model.columns.task.empty())
    check.taken.emplace_back("the names of the columns of labels and tasks");
  if (std::ranges::any_of(tasks, [](const TaskModel& task) { return is_calibrated(task); }))
    check.taken.emplace_back("the numbers that turn scores into probabilities");
}

}  // namespace coterie
