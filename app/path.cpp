// coterie path: how tasks come together as lambda grows.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/report/affinity.hpp"
#include "coterie/report/dendrogram.hpp"
#include "coterie/report/weight_paths.hpp"
#include "coterie/search/stability.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

constexpr Index ladder_of_resample = 40;

struct PathOptions {
  ProblemOptions problem;
  TrainSettings settings;
  PathSettings path;
  std::optional<double> hold_out;
  std::optional<Index> groups;
  Index bootstrap = 0;
  Index seed = 1;
  std::string folder, model_path;
  bool resume = false;
  OutputOptions output;
};

std::vector<std::string> task_names(const Dataset& data) {
  std::vector<std::string> names;
  for (const Task& task : data.tasks) names.push_back(task.name);
  return names;
}

std::vector<std::string> names_of(const std::vector<Index>& members, const Dataset& data) {
  std::vector<std::string> names;
  for (const Index t : members) names.push_back(data.tasks[static_cast<std::size_t>(t)].name);
  return names;
}

// ---- the journal: points of the path and resamples, as numbers

class Numbers {
 public:
  void add(double value) { values_.push_back(value); }
  void add(Index value) { values_.push_back(static_cast<double>(value)); }
  void add(const double* values, Index count) {
    values_.insert(values_.end(), values, values + count);
  }
  void add(const Groups& groups) {
    add(std::ssize(groups));
    for (const std::vector<Index>& group : groups) {
      add(std::ssize(group));
      for (const Index t : group) add(t);
    }
  }
  std::string bytes() const {
    std::string out(values_.size() * sizeof(double), '\0');
    std::memcpy(out.data(), values_.data(), out.size());
    return out;
  }

 private:
  std::vector<double> values_;
};

// Records have a checksum, and so are what was written.
class NumberReader {
 public:
  explicit NumberReader(const std::string& bytes) : values_(bytes.size() / sizeof(double)) {
    std::memcpy(values_.data(), bytes.data(), values_.size() * sizeof(double));
  }
  double number() { return values_.at(next_++); }
  Index whole() { return static_cast<Index>(number()); }
  Vector vector(Index count) {
    Vector out(count);
    for (double& value : out) value = number();
    return out;
  }
  Matrix matrix(Index rows, Index cols) {
    Matrix out(rows, cols);
    for (Index i = 0; i < out.size(); ++i) out.data()[i] = number();
    return out;
  }
  Groups groups() {
    Groups out(static_cast<std::size_t>(whole()));
    for (std::vector<Index>& group : out) {
      group.resize(static_cast<std::size_t>(whole()));
      for (Index& t : group) t = whole();
    }
    return out;
  }

 private:
  std::vector<double> values_;
  std::size_t next_ = 0;
};

constexpr Index record_point = 1, record_resample = 2;

std::string encode(const PathPoint& point) {
  const Fit& fit = point.fit;
  Numbers out;
  out.add(record_point);
  out.add(point.lambda);
  out.add(point.train_accuracy);
  out.add(point.held_out_accuracy);
  out.add(fit.primal);
  out.add(fit.dual);
  out.add(fit.gap);
  out.add(fit.outer_steps);
  out.add(fit.svm_solves);
  out.add(fit.theta_iterations);
  out.add(static_cast<Index>(fit.status));
  out.add(fit.theta.rows());
  out.add(fit.theta.cols());
  out.add(fit.theta.data(), fit.theta.size());
  for (const Vector& alpha : fit.alpha) {
    out.add(alpha.size());
    out.add(alpha.data(), alpha.size());
  }
  out.add(fit.bias.data(), fit.bias.size());
  out.add(fit.task_objective.data(), fit.task_objective.size());
  out.add(fit.nu.rows());
  out.add(fit.nu.data(), fit.nu.size());
  out.add(fit.groups);
  return out.bytes();
}

PathPoint decode_point(NumberReader& in) {
  PathPoint point;
  Fit& fit = point.fit;
  point.lambda = in.number();
  point.train_accuracy = in.number();
  point.held_out_accuracy = in.number();
  fit.primal = in.number();
  fit.dual = in.number();
  fit.gap = in.number();
  fit.outer_steps = in.whole();
  fit.svm_solves = in.whole();
  fit.theta_iterations = in.whole();
  fit.status = static_cast<Status>(in.whole());
  const Index T = in.whole();
  const Index M = in.whole();
  fit.theta = in.matrix(T, M);
  for (Index t = 0; t < T; ++t) {
    const Index n = in.whole();
    fit.alpha.push_back(in.vector(n));
  }
  fit.bias = in.vector(T);
  fit.task_objective = in.vector(T);
  const Index edges = in.whole();
  fit.nu = in.matrix(edges, M);
  fit.groups = in.groups();
  return point;
}

