#include "coterie/io/model_file_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "coterie/io/model_file_extensions.hpp"
#include "coterie/io/text.hpp"
#include "coterie/model/method.hpp"

namespace coterie::detail {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 20;  // bytes

template <typename... Parts>
void require(bool holds, fmt::format_string<Parts...> otherwise, Parts&&... parts) {
  if (!holds) throw InputError(fmt::format(otherwise, std::forward<Parts>(parts)...));
}

void check_name(std::string_view name, std::string_view what) {
  require(name.size() <= kLongestText, "{} is longer than {} bytes", what, kLongestText);
  const std::string problem = describe_bad_name(name);
  require(problem.empty(), "{} {}", what, problem);
}

// As text they are in the file.
void check_settings(const Settings& settings) {
  visit_fields(settings, [](std::string_view name, const auto& value, const auto&...) {
    check_text(text_of(value), fmt::format("setting {}", name));
  });
  require(settings.scale.has_value(), "the settings do not say how features are scaled");
  validate(settings);
}

void check_scaling(const Scaling& scaling, Index features) {
  const Index length = scaling.kind == Scaling::Kind::none ? 0 : features;
  require(scaling.shift.size() == length && scaling.factor.size() == length,
          "the scaling is not one of {} features", features);
  require(scaling.shift.allFinite() && scaling.factor.allFinite(),
          "the scaling has a number that is not finite");
}

// Weights of features instead of kernels.
bool is_linear(const Model& model) {
  return model.settings.method->is_linear() && !model.settings.map.mapped;
}

void check_kernels(const Model& model) {
  require(model.kernels.empty() == is_linear(model), "there is no kernel, or one too many");
  for (const Kernel& kernel : model.kernels) {
    const std::string name = to_string(kernel);
    check_name(name, "the name of a kernel");
    std::vector<Kernel> parsed = parse_kernels(name);
    resolve_columns(parsed, model.features);
    require(parsed.size() == 1 && parsed[0] == kernel, "kernel {} is not what its name says",
            show(name));
  }
  check_distinct(model.kernels);
  require(model.divisors.size() == std::ssize(model.kernels), "{} kernels have {} divisors",
          model.kernels.size(), model.divisors.size());
  require(model.divisors.allFinite() && (model.divisors.array() > 0).all(),
          "a divisor is not a positive number");
}

void check_support_vectors(const Model& model) {
  const Index rows = model.support_vectors.rows();
  require(rows == 0 || model.support_vectors.cols() == std::ssize(model.features),
          "support vectors have {} features, not {}", model.support_vectors.cols(),
          model.features.size());
  require(model.support_vectors.allFinite(), "a support vector has a number that is not finite");
  require(std::ssize(model.training_row) == rows, "{} support vectors have {} training rows", rows,
          model.training_row.size());
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
  require(model.map.allFinite(), "the map has a number that is not finite");
  require(model.training_rows >= 0, "the number of training rows is {}", model.training_rows);
}

void check_task(const TaskModel& task, const Model& model) {
  const std::string name = show(task.name);
  check_name(task.negative, "a label");
  check_name(task.positive, "a label");
  require(task.n >= 1, "task {} has {} samples", name, task.n);
  require(task.C > 0 && std::isfinite(task.C), "task {} has C = {}", name, task.C);
  require(std::isfinite(task.bias) && std::isfinite(task.objective),
          "task {} has a number that is not finite", name);
  require(task.theta.size() == std::ssize(model.kernels), "task {} has {} weights for {} kernels",
          name, task.theta.size(), model.kernels.size());
  require(task.theta.allFinite() && (task.theta.array() >= 0).all(),
          "task {} has a weight that is not a number >= 0", name);

  const std::size_t count = task.support.size();
  require(task.sample.size() == count && task.alpha.size() == std::ssize(task.support) &&
              task.y.size() == std::ssize(task.support),
          "task {} has lists of different lengths for its support vectors", name);
  require(task.alpha.allFinite() && (task.alpha.array() > 0).all(),
          "task {} has an alpha that is not a positive number", name);
  require((task.y.array().abs() == 1).all(), "task {} has a y that is not -1 or 1", name);
  Index last = -1, samples = task.n;
  if (model.settings.method->pools) {
    samples = 0;
    for (const TaskModel& other : model.tasks) samples += other.n;
  } else if (model.settings.map.mapped) {
    samples = model.support_vectors.rows();
  }
  for (std::size_t j = 0; j < count; ++j) {
    require(task.sample[j] > last && task.sample[j] < samples,
            "task {} has samples that do not increase, or leave the {} there were", name, samples);
    last = task.sample[j];
    require(task.support[j] >= 0 && task.support[j] < model.support_vectors.rows(),
            "task {} has support vector {} of {}", name, task.support[j],
            model.support_vectors.rows());
  }
}

// w, and the part of it that is shared, in the features that the model is linear in.
void check_weights(const TaskModel& task, const Model& model) {
  const std::string name = show(task.name);
  const bool linear = is_linear(model);
  require(task.w.size() == (linear ? std::ssize(model.features) : 0),
          "task {} has {} weights of features", name, task.w.size());
  const bool has_shared = model.settings.method->has_shared;
  require(task.shared.size() == model.tasks.front().shared.size() &&
              (task.shared.size() > 0) == has_shared &&
              (!linear || !has_shared || task.shared.size() == task.w.size()),
          "task {} has {} shared weights", name, task.shared.size());
  require(task.w.allFinite() && task.shared.allFinite(), "task {} has a weight that is not finite",
          name);
}

void check_calibration(const TaskModel& task) {
  const std::string name = show(task.name);
  const Calibration& calibration = task.calibration;
  require(std::isfinite(calibration.slope) && calibration.slope >= 0 &&
              std::isfinite(calibration.offset),
          "task {} has a sigmoid that is not one of a slope >= 0 and a finite offset", name);
  const bool has_sigmoid = calibration.kind == Calibration::Kind::platt;
  require(has_sigmoid || (calibration.slope == 1 && calibration.offset == 0),
          "task {} has a sigmoid that nothing uses", name);

  const Vector& score = calibration.score;
  const Vector& value = calibration.value;
  const bool has_knots = calibration.kind == Calibration::Kind::isotonic;
  require(score.size() == value.size() && (score.size() > 0) == has_knots,
          "task {} has {} scores and {} probabilities as knots", name, score.size(), value.size());
  for (Index k = 0; k < score.size(); ++k) {
    require(std::isfinite(score[k]) && (k == 0 || score[k] > score[k - 1]),
            "task {} has knots whose scores do not increase", name);
    require(value[k] >= (k == 0 ? 0 : value[k - 1]) && value[k] <= 1,
            "task {} has knots whose probabilities fall, or leave [0, 1]", name);
  }
}

void check_tasks(const Model& model) {
  require(!model.tasks.empty(), "there is no task");
  std::unordered_set<std::string_view> names;
  for (const TaskModel& task : model.tasks) {
    check_name(task.name, "the name of a task");
    require(names.insert(task.name).second, "there are two tasks {}", show(task.name));
    check_task(task, model);
    check_weights(task, model);
    check_calibration(task);
  }
}

// The labels of the tasks are among the classes that are voted for.
void check_classes(const Model& model) {
  for (const std::string& name : model.classes) check_name(name, "the name of a class");
  if (model.casting == Casting::binary) return;
  const std::unordered_set<std::string_view> classes(model.classes.begin(), model.classes.end());
  require(classes.size() == model.classes.size(), "a class is listed twice");
  for (const TaskModel& task : model.tasks) {
    require(classes.contains(task.positive), "label {} is not a class", show(task.positive));
    require(model.casting == Casting::one_vs_rest || classes.contains(task.negative),
            "label {} is not a class", show(task.negative));
  }
}

void check_groups(const Groups& groups, Index tasks) {
  std::vector<bool> seen(static_cast<std::size_t>(tasks), false);
  Index members = 0, last_first = -1;
  for (const std::vector<Index>& group : groups) {
    require(!group.empty() && group.front() > last_first, "the groups are not in order");
    last_first = group.front();
    Index last = -1;
    for (const Index t : group) {
      require(t > last && t < tasks, "a group is not in order, or leaves the {} tasks", tasks);
      require(!seen[static_cast<std::size_t>(t)], "task number {} is in two groups", t);
      seen[static_cast<std::size_t>(t)] = true;
      last = t;
      ++members;
    }
  }
  require(members == tasks, "{} of {} tasks are in a group", members, tasks);
}

// Of a proof about the tasks from `first` on, whose edges end there.
void check_certificate(const Certificate& proof, Index first, Index tasks, Index length) {
  const bool bounded = proof.claim != Claim::stationary;  // else there need not be a dual value
  require(std::isfinite(proof.primal) && std::isfinite(proof.gap) &&
              (std::isfinite(proof.dual) || (!bounded && proof.dual < 0)),
          "the certificate has a number that is not finite");
  require(proof.lambda >= 0, "lambda is {}", proof.lambda);
  require(std::isfinite(proof.bound) && proof.bound >= 0, "the bound of the gap is {}",
          proof.bound);
  require(proof.scale_floor == 0 || proof.scale_floor == 1, "the floor of the scale is {}",
          proof.scale_floor);
  require(std::isfinite(proof.lambda_max) && proof.lambda_max >= 0, "lambda_max is {}",
          proof.lambda_max);
  check_text(proof.status, "the status");
  require(proof.outer_steps >= 0, "the number of outer steps is {}", proof.outer_steps);
  require(!proof.complete || proof.graph.empty(), "edges are listed though every pair is one");
  for (const Edge& edge : proof.graph) {
    require(edge.t >= 0 && edge.t < edge.s && edge.s < tasks, "edge {}-{} is not one of {} tasks",
            edge.t, edge.s, tasks);
    require(edge.weight >= 0 && std::isfinite(edge.weight), "edge {}-{} has weight {}", edge.t,
            edge.s, edge.weight);
  }
  const Index edges =
      proof.complete ? tasks * (tasks - 1) / 2 - first * (first - 1) / 2 : std::ssize(proof.graph);
  require(proof.nu.rows() == 0 || proof.nu.rows() == edges, "{} edges have {} pair duals", edges,
          proof.nu.rows());
  require(proof.nu.rows() == 0 || proof.nu.cols() == length, "pair duals have {} entries, not {}",
          proof.nu.cols(), length);
  require(proof.nu.allFinite(), "a pair dual has a number that is not finite");
}

}  // namespace

