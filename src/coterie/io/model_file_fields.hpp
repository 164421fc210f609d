// The one list of the arrays in a model file: where each stands, what it holds and what is true of its values. Internal to this room.
//
// A pass writes the arrays, reads them, or checks their values (model_file_arrays.cpp). What is true of several arrays together is in
// model_file_check.cpp. docs/model-file.md is the list for others.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "coterie/model/first_stage.hpp"
#include "coterie/model/method.hpp"
#include "coterie/model/model.hpp"

namespace coterie::detail {

// What is true of a number.
struct Range {
  double low = -std::numeric_limits<double>::max(), high = std::numeric_limits<double>::max();
  enum class Kind { closed, above_low, ends } kind = Kind::closed;
  bool holds(double x) const {
    if (kind == Kind::ends) return x == low || x == high;
    return (kind == Kind::above_low ? x > low : x >= low) && x <= high;
  }
  std::string text() const;
};
inline constexpr double infinite = std::numeric_limits<double>::infinity();
inline constexpr Range any_number{-infinite, infinite};
inline constexpr Range finite;
inline constexpr Range positive{0, finite.high, Range::Kind::above_low};
inline constexpr Range not_negative{0};
inline constexpr Range not_negative_or_inf{0, infinite};
inline constexpr Range either(double a, double b) { return {a, b, Range::Kind::ends}; }
inline Range index_below(Index end) { return {0, static_cast<double>(end) - 1}; }

// What is true of a text: a printable name; one or nothing; nothing or printable words, which white space may separate.
enum class Text { name, name_or_nothing, words };

struct OneOfAFew {};  // what its type says, such as a kind of scaling

inline constexpr Index any_length = -1;

// Groups from the number of each task's; they are numbered by their first task.
Groups groups_of(const std::vector<Index>& numbers);

// Weights of features instead of kernels.
inline bool is_linear(const Model& model) {
  return model.settings.method->is_linear() && !model.settings.map.mapped;
}

template <typename Pass, typename AnyModel>
void visit_settings(Pass& file, AnyModel& model) {
  file.group("/settings");
  visit_fields(model.settings,
               [&](const std::string& name, auto& value, const char*, const char* rule) {
                 const std::string path = "/settings/" + name;
                 if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
                   file.value(path, value, any_number);
                 } else {
                   std::string text = Pass::reads ? "" : text_of(value);
                   const bool there = file.value(path, text, Text::words);
                   if constexpr (Pass::reads)
                     if (there) coterie::read_field(name, text, rule, value);
                 }
               });
}

template <typename Pass, typename AnyModel>
void visit_features(Pass& file, AnyModel& model) {
  const Index d = std::ssize(model.features);
  file.group("/features");
  file.value("/features/names", model.features, Text::name);
  file.value("/features/scaling", model.scaling.kind, OneOfAFew());
  const Index scaled = model.scaling.kind == Scaling::Kind::none ? 0 : d;
  file.value("/features/shift", model.scaling.shift, finite, scaled);
  file.value("/features/factor", model.scaling.factor, finite, scaled);
  file.value("/features/neighbours", model.scaling.neighbours, index_below(d));
  if constexpr (Pass::reads) model.scaling.smooth = model.settings.smooth;
}

template <typename Pass, typename AnyModel>
void visit_kernels(Pass& file, AnyModel& model) {
  std::vector<std::string> names;
  for (const Kernel& kernel : model.kernels) names.push_back(to_string(kernel));
  file.group("/kernels");
  file.value("/kernels/names", names, Text::name);
  if constexpr (Pass::reads)
    for (const std::string& name : names) {
      const std::vector<Kernel> kernel = parse_kernels(name);
      if (kernel.size() != 1) throw InputError("/kernels/names has a name of several kernels");
      model.kernels.push_back(kernel[0]);
    }
  file.value("/kernels/divisors", model.divisors, positive, std::ssize(model.kernels));
  const auto ends = file.offsets("/kernels/column_offsets", model.kernels, &Kernel::columns);
  file.joined("/kernels/columns", model.kernels, ends, &Kernel::columns,
              index_below(std::ssize(model.features)));
}

