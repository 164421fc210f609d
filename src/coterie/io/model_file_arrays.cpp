#include "coterie/io/model_file_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "coterie/io/hdf5_reader.hpp"
#include "coterie/io/hdf5_writer.hpp"
#include "coterie/io/model_file_check.hpp"
#include "coterie/io/model_file_extensions.hpp"

namespace coterie::detail {
namespace {

// A member of every task, as one list.
template <typename Member>
auto of_tasks(const Model& model, Member TaskModel::*member) {
  if constexpr (std::is_same_v<Member, double>) {
    Vector values(std::ssize(model.tasks));
    for (std::size_t t = 0; t < model.tasks.size(); ++t)
      values[static_cast<Index>(t)] = model.tasks[t].*member;
    return values;
  } else {
    std::vector<Member> values;
    for (const TaskModel& task : model.tasks) values.push_back(task.*member);
    return values;
  }
}

// A list of every task, one behind the other.
std::vector<Index> joined(const Model& model, std::vector<Index> TaskModel::*member) {
  std::vector<Index> values;
  for (const TaskModel& task : model.tasks)
    values.insert(values.end(), (task.*member).begin(), (task.*member).end());
  return values;
}

Vector joined(const Model& model, Vector TaskModel::*member) {
  Index size = 0;
  for (const TaskModel& task : model.tasks) size += (task.*member).size();
  Vector values(size);
  Index at = 0;
  for (const TaskModel& task : model.tasks) {
    values.segment(at, (task.*member).size()) = task.*member;
    at += (task.*member).size();
  }
  return values;
}

// Where the list of each item begins in the joined list; the last number is the end.
template <typename Items, typename Size>
std::vector<Index> offsets_of(const Items& items, Size size) {
  std::vector<Index> offsets = {0};
  for (const auto& item : items) offsets.push_back(offsets.back() + size(item));
  return offsets;
}

void check_offsets(const std::vector<Index>& offsets, Index end, std::string_view path) {
  if (offsets.front() != 0 || offsets.back() != end || !std::ranges::is_sorted(offsets))
    throw InputError(fmt::format("{} does not run from 0 to {}", path, end));
}

// Those of other methods than coterie came with version 3; models of coterie do without.
bool is_of_methods(std::string_view name) {
  return name == "method" || name == "parameters" || name == "loss" || name == "map";
}

void write_settings(Hdf5Writer& file, const Settings& settings) {
  file.add_group("/settings");
  visit_fields(settings, [&](const std::string& name, const auto& value, const auto&...) {
    if (is_of_methods(name) && settings.method->is_main()) return;
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>)
      file.add("/settings/" + name, value);
    else
      file.add("/settings/" + name, text_of(value));
  });
}

Settings read_settings(const Hdf5Reader& file) {
  Settings settings;
  visit_fields(settings, [&](const std::string& name, auto& value, const char*, const char* rule) {
    using Value = std::decay_t<decltype(value)>;
    const std::string path = "/settings/" + name;
    if (is_of_methods(name) && !file.has("/settings/method")) return;
    if constexpr (std::is_same_v<Value, double>)
      value = file.real(path);
    else if constexpr (std::is_same_v<Value, Index>)
      value = file.integer(path);
    else {
      const std::string text = file.text(path);
      check_text(text, "setting " + name);
      read_field(name, text, rule, value);
    }
  });
  return settings;
}

void write_features(Hdf5Writer& file, const Model& model) {
  file.add_group("/features");
  file.add("/features/names", model.features);
  file.add("/features/scaling", to_string(model.scaling.kind));
  file.add("/features/shift", model.scaling.shift);
  file.add("/features/factor", model.scaling.factor);
}

void read_features(const Hdf5Reader& file, Model& model) {
  model.features = file.texts("/features/names", file.length("/features/names"));
  const auto kind = scaling_kind_from(file.text("/features/scaling"));
  if (!kind) throw InputError("/features/scaling is unknown");
  model.scaling.kind = *kind;
  model.scaling.shift = file.reals("/features/shift", file.length("/features/shift"));
  model.scaling.factor = file.reals("/features/factor", file.length("/features/factor"));
}

void write_kernels(Hdf5Writer& file, const Model& model) {
  std::vector<std::string> names;
  std::vector<Index> columns;
  for (const Kernel& kernel : model.kernels) {
    names.push_back(to_string(kernel));
    columns.insert(columns.end(), kernel.columns.begin(), kernel.columns.end());
  }
  file.add_group("/kernels");
  file.add("/kernels/names", names);
  file.add("/kernels/divisors", model.divisors);
  file.add("/kernels/column_offsets", offsets_of(model.kernels, [](const Kernel& kernel) {
             return std::ssize(kernel.columns);
           }));
  file.add("/kernels/columns", columns);
}

void read_kernels(const Hdf5Reader& file, Model& model) {
  const Index M = file.length("/kernels/names");
  model.divisors = file.reals("/kernels/divisors", M);
  const std::vector<Index> offsets = file.integers("/kernels/column_offsets", M + 1);
  const std::vector<Index> columns =
      file.integers("/kernels/columns", file.length("/kernels/columns"));
  check_offsets(offsets, std::ssize(columns), "/kernels/column_offsets");
  const std::vector<std::string> names = file.texts("/kernels/names", M);
  for (std::size_t m = 0; m < names.size(); ++m) {
    const std::vector<Kernel> parsed = parse_kernels(names[m]);
    if (parsed.size() != 1) throw InputError("/kernels/names has a name of several kernels");
    model.kernels.push_back(parsed[0]);
    model.kernels.back().columns.assign(columns.begin() + offsets[m],
                                        columns.begin() + offsets[m + 1]);
  }
}

void write_tasks(Hdf5Writer& file, const Model& model) {
  const Index T = std::ssize(model.tasks);
  std::vector<Index> group(model.tasks.size());
  for (std::size_t g = 0; g < model.groups.size(); ++g)
    for (const Index t : model.groups[g])
      group[static_cast<std::size_t>(t)] = static_cast<Index>(g);
  file.add_group("/tasks");
  file.add("/tasks/name", of_tasks(model, &TaskModel::name));
  file.add("/tasks/negative", of_tasks(model, &TaskModel::negative));
  file.add("/tasks/positive", of_tasks(model, &TaskModel::positive));
  file.add("/tasks/n", of_tasks(model, &TaskModel::n));
  file.add("/tasks/C", of_tasks(model, &TaskModel::C));
  file.add("/tasks/bias", of_tasks(model, &TaskModel::bias));
  file.add("/tasks/objective", of_tasks(model, &TaskModel::objective));
  file.add("/tasks/group", group);
  file.add("/tasks/theta", Matrix(joined(model, &TaskModel::theta)
                                      .reshaped<Eigen::RowMajor>(T, std::ssize(model.kernels))));
  file.add("/tasks/support_offsets",
           offsets_of(model.tasks, [](const TaskModel& task) { return std::ssize(task.support); }));
  file.add("/tasks/support", joined(model, &TaskModel::support));
  file.add("/tasks/sample", joined(model, &TaskModel::sample));
  file.add("/tasks/alpha", joined(model, &TaskModel::alpha));
  file.add("/tasks/y", joined(model, &TaskModel::y));
}

// Groups from the number of each task's group; they are numbered by their first task.
Groups groups_of(const std::vector<Index>& group) {
  Groups groups;
  for (std::size_t t = 0; t < group.size(); ++t) {
    if (group[t] < 0 || group[t] > std::ssize(groups))
      throw InputError("/tasks/group does not number the groups by their first task");
    if (group[t] == std::ssize(groups)) groups.emplace_back();
    groups[static_cast<std::size_t>(group[t])].push_back(static_cast<Index>(t));
  }
  return groups;
}

void read_tasks(const Hdf5Reader& file, Model& model) {
  const Index T = file.length("/tasks/name");
  std::vector<std::string> name = file.texts("/tasks/name", T);
  std::vector<std::string> negative = file.texts("/tasks/negative", T);
  std::vector<std::string> positive = file.texts("/tasks/positive", T);
  const std::vector<Index> n = file.integers("/tasks/n", T);
  const Vector C = file.reals("/tasks/C", T);
  const Vector bias = file.reals("/tasks/bias", T);
  const Vector objective = file.reals("/tasks/objective", T);
  model.groups = groups_of(file.integers("/tasks/group", T));
  const Matrix theta = file.matrix("/tasks/theta");
  if (theta.rows() != T) throw InputError(fmt::format("/tasks/theta does not have {} rows", T));
  const std::vector<Index> offsets = file.integers("/tasks/support_offsets", T + 1);
  const Index count = file.length("/tasks/support");
  check_offsets(offsets, count, "/tasks/support_offsets");
  const std::vector<Index> support = file.integers("/tasks/support", count);
  const std::vector<Index> sample = file.integers("/tasks/sample", count);
  const Vector alpha = file.reals("/tasks/alpha", count);
  const Vector y = file.reals("/tasks/y", count);
  for (Index t = 0; t < T; ++t) {
    const auto i = static_cast<std::size_t>(t);
    const Index begin = offsets[i], end = offsets[i + 1];
    model.tasks.push_back({.name = std::move(name[i]),
                           .negative = std::move(negative[i]),
                           .positive = std::move(positive[i]),
                           .n = n[i],
                           .C = C[t],
                           .theta = theta.row(t),
                           .bias = bias[t],
                           .objective = objective[t],
                           .support = {support.begin() + begin, support.begin() + end},
                           .sample = {sample.begin() + begin, sample.begin() + end},
                           .alpha = alpha.segment(begin, end - begin),
                           .y = y.segment(begin, end - begin),
                           .w = {},
                           .shared = {},
                           .calibration = {}});
  }
}

// A row per task, or none when no task has the member.
Matrix rows_of_tasks(const Model& model, Vector TaskModel::*member) {
  const Index columns = (model.tasks.front().*member).size();
  if (columns == 0) return {};
  return joined(model, member).reshaped<Eigen::RowMajor>(std::ssize(model.tasks), columns);
}

// The group is there when the method is not coterie.
void write_method(Hdf5Writer& file, const Model& model) {
  file.add_group("/method");
  file.add("/method/claim", to_string(model.certificate.claim));
  file.add("/method/w", rows_of_tasks(model, &TaskModel::w));
  file.add("/method/shared", rows_of_tasks(model, &TaskModel::shared));
  if (model.map.size() > 0) file.add("/method/map", model.map);
}

void read_method(const Hdf5Reader& file, Model& model) {
  const auto claim = claim_from(file.text("/method/claim"));
  if (!claim) throw InputError("/method/claim is unknown");
  model.certificate.claim = *claim;
  const auto read = [&](const std::string& path, Vector TaskModel::*member) {
    const Matrix rows = file.matrix(path);
    if (rows.rows() == 0) return;
    if (rows.rows() != std::ssize(model.tasks))
      throw InputError(fmt::format("{} does not have a row per task", path));
    for (std::size_t t = 0; t < model.tasks.size(); ++t)
      model.tasks[t].*member = rows.row(static_cast<Index>(t));
  };
  read("/method/w", &TaskModel::w);
  read("/method/shared", &TaskModel::shared);
  if (file.has("/method/map")) model.map = file.matrix("/method/map");
}

// The group is there when some task is calibrated.
void write_calibrations(Hdf5Writer& file, const Model& model) {
  std::vector<std::string> kind;
  std::vector<double> slope, offset, score, value;
  for (const TaskModel& task : model.tasks) {
    const Calibration& calibration = task.calibration;
    kind.push_back(to_string(calibration.kind));
    slope.push_back(calibration.slope);
    offset.push_back(calibration.offset);
    score.insert(score.end(), calibration.score.begin(), calibration.score.end());
    value.insert(value.end(), calibration.value.begin(), calibration.value.end());
  }
  const auto add = [&](const std::string& path, const std::vector<double>& values) {
    file.add(path, Vector(Eigen::Map<const Vector>(values.data(), std::ssize(values))));
  };
  file.add_group("/calibration");
  file.add("/calibration/kind", kind);
  add("/calibration/slope", slope);
  add("/calibration/offset", offset);
  file.add("/calibration/knot_offsets", offsets_of(model.tasks, [](const TaskModel& task) {
             return task.calibration.score.size();
           }));
  add("/calibration/knot_score", score);
  add("/calibration/knot_probability", value);
}

void read_calibrations(const Hdf5Reader& file, Model& model) {
  const Index T = std::ssize(model.tasks);
  const std::vector<std::string> kinds = file.texts("/calibration/kind", T);
  const Vector slope = file.reals("/calibration/slope", T);
  const Vector offset = file.reals("/calibration/offset", T);
  const std::vector<Index> offsets = file.integers("/calibration/knot_offsets", T + 1);
  const Index knots = file.length("/calibration/knot_score");
  check_offsets(offsets, knots, "/calibration/knot_offsets");
  const Vector score = file.reals("/calibration/knot_score", knots);
  const Vector value = file.reals("/calibration/knot_probability", knots);
  for (Index t = 0; t < T; ++t) {
    const auto i = static_cast<std::size_t>(t);
    const auto kind = calibration_kind_from(kinds[i]);
    if (!kind) throw InputError("/calibration/kind is unknown");
    const Index begin = offsets[i], count = offsets[i + 1] - begin;
    model.tasks[i].calibration = {*kind, slope[t], offset[t], score.segment(begin, count),
                                  value.segment(begin, count)};
  }
}

void write_training_data(Hdf5Writer& file, const Model& model) {
  file.add_group("/support_vectors");
  file.add("/support_vectors/values", model.support_vectors);
  file.add("/support_vectors/training_row", model.training_row);
  file.add_group("/training_data");
  file.add("/training_data/rows", model.training_rows);
  file.add("/training_data/fingerprint", model.fingerprint);
  file.add("/training_data/casting", to_string(model.casting));
  file.add("/training_data/classes", model.classes);
}

void read_training_data(const Hdf5Reader& file, Model& model) {
  model.support_vectors = file.matrix("/support_vectors/values");
  model.training_row =
      file.integers("/support_vectors/training_row", file.length("/support_vectors/training_row"));
  model.training_rows = file.integer("/training_data/rows");
  model.fingerprint = file.text("/training_data/fingerprint");
  const auto casting = casting_from(file.text("/training_data/casting"));
  if (!casting) throw InputError("/training_data/casting is unknown");
  model.casting = *casting;
  model.classes = file.texts("/training_data/classes", file.length("/training_data/classes"));
}

void write_certificate(Hdf5Writer& file, const Certificate& proof, bool bounded) {
  std::vector<Index> first, second;
  Vector weight(std::ssize(proof.graph));
  for (const Edge& edge : proof.graph) {
    weight[std::ssize(first)] = edge.weight;
    first.push_back(edge.t);
    second.push_back(edge.s);
  }
  file.add_group("/certificate");
  file.add("/certificate/primal", proof.primal);
  file.add("/certificate/dual", proof.dual);
  file.add("/certificate/gap", proof.gap);
  file.add("/certificate/lambda", proof.lambda);
  if (bounded) {
    file.add("/certificate/bound", proof.bound);
    file.add("/certificate/scale_floor", proof.scale_floor);
    file.add("/certificate/lambda_max", proof.lambda_max);
  }
  file.add("/certificate/complete_graph", Index{proof.complete});
  file.add("/certificate/edge_t", first);
  file.add("/certificate/edge_s", second);
  file.add("/certificate/edge_weight", weight);
  file.add("/certificate/nu", proof.nu);
  file.add("/certificate/status", proof.status);
  file.add("/certificate/outer_steps", proof.outer_steps);
}

Certificate read_certificate(const Hdf5Reader& file) {
  Certificate proof;
  proof.primal = file.real("/certificate/primal");
  proof.dual = file.real("/certificate/dual");
  proof.gap = file.real("/certificate/gap");
  proof.lambda = file.real("/certificate/lambda");
  const bool bounded = file.has("/certificate/bound");
  proof.bound = bounded ? file.real("/certificate/bound") : kBoundBefore;
  proof.scale_floor = bounded ? file.real("/certificate/scale_floor") : 1;
  if (bounded) proof.lambda_max = file.real("/certificate/lambda_max");
  const Index complete = file.integer("/certificate/complete_graph");
  if (complete != 0 && complete != 1)
    throw InputError(fmt::format("/certificate/complete_graph is {}, not 0 or 1", complete));
  proof.complete = complete == 1;
  const Index edges = file.length("/certificate/edge_t");
  const std::vector<Index> first = file.integers("/certificate/edge_t", edges);
  const std::vector<Index> second = file.integers("/certificate/edge_s", edges);
  const Vector weight = file.reals("/certificate/edge_weight", edges);
  for (std::size_t e = 0; e < first.size(); ++e)
    proof.graph.push_back({first[e], second[e], weight[static_cast<Index>(e)]});
  proof.nu = file.matrix("/certificate/nu");
  proof.status = file.text("/certificate/status");
  proof.outer_steps = file.integer("/certificate/outer_steps");
  return proof;
}

}  // namespace

std::string write_arrays(const Model& model) {
  Hdf5Writer file;
  write_settings(file, model.settings);
  write_features(file, model);
  write_kernels(file, model);
  write_tasks(file, model);
  if (has_calibration(model)) write_calibrations(file, model);
  write_training_data(file, model);
  bool bounded = model.certificate.scale_floor == 0;
  for (const Extension& added : model.extensions)
    bounded = bounded || added.certificate.scale_floor == 0;
  write_certificate(file, model.certificate, bounded);
  if (!model.settings.method->is_main()) write_method(file, model);
  write_extensions(file, model.extensions, std::ssize(model.kernels), bounded);
  return file.finish();
}

Model read_arrays(std::string_view bytes) {
  const Hdf5Reader file(bytes);
  Model model;
  model.settings = read_settings(file);
  read_features(file, model);
  read_kernels(file, model);
  read_tasks(file, model);
  if (file.has("/calibration/kind")) read_calibrations(file, model);
  read_training_data(file, model);
  model.certificate = read_certificate(file);
  if (file.has("/method/claim")) read_method(file, model);
  model.extensions = read_extensions(file);
  return model;
}

}  // namespace coterie::detail
