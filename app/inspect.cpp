// coterie inspect: everything in a model file.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "command.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/model/column_weights.hpp"
#include "coterie/model/first_stage.hpp"
#include "coterie/model/method.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "method_options.hpp"
#include "options.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

struct InspectOptions {
  std::string model_path;
  OutputOptions output;
};

Json json_calibration(const Calibration& calibration) {
  Json out = {{"kind", to_string(calibration.kind)}};
  if (calibration.kind == Calibration::Kind::platt) {
    out["slope"] = json_number(calibration.slope);
    out["offset"] = json_number(calibration.offset);
  } else if (calibration.kind == Calibration::Kind::isotonic) {
    out["score"] = json_vector(calibration.score);
    out["probability"] = json_vector(calibration.value);
  }
  return out;
}

Json json_edges(const Certificate& proof) {
  if (proof.complete) return "complete";
  Json edges = Json::array();
  for (const Edge& edge : proof.graph) edges.push_back({edge.t, edge.s, json_number(edge.weight)});
  return edges;
}

Json json_extension(const Extension& added) {
  const Certificate& proof = added.certificate;
  return {{"base_tasks", added.base_tasks},
          {"tasks", added.tasks},
          {"rows", added.rows},
          {"status", to_string(proof.status)},
          {"objective", json_number(proof.primal)},
          {"dual", json_number(proof.dual)},
          {"gap", json_number(proof.gap)},
          {"bound", json_number(proof.bound)},
          {"outer_steps", proof.outer_steps},
          {"lambda", json_number(proof.lambda)},
          {"tolerance", json_number(added.tolerance)},
          {"fingerprint", added.fingerprint},
          {"graph", json_edges(proof)},
          {"nu", json_matrix(proof.nu)}};
}

void print_feature_clusters(const Model& model) {
  const std::vector<Index> numbers = feature_clusters(model);
  if (numbers.empty()) return;
  fmt::print("features of the co-clusters\n");
  for (std::size_t g = 0; g <= model.groups().size(); ++g) {
    std::vector<std::string> names;
    for (std::size_t j = 0; j < numbers.size(); ++j)
      if (numbers[j] == static_cast<Index>(g)) names.push_back(model.features[j]);
    if (names.empty()) continue;
    fmt::print("  {}\n{}", g == 0 ? "without tasks" : fmt::format("cluster {}", g), wrap(names, 4));
  }
  fmt::print("\n");
}

// Every column that has a kernel of its own: its share of the weights, in the mean and in every group of "groups".
Json json_columns(const Model& model) {
  const ColumnWeights weights = column_weights(model);
  Json out = Json::array();
  for (Index k = 0; k < std::ssize(weights.columns); ++k)
    out.push_back(
        {{"name",
          model.features[static_cast<std::size_t>(weights.columns[static_cast<std::size_t>(k)])]},
         {"mean", json_number(weights.mean[k])},
         {"groups", json_vector(weights.share.col(k))}});
  return out;
}

Json json_first_stage(const Model& model);

Json json_model(const Model& model) {
  Json out = json_fit(model);
  out["fingerprint"] = model.fingerprint;
  out["settings"] = json_settings(model.settings);
  out["casting"] = to_string(model.casting);
  out["classes"] = model.classes;
  out["label_column"] = model.columns.label;
  out["task_column"] = model.columns.task;
  out["features"] = model.features;
  out["scaling"] = {{"kind", to_string(model.scaling.kind)},
                    {"shift", json_vector(model.scaling.shift)},
                    {"factor", json_vector(model.scaling.factor)},
                    {"smooth", model.scaling.smooth},
                    {"neighbours", model.scaling.neighbours}};
  out["divisors"] = json_vector(model.divisors);
  out["columns"] = json_columns(model);
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    out["tasks"][t].update(Json{{"negative", task.negative},
                                {"positive", task.positive},
                                {"part", task.part},
                                {"C", json_number(task.C)},
                                {"support", task.expansion().support},
                                {"sample", task.expansion().sample},
                                {"alpha", json_vector(task.expansion().alpha)},
                                {"y", json_vector(task.expansion().y)},
                                {"w", json_vector(task.w())},
                                {"shared", json_vector(task.shared)},
                                {"calibration", json_calibration(task.calibration)}});
  }
  if (const std::vector<Index> clusters = feature_clusters(model); !clusters.empty())
    out["feature_clusters"] = clusters;
  out["graph"] = json_edges(model.certificate());
  out["nu"] = json_matrix(model.certificate().nu);
  out["extensions"] = Json::array();
  for (const Extension& added : model.extensions)
    out["extensions"].push_back(json_extension(added));
  out["training_rows"] = model.training_rows;
  out["training_row"] = model.training_row;
  out["support_vectors"] = json_matrix(model.support_vectors);
  if (model.first_stage) {
    out["first_stage"] = json_first_stage(model);
    for (std::size_t t = 0; t < model.tasks.size(); ++t)
      out["tasks"][t]["share_of_scores"] =
          json_number(share_of_scores(model, static_cast<Index>(t)));
  }
  return out;
}