struct Known {
  std::map<double, PathPoint> points;
  std::map<Index, ResampledPath> resamples;
};

Known decode(const std::vector<std::string>& records) {
  Known known;
  for (const std::string& record : records) {
    NumberReader in(record);
    if (in.whole() == record_point) {
      PathPoint point = decode_point(in);
      known.points[point.lambda] = std::move(point);
      continue;
    }
    ResampledPath& path = known.resamples[in.whole()];
    for (Index k = in.whole(); k > 0; --k) path.push_back(in.groups());
  }
  return known;
}

std::string description(const PathOptions& options, const std::string& mark,
                        const TrainExtras& extras) {
  Json run = {{"command", "path"}, {"version", COTERIE_VERSION}, {"data", mark}};
  run["settings"] = json_settings(options.settings);
  run["path"] = {options.path.smallest, options.path.ratio, options.path.resolution};
  run["hold_out"] = options.hold_out.value_or(0);
  run["seed"] = options.seed;
  for (const auto& [task, C] : extras.task_C) run["task_C"][task] = C;
  for (const Edge& edge : extras.graph) run["graph"].push_back({edge.t, edge.s, edge.weight});
  for (const auto& [name, matrix] : extras.precomputed)
    run["precomputed"][name] = {matrix.rows(), matrix.sum(), matrix.squaredNorm()};
  return run.dump();
}

// ---- what comes out

struct Result {
  const Dataset& data;
  LambdaPath path;
  MergeTree tree;
  std::vector<std::string> kernels;
  std::optional<Stability> stability;
  std::optional<std::size_t> chosen;  // point with the groups asked for
  double share(double lambda) const { return lambda / path.lambda_max; }
};

std::string number(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\t ") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string points_csv(const Result& result) {
  std::string out =
      "lambda,share_of_lambda_max,objective,dual,gap,groups,train_accuracy,held_out_accuracy,"
      "status\n";
  for (const PathPoint& point : result.path.points)
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", point.lambda, result.share(point.lambda),
                       point.fit.primal, point.fit.dual, point.fit.gap, point.fit.groups.size(),
                       number(point.train_accuracy), number(point.held_out_accuracy),
                       to_string(point.fit.status));
  return out;
}

std::string weights_csv(const Result& result) {
  std::string out = "lambda,task,group";
  for (const std::string& kernel : result.kernels) out += "," + quoted(kernel);
  out += "\n";
  for (const PathPoint& point : result.path.points) {
    std::vector<std::size_t> group(result.data.tasks.size());
    for (std::size_t g = 0; g < point.fit.groups.size(); ++g)
      for (const Index t : point.fit.groups[g]) group[static_cast<std::size_t>(t)] = g + 1;
    for (std::size_t t = 0; t < result.data.tasks.size(); ++t) {
      out += fmt::format("{},{},{}", point.lambda, quoted(result.data.tasks[t].name), group[t]);
      for (const double theta : point.fit.theta.row(static_cast<Index>(t)))
        out += fmt::format(",{}", theta);
      out += "\n";
    }
  }
  return out;
}

std::string merges_csv(const Result& result) {
  std::string out = "event,lambda_from,lambda_to,support,tasks\n";
  const auto tasks = [&](const std::vector<Index>& members) {
    return fmt::format("{}", fmt::join(names_of(members, result.data), ";"));
  };
  for (const Merge& merge : result.tree.merges)
    out += fmt::format("merge,{},{},{},{}\n", merge.lower, merge.upper,
                       result.stability ? number(support(*result.stability, merge.members)) : "",
                       quoted(tasks(merge.members)));
  for (const GroupSplit& split : result.tree.splits) {
    std::vector<std::string> parts;
    for (const std::vector<Index>& part : split.parts) parts.push_back(tasks(part));
    out += fmt::format("split,{},{},,{}\n", split.lower, split.upper,
                       quoted(fmt::format("{}", fmt::join(parts, "|"))));
  }
  return out;
}

