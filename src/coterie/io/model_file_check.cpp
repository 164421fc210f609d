#include "coterie/io/model_file_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_set>

#include "coterie/io/model_file_arrays.hpp"
#include "coterie/io/model_file_fields.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {
namespace {

template <typename... Parts>
void require(bool holds, fmt::format_string<Parts...> otherwise, Parts&&... parts) {
  if (!holds) throw InputError(fmt::format(otherwise, std::forward<Parts>(parts)...));
}

void check_kernels(const Model& model) {
  require(model.kernels.empty() == is_linear(model), "there is no kernel, or one too many");
  for (const Kernel& kernel : model.kernels) {
    const std::string name = to_string(kernel);
    std::vector<Kernel> parsed = parse_kernels(name);
    resolve_columns(parsed, model.features);
    require(parsed.size() == 1 && parsed[0] == kernel, "kernel {} is not what its name says",
            show(name));
  }
  check_distinct(model.kernels);
}

void check_support_vectors(const Model& model) {
  const Index rows = model.support_vectors.rows();
  require(rows == 0 || model.support_vectors.cols() == std::ssize(model.features),
          "support vectors have {} features, not {}", model.support_vectors.cols(),
          model.features.size());
  Index last = -1;
  for (const Index row : model.training_row) {
    require(row > last && row < model.training_rows,
            "the training rows of support vectors do not increase, or leave the {} rows there were",
            model.training_rows);
    last = row;
  }
  require(model.map.size() == 0 ||
              (model.settings.map.mapped && model.map.rows() == rows && model.map.cols() == rows),
          "the map is {} x {} for {} support vectors", model.map.rows(), model.map.cols(), rows);
}

void check_samples(const TaskModel& task, const Model& model) {
  Index last = -1, samples = task.n;
  if (model.settings.method->pools) {
    samples = 0;
    for (const TaskModel& other : model.tasks) samples += other.n;
  } else if (model.settings.map.mapped) {
    samples = model.support_vectors.rows();
  }
  for (const Index i : task.expansion().sample) {
    require(i > last && i < samples,
            "task {} has samples that do not increase, or leave the {} there were", show(task.name),
            samples);
    last = i;
  }
}

void check_calibration(const TaskModel& task) {
  const std::string name = show(task.name);
  const Calibration& own = task.calibration;
  require(own.kind == Calibration::Kind::platt || (own.slope == 1 && own.offset == 0),
          "task {} has a sigmoid that nothing uses", name);
  require((own.score.size() > 0) == (own.kind == Calibration::Kind::isotonic),
          "the calibration of task {} is {}, with {} knots", name, to_string(own.kind),
          own.score.size());
  for (Index k = 1; k < own.score.size(); ++k) {
    require(own.score[k] > own.score[k - 1], "task {} has knots whose scores do not increase",
            name);
    require(own.value[k] >= own.value[k - 1], "task {} has knots whose probabilities fall", name);
  }
}

void check_tasks(const Model& model) {
  require(!model.tasks.empty(), "there is no task");
  const Method& method = *model.settings.method;
  std::unordered_set<std::string_view> names;
  for (const TaskModel& task : model.tasks) {
    require(names.insert(task.name).second, "there are two tasks {}", show(task.name));
    require((task.shared.size() > 0) == method.has_shared &&
                (!method.has_shared || !is_linear(model) || task.shared.size() == task.w().size()),
            "task {} has {} shared weights", show(task.name), task.shared.size());
    check_samples(task, model);
    check_calibration(task);
  }
}

// The labels of the tasks are among the classes that are voted for.
void check_classes(const Model& model) {
  if (model.casting == Casting::binary) return;
  const std::unordered_set<std::string_view> classes(model.classes.begin(), model.classes.end());
  require(classes.size() == model.classes.size(), "a class is listed twice");
  for (const TaskModel& task : model.tasks) {
    require(classes.contains(task.positive), "label {} is not a class", show(task.positive));
    require(model.casting == Casting::one_vs_rest || classes.contains(task.negative),
            "label {} is not a class", show(task.negative));
  }
}

// They part the tasks, in the order of their first tasks: as numbers of tasks' groups say it.
void check_groups(const Groups& groups, Index tasks) {
  std::vector<Index> numbers(static_cast<std::size_t>(tasks), 0);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Index t : groups[g]) {
      require(t >= 0 && t < tasks, "a group has task {} of {}", t, tasks);
      numbers[static_cast<std::size_t>(t)] = static_cast<Index>(g);
    }
  require(groups_of(numbers) == groups, "the groups do not part the {} tasks in order", tasks);
}

// Of a proof about the tasks from `first` on, whose edges end there.
void check_certificate(const Certificate& proof, Index first, Index tasks, Index length) {
  const bool has_dual =
      std::isfinite(proof.dual) || (proof.claim == Claim::stationary && proof.dual < 0);
  require(has_dual, "the dual value is {}", proof.dual);
  require(!proof.complete || proof.graph.empty(), "edges are listed though every pair is one");
  for (const Edge& edge : proof.graph)
    require(edge.t < edge.s && edge.s >= first && edge.s < tasks,
            "edge {}-{} is not one to tasks {} to {}", edge.t, edge.s, first, tasks - 1);
  const Index edges =
      proof.complete ? tasks * (tasks - 1) / 2 - first * (first - 1) / 2 : std::ssize(proof.graph);
  require(proof.nu.rows() == 0 || proof.nu.rows() == edges, "{} edges have {} pair duals", edges,
          proof.nu.rows());
  require(proof.nu.rows() == 0 || proof.nu.cols() == length, "pair duals have {} entries, not {}",
          proof.nu.cols(), length);
}