template <typename Pass, typename AnyModel>
void visit_functions(Pass& file, AnyModel& model) {
  auto& tasks = model.tasks;
  if (is_linear(model)) {
    if constexpr (Pass::reads)
      for (auto& task : tasks) task.function = LinearWeights{};
    file.rows(
        "/tasks/w", tasks,
        [](auto& task) -> auto& { return std::get<LinearWeights>(task.function).w; }, finite,
        std::ssize(model.features));
    return;
  }
  const auto own = [](auto member) {
    return [member](auto& task) -> auto& {
      return std::get<KernelExpansion>(task.function).*member;
    };
  };
  file.rows("/tasks/theta", tasks, own(&KernelExpansion::theta), not_negative,
            std::ssize(model.kernels));
  const auto ends = file.offsets("/tasks/support_offsets", tasks, own(&KernelExpansion::support));
  file.joined("/tasks/support", tasks, ends, own(&KernelExpansion::support),
              index_below(model.support_vectors.rows()));
  file.joined("/tasks/sample", tasks, ends, own(&KernelExpansion::sample), not_negative);
  file.joined("/tasks/alpha", tasks, ends, own(&KernelExpansion::alpha), positive);
  file.joined("/tasks/y", tasks, ends, own(&KernelExpansion::y), either(-1, 1));
}

template <typename Pass, typename AnyModel>
void visit_tasks(Pass& file, AnyModel& model) {
  auto& tasks = model.tasks;
  file.group("/tasks");
  file.count("/tasks/name", tasks);
  file.column("/tasks/name", tasks, &TaskId::name, Text::name);
  file.column("/tasks/negative", tasks, &TaskId::negative, Text::name);
  file.column("/tasks/positive", tasks, &TaskId::positive, Text::name);
  file.column("/tasks/part", tasks, &TaskId::part, Text::name_or_nothing);
  file.column("/tasks/n", tasks, &TaskModel::n, Range{1});
  file.column("/tasks/C", tasks, &TaskModel::C, positive);
  file.column("/tasks/bias", tasks, &TaskModel::bias, finite);
  file.column("/tasks/objective", tasks, &TaskModel::objective, finite);
  std::vector<Index> group(Pass::reads ? 0 : tasks.size());
  for (std::size_t g = 0; g < model.groups().size(); ++g)
    for (const Index t : model.groups()[g])
      group[static_cast<std::size_t>(t)] = static_cast<Index>(g);
  file.value("/tasks/group", group, not_negative, std::ssize(tasks));
  if constexpr (Pass::reads) model.groups() = groups_of(group);
  visit_functions(file, model);
  const Index shared = tasks.empty() ? 0 : tasks.front().shared.size();
  file.rows("/tasks/shared", tasks, &TaskModel::shared, finite, shared);
}

template <typename Pass, typename AnyModel>
void visit_calibrations(Pass& file, AnyModel& model) {
  auto& tasks = model.tasks;
  const auto own = [](auto member) {
    return [member](auto& task) -> auto& { return task.calibration.*member; };
  };
  file.group("/calibration");
  file.column("/calibration/kind", tasks, own(&Calibration::kind), OneOfAFew());
  file.column("/calibration/slope", tasks, own(&Calibration::slope), not_negative);
  file.column("/calibration/offset", tasks, own(&Calibration::offset), finite);
  const auto ends = file.offsets("/calibration/knot_offsets", tasks, own(&Calibration::score));
  file.joined("/calibration/knot_score", tasks, ends, own(&Calibration::score), finite);
  file.joined("/calibration/knot_probability", tasks, ends, own(&Calibration::value), Range{0, 1});
}

template <typename Pass, typename AnyModel>
void visit_training_data(Pass& file, AnyModel& model) {
  file.group("/support_vectors");
  file.value("/support_vectors/values", model.support_vectors, finite);
  file.value("/support_vectors/training_row", model.training_row, not_negative,
             model.support_vectors.rows());
  file.value("/support_vectors/map", model.map, finite);
  file.group("/training_data");
  file.value("/training_data/rows", model.training_rows, not_negative);
  file.value("/training_data/fingerprint", model.fingerprint, Text::words);
  file.value("/training_data/casting", model.casting, OneOfAFew());
  file.value("/training_data/classes", model.classes, Text::name);
  file.value("/training_data/label_column", model.columns.label, Text::name_or_nothing);
  file.value("/training_data/task_column", model.columns.task, Text::name_or_nothing);
}