Dendrogram dendrogram_of(const Result& result) {
  Dendrogram tree;
  tree.title = "Tasks joining as lambda grows";
  tree.leaves = task_names(result.data);
  for (const Merge& merge : result.tree.merges) {
    TreeMerge node;
    node.children = merge.children;
    // Located between two points: drawn in the middle, and at the ends of the path at its points.
    const bool between = merge.lower > 0 && std::isfinite(merge.upper);
    const double at = between                      ? std::sqrt(merge.lower * merge.upper)
                      : std::isfinite(merge.upper) ? merge.upper
                                                   : merge.lower;
    node.lambda = result.share(at);
    if (result.stability) node.support = support(*result.stability, merge.members);
    tree.merges.push_back(std::move(node));
  }
  if (result.chosen) {
    const double at = result.path.points[*result.chosen].lambda;
    tree.cut = std::isfinite(at) ? result.share(at) : 1.0;
  }
  return tree;
}

WeightPaths weight_paths_of(const Result& result) {
  WeightPaths paths;
  paths.title = "Kernel weights along lambda";
  const auto& points = result.path.points;
  std::vector<double> shares;
  for (std::size_t k = points.size(); k-- > 1;) shares.push_back(result.share(points[k].lambda));
  paths.lambda = Eigen::Map<const Vector>(shares.data(), std::ssize(shares));
  for (std::size_t t = 0; t < result.data.tasks.size(); ++t) {
    Matrix theta(std::ssize(shares), std::ssize(result.kernels));
    for (std::size_t k = points.size(); k-- > 1;)
      theta.row(std::ssize(points) - 1 - static_cast<Index>(k)) =
          points[k].fit.theta.row(static_cast<Index>(t));
    paths.theta.push_back(std::move(theta));
  }
  paths.tasks = task_names(result.data);
  paths.kernels = result.kernels;
  for (const TreeMerge& merge : dendrogram_of(result).merges) paths.merges.push_back(merge.lambda);
  return paths;
}

Affinity affinity_of(const Result& result) {
  const Dendrogram tree = dendrogram_of(result);
  const Index T = std::ssize(result.data.tasks);
  Affinity affinity;
  affinity.title = "How long tasks share a kernel";
  affinity.value_name = "share of the path, in log lambda, in one group";
  if (result.stability) {
    affinity.values = time_together(*result.stability, T);
    affinity.value_name +=
        fmt::format("; mean of {} resamples", result.stability->resamples.size());
  } else {
    std::vector<double> lambda;
    std::vector<Groups> groups;
    for (const PathPoint& point : result.path.points) {
      lambda.push_back(point.lambda);
      groups.push_back(point.fit.groups);
    }
    affinity.values = time_together(T, lambda, groups);
  }
  affinity.names = task_names(result.data);
  affinity.order = leaf_order(tree);
  if (tree.cut) affinity.groups = groups_at(tree, *tree.cut);
  return affinity;
}

Json json_result(const Result& result, const PathOptions& options) {
  Json out = {{"lambda_max", json_number(result.path.lambda_max)},
              {"C", json_number(options.settings.C)},
              {"norm", json_number(options.settings.norm)},
              {"tolerance", options.settings.tolerance},
              {"resolved", result.path.resolved},
              {"kernels", result.kernels},
              {"tasks", task_names(result.data)}};
  out["points"] = Json::array();
  for (const PathPoint& point : result.path.points) {
    Json one = {{"lambda", json_number(point.lambda)},
                {"objective", json_number(point.fit.primal)},
                {"dual", json_number(point.fit.dual)},
                {"gap", json_number(point.fit.gap)},
                {"status", to_string(point.fit.status)},
                {"outer_steps", point.fit.outer_steps},
                {"train_accuracy", json_number(point.train_accuracy)},
                {"held_out_accuracy", json_number(point.held_out_accuracy)}};
    one["groups"] = Json::array();
    for (const std::vector<Index>& group : point.fit.groups)
      one["groups"].push_back(names_of(group, result.data));
    one["theta"] = json_matrix(point.fit.theta);
    out["points"].push_back(std::move(one));
  }
  out["merges"] = Json::array();
  for (const Merge& merge : result.tree.merges) {
    Json one = {{"tasks", names_of(merge.members, result.data)},
                {"children", merge.children},
                {"lambda_from", json_number(merge.lower)},
                {"lambda_to", json_number(merge.upper)}};
    if (result.stability) one["support"] = support(*result.stability, merge.members);
    out["merges"].push_back(std::move(one));
  }
  out["splits"] = Json::array();
  for (const GroupSplit& split : result.tree.splits) {
    Json parts = Json::array();
    for (const std::vector<Index>& part : split.parts) parts.push_back(names_of(part, result.data));
    out["splits"].push_back({{"tasks", names_of(split.members, result.data)},
                             {"parts", parts},
                             {"lambda_from", json_number(split.lower)},
                             {"lambda_to", json_number(split.upper)}});
  }
  if (result.stability) {
    out["resamples"] = result.stability->resamples.size();
    out["time_together"] =
        json_matrix(time_together(*result.stability, std::ssize(result.data.tasks)));
  }
  return out;
}

