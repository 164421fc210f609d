#include "coterie/experiment/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "coterie/experiment/published.hpp"
#include "coterie/experiment/section.hpp"

namespace coterie {

namespace {

using detail::Section;

constexpr Index most_repetitions = 100'000;
constexpr std::size_t largest_plan = std::size_t{16} << 20;  // bytes; /dev/zero has no end
constexpr std::size_t most_settings = 10'000;  // the product of the open choices of a method

const std::vector<std::string> grid_fields = {"C", "lambda", "norm", "normalise"};

bool is_in(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

constexpr const char* kScores = "'accuracy', 'balanced', 'auc' or 'logloss'";
constexpr const char* kShares = "a share between 0 and 1, or a list of them";

std::vector<double> shares_of(Section& section) {
  std::vector<double> shares = section.list<double>("shares", kShares, [&](const toml::node& node) {
    return section.number_of("shares", node, kShares,
                             [](double share) { return share > 0 && share < 1; });
  });
  std::ranges::sort(shares);
  if (std::ranges::adjacent_find(shares) != shares.end())
    section.refuse("shares", *section.find("shares"), "a list without repeated values");
  return shares;
}

std::vector<std::pair<std::string, std::string>> pairs_of(Section& section) {
  const std::string rule = "a list of pairs of classes such as [\"a\", \"g\"]";
  using Pair = std::pair<std::string, std::string>;
  return section.list<Pair>("pairs", rule, [&](const toml::node& node) -> Pair {
    const toml::array* both = node.as_array();
    if (!both || both->size() != 2 || !both->is_homogeneous<std::string>())
      section.refuse("pairs", node, rule);
    return {both->get(0)->as_string()->get(), both->get(1)->as_string()->get()};
  });
}

struct Defaults {
  Score score = Score::accuracy;
  std::vector<double> shares;
};

DatasetPlan dataset_of(Section section, const Defaults& defaults) {
  DatasetPlan out;
  out.name = section.name("name");
  out.files = section.texts("files", "a file, or a list of files");
  if (out.files.empty()) section.lacks("files", "the files of the data set");
  out.label = section.text("label", "the name of a column").value_or("label");
  out.task = section.text("task", "the name of a column");
  out.drop = section.texts("drop", "a list of names of columns");
  out.casting =
      section.one_of<Casting>("casting", "'binary', 'one-vs-one' or 'one-vs-rest'", casting_from)
          .value_or(Casting::binary);
  out.pairs = pairs_of(section);
  if (!out.pairs.empty() && out.casting != Casting::one_vs_one)
    section.refuse("pairs", *section.find("pairs"), "left out unless 'casting' is 'one-vs-one'");
  out.per_class = section.whole("per_class", 3);
  out.divide = section
                   .number("divide", "a number > 0",
                           [](double value) { return value > 0 && std::isfinite(value); })
                   .value_or(1);
  out.scale = section.one_of<Scale>("scale", "'none', 'standard' or 'minmax'", scaling_kind_from);
  out.equal_classes = section.truth("equal_classes");
  out.shares = shares_of(section);
  if (out.shares.empty()) out.shares = defaults.shares;
  if (out.shares.empty()) section.lacks("shares", "training shares here or at the top");
  out.score = section.one_of<Score>("score", kScores, score_from).value_or(defaults.score);
  section.done();
  return out;
}

GridText preset_of(Section& section) {
  const std::string preset = section.text("preset", "'paper' or 'best'").value_or("paper");
  if (preset == "paper") return grid::paper_text();
  if (preset == "best") return grid::best_text();
  section.refuse("preset", *section.find("preset"), "'paper' or 'best'");
}

// "lambda=2^-10..2^10 clusters=1..5", or a table of the same.
std::string parameters_of(Section& section) {
  const std::string rule = "a text such as 'lambda=2^-4..2^4 clusters=1..5', or a table";
  const toml::node* node = section.find("parameters");
  if (!node) return "";
  if (node->is_string()) return node->as_string()->get();
  if (!node->is_table()) section.refuse("parameters", *node, rule);
  std::vector<std::string> parts;
  for (const auto& [key, value] : *node->as_table()) {
    if (!value.is_string() && !value.is_number()) section.refuse("parameters", value, rule);
    parts.push_back(fmt::format(
        "{}={}", key.str(),
        value.is_string() ? value.as_string()->get() : fmt::format("{}", *value.value<double>())));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

// Settings that the grid does not have: a list is an open choice.
void read_open(Section& section, MethodPlan& out, const Settings& first) {
  out.settings = {first};
  visit_fields(first, [&](const char* field, const auto&, const char*, const char* rule) {
    const std::string key = member_name(field);
    if (is_in(grid_fields, key) || key == "method" || key == "parameters") return;
    const std::vector<std::string> given = section.values(key, rule);
    if (given.empty()) return;
    if (given.size() > 1) out.open.emplace_back(field);
    if (given.size() * out.settings.size() > most_settings)
      section.fail(*section.find(key),
                   fmt::format("the open choices of this method have more than {} combinations; "
                               "shorten their lists.",
                               most_settings));
    std::vector<Settings> product;
    for (const Settings& before : out.settings)
      for (const std::string& text : given) {
        Settings with = before;
        visit_fields(with, [&](const char* name, auto& value, const char*, const char* allowed) {
          if (std::string(name) == field)
            section.at(key, [&] { read_field(name, text, allowed, value); });
        });
        product.push_back(with);
      }
    out.settings = std::move(product);
  });
}

void check_meaning(Section& section, const std::vector<Settings>& choices) {
  const Settings& settings = choices.front();
  for (const std::string& field : unused_fields(settings)) {
    const std::string key = member_name(field);
    const bool used = std::ranges::any_of(
        choices, [&](const Settings& choice) { return !is_in(unused_fields(choice), field); });
    if (section.has(key) && !used)
      section.fail(
          *section.find(key),
          fmt::format("'{}' has no meaning for the method {}{}.", key, settings.method->name,
                      key == "kernels" || key == "normalise" ? " without map = \"kernels\"" : ""));
  }
  if (settings.method->is_linear() && section.has("preset"))
    section.fail(*section.find("preset"), fmt::format("'preset' has no meaning for the method {}; "
                                                      "give lists in 'parameters'.",
                                                      settings.method->name));
}

MethodPlan method_of(Section section, const std::vector<DatasetPlan>& datasets) {
  MethodPlan out;
  out.name = section.name("name");
  Settings first;
  if (const std::optional<std::string> method = section.text("method", "the name of a method"))
    section.at("method", [&] { first.method = *method; });
  read_open(section, out, first);
  check_meaning(section, out.settings);
  GridText text = preset_of(section);
  for (const auto& [key, list] : {std::pair{"C", &text.C},
                                  {"lambda", &text.lambda},
                                  {"norm", &text.norm},
                                  {"normalise", &text.normalise}}) {
    const std::vector<std::string> given =
        section.values(key, "a number, a text such as \"2^-4..2^4\", or a list of them");
    if (!given.empty()) *list = fmt::format("{}", fmt::join(given, ","));
    if (!given.empty())
      section.at(key, [&] { return parse_method_grid(out.settings.front(), text, ""); });
  }
  const std::string parameters = parameters_of(section);
  out.grid = section.at("parameters",
                        [&] { return parse_method_grid(out.settings.front(), text, parameters); });
  const std::string search = section.text("search", "'grid' or 'coarse'").value_or("grid");
  if (search != "grid" && search != "coarse")
    section.refuse("search", *section.find("search"), "'grid' or 'coarse'");
  out.coarse = search == "coarse";
  out.datasets = section.texts("datasets", "a list of names of data sets");
  for (const std::string& name : out.datasets)
    if (std::ranges::find(datasets, name, &DatasetPlan::name) == datasets.end())
      section.fail(*section.find("datasets"),
                   fmt::format("'datasets' is '{}'; it must be a list of names of data sets of "
                               "this plan.",
                               name));
  section.done();
  for (Settings& settings : out.settings) {
    SelectSettings how;
    how.settings = in_full(settings);
    how.coarse = out.coarse;
    section.at("name", [&] { check_selection(how); });
  }
  return out;
}

FigurePlan figure_of(Section section, const std::vector<DatasetPlan>& datasets) {
  FigurePlan out;
  out.shares = shares_of(section);
  out.repetition = section.whole("repetition", 1).value_or(1);
  static_cast<MethodPlan&>(out) = method_of(section, datasets);
  for (const Settings& settings : out.settings)
    if (settings.method->is_linear() || settings.kernels.list().size() != 2 ||
        settings.kernels.list().front().is_for_each_column() ||
        settings.kernels.list().back().is_for_each_column())
      section.fail(*section.find("name"),
                   "a figure is of the weights of two kernels; give two in 'kernels', such as "
                   "\"gauss:2,256\", and a method that learns their weights.");
  return out;
}

// The trial of a plan: less of everything.
struct Quick {
  Index repetitions = 1, thin = 3;
  std::optional<Index> per_class = {};
  std::vector<double> shares = {};
  std::vector<std::string> datasets = {}, methods = {};
};

Quick quick_of(Section section) {
  Quick out;
  out.repetitions = section.whole("repetitions", 1, most_repetitions).value_or(out.repetitions);
  out.thin = section.whole("thin", 1).value_or(out.thin);
  out.per_class = section.whole("per_class", 3);
  out.shares = shares_of(section);
  out.datasets = section.texts("datasets", "a list of names of data sets");
  out.methods = section.texts("methods", "a list of names of methods");
  section.done();
  return out;
}

void make_quick(Plan& plan, const Quick& quick, const std::string& file) {
  const auto keep = [&](auto& entries, const std::vector<std::string>& names,
                        const std::string& what) {
    if (names.empty()) return;
    for (const std::string& name : names)
      if (std::ranges::none_of(entries, [&](const auto& entry) { return entry.name == name; }))
        detail::throw_shown(
            fmt::format("{}: [quick]: there is no {} '{}' in the plan.", file, what, name));
    std::erase_if(entries, [&](const auto& entry) { return !is_in(names, entry.name); });
  };
  keep(plan.datasets, quick.datasets, "data set");
  keep(plan.methods, quick.methods, "method");
  if (plan.control &&
      std::ranges::find(plan.methods, *plan.control, &MethodPlan::name) == plan.methods.end())
    plan.control.reset();
  plan.repetitions = std::min(plan.repetitions, quick.repetitions);
  for (DatasetPlan& dataset : plan.datasets) {
    if (!quick.shares.empty()) dataset.shares = quick.shares;
    if (quick.per_class)
      dataset.per_class = std::min(*quick.per_class, dataset.per_class.value_or(*quick.per_class));
  }
  for (MethodPlan& method : plan.methods) method.grid = thinned(method.grid, quick.thin);
  plan.figures.clear();
  plan.quick = true;
}

bool clash(const DatasetPlan& a, const DatasetPlan& b) { return a.name == b.name; }
// Methods of one name may have different lists on different data sets.
bool clash(const MethodPlan& a, const MethodPlan& b) {
  if (a.name != b.name) return false;
  return a.datasets.empty() || b.datasets.empty() ||
         std::ranges::any_of(a.datasets,
                             [&](const std::string& name) { return is_in(b.datasets, name); });
}

// The tables of [[key]].
template <typename Entry>
std::vector<Entry> entries_of(Section& top, const std::string& key, const std::string& file,
                              auto&& read) {
  const toml::node* node = top.find(key);
  if (!node) top.lacks(key, fmt::format("at least one [[{}]]", key));
  const toml::array* tables = node->as_array();
  if (!tables || tables->empty() || !tables->is_homogeneous<toml::table>())
    top.refuse(key, *node, fmt::format("written as [[{}]]", key));
  std::vector<Entry> out;
  for (const toml::node& entry : *tables) {
    const toml::table& table = *entry.as_table();
    const auto* name = table.get_as<std::string>("name");
    out.push_back(read(
        Section(table, file,
                name ? fmt::format("{} '{}'", key, name->get()) : fmt::format("[[{}]]", key))));
    for (std::size_t i = 0; i + 1 < out.size(); ++i)
      if (clash(out[i], out.back()))
        top.fail(entry, fmt::format("there are two {}s '{}'; give each a name of its own.", key,
                                    out[i].name));
  }
  return out;
}

template <typename Value>
void thin(std::vector<Value>& values, Index most) {
  const Index n = std::ssize(values);
  if (n <= most) return;
  std::vector<Value> kept;
  for (Index k = 0; k < most; ++k)
    kept.push_back(
        values[static_cast<std::size_t>(most == 1 ? n / 2
                                                  : std::lround(static_cast<double>(k * (n - 1)) /
                                                                static_cast<double>(most - 1)))]);
  values = std::move(kept);
}

Protocol protocol_of(Section& top) {
  const std::string text = top.text("protocol", "'clean' or 'published'").value_or("clean");
  if (text != "clean" && text != "published")
    top.refuse("protocol", *top.find("protocol"), "'clean' or 'published'");
  return text == "clean" ? Protocol::clean : Protocol::published;
}

// The published protocol is an iteration of the paper's method, scored by labels.
void check_published(Section& top, const Plan& plan) {
  const toml::node& at = *top.find("protocol");
  for (const MethodPlan& method : plan.methods)
    if (const std::optional<std::string> why = unfit_for_published(method))
      top.fail(at, fmt::format("'protocol' is 'published', under which {} (method '{}').", *why,
                               method.name));
  for (const DatasetPlan& dataset : plan.datasets)
    if (dataset.score == Score::log_loss)
      top.fail(at, fmt::format("'protocol' is 'published', which has no log loss (data set '{}'); "
                               "use another 'score'.",
                               dataset.name));
}

}  // namespace

std::string to_string(Protocol protocol) {
  return protocol == Protocol::clean ? "clean" : "published";
}

bool MethodPlan::runs_on(const DatasetPlan& dataset) const {
  return datasets.empty() || is_in(datasets, dataset.name);
}

std::string control_of(const Plan& plan) {
  if (plan.control) return *plan.control;
  const auto main = std::ranges::find_if(plan.methods, [](const MethodPlan& method) {
    return method.settings.front().method == Settings{}.method;
  });
  return (main == plan.methods.end() ? plan.methods.begin() : main)->name;
}

Grid thinned(Grid grid, Index most) {
  thin(grid.C, most);
  thin(grid.lambda, most);
  thin(grid.norm, most);
  thin(grid.normalise, most);
  for (ParameterList& list : grid.parameters) thin(list.values, most);
  return grid;
}

Plan parse_plan(const std::string& text, const std::string& file, bool quick) {
  const toml::table table = detail::parse_toml(text, file);
  Section top(table, file, "");
  Plan plan;
  plan.seed = static_cast<std::uint64_t>(top.whole("seed", 0).value_or(1));
  plan.repetitions = top.whole("repetitions", 1, most_repetitions).value_or(1);
  plan.protocol = protocol_of(top);
  plan.data = top.text("data", "a folder");
  Defaults defaults;
  defaults.score = top.one_of<Score>("score", kScores, score_from).value_or(Score::accuracy);
  defaults.shares = shares_of(top);
  plan.datasets = entries_of<DatasetPlan>(top, "dataset", file, [&](Section section) {
    return dataset_of(std::move(section), defaults);
  });
  plan.methods = entries_of<MethodPlan>(top, "method", file, [&](Section section) {
    return method_of(std::move(section), plan.datasets);
  });
  plan.control = top.text("control", "the name of a method of this plan");
  if (plan.control &&
      std::ranges::find(plan.methods, *plan.control, &MethodPlan::name) == plan.methods.end())
    top.refuse("control", *top.find("control"), "the name of a method of this plan");
  if (top.has("figure"))
    plan.figures = entries_of<FigurePlan>(top, "figure", file, [&](Section section) {
      return figure_of(std::move(section), plan.datasets);
    });
  else
    top.find("figure");  // a key that plans may have
  if (plan.protocol == Protocol::published) check_published(top, plan);
  const toml::node* part = top.find("quick");
  if (part && !part->is_table()) top.refuse("quick", *part, "a section [quick]");
  const Quick how = part ? quick_of(Section(*part->as_table(), file, "[quick]")) : Quick{};
  top.done();
  if (quick) make_quick(plan, how, file);
  return plan;
}

Plan read_plan(const std::string& path, bool quick) {
  std::ifstream in(path, std::ios::binary);
  std::string text(largest_plan + 1, '\0');
  in.read(text.data(), std::ssize(text));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (!in.is_open() || in.bad())
    throw InputError(fmt::format("{}: the plan cannot be read.", path));
  if (text.size() > largest_plan)  // or without an end
    throw InputError(fmt::format("{}: has more than {} MB, which no plan has. Name a TOML file.",
                                 path, largest_plan >> 20));
  return parse_plan(text, path, quick);
}

}  // namespace coterie