template <typename Pass, typename AnyModel>
void visit_extensions(Pass& file, AnyModel& model) {
  auto& added = model.extensions;
  file.group("/extensions");
  file.count("/extensions/tasks", added);
  file.column("/extensions/base_tasks", added, &Extension::base_tasks, Range{1});
  file.column("/extensions/tasks", added, &Extension::tasks, Range{1});
  file.column("/extensions/rows", added, &Extension::rows, Range{1});
  file.column("/extensions/tolerance", added, &Extension::tolerance, positive);
  file.column("/extensions/fingerprint", added, &Extension::fingerprint, Text::words);
}

// Of the training, then of every extension.
template <typename AnyModel>
auto certificates_of(AnyModel& model) {
  std::vector<decltype(&model.certificate())> all = {&model.certificate()};
  for (auto& added : model.extensions) all.push_back(&added.certificate);
  return all;
}

template <typename Pass, typename AnyModel>
void visit_certificates(Pass& file, AnyModel& model) {
  const auto all = certificates_of(model);
  file.group("/certificates");
  file.column("/certificates/primal", all, &Certificate::primal, finite);
  file.column("/certificates/dual", all, &Certificate::dual, any_number);
  file.column("/certificates/gap", all, &Certificate::gap, finite);
  file.column("/certificates/bound", all, &Certificate::bound, not_negative);
  file.column("/certificates/scale_floor", all, &Certificate::scale_floor, either(0, 1));
  file.column("/certificates/lambda", all, &Certificate::lambda, not_negative_or_inf);
  file.column("/certificates/lambda_max", all, &Certificate::lambda_max, not_negative);
  file.column("/certificates/claim", all, &Certificate::claim, OneOfAFew());
  file.column("/certificates/status", all, &Certificate::status, OneOfAFew());
  file.column("/certificates/outer_steps", all, &Certificate::outer_steps, not_negative);
  file.column("/certificates/complete_graph", all, &Certificate::complete, OneOfAFew());
  const auto edges = file.offsets("/certificates/edge_offsets", all, &Certificate::graph);
  file.joined("/certificates/edge_t", all, edges, &Certificate::graph, not_negative, &Edge::t);
  file.joined("/certificates/edge_s", all, edges, &Certificate::graph, not_negative, &Edge::s);
  file.joined("/certificates/edge_weight", all, edges, &Certificate::graph, not_negative,
              &Edge::weight);
  const auto rows = file.offsets("/certificates/nu_offsets", all, &Certificate::nu);
  file.joined_rows("/certificates/nu", all, rows, &Certificate::nu, finite,
                   model.certificate().nu.cols());
}

template <typename Pass, typename AnyModel>
void visit_plain_model(Pass& file, AnyModel& model) {
  visit_settings(file, model);
  visit_features(file, model);
  visit_training_data(file, model);
  visit_kernels(file, model);
  visit_tasks(file, model);
  visit_calibrations(file, model);
  visit_extensions(file, model);
  visit_certificates(file, model);
}

// The models whose scores kernels look at, each a whole model in a group of its own.
template <typename Pass, typename AnyModel>
void visit_first_stage(Pass& file, AnyModel& model) {
  FirstStage first;
  if constexpr (!Pass::reads)
    if (model.first_stage) first = *model.first_stage;
  file.group("/first_stage");
  file.value("/first_stage/blocks", first.blocks, Text::name);
  file.value("/first_stage/shift", first.shift, finite);
  file.value("/first_stage/factor", first.factor, finite, first.columns());
  file.value("/first_stage/scores", first.scores, finite);
  if constexpr (Pass::reads) {
    if (first.blocks.size() > kScoreBlocks.size())
      throw InputError("/first_stage/blocks has too many names");
    first.models.resize(first.blocks.size());
  }
  if (first.models.size() != first.blocks.size())
    throw InputError("/first_stage/blocks does not name every model of the first stage");
  for (std::size_t b = 0; b < first.models.size(); ++b) {
    const std::string name = "/first_stage/" + first.blocks[b];
    file.group(name);
    Pass own = file.within(name);
    visit_plain_model(own, first.models[b]);
  }
  if constexpr (Pass::reads)
    if (!first.blocks.empty())
      model.first_stage = std::make_shared<const FirstStage>(std::move(first));
}

template <typename Pass, typename AnyModel>
void visit_model(Pass& file, AnyModel& model) {
  visit_plain_model(file, model);
  visit_first_stage(file, model);
}

}  // namespace coterie::detail