// A word for a node of the tree: its task, or the line of the table where it forms.
std::string node_name(const Result& result, Index node) {
  const Index T = std::ssize(result.data.tasks);
  return node < T ? result.data.tasks[static_cast<std::size_t>(node)].name
                  : fmt::format("[{}]", node - T + 1);
}

void print_tree(const Result& result) {
  const MergeTree& tree = result.tree;
  if (tree.merges.empty()) return fmt::print("no tasks join\n");
  std::vector<std::string> header = {"", "lambda", "/ max", "groups"};
  if (result.stability) header.emplace_back("support");
  header.emplace_back("what joins");
  Table table(header, result.stability ? "lrrrrl" : "lrrrl");
  Index groups = std::ssize(result.data.tasks);
  for (std::size_t i = 0; i < tree.merges.size(); ++i) {
    const Merge& merge = tree.merges[i];
    groups -= std::ssize(merge.children) - 1;
    std::vector<std::string> names;
    for (const Index child : merge.children) names.push_back(node_name(result, child));
    const bool at_end = merge.lower == 0;
    std::vector<std::string> cells = {
        fmt::format("[{}]", i + 1), fmt::format("{}{:.4g}", at_end ? "<= " : "", merge.upper),
        std::isfinite(merge.upper) ? fmt::format("{:.4f}", result.share(merge.upper)) : "inf",
        fmt::to_string(groups)};
    if (result.stability)
      cells.push_back(fmt::format("{:.0f} %", 100 * support(*result.stability, merge.members)));
    std::string joined;
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (k == 8) {
        joined += fmt::format(" + {} more", names.size() - k);
        break;
      }
      joined += (k > 0 ? " + " : "") + names[k];
    }
    cells.push_back(joined);
    table.add(std::move(cells));
  }
  fmt::print("{}", table.text());
  for (const GroupSplit& split : tree.splits) {
    std::vector<std::string> parts;
    for (const std::vector<Index>& part : split.parts)
      parts.push_back(fmt::format("{}", fmt::join(names_of(part, result.data), " ")));
    fmt::print("splits again: together at lambda {:.4g}, apart at {:.4g}: {}\n", split.lower,
               split.upper, fmt::join(parts, " | "));
  }
}

void print_points(const Result& result) {
  const bool held_out = !std::isnan(result.path.points.front().held_out_accuracy);
  std::vector<std::string> header = {"lambda", "/ max", "groups", "objective", "gap", "training"};
  if (held_out) header.emplace_back("held out");
  Table table(header, "");
  // At most twenty lines: the first with each number of groups before others.
  std::vector<std::size_t> shown;
  const auto& points = result.path.points;
  const std::size_t step = std::max<std::size_t>(1, (points.size() + 19) / 20);
  for (std::size_t k = 0; k < points.size(); k += step) shown.push_back(k);
  if (shown.back() + 1 != points.size()) shown.push_back(points.size() - 1);
  for (const std::size_t k : shown) {
    const PathPoint& point = points[k];
    std::vector<std::string> cells = {
        fmt::format("{:.4g}", point.lambda),
        std::isfinite(point.lambda) ? fmt::format("{:.4f}", result.share(point.lambda)) : "inf",
        fmt::to_string(point.fit.groups.size()),
        fmt::format("{:.8g}", point.fit.primal),
        fmt::format("{:.1e}", point.fit.gap),
        percent(point.train_accuracy)};
    if (held_out) cells.push_back(percent(point.held_out_accuracy));
    table.add(std::move(cells));
  }
  fmt::print("{}", table.text());
  if (shown.size() < points.size())
    fmt::print("  ({} of {} points; -o FOLDER writes all)\n", shown.size(), points.size());
}