// The models whose scores kernels look at, and how much of every task's kernel that is.
Json json_first_stage(const Model& model) {
  Json out = Json::array();
  if (!model.first_stage) return out;
  const FirstStage& first = *model.first_stage;
  for (std::size_t b = 0; b < first.blocks.size(); ++b)
    out.push_back({{"block", first.blocks[b]}, {"model", json_model(first.models[b])}});
  return out;
}

void print_first_stage(const Model& model) {
  if (!model.first_stage) return;
  const FirstStage& first = *model.first_stage;
  fmt::print("first stage\n");
  for (std::size_t b = 0; b < first.blocks.size(); ++b) {
    const Model& own = first.models[b];
    fmt::print("  @{}: method {}, C {}; {}, status {}\n", first.blocks[b],
               own.settings.method->name, short_number(own.settings.C),
               proof_text(own.certificate()), to_string(own.certificate().status));
    if (first.blocks[b] == "group")
      for (const std::vector<Index>& group : listed(own.groups()))
        fmt::print("    group of {}\n{}", plural(std::ssize(group), "task"),
                   wrap(task_names(own, group), 6));
  }
  Table shares({"task", "of its kernel from scores"}, "l");
  for (std::size_t t = 0; t < model.tasks.size(); ++t)
    shares.add({model.tasks[t].name,
                fmt::format("{:.2f}", share_of_scores(model, static_cast<Index>(t)))});
  fmt::print("{}\n", shares.text());
}

void print_settings(const Model& model) {
  fmt::print("settings\n");
  Table settings({"name", "value"}, "ll");
  const std::vector<std::string> unused = unused_fields(model.settings);
  visit_fields(model.settings, [&](const char* name, const auto& value, const char*, const char*) {
    if (std::ranges::find(unused, name) == unused.end()) settings.add({name, text_of(value)});
  });
  settings.add({"casting", to_string(model.casting)});
  fmt::print("{}\n", settings.text());
}

void print_weights(const Model& model) {
  fmt::print("weights of the scaled features, largest first\n");
  Table table({"task", "length", "features"}, "lrl");
  constexpr std::size_t shown = 5;
  for (const TaskModel& task : model.tasks) {
    std::vector<Index> order(model.features.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, std::greater(), [&](Index j) { return std::abs(task.w()[j]); });
    std::vector<std::string> largest;
    for (std::size_t k = 0; k < std::min(shown, order.size()); ++k)
      largest.push_back(fmt::format("{} {:.3g}", model.features[static_cast<std::size_t>(order[k])],
                                    task.w()[order[k]]));
    table.add(
        {task.name, short_number(task.w().norm()), fmt::format("{}", fmt::join(largest, "  "))});
  }
  fmt::print("{}\n", table.text());
}

// Of one kernel, over all tasks.
struct KernelUse {
  double mean = 0, largest = 0;
  Index tasks = 0;
};

std::vector<KernelUse> uses_of_kernels(const Model& model) {
  std::vector<KernelUse> uses(model.kernels.size());
  for (const TaskModel& task : model.tasks)
    for (std::size_t m = 0; m < uses.size(); ++m) {
      const double weight = task.theta()[static_cast<Index>(m)];
      uses[m].mean += weight / static_cast<double>(model.tasks.size());
      uses[m].largest = std::max(uses[m].largest, weight);
      uses[m].tasks += weight > 0;
    }
  return uses;
}

constexpr std::size_t kMostKernels = 25, kMostColumns = 15;  // in tables; more are summed up

