// The module coterie._core: the verbs of the front door on NumPy arrays. Everything that is more than a verb is plain Python around it.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "coterie/data/fingerprint.hpp"
#include "coterie/data/names.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/front/extend.hpp"
#include "coterie/front/files.hpp"
#include "coterie/front/learnt_kernel.hpp"
#include "coterie/front/path.hpp"
#include "coterie/front/select.hpp"
#include "coterie/front/verify.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/model/evaluation.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "coterie/page/page.hpp"
#include "coterie/search/merge_tree.hpp"
#include "job.hpp"

namespace coterie::python {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Codes = py::array_t<Index, py::array::c_style | py::array::forcecast>;
using Names = std::vector<std::string>;
using Texts = std::map<std::string, std::string>;

// --- Arrays --------------------------------------------------------------------------------------------------------------------------

// The numbers change hands, they are not copied.
template <typename Owned>
py::array_t<double> array_of(Owned values) {
  const bool is_vector = Owned::ColsAtCompileTime == 1;
  std::vector<py::ssize_t> shape = {values.rows()};
  if (!is_vector) shape.push_back(values.cols());
  auto* const kept = new Owned(std::move(values));
  const py::capsule owner(kept, [](void* pointer) { delete static_cast<Owned*>(pointer); });
  return py::array_t<double>(shape, kept->data(), owner);
}

Matrix matrix_of(const Numbers& values) {
  if (values.ndim() != 2) throw InputError("an array of two dimensions is needed.");
  return Eigen::Map<const Matrix>(values.data(), values.shape(0), values.shape(1));
}

Vector vector_of(const Numbers& values) {
  return Eigen::Map<const Vector>(values.data(), values.size());
}

std::vector<Index> indices_of(const Codes& values) {
  return {values.data(), values.data() + values.size()};
}

PrecomputedMatrices matrices_of(const std::map<std::string, Numbers>& arrays) {
  PrecomputedMatrices out;
  for (const auto& [name, values] : arrays) out[name] = matrix_of(values);
  return out;
}

// --- Data ----------------------------------------------------------------------------------------------------------------------------

// Codes renumbered so that names stand in the given order; -1 is none.
void renumber(std::vector<Index>& codes, Names& names, const std::vector<Index>& order) {
  std::vector<Index> place(names.size(), -1);
  Names sorted;
  for (const Index k : order) {
    place[static_cast<std::size_t>(k)] = std::ssize(sorted);
    sorted.push_back(names[static_cast<std::size_t>(k)]);
  }
  for (Index& code : codes) code = place.at(static_cast<std::size_t>(code));
  names = std::move(sorted);
}

// As tables have it: labels sorted, tasks in order of first appearance.
Samples samples_of(const Numbers& X, Names features, const std::optional<Codes>& label,
                   Names labels, const std::optional<Codes>& task, Names tasks,
                   std::pair<std::string, std::string> columns) {
  Samples out;
  out.X = matrix_of(X);
  out.features = std::move(features);
  out.columns = {std::move(columns.first), std::move(columns.second)};
  if (label) {
    out.label = indices_of(*label);
    out.labels = std::move(labels);
    std::vector<Index> order(out.labels.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::sort(order, [&](Index a, Index b) {
      return label_before(out.labels[static_cast<std::size_t>(a)],
                          out.labels[static_cast<std::size_t>(b)]);
    });
    renumber(out.label, out.labels, order);
  }
  if (task) {
    out.task = indices_of(*task);
    out.tasks = std::move(tasks);
    std::vector<Index> order;
    std::vector<bool> seen(out.tasks.size(), false);
    for (const Index code : out.task) {
      if (seen.at(static_cast<std::size_t>(code))) continue;
      seen[static_cast<std::size_t>(code)] = true;
      order.push_back(code);
    }
    renumber(out.task, out.tasks, order);
  }
  return out;
}

using Data = std::shared_ptr<Dataset>;
using RowsPtr = std::shared_ptr<Samples>;

// The rows are given away.
Data make_dataset(const RowsPtr& rows, const std::string& casting,
                  const std::optional<Numbers>& weight) {
  const std::optional<Casting> kind = casting_from(casting);
  if (!kind) throw InputError(fmt::format("there is no casting '{}'.", casting));
  Dataset data = cast_into_tasks(std::move(*rows), *kind);
  if (weight) data.weight = vector_of(*weight);
  check_dataset(data);
  return std::make_shared<Dataset>(std::move(data));
}

// --- Settings ------------------------------------------------------------------------------------------------------------------------

Settings settings_of(const Texts& texts) {
  Settings settings;
  std::size_t known = 0;
  visit_fields(settings, [&](const char* field, auto& value, const char*, const char* rule) {
    const auto found = texts.find(member_name(field));
    if (found == texts.end()) return;
    ++known;
    read_field(field, found->second, rule, value);
  });
  if (known != texts.size()) throw InputError("there is a setting of an unknown name.");
  return settings;
}

py::dict dict_of(const Settings& settings) {
  py::dict out;
  visit_fields(settings, [&](const char* field, const auto& value, const char*, const char*) {
    out[member_name(field).c_str()] = text_of(value);
  });
  return out;
}

// (member, value by default, help, rule) of every setting.
py::list list_of_settings() {
  py::list out;
  const Settings settings;
  visit_fields(settings,
               [&](const char* field, const auto& value, const char* help, const char* rule) {
                 out.append(py::make_tuple(member_name(field), text_of(value), help, rule));
               });
  return out;
}

py::list list_of_methods() {
  py::list out;
  for (const Method& method : methods()) {
    py::list parameters;
    for (const Parameter& one : method.parameters)
      parameters.append(py::dict(py::arg("name") = one.name, py::arg("default") = one.value,
                                 py::arg("help") = one.help, py::arg("rule") = one.rule));
    out.append(py::dict(py::arg("name") = method.name, py::arg("title") = method.title,
                        py::arg("source") = method.source, py::arg("about") = method.about,
                        py::arg("linear") = method.is_linear(),
                        py::arg("parameters") = parameters));
  }
  return out;
}

struct More {  // besides data and settings
  std::map<std::string, Numbers> precomputed;
  std::map<std::string, double> task_C;
  std::optional<std::vector<std::tuple<std::string, std::string, double>>> graph;
};

TaskGraph graph_of(const std::vector<std::tuple<std::string, std::string, double>>& links,
                   const Names& names) {
  TaskGraph graph;
  for (const auto& [a, b, weight] : links) {
    const auto number = [&](const std::string& name) {
      const auto found = std::ranges::find(names, name);
      if (found == names.end())
        throw InputError(
            fmt::format("`task_graph` names the task '{}', which the data does not have. Its "
                        "tasks: {}.",
                        name, list_names(names)));
      return static_cast<Index>(found - names.begin());
    };
    const auto [t, s] = std::minmax({number(a), number(b)});
    if (t == s) throw InputError(fmt::format("`task_graph` joins task '{}' with itself.", a));
    if (!(weight >= 0) || std::isinf(weight))
      throw InputError(
          fmt::format("`task_graph` gives '{}' and '{}' the weight {}; it must be a number >= 0.",
                      a, b, weight));
    const auto same = [&, t = t, s = s](const Edge& edge) { return edge.t == t && edge.s == s; };
    if (std::ranges::any_of(graph, same))
      throw InputError(fmt::format("`task_graph` names '{}' and '{}' twice.", a, b));
    if (weight > 0) graph.push_back({t, s, weight});
  }
  std::ranges::sort(graph, {}, [](const Edge& edge) { return std::pair(edge.t, edge.s); });
  return graph;
}

Names names_of(const std::vector<Task>& tasks) {
  Names names;
  for (const Task& task : tasks) names.push_back(task.name);
  return names;
}

Extras extras_of(const More& more, const Dataset& data) {
  Extras extras;
  extras.precomputed = matrices_of(more.precomputed);
  extras.task_C = more.task_C;
  extras.complete = !more.graph.has_value();
  if (more.graph) extras.graph = graph_of(*more.graph, names_of(data.tasks));
  return extras;
}

std::optional<CalibrationSettings> calibration_of(const std::string& kind, Index folds,
                                                  std::uint64_t seed) {
  if (kind.empty()) return {};
  const std::optional<Calibration::Kind> found = calibration_kind_from(kind);
  if (!found || *found == Calibration::Kind::none)
    throw InputError(
        fmt::format("`calibrate` is '{}'; it must be 'platt' or 'isotonic', or None.", kind));
  return CalibrationSettings{*found, folds, seed};
}

// --- Models --------------------------------------------------------------------------------------------------------------------------

using ModelPtr = std::shared_ptr<Model>;

ModelPtr kept(Model model) { return std::make_shared<Model>(std::move(model)); }

py::dict dict_of(const Certificate& proof) {
  return py::dict(
      py::arg("objective") = proof.primal, py::arg("dual") = proof.dual, py::arg("gap") = proof.gap,
      py::arg("bound") = proof.bound, py::arg("lam") = proof.lambda,
      py::arg("lam_max") = proof.lambda_max, py::arg("claim") = to_string(proof.claim),
      py::arg("status") = to_string(proof.status), py::arg("steps") = proof.outer_steps);
}

py::list list_of(const Groups& groups) {
  py::list out;
  for (const std::vector<Index>& group : groups) out.append(py::cast(group));
  return out;
}

py::dict dict_of(const Calibration& calibration) {
  return py::dict(py::arg("kind") = to_string(calibration.kind),
                  py::arg("slope") = calibration.slope, py::arg("offset") = calibration.offset,
                  py::arg("score") = array_of(Vector(calibration.score)),
                  py::arg("value") = array_of(Vector(calibration.value)));
}

py::dict dict_of(const TaskModel& task) {
  return py::dict(py::arg("name") = task.name, py::arg("negative") = task.negative,
                  py::arg("positive") = task.positive, py::arg("part") = task.part,
                  py::arg("n") = task.n, py::arg("C") = task.C, py::arg("bias") = task.bias,
                  py::arg("objective") = task.objective,
                  py::arg("support") = std::ssize(task.expansion().support),
                  py::arg("calibrated") = is_calibrated(task));
}

// Kernel weights, or weights of features: a row per task.
Matrix weights_of(const Model& model) {
  const bool linear = std::holds_alternative<LinearWeights>(model.tasks.front().function);
  const Index columns = linear ? model.tasks.front().w().size() : std::ssize(model.kernels);
  Matrix out(std::ssize(model.tasks), columns);
  for (std::size_t t = 0; t < model.tasks.size(); ++t)
    out.row(static_cast<Index>(t)) = linear ? model.tasks[t].w() : model.tasks[t].theta();
  return out;
}

py::dict dict_of(const Kernel& kernel) {
  return py::dict(
      py::arg("name") = to_string(kernel),
      py::arg("base") =
          std::string(to_string(kernel)).substr(0, to_string(kernel).find_first_of(":@")),
      py::arg("parameter") = kernel.parameter, py::arg("offset") = kernel.offset,
      py::arg("raw") = kernel.raw, py::arg("columns") = py::cast(kernel.columns),
      py::arg("precomputed") = kernel.is_precomputed());
}

// All that predictions are made of, for who writes them in another form.
py::dict parts_of(const Model& model) {
  py::dict out;
  py::list kernels, expansions;
  for (const Kernel& kernel : model.kernels) kernels.append(dict_of(kernel));
  for (const TaskModel& task : model.tasks) {
    py::dict one = dict_of(task);
    const KernelExpansion& own = task.expansion();
    one["support"] = py::cast(own.support);
    one["coefficients"] = array_of(Vector(own.alpha.cwiseProduct(own.y)));
    one["calibration"] = dict_of(task.calibration);
    expansions.append(one);
  }
  out["kernels"] = kernels;
  out["tasks"] = expansions;
  out["divisors"] = array_of(Vector(model.divisors));
  out["support_vectors"] = array_of(Matrix(model.support_vectors));
  out["shift"] = array_of(Vector(model.scaling.shift));
  out["factor"] = array_of(Vector(model.scaling.factor));
  out["smooth"] = model.scaling.smooth;
  out["neighbours"] = py::cast(model.scaling.neighbours);
  out["first_stage"] = model.first_stage != nullptr;
  out["mapped"] = model.map.size() > 0;
  return out;
}

// --- Verbs ---------------------------------------------------------------------------------------------------------------------------

// `data` is given away.
ModelPtr train_model(const Data& data, const Texts& texts, const More& more,
                     const std::string& calibrate_by, Index folds, std::uint64_t seed,
                     const Resources& resources) {
  const Settings settings = settings_of(texts);
  validate(in_full(settings));
  const std::optional<CalibrationSettings> calibration = calibration_of(calibrate_by, folds, seed);
  const auto extras = std::make_shared<Extras>(extras_of(more, *data));
  return run_job<ModelPtr>(resources, [=](const Run& run) {
    if (!calibration) return kept(train(std::move(*data), settings, run, *extras));
    fold_tasks(*data, calibration->folds, calibration->seed);  // what cannot be folded is said now
    Model model = train(*data, settings, run, *extras);
    std::optional<Model> found = calibrate(model, *data, *calibration, run, *extras);
    return kept(found ? std::move(*found) : std::move(model));
  });
}

// How rows are predicted; the precomputed values stay with it.
std::shared_ptr<PredictSettings> predict_settings_of(
    const std::map<std::string, Numbers>& precomputed, const std::string& new_task) {
  PredictSettings settings;
  settings.precomputed = matrices_of(precomputed);
  settings.source = "X";
  if (!read_text(new_task, settings.new_task))
    throw InputError(fmt::format(
        "`new_task` is '{}'; it must be 'error', 'common', 'group:N' or 'task:NAME'.", new_task));
  return std::make_shared<PredictSettings>(std::move(settings));
}

void go_on_or_stop(const Run& run, Index done, Index all) {
  if (!run.share(done, all)) throw Stopped{};
}

// Per part: its name, the tasks and rows, scores (rows x tasks), the label said, probabilities or None.
py::list predict_rows(const ModelPtr& model, const RowsPtr& rows,
                      const std::map<std::string, Numbers>& precomputed,
                      const std::string& new_task, const Resources& resources) {
  const auto how = predict_settings_of(precomputed, new_task);
  Predictions found = run_job<Predictions>(resources, [=](const Run& run) {
    how->threads = run.threads;
    how->progress = [&](Index done, Index all) { go_on_or_stop(run, done, all); };
    return predict(*model, *rows, *how);
  });
  py::list out;
  for (PartPredictions& part : found.parts) {
    if (part.rows.empty()) continue;
    const Names labels = labels_of(*model, part);
    std::vector<Index> said;
    for (const std::string& label : part.label)
      said.push_back(std::ranges::find(labels, label) - labels.begin());
    py::dict one;
    one["name"] = part.name;
    one["tasks"] = py::cast(part.tasks);
    one["rows"] = py::array_t<Index>(std::ssize(part.rows), part.rows.data());
    one["labels"] = py::cast(labels);
    one["said"] = py::array_t<Index>(std::ssize(said), said.data());
    one["averaged"] = part.averaged;
    one["probability"] =
        has_probability(part) ? py::object(array_of(std::move(part.probability))) : py::none();
    one["scores"] = array_of(std::move(part.scores));
    out.append(one);
  }
  return out;
}

py::dict dict_of(const Scores& scores) {
  py::dict out;
  for (const ScoreField& field : score_fields) out[field.name] = scores.*field.value;
  return out;
}

py::dict evaluate_rows(const ModelPtr& model, const RowsPtr& rows,
                       const std::map<std::string, Numbers>& precomputed,
                       const std::string& new_task, const Resources& resources) {
  const auto how = predict_settings_of(precomputed, new_task);
  Evaluation found = run_job<Evaluation>(resources, [=](const Run& run) {
    how->threads = run.threads;
    how->progress = [&](Index done, Index all) { go_on_or_stop(run, done, all); };
    return evaluate(*model, *rows, *how);
  });
  py::list tasks;
  for (const TaskScores& task : found.tasks) {
    py::dict one = dict_of(task.scores);
    one["name"] = task.name;
    one["n"] = task.n;
    one["errors"] = task.errors;
    tasks.append(one);
  }
  return py::dict(
      py::arg("n") = found.n, py::arg("errors") = found.errors,
      py::arg("accuracy") = found.accuracy, py::arg("balanced_accuracy") = found.balanced_accuracy,
      py::arg("log_loss") = found.log_loss, py::arg("mean") = dict_of(found.mean),
      py::arg("tasks") = tasks, py::arg("confusion") = array_of(std::move(found.confusion)));
}

// With the scores of rows, if there are any.
std::string page_of_model(const ModelPtr& model, const std::string& title, const RowsPtr& rows,
                          const std::map<std::string, Numbers>& precomputed,
                          const std::string& new_task, const Resources& resources) {
  const auto how = predict_settings_of(precomputed, new_task);
  return run_job<std::string>(resources, [=](const Run& run) {
    ModelPage page{.title = title, .model = *model};
    Evaluation found;
    if (rows) {
      how->threads = run.threads;
      how->progress = [&](Index done, Index all) { go_on_or_stop(run, done, all); };
      found = evaluate(*model, *rows, *how);
      page.held_out = &found;
      page.held_out_name = fmt::format("{} rows", found.n);
    }
    return as_page(page);
  });
}

py::dict verify_model(const ModelPtr& model, const Data& data, const More& more,
                      const Resources& resources) {
  VerifyInputs inputs;
  inputs.precomputed = matrices_of(more.precomputed);
  if (!more.task_C.empty()) inputs.task_C = more.task_C;
  if (more.graph) {
    Names names;
    const ModelPart part = part_of(*model, *data);
    for (Index t = 0; t < part.tasks; ++t)
      names.push_back(model->tasks[static_cast<std::size_t>(t)].name);
    inputs.task_graph = graph_of(*more.graph, names);
  }
  const auto given = std::make_shared<const VerifyInputs>(std::move(inputs));
  const Verification check = run_job<Verification>(resources, [=](const Run& run) {
    return verify(*model, *data, *given,
                  [&](Index done, Index all) { go_on_or_stop(run, done, all); });
  });
  return py::dict(py::arg("holds") = check.holds(), py::arg("objective") = check.primal,
                  py::arg("dual") = check.dual, py::arg("gap") = check.gap,
                  py::arg("bound") = check.bound, py::arg("infeasibility") = check.infeasibility,
                  py::arg("groups_exact") = check.groups_exact,
                  py::arg("findings") = check.findings, py::arg("taken") = check.taken);
}

ModelPtr extend_model(
    const ModelPtr& model, const Data& data, std::optional<double> lambda, std::optional<double> C,
    double tolerance, Index max_steps,
    const std::optional<std::vector<std::tuple<std::string, std::string, double>>>& links,
    const std::string& calibrate_by, Index folds, std::uint64_t seed, const Resources& resources) {
  ExtendSettings settings{.lambda = lambda, .C = C, .tolerance = tolerance, .max_steps = max_steps};
  check_extension(*model, *data);
  if (links) {
    Names names;
    for (const TaskModel& task : model->tasks) names.push_back(task.name);
    for (const Task& task : data->tasks) names.push_back(task.name);
    settings.links = graph_of(*links, names);
  }
  const std::optional<CalibrationSettings> calibration = calibration_of(calibrate_by, folds, seed);
  return run_job<ModelPtr>(resources, [=](const Run& run) {
    if (!calibration) return kept(extend(*model, std::move(*data), settings, run));
    fold_tasks(*data, calibration->folds, calibration->seed);
    Model extended = extend(*model, *data, settings, run);
    std::optional<Model> found =
        calibrate_added(extended, *model, *data, settings, *calibration, run);
    return kept(found ? std::move(*found) : std::move(extended));
  });
}

struct Search {  // how a selection goes; names as in SelectSettings
  Index folds = 5;
  std::optional<double> hold_out;
  std::string score = "accuracy";
  bool coarse = false, one_se = false;
  std::uint64_t seed = 1;
  bool alternatives = true;
};

SelectSettings select_settings_of(const Search& search, const Settings& settings) {
  SelectSettings how;
  how.settings = settings;
  how.folds = search.folds;
  how.hold_out = search.hold_out;
  const std::optional<Score> score = score_from(search.score);
  if (!score)
    throw InputError(fmt::format(
        "`score` is '{}'; it must be 'accuracy', 'balanced', 'auc' or 'logloss'.", search.score));
  how.score = *score;
  how.coarse = search.coarse;
  how.one_se = search.one_se;
  how.seed = search.seed;
  how.alternatives = search.alternatives;
  return how;
}

py::dict dict_of(const Selection& found) {
  const auto values_at = [&](const GridPoint& point) {
    py::dict out;
    for (const std::string& column : found.grid.columns)
      out[column.c_str()] = value_at(found.grid, point, column);
    return out;
  };
  py::list table;
  for (const Ranked& one : found.ranked) {
    py::dict row = values_at(one.point);
    row["score"] = one.score;
    row["standard_error"] = one.standard_error;
    row["cells"] = array_of(Matrix(found.scores.cells.at(one.point)));
    table.append(row);
  }
  py::list alternatives;
  for (const Alternative& other : found.alternatives)
    alternatives.append(
        py::dict(py::arg("method") = other.settings.method->name,
                 py::arg("settings") = dict_of(other.settings), py::arg("score") = other.score,
                 py::arg("standard_error") = other.standard_error, py::arg("better") = other.better,
                 py::arg("better_error") = other.better_error));
  const Ranked& best = found.of_chosen();
  return py::dict(
      py::arg("table") = table, py::arg("chosen") = values_at(found.chosen),
      py::arg("settings") = dict_of(found.settings), py::arg("score") = best.score,
      py::arg("standard_error") = best.standard_error, py::arg("judged_by") = found.judged_by,
      py::arg("fits") = found.scores.fits, py::arg("columns") = found.grid.columns,
      py::arg("within") = found.confidence.within,
      py::arg("chosen_again") = found.confidence.chosen_again,
      py::arg("optimism") = found.confidence.optimism, py::arg("alternatives") = alternatives);
}

// Nothing where it was stopped.
py::object select_model(const Data& data, const Texts& texts, const Texts& lists,
                        const std::string& parameters, const Search& search, const More& more,
                        const std::string& calibrate_by, const Resources& resources) {
  const Settings settings = settings_of(texts);
  validate(in_full(settings));
  GridText text = grid::paper_text();
  for (const auto& [name, list] : lists) {
    if (name == "C")
      text.C = list;
    else if (name == "lambda")
      text.lambda = list;
    else if (name == "norm")
      text.norm = list;
    else if (name == "normalise")
      text.normalise = list;
    else
      throw InputError(fmt::format("there is no list of {} to search.", name));
  }
  Grid grid = parse_method_grid(settings, text, parameters);
  limit_clusters(grid, std::ssize(data->tasks));
  const SelectSettings how = select_settings_of(search, in_full(settings));
  check_selection(how);
  const std::optional<CalibrationSettings> calibration =
      calibration_of(calibrate_by, search.folds, search.seed);
  const auto extras = std::make_shared<Extras>(extras_of(more, *data));
  check_search(*data, grid, how, {.memory_bytes = resources.memory_bytes}, *extras);
  const Selection found = run_job<Selection>(resources, [=](const Run& run) {
    Selection best = select(*data, grid, how, run, *extras);
    if (!calibration || !best.trained) return best;
    if (std::optional<Model> model =
            calibrate(best.trained->model, *data, *calibration, run, *extras))
      best.trained->model = std::move(*model);
    return best;
  });
  if (!found.trained) return py::none();
  return py::make_tuple(dict_of(found), kept(found.model()));
}

struct Traced {
  LambdaPath path;
  MergeTree tree;
  std::vector<std::string> kernels;
};

// Arrays along the path: points, and the tree of which tasks join when. Nothing where it was stopped.
py::object trace(const Data& data, const Texts& texts, const PathSettings& path,
                 std::optional<double> hold_out, std::uint64_t seed, const More& more,
                 const Resources& resources) {
  const Settings settings = in_full(settings_of(texts));
  validate(settings);
  const TraceSettings how{path, hold_out, seed};
  check_trace(settings, how);
  const auto extras = std::make_shared<Extras>(extras_of(more, *data));
  Traced found = run_job<Traced>(resources, [=](const Run& run) {
    check_path_memory(*data, settings, how, run, *extras);
    PathHooks hooks;
    hooks.progress = [&](Index points, double, double left) {
      return run.share(points, points + static_cast<Index>(left));
    };
    const Fold fold = path_fold(*data, settings, how, run, *extras);
    Traced out;
    out.path = trace_path(fold, *data, settings, how, run, *extras, hooks);
    for (const Kernel& kernel : kernels_of(fold).grams.kernels)
      out.kernels.push_back(to_string(kernel));
    if (!out.path.stopped) out.tree = merge_tree(out.path);
    return out;
  });
  if (found.path.stopped) return py::none();
  const Index points = std::ssize(found.path.points), tasks = std::ssize(data->tasks);
  const Index kernels = std::ssize(found.kernels);
  py::array_t<double> weights({points, tasks, kernels});
  Vector lambda(points), objective(points), gap(points), train(points), held_out(points);
  py::list groups;
  for (Index i = 0; i < points; ++i) {
    const PathPoint& point = found.path.points[static_cast<std::size_t>(i)];
    std::copy(point.fit.theta.data(), point.fit.theta.data() + point.fit.theta.size(),
              weights.mutable_data(i, 0, 0));
    lambda[i] = point.lambda;
    objective[i] = point.fit.primal;
    gap[i] = point.fit.gap;
    train[i] = point.train_accuracy;
    held_out[i] = point.held_out_accuracy;
    groups.append(list_of(point.fit.groups));
  }
  py::list merges, nodes;
  for (const Merge& merge : found.tree.merges)
    merges.append(py::dict(py::arg("members") = merge.members, py::arg("lower") = merge.lower,
                           py::arg("upper") = merge.upper));
  for (const TreeNode& node : found.tree.nodes)
    nodes.append(py::dict(py::arg("children") = node.children, py::arg("members") = node.members,
                          py::arg("lam") = node.lambda, py::arg("together") = node.together,
                          py::arg("for_good") = node.for_good));
  return py::dict(py::arg("lam_max") = found.path.lambda_max,
                  py::arg("resolved") = found.path.resolved, py::arg("lam") = array_of(lambda),
                  py::arg("weights") = weights, py::arg("objective") = array_of(objective),
                  py::arg("gap") = array_of(gap), py::arg("train_accuracy") = array_of(train),
                  py::arg("held_out_accuracy") = array_of(held_out), py::arg("groups") = groups,
                  py::arg("tasks") = names_of(data->tasks), py::arg("kernels") = found.kernels,
                  py::arg("merges") = merges, py::arg("nodes") = nodes,
                  py::arg("together") = array_of(std::move(found.tree.together)));
}

void bind_values(py::module_& module) {
  py::class_<Samples, RowsPtr>(module, "Rows")
      .def(py::init(&samples_of), py::arg("X"), py::arg("features"), py::arg("label") = py::none(),
           py::arg("labels") = Names(), py::arg("task") = py::none(), py::arg("tasks") = Names(),
           py::arg("columns") = std::pair<std::string, std::string>());
  py::class_<Dataset, Data>(module, "Dataset")
      .def(py::init(&make_dataset), py::arg("rows"), py::arg("casting"),
           py::arg("weight") = py::none())
      .def_property_readonly("tasks", [](const Dataset& data) { return names_of(data.tasks); })
      .def_property_readonly("fingerprint", [](const Dataset& data) { return fingerprint(data); });
  py::class_<Resources>(module, "Resources")
      .def(py::init<int, double, py::object, py::object>(), py::arg("threads") = 0,
           py::arg("memory") = 0.0, py::arg("progress") = py::none(), py::arg("note") = py::none());
  py::class_<More>(module, "More")
      .def(py::init(
               [](std::map<std::string, Numbers> precomputed, std::map<std::string, double> task_C,
                  std::optional<std::vector<std::tuple<std::string, std::string, double>>> graph) {
                 return More{std::move(precomputed), std::move(task_C), std::move(graph)};
               }),
           py::arg("precomputed") = std::map<std::string, Numbers>(),
           py::arg("task_C") = std::map<std::string, double>(), py::arg("graph") = py::none());
  py::class_<Search>(module, "Search")
      .def(py::init([](Index folds, std::optional<double> hold_out, std::string score, bool coarse,
                       bool one_se, std::uint64_t seed, bool alternatives) {
             return Search{folds, hold_out, std::move(score), coarse, one_se, seed, alternatives};
           }),
           py::arg("folds"), py::arg("hold_out"), py::arg("score"), py::arg("coarse"),
           py::arg("one_se"), py::arg("seed"), py::arg("alternatives"));
}

void bind_model(py::module_& module) {
  const auto name_groups = [](const Model& model) {
    py::list out;
    for (const std::vector<Index>& group : listed(model.groups())) {
      Names names;
      for (const Index t : group) names.push_back(model.tasks[static_cast<std::size_t>(t)].name);
      out.append(py::cast(names));
    }
    return out;
  };
  py::class_<Model, ModelPtr>(module, "Model")
      .def_static(
          "from_bytes",
          [](const py::bytes& bytes, const std::string& name) {
            return kept(model_from_bytes(static_cast<std::string_view>(bytes), name));
          },
          py::arg("bytes"), py::arg("name") = "the model")
      .def("to_bytes", [](const Model& model) { return py::bytes(model_to_bytes(model)); })
      .def_static("load", [](const std::string& path) { return kept(load(path)); })
      .def("save", [](const Model& model, const std::string& path) { save(model, path); })
      .def(py::pickle([](const Model& model) { return py::bytes(model_to_bytes(model)); },
                      [](const py::bytes& bytes) {
                        return kept(
                            model_from_bytes(static_cast<std::string_view>(bytes), "the pickle"));
                      }))
      .def("__eq__", [](const Model& a, const Model& b) { return a == b; })
      .def_property_readonly("settings", [](const Model& model) { return dict_of(model.settings); })
      .def_property_readonly("tasks",
                             [](const Model& model) {
                               py::list out;
                               for (const TaskModel& task : model.tasks) out.append(dict_of(task));
                               return out;
                             })
      .def_property_readonly(
          "is_linear",
          [](const Model& model) {
            return std::holds_alternative<LinearWeights>(model.tasks.front().function);
          })
      .def_property_readonly("kernels",
                             [](const Model& model) {
                               Names names;
                               for (const Kernel& kernel : model.kernels)
                                 names.push_back(to_string(kernel));
                               return names;
                             })
      .def_property_readonly("weights",
                             [](const Model& model) { return array_of(weights_of(model)); })
      .def_property_readonly("groups", name_groups)
      .def_property_readonly("certificate",
                             [](const Model& model) { return dict_of(model.certificate()); })
      .def_property_readonly(
          "task_graph",
          [](const Model& model) -> py::object {  // nothing where it is every pair of tasks
            const Certificate& certificate = model.certificate();
            if (certificate.complete || certificate.graph.empty()) return py::none();
            py::list out;
            for (const Edge& edge : certificate.graph)
              out.append(py::make_tuple(model.tasks[static_cast<std::size_t>(edge.t)].name,
                                        model.tasks[static_cast<std::size_t>(edge.s)].name,
                                        edge.weight));
            return out;
          })
      .def_property_readonly("extensions",
                             [](const Model& model) {
                               py::list out;
                               for (const Extension& added : model.extensions) {
                                 py::dict one = dict_of(added.certificate);
                                 one["base_tasks"] = added.base_tasks;
                                 one["tasks"] = added.tasks;
                                 out.append(one);
                               }
                               return out;
                             })
      .def_property_readonly("casting", [](const Model& model) { return to_string(model.casting); })
      .def_readonly("classes", &Model::classes)
      .def_property_readonly("features",
                             [](const Model& model) { return model.features_of_data(); })
      .def_property_readonly(
          "columns",
          [](const Model& model) { return std::pair(model.columns.label, model.columns.task); })
      .def_readonly("training_rows", &Model::training_rows)
      .def_readonly("fingerprint", &Model::fingerprint)
      .def("parts", &parts_of)
      .def("combined_kernel", [](const ModelPtr& model, const Numbers& weights, const Numbers& A,
                                 const Numbers& B, const Resources& resources) {
        const auto own = std::make_shared<const Vector>(vector_of(weights));
        const auto left = std::make_shared<const Matrix>(matrix_of(A));
        const auto right = std::make_shared<const Matrix>(matrix_of(B));
        return array_of(run_job<Matrix>(resources, [=](const Run& run) {
          return learnt_kernel(*model, *own, *left, *right, run.threads);
        }));
      });
}

void bind_verbs(py::module_& module) {
  module.def("settings", &list_of_settings);
  module.def("methods", &list_of_methods);
  module.def("train", &train_model, py::arg("data"), py::arg("settings"), py::arg("more"),
             py::arg("calibrate"), py::arg("folds"), py::arg("seed"), py::arg("resources"));
  module.def("predict", &predict_rows, py::arg("model"), py::arg("rows"), py::arg("precomputed"),
             py::arg("new_task"), py::arg("resources"));
  module.def("evaluate", &evaluate_rows, py::arg("model"), py::arg("rows"), py::arg("precomputed"),
             py::arg("new_task"), py::arg("resources"));
  module.def("page", &page_of_model, py::arg("model"), py::arg("title"), py::arg("rows"),
             py::arg("precomputed"), py::arg("new_task"), py::arg("resources"));
  module.def("write_file", [](const std::string& path, const std::string& text) {
    write_file_atomically(path, text);
  });
  module.def("verify", &verify_model, py::arg("model"), py::arg("data"), py::arg("more"),
             py::arg("resources"));
  module.def("extend", &extend_model, py::arg("model"), py::arg("data"), py::arg("lam"),
             py::arg("C"), py::arg("tolerance"), py::arg("max_steps"), py::arg("links"),
             py::arg("calibrate"), py::arg("folds"), py::arg("seed"), py::arg("resources"));
  module.def("select", &select_model, py::arg("data"), py::arg("settings"), py::arg("lists"),
             py::arg("parameters"), py::arg("search"), py::arg("more"), py::arg("calibrate"),
             py::arg("resources"));
  module.def(
      "trace_path",
      [](const Data& data, const Texts& texts, double smallest, double ratio, double resolution,
         std::optional<double> hold_out, std::uint64_t seed, const More& more,
         const Resources& resources) {
        PathSettings path;
        path.smallest = smallest;
        path.ratio = ratio;
        path.resolution = resolution;
        return trace(data, texts, path, hold_out, seed, more, resources);
      },
      py::arg("data"), py::arg("settings"), py::arg("smallest"), py::arg("ratio"),
      py::arg("resolution"), py::arg("hold_out"), py::arg("seed"), py::arg("more"),
      py::arg("resources"));
  module.def(
      "plant_groups",
      [](Index tasks, Index groups, Index samples, Index features_per_block, double noise,
         double positive_share, double size_spread, std::uint64_t seed) {
        Planted planted = plant_groups(
            {tasks, groups, samples, features_per_block, noise, positive_share, size_spread, seed});
        Samples& rows = planted.samples;
        Names labels, names;
        for (const Index k : rows.label) labels.push_back(rows.labels[static_cast<std::size_t>(k)]);
        for (const Index k : rows.task) names.push_back(rows.tasks[static_cast<std::size_t>(k)]);
        return py::make_tuple(array_of(std::move(rows.X)), labels, names, planted.group);
      },
      py::arg("tasks"), py::arg("groups"), py::arg("samples"), py::arg("features_per_block"),
      py::arg("noise"), py::arg("positive_share"), py::arg("size_spread"), py::arg("seed"));
  module.def("wait_for_left_behind", &wait_for_left_behind);
}

}  // namespace
}  // namespace coterie::python

PYBIND11_MODULE(_core, module) {
  using namespace coterie::python;
  module.doc() = "The front door of coterie; use the package coterie, which stands on it.";
  module.attr("version") = COTERIE_VERSION;
  py::register_exception<coterie::InputError>(module, "InputError", PyExc_ValueError);
  py::register_exception<coterie::OutputError>(module, "OutputError", PyExc_OSError);
  py::register_exception_translator([](std::exception_ptr problem) {
    try {
      if (problem) std::rethrow_exception(problem);
    } catch (const coterie::Stopped&) {
      PyErr_SetString(PyExc_RuntimeError, "stopped before there was anything to keep");
    }
  });
  bind_values(module);
  bind_model(module);
  bind_verbs(module);
  module.attr("__all__") = py::list();
  py::module_::import("atexit").attr("register")(module.attr("wait_for_left_behind"));
}