// The fit at a point's lambda on the training side, as a model.
int write_group_model(const PathOptions& options, const Result& result, const Split& split,
                      const TrainExtras& extras, Monitor& monitor) {
  const PathPoint& point = result.path.points[*result.chosen];
  const Index found = std::ssize(point.fit.groups);
  TrainSettings settings = options.settings;
  settings.lambda = fmt::format("{}", point.lambda);
  monitor.phase("fitting the model");
  Dataset data = options.hold_out ? subset(result.data, split.train) : result.data;
  std::string mark = fingerprint(data);
  const MemoryPlan memory = plan_fit(options.problem, settings, extras, data, options.output.quiet);
  const Prepared prepared = prepare(std::move(data), settings, extras, options.problem.threads);
  const Fitted fitted =
      fit_prepared(prepared, settings, options.problem.threads, {}, memory.kernels);
  const Model model = make_model(prepared, settings, fitted, std::move(mark));
  write_model(model, options.model_path);
  monitor.clear();
  const Index groups = std::ssize(model.groups);
  if (!options.output.json) {
    fmt::print("\nmodel with {} at lambda {:.6g} ({:.4f} of lambda_max): {}\n",
               plural(groups, "group"), point.lambda, result.share(point.lambda),
               options.model_path);
    if (options.hold_out) fmt::print("  trained without the held-out rows\n");
    if (found != *options.groups)
      fmt::print("  no point of the path has {}; {} is the nearest number\n",
                 plural(*options.groups, "group"), found);
    if (groups != found)
      fmt::print(
          "  fitted from nothing it has {} instead of the path's {}: two groups are "
          "within the tolerance of joining\n",
          groups, found);
    fmt::print("\n{}", groups_text(model));
  }
  return fitted.fit.status == Status::converged ? exit_done : exit_short;
}

void write_folder(const PathOptions& options, const Result& result) {
  const fs::path folder = options.folder;
  const auto write = [&](const char* name, const std::string& text) {
    write_file_atomically((folder / name).string(), text);
  };
  write("path.csv", points_csv(result));
  write("weights.csv", weights_csv(result));
  write("merges.csv", merges_csv(result));
  if (result.path.points.size() > 2) write("weights.svg", as_svg(weight_paths_of(result)));
  if (result.data.tasks.size() > 1) {
    write("tree.svg", as_svg(dendrogram_of(result)));
    write("affinity.svg", as_svg(affinity_of(result)));
  }
}

void check_options(const PathOptions& options) {
  validate(options.settings);
  check_problem(options.problem);
  if (options.settings.solver != "newton")
    throw InputError(
        "--solver: the path needs optima, which 'published' does not reach; it needs 'newton'.");
  if (std::isinf(options.settings.norm))
    throw InputError("--norm is inf: with equal weights there is nothing to share, and no path.");
  const auto inside = [](double value, double most, const char* name) {
    if (!(value > 0 && value < most))
      throw InputError(
          fmt::format("{} is {}; it must be above 0 and below {}.", name, value, most));
  };
  inside(options.path.smallest, 1, "--smallest");
  inside(options.path.resolution, 1, "--resolution");
  if (options.hold_out) inside(*options.hold_out, 1, "--hold-out");
  if (options.groups.has_value() != !options.model_path.empty())
    throw InputError(
        "--groups and --model belong together: how many groups, and where the model goes.");
  if (options.resume && options.folder.empty())
    throw InputError("--resume needs -o FOLDER, where the interrupted run kept its points.");
  if (!options.model_path.empty()) check_model_output(options.model_path, options.problem);
  if (options.folder.empty()) return;
  std::error_code error;
  fs::create_directory(options.folder, error);
  if (!fs::is_directory(options.folder))
    throw InputError(
        fmt::format("--output: the folder {} does not exist and cannot be made.", options.folder));
  check_output((fs::path(options.folder) / "path.csv").string(), "the path",
               options.problem.data.paths);
}