// The extensions follow each other and end with the last task; the support vectors of a task come from the table it was trained on.
void check_extensions(const Model& model) {
  const Index tasks = std::ssize(model.tasks);
  Index next = model.extensions.empty() ? tasks : model.extensions.front().base_tasks;
  Index rows = model.training_rows;
  for (const Extension& added : model.extensions) {
    require(added.base_tasks == next && added.tasks <= tasks - next,
            "an extension of {} tasks behind {} is not one of {} tasks", added.tasks,
            added.base_tasks, tasks);
    next += added.tasks;
    require(added.rows <= rows, "an extension has {} of {} rows", added.rows, rows);
    rows -= added.rows;
  }
  require(next == tasks, "the extensions end at task {} of {}", next, tasks);

  // From here on `rows` counts the rows of the first table, then of all up to a task's.
  Index begin = 0, end = rows;
  auto added = model.extensions.begin();
  for (Index t = 0; t < tasks; ++t) {
    if (added != model.extensions.end() && t == added->base_tasks) {
      begin = end;
      end += added->rows;
      ++added;
    }
    for (const Index place : model.tasks[static_cast<std::size_t>(t)].expansion().support) {
      const Index row = model.training_row[static_cast<std::size_t>(place)];
      require(row >= begin && row < end, "task number {} has a support vector of another table", t);
    }
  }
}

void check_certificates(const Model& model) {
  const Index tasks = std::ssize(model.tasks);
  const Index length = !model.settings.method->is_linear() ? std::ssize(model.kernels)
                       : is_linear(model)                  ? std::ssize(model.features)
                                                           : model.support_vectors.rows();
  check_certificate(model.certificate(), 0,
                    model.extensions.empty() ? tasks : model.extensions.front().base_tasks, length);
  for (const Extension& added : model.extensions)
    check_certificate(added.certificate, added.base_tasks, added.base_tasks + added.tasks, length);
}

}  // namespace

Groups groups_of(const std::vector<Index>& numbers) {
  Groups groups;
  for (std::size_t t = 0; t < numbers.size(); ++t) {
    require(numbers[t] >= 0 && numbers[t] <= std::ssize(groups),
            "/tasks/group does not number the groups by their first task");
    if (numbers[t] == std::ssize(groups)) groups.emplace_back();
    groups[static_cast<std::size_t>(numbers[t])].push_back(static_cast<Index>(t));
  }
  return groups;
}

namespace {

void check_neighbours(const Model& model) {
  const Index d = std::ssize(model.features_of_data());
  const Scaling& scaling = model.scaling;
  const Index smooth = model.settings.smooth;
  const Index numbers = smooth > 1 ? smooth * d : 0;
  require(std::ssize(scaling.neighbours) == numbers, "/features/neighbours has {} values, not {}",
          scaling.neighbours.size(), numbers);
  for (const Index j : scaling.neighbours)
    require(j < d, "/features/neighbours has feature {} of {}", j, d);
}

void check_first_stage(const Model& model) {
  if (!model.first_stage) return;
  const FirstStage& first = *model.first_stage;
  require(first.columns() < std::ssize(model.features) && model.extensions.empty(),
          "the first stage has {} columns of {}", first.columns(), model.features.size());
  const std::vector<std::string> data = model.features_of_data();
  require(score_blocks(model.settings.kernels.list(), data) == first.blocks &&
              first.models.size() == first.blocks.size(),
          "the first stage is not what the kernels look at");
  std::vector<std::string> tasks;
  for (const TaskModel& task : model.tasks) tasks.push_back(task.name);
  const std::vector<std::string> names = score_names(first.blocks, tasks);
  require(std::ranges::equal(names, std::span(model.features).subspan(data.size())),
          "the features do not end with the scores of the first stage");
  require(first.scores.rows() == model.training_rows && first.scores.cols() == first.columns(),
          "there are scores of {} rows and {} columns", first.scores.rows(), first.scores.cols());
  for (std::size_t b = 0; b < first.models.size(); ++b) {
    const Model& own = first.models[b];
    check_model(own);
    require(!own.first_stage && own.extensions.empty() && own.features == data &&
                own.casting == model.casting && own.classes == model.classes &&
                std::ranges::equal(own.tasks, model.tasks, {}, &TaskModel::name, &TaskModel::name),
            "the first stage @{} is of other data", first.blocks[b]);
    const std::string method = first.blocks[b] == "others"  ? "stl"
                               : first.blocks[b] == "group" ? "groups"
                                                            : "pooled";
    require(own.settings.method->name == method, "the first stage @{} is a model of {}",
            first.blocks[b], own.settings.method->name);
    for (const Kernel& kernel : own.kernels)
      require(!kernel.is_precomputed(), "the first stage has a precomputed kernel");
  }
}

}  // namespace

void check_model(const Model& model) {
  require(model.settings.scale.has_value(), "the settings do not say how features are scaled");
  validate(model.settings);
  for (const TaskModel& task : model.tasks)
    require(std::holds_alternative<LinearWeights>(task.function) == is_linear(model),
            "task {} does not have the kind of function that {} learns", show(task.name),
            model.settings.method->name);
  check_groups(model.groups(), std::ssize(model.tasks));
  check_values(model);
  check_neighbours(model);
  check_kernels(model);
  check_support_vectors(model);
  check_tasks(model);
  check_classes(model);
  check_extensions(model);
  check_certificates(model);
  check_first_stage(model);
}

void check_scale(const Model& model) {
  for (const Certificate* const proof : certificates_of(model))
    require(proof->scale_floor == 0,
            "its certificate is by the rule of versions before 4 (a gap relative to 1 at least), "
            "which newer files cannot hold");
}

}  // namespace coterie::detail