void check_text(std::string text, std::string_view what) {
  std::ranges::replace_if(
      text, [](char c) { return std::string_view("\t\n\v\f\r").find(c) != std::string_view::npos; },
      ' ');
  if (!text.empty()) check_name(text, what);
}

void check_model(const Model& model) {
  check_settings(model.settings);
  const Index tasks = std::ssize(model.tasks);
  const bool linear = model.settings.method->family == Method::Family::linear;
  const Index length = !linear            ? std::ssize(model.kernels)  // of a pair dual
                       : is_linear(model) ? std::ssize(model.features)
                                          : model.support_vectors.rows();
  for (const std::string& name : model.features) check_name(name, "the name of a feature");
  check_scaling(model.scaling, std::ssize(model.features));
  check_kernels(model);
  check_support_vectors(model);
  check_tasks(model);
  check_classes(model);
  check_groups(model.groups, tasks);
  check_extensions(model);
  check_certificate(model.certificate, 0,
                    model.extensions.empty() ? tasks : model.extensions.front().base_tasks, length);
  for (const Extension& added : model.extensions) {
    check_certificate(added.certificate, added.base_tasks, added.base_tasks + added.tasks, length);
    check_text(added.fingerprint, "the fingerprint of an extension");
  }
  check_text(model.fingerprint, "the fingerprint");
}

}  // namespace coterie::detail