int run_path(const PathOptions& options) {
  check_options(options);
  Stopwatch watch;
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + file_list(options.problem.data.paths));
  const Dataset data = read_problem(options.problem);
  check_dataset(data);
  const TrainExtras extras = read_extras(options.problem, options.settings, data);
  if (options.groups && *options.groups > std::ssize(data.tasks))
    throw InputError(fmt::format("--groups is {}, but there are only {}.", *options.groups,
                                 plural(std::ssize(data.tasks), "task")));
  const auto seed = static_cast<std::uint64_t>(options.seed);
  Split split;
  if (options.hold_out) {
    split = hold_out_tasks(data, *options.hold_out, seed);
  } else {
    for (const Task& task : data.tasks) {
      std::vector<Index>& all = split.train.emplace_back();
      for (Index i = 0; i < task.size(); ++i) all.push_back(i);
      split.rest.emplace_back();
    }
  }
  const std::string mark = fingerprint(data);

  std::optional<Journal> journal;
  Known known;
  if (!options.folder.empty()) {
    const std::string journal_path = (fs::path(options.folder) / "journal").string();
    journal.emplace(journal_path, description(options, mark, extras), options.resume);
    known = decode(journal->records());
    monitor.clear();
    if (options.resume && !options.output.quiet)
      fmt::print(stderr, "{}\n",
                 known.points.empty()
                     ? "note: there is nothing to resume; starting from the beginning."
                     : fmt::format("going on after {} kept in {}",
                                   plural(std::ssize(known.points), "point"), journal_path));
  }

  monitor.phase("preparing kernels");
  SearchData search{data,
                    options.settings,
                    extras,
                    options.settings.C,
                    Storage::on_demand,
                    options.problem.threads};
  search.storage = storage_within(search, 1, 0.5 * memory_budget(options.problem));
  PathSettings path_settings = options.path;
  path_settings.memory =
      0.5 * plan_fit(options.problem, options.settings, extras, data, options.output.quiet).kernels;
  GramCache cache;
  const Fold fold = std::move(
      make_folds(search, {split}, parse_normalisation(options.settings.normalise), cache).front());
  note_bounded(fold.prepared, options.settings, options.output.quiet);
  cache.clear();
  const double prepare_seconds = watch.lap();

  set_stage(journal ? Stage::resumable : Stage::nothing_to_keep);
  monitor.phase("walking the path");
  const auto stopped = [&] {
    monitor.clear();
    fmt::print(stderr, "stopped: {}\n",
               journal ? fmt::format("what was done is kept in {}; go on with the same command and "
                                     "--resume.",
                                     (fs::path(options.folder) / "journal").string())
                       : "nothing was written.");
    return exit_failed;
  };
  PathHooks hooks;
  hooks.progress = [&](Index points, double share) {
    return monitor.path(points, share, options.path.smallest);
  };
  hooks.known = [&](double lambda) -> std::optional<PathPoint> {
    const auto found = known.points.find(lambda);
    if (found == known.points.end()) return {};
    return found->second;
  };
  hooks.keep = [&](const PathPoint& point) {
    if (journal) journal->append(encode(point));
  };
  Result result{
      data, walk_path(fold, data, options.settings, path_settings, options.problem.threads, hooks),
      {},   {},
      {},   {}};
  if (result.path.stopped) return stopped();
  for (const Kernel& kernel : fold.prepared.kernels) result.kernels.push_back(to_string(kernel));
  result.tree = merge_tree(result.path);
  const double path_seconds = watch.lap();

  if (options.bootstrap > 0) {
    monitor.phase("resampling");
    StabilityHooks stability;
    stability.progress = [&](Index done, Index all) {
      return monitor.share(done, all, "resamples");
    };
    stability.known = [&](Index b) -> const ResampledPath* {
      const auto found = known.resamples.find(b);
      return found == known.resamples.end() ? nullptr : &found->second;
    };
    stability.keep = [&](Index b, const ResampledPath& path) {
      if (!journal) return;
      Numbers out;
      out.add(record_resample);
      out.add(b);
      out.add(std::ssize(path));
      for (const Groups& groups : path) out.add(groups);
      journal->append(out.bytes());
    };
    double smallest = options.path.smallest;  // of the path, but for its end at 0
    for (const PathPoint& point : result.path.points)
      if (point.lambda > 0 && std::isfinite(point.lambda)) smallest = result.share(point.lambda);
    result.stability =
        resample_paths(fold, options.settings, std::min(smallest, 0.5), ladder_of_resample,
                       options.bootstrap, seed, options.problem.threads, stability);
    if (result.stability->stopped) return stopped();
  }
  const double resample_seconds = watch.lap();
  if (options.groups) result.chosen = point_with_groups(result.path, *options.groups);

  set_stage(Stage::writing);
  if (!options.folder.empty()) write_folder(options, result);
  monitor.clear();
  Index short_of_it = 0;
  double worst_gap = 0;
  for (const PathPoint& point : result.path.points) {
    short_of_it += point.fit.status != Status::converged;
    worst_gap = std::max(worst_gap, point.fit.gap);
  }
  if (!options.output.json) {
    fmt::print("{}, {}; lambda_max {:.6g}; {} points, relative gaps at most {:.1e}\n\n",
               plural(std::ssize(data.tasks), "task"), plural(std::ssize(result.kernels), "kernel"),
               result.path.lambda_max, result.path.points.size(), worst_gap);
    print_points(result);
    fmt::print("\n");
    print_tree(result);
  }
  int code = exit_done;
  if (result.chosen) code = write_group_model(options, result, split, extras, monitor);
  if (journal) journal->remove();
  if (options.output.json) {
    Json out = json_result(result, options);
    if (result.chosen) {
      out["model"] = options.model_path;
      out["model_groups"] = result.path.points[*result.chosen].fit.groups.size();
      out["model_lambda"] = json_number(result.path.points[*result.chosen].lambda);
    }
    out["seconds"] = watch.seconds();
    out["phases"] = {
        {"prepare", prepare_seconds}, {"path", path_seconds}, {"resample", resample_seconds}};
    print_json(out);
  } else {
    if (!options.folder.empty())
      fmt::print("\n{}: path.csv weights.csv merges.csv weights.svg tree.svg affinity.svg\n",
                 options.folder);
    fmt::print("prepare {}, path {}", seconds_text(prepare_seconds), seconds_text(path_seconds));
    if (result.stability) fmt::print(", resamples {}", seconds_text(resample_seconds));
    fmt::print("\n");
  }
  if (!result.path.resolved)
    fmt::print(stderr,
               "warning: after {} points some merges are not yet told apart; use a larger "
               "--resolution or fewer tasks.\n",
               result.path.points.size());
  if (short_of_it > 0) {
    fmt::print(stderr, "warning: {} of {} points stopped short of the tolerance {:.1e}.\n",
               short_of_it, result.path.points.size(), options.settings.tolerance);
    return exit_short;
  }
  return code;
}

}  // namespace