void print_kernels(const Model& model) {
  if (model.kernels.empty()) return print_weights(model);
  const std::vector<KernelUse> uses = uses_of_kernels(model);
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool many = uses.size() > kMostKernels;
  if (many)
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t m) { return uses[m].mean; });
  fmt::print("kernels, and their weight in the tasks{}\n", many ? ", largest first" : "");
  Table kernels({"kernel", "divisor", "tasks using it", "mean weight", "largest"}, "l");
  double rest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t m = order[k];
    if (k < kMostKernels)
      kernels.add({to_string(model.kernels[m]), short_number(model.divisors[static_cast<Index>(m)]),
                   fmt::to_string(uses[m].tasks), fmt::format("{:.3f}", uses[m].mean),
                   fmt::format("{:.3f}", uses[m].largest)});
    else
      rest += uses[m].mean;
  }
  fmt::print("{}", kernels.text());
  if (many)
    fmt::print("  and {} more, with a mean weight of {:.3f} together (all with --json)\n",
               order.size() - kMostKernels, rest);
  fmt::print("\n");
}

// "group 2", or the name of a task that is alone.
std::string group_name(const Model& model, const Groups& groups, Index g) {
  const std::vector<Index>& group = groups[static_cast<std::size_t>(g)];
  return group.size() > 1 ? fmt::format("group {}", g + 1) : task_names(model, group).front();
}

void print_columns(const Model& model) {
  const ColumnWeights weights = column_weights(model);
  if (weights.columns.empty()) return;
  const Groups groups = listed(model.groups());
  fmt::print("columns, and the share of the kernel weights that looks at each alone\n");
  Table table({"column", "mean", "largest", "where"}, "lrrl");
  double rest = 0;
  Index more = 0;
  for (Index k = 0; k < std::ssize(weights.columns); ++k) {
    if (k >= static_cast<Index>(kMostColumns) || !(weights.mean[k] > 0)) {
      rest += weights.mean[k];
      ++more;
      continue;
    }
    Index where = 0;
    const double largest = weights.share.col(k).maxCoeff(&where);
    table.add(
        {model.features[static_cast<std::size_t>(weights.columns[static_cast<std::size_t>(k)])],
         fmt::format("{:.3f}", weights.mean[k]), fmt::format("{:.3f}", largest),
         group_name(model, groups, where)});
  }
  fmt::print("{}", table.text());
  if (more > 0)
    fmt::print("  and {}, {:.3f} together (all with --json)\n", plural(more, "more column"), rest);
  double together = 0;
  for (Index g = 0; g < std::ssize(groups); ++g)
    together += weights.together[g] *
                static_cast<double>(groups[static_cast<std::size_t>(g)].size()) /
                static_cast<double>(model.tasks.size());
  fmt::print("  kernels of several columns have {:.3f}\n\n", together);
}

constexpr std::size_t kShownFeatures = 20;

void print_rest_of_features(std::size_t features) {
  if (features > kShownFeatures)
    fmt::print("  and {} more (all with --json)\n", features - kShownFeatures);
  fmt::print("\n");
}

// The features that each is averaged with.
void print_smoothing(const Model& model) {
  const auto smooth = static_cast<std::size_t>(model.scaling.smooth);
  if (smooth == 1) return;
  fmt::print("every feature is the mean of {}, itself and\n", smooth);
  Table table({"feature", "and"}, "ll");
  const std::size_t features = model.scaling.neighbours.size() / smooth;
  for (std::size_t j = 0; j < std::min(kShownFeatures, features); ++j) {
    std::vector<std::string> others;
    for (std::size_t k = 1; k < smooth; ++k)
      others.push_back(
          model.features[static_cast<std::size_t>(model.scaling.neighbours[j * smooth + k])]);
    table.add({model.features[j], fmt::format("{}", fmt::join(others, ", "))});
  }
  fmt::print("{}", table.text());
  print_rest_of_features(features);
}

void print_scaling(const Model& model) {
  if (model.scaling.kind == Scaling::Kind::none) return fmt::print("features are not scaled\n\n");
  fmt::print("features are scaled ({}): (x - shift) * factor\n", to_string(model.scaling.kind));
  Table scaling({"feature", "shift", "factor"}, "l");
  for (std::size_t j = 0; j < std::min(kShownFeatures, model.features.size()); ++j)
    scaling.add({model.features[j], short_number(model.scaling.shift[static_cast<Index>(j)]),
                 short_number(model.scaling.factor[static_cast<Index>(j)])});
  fmt::print("{}", scaling.text());
  print_rest_of_features(model.features.size());
}