void add_path(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PathOptions>();
  options->settings.tolerance = 1e-8;  // groups settle later than objectives do
  CLI::App& command = add_command(
      program, "path", "Follow the optimum along lambda: which tasks join, and when",
      "coterie path tasks.csv -o path --groups 3 --model three.h5", options, run_path, chosen);
  add_paths(command, options->problem.data);
  command
      .add_option("-o,--output", options->folder,
                  "folder for path.csv, weights.csv, merges.csv and the pictures weights.svg, "
                  "tree.svg, affinity.svg (default: print only)")
      ->type_name("FOLDER");
  command
      .add_option_function<Index>(
          "--groups", [options](Index k) { options->groups = k; },
          "how many groups the model of --model shall have, or the nearest number")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_option("--model", options->model_path, "where the model with --groups goes")
      ->type_name("FILE");
  command
      .add_option_function<double>(
          "--hold-out", [options](double share) { options->hold_out = share; },
          "share of the rows to judge every point on; the path is that of the others (default: "
          "none)")
      ->type_name("NUMBER");
  add_number(command, "--bootstrap", options->bootstrap,
             "resamples that show how stable the groups are", "a whole number >= 0", Index{0});
  add_number(command, "--smallest", options->path.smallest,
             "where the path ends if tasks still share, as a share of lambda_max",
             "a number between 0 and 1");
  add_number(command, "--resolution", options->path.resolution,
             "how closely merges are located, as a share of their lambda",
             "a number between 0 and 1");
  command.add_flag("--resume", options->resume,
                   "go on with an interrupted run of the same command (default: start anew)");
  add_problem(command, options->problem);
  add_settings(command, options->settings, {"lambda"});
  add_seed(command, options->seed);
  add_resources(command, options->problem);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