void print_calibration(const Model& model) {
  if (!has_calibration(model)) return fmt::print("scores are not calibrated to probabilities\n\n");
  fmt::print("calibration: probability of the positive label at scores of -1, 0 and 1\n");
  Table table({"task", "kind", "", "-1", "0", "1"}, "lll");
  for (const TaskModel& task : model.tasks) {
    const Calibration& calibration = task.calibration;
    std::string shape;
    if (calibration.kind == Calibration::Kind::platt)
      shape = fmt::format("slope {:.4g}, offset {:.4g}", calibration.slope, calibration.offset);
    else if (calibration.kind == Calibration::Kind::isotonic)
      shape = plural(calibration.score.size(), "knot");
    std::vector<std::string> cells = {task.name, to_string(calibration.kind), shape};
    for (const double f : {-1.0, 0.0, 1.0})
      cells.push_back(is_calibrated(task) ? fmt::format("{:.3f}", probability(calibration, f))
                                          : "-");
    table.add(std::move(cells));
  }
  fmt::print("{}\n", table.text());
}

void print_certificate(const Model& model) {
  const Certificate& proof = model.certificate();
  fmt::print("certificate\n  {}\n", proof_text(proof));
  fmt::print("  dual value {:.8g}; {}; status {} after {}\n", proof.dual, strength_text(model),
             to_string(proof.status), plural(proof.outer_steps, "outer step"));
  if (!model.settings.method->is_main()) {
    fmt::print("  training data {}: {} (check with: coterie verify MODEL DATA)\n",
               model.fingerprint, plural(model.training_rows, "row"));
    return;
  }
  const std::string graph = proof.complete ? "every pair of tasks"
                                           : plural(std::ssize(proof.graph), "pair") + " of tasks";
  fmt::print("  drawn together: {}; {} stored for the dual value\n", graph,
             plural(proof.nu.rows(), "pair vector"));
  fmt::print("  training data {}: {} (check with: coterie verify MODEL DATA)\n", model.fingerprint,
             plural(base_of(model).training_rows, "row"));
}

void print_extensions(const Model& model) {
  for (std::size_t k = 0; k < model.extensions.size(); ++k) {
    const Extension& added = model.extensions[k];
    const Certificate& proof = added.certificate;
    std::vector<std::string> names;
    for (Index t = added.base_tasks; t < added.base_tasks + added.tasks; ++t)
      names.push_back(model.tasks[static_cast<std::size_t>(t)].name);
    fmt::print("\nextension {}: {} behind the {} that were there, which stayed as they were\n{}",
               k + 1, plural(added.tasks, "task"), plural(added.base_tasks, "task"),
               wrap(names, 4));
    fmt::print("  {}\n", proof_text(proof));
    fmt::print("  dual value {:.8g}; lambda {:.5g}; status {} after {}\n", proof.dual, proof.lambda,
               to_string(proof.status), plural(proof.outer_steps, "outer step"));
    fmt::print("  drawn together: {}\n",
               proof.complete ? "every pair with a new task"
                              : plural(std::ssize(proof.graph), "pair") + " with a new task");
    fmt::print("  data {}: {}\n", added.fingerprint, plural(added.rows, "row"));
  }
}

int run_inspect(const InspectOptions& options) {
  const Model model = read_model(options.model_path);
  if (options.output.json) {
    print_json(json_model(model));
    return exit_done;
  }
  std::error_code ignored;
  fmt::print("{}: {} bytes, {}, {}, {}, {}\n\n", options.model_path,
             std::filesystem::file_size(options.model_path, ignored),
             plural(std::ssize(model.tasks), "task"),
             plural(std::ssize(model.features_of_data()), "feature"),
             plural(std::ssize(model.kernels), "kernel"),
             plural(model.support_vectors.rows(), "support vector"));
  print_settings(model);
  if (!model.classes.empty()) fmt::print("classes\n{}\n", wrap(model.classes, 2));
  print_scaling(model);
  print_smoothing(model);
  print_kernels(model);
  print_columns(model);
  fmt::print("tasks\n{}\n{}\n", tasks_text(model), groups_text(model));
  print_feature_clusters(model);
  print_first_stage(model);
  print_calibration(model);
  print_certificate(model);
  print_extensions(model);
  return exit_done;
}

}  // namespace

void add_inspect(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App& command =
      add_command(program, "inspect", "Show everything in a model: groups, weights, certificate",
                  "coterie inspect model.h5", options, run_inspect, chosen);
  add_model(command, options->model_path);
  add_json(command, options->output);
}

}  // namespace coterie::app
