#include "coterie/model/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "coterie/data/names.hpp"

namespace coterie {

namespace {

template <typename Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The value of the enum whose text this is.
template <typename Enum>
bool read_word(std::string_view text, std::initializer_list<Enum> values, Enum& out) {
  for (const Enum value : values) {
    if (text_of(value) != text) continue;
    out = value;
    return true;
  }
  return false;
}

template <typename Value>
bool take(const std::optional<Value>& found, Value& out) {
  if (found) out = *found;
  return found.has_value();
}

}  // namespace

SettingError::SettingError(std::string of, std::string found, std::string allowed)
    : InputError(fmt::format("`{}` is '{}'; it must be {}.", of, found, allowed)),
      field(std::move(of)),
      value(std::move(found)),
      rule(std::move(allowed)) {}

Lambda Lambda::from(std::string_view text) {
  Lambda lambda;
  read_field("lambda", text,
             "a number >= 0, 'inf' (one kernel for all tasks), or a share of lambda_max such as "
             "'0.1max'",
             lambda);
  return lambda;
}

std::optional<Lambda> lambda_from(std::string_view text) {
  Lambda lambda;
  std::string_view number = text;
  if (number.ends_with("max")) {
    lambda.relative = true;
    number.remove_suffix(3);
  }
  if (number == "inf" && !lambda.relative) return Lambda::infinite();
  if (lambda.relative && number.empty()) return Lambda::share(1);
  if (!read_number(number, lambda.value) || !(lambda.value >= 0) || std::isinf(lambda.value))
    return {};
  return lambda;
}

std::string to_string(const Lambda& lambda) {
  return fmt::format("{}{}", lambda.value, lambda.relative ? "max" : "");
}

std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(Index value) { return fmt::format("{}", value); }
std::string text_of(const Lambda& lambda) { return to_string(lambda); }
std::string text_of(const Kernels& kernels) { return to_string(kernels); }
std::string text_of(const Normalisation& normalisation) { return to_string(normalisation); }
std::string text_of(const std::optional<Scale>& scale) { return scale ? to_string(*scale) : ""; }
std::string text_of(ClassWeight weight) {
  return weight == ClassWeight::balanced ? "balanced" : "none";
}
std::string text_of(Solver solver) { return solver == Solver::published ? "published" : "newton"; }
std::string text_of(const MethodRef& method) { return method->name; }
std::string text_of(const Parameters& parameters) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : parameters) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}
std::string text_of(Loss loss) { return to_string(loss); }
std::string text_of(const Mapping& map) {
  return map.mapped ? fmt::format("kernels:{}", map.rank) : "none";
}

bool read_text(std::string_view text, double& value) {
  return read_number(text, value) && !std::isnan(value);
}
bool read_text(std::string_view text, Index& value) { return read_number(text, value); }
bool read_text(std::string_view text, Lambda& lambda) { return take(lambda_from(text), lambda); }
bool read_text(std::string_view text, Kernels& kernels) {
  kernels = Kernels(parse_kernels(text));
  return true;
}
bool read_text(std::string_view text, Normalisation& normalisation) {
  return take(normalisation_from(text), normalisation);
}
bool read_text(std::string_view text, std::optional<Scale>& scale) {
  scale = scaling_kind_from(std::string(text));
  return scale.has_value();
}
bool read_text(std::string_view text, ClassWeight& weight) {
  return read_word(text, {ClassWeight::none, ClassWeight::balanced}, weight);
}
bool read_text(std::string_view text, Solver& solver) {
  return read_word(text, {Solver::newton, Solver::published}, solver);
}
bool read_text(std::string_view text, MethodRef& method) {
  method = MethodRef(text);
  return true;
}
bool read_text(std::string_view text, Parameters& parameters) {
  parameters.clear();
  for (const auto& [name, value] : split_parameters(text)) {
    const bool power = value.starts_with("2^");  // as `select` prints them
    double number = 0;
    if (!read_number(std::string_view(value).substr(power ? 2 : 0), number)) return false;
    parameters[name] = power ? std::exp2(number) : number;
  }
  return true;
}
bool read_text(std::string_view text, Loss& loss) {
  return take(loss_from(std::string(text)), loss);
}
bool read_text(std::string_view text, Mapping& map) {
  map = Mapping::none();
  if (text == "none") return true;
  map = Mapping::kernels();
  if (text == "kernels") return true;
  constexpr std::string_view prefix = "kernels:";
  return text.starts_with(prefix) && read_number(text.substr(prefix.size()), map.rank) &&
         map.rank >= 1;
}

std::string member_name(std::string_view field) {
  std::string name(field);
  std::ranges::replace(name, '-', '_');
  return name;
}

const std::vector<Parameter>& first_stage_parameters() {
  static const std::vector<Parameter> all = {
      {"C", 0, "cost of an error; 0: chosen by the scores of rows held out",
       "a number from 0 to 1e40", 0, 1e40},
      {"learnt", 0, "1: kernel weights are learnt; 0: they are equal", "0 or 1", 0, 1, true},
      {"balanced", 1, "1: both classes weigh the same", "0 or 1", 0, 1, true},
      {"folds", 5, "parts of the rows, each scored by models of the others",
       "a whole number from 2 to 1000000", 2, 1e6, true},
      {"clusters", 2, "groups of tasks behind @group, at most", "a whole number from 1 to 1000000",
       1, 1e6, true},
      {"restarts", 5,
       "starts of the search for them; 0: tasks whose samples look alike, whatever their labels",
       "a whole number from 0 to 1000000", 0, 1e6, true},
      {"seed", 1, "of everything random", "a whole number >= 0", 0, 1e15, true}};
  return all;
}

namespace {

// With the defaults of what is not given. Throws InputError for other names and values.
Parameters first_stage_of(const Settings& settings) {
  const std::vector<Parameter>& known = first_stage_parameters();
  Parameters values;
  for (const Parameter& parameter : known) values[parameter.name] = parameter.value;
  for (const auto& [name, value] : settings.first_stage) {
    const auto found = std::ranges::find(known, name, &Parameter::name);
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const Parameter& parameter : known) names.push_back(parameter.name);
      throw InputError(
          fmt::format("`first_stage` names '{}'; it has {}.", name, list_names(names)));
    }
    if (!(value >= found->least && value <= found->most) ||
        (found->whole && value != std::floor(value)))
      throw InputError(fmt::format("`first_stage`: {} is '{}'; it must be {}.", name,
                                   text_of(value), found->rule));
    values[name] = value;
  }
  return values;
}

}  // namespace

void validate(const Settings& settings) {
  const auto require = [&](bool holds, std::string_view which) {
    if (holds) return;
    visit_fields(settings, [&](std::string_view name, const auto& value, std::string_view,
                               std::string_view rule) {
      if (name == which) throw SettingError(member_name(name), text_of(value), std::string(rule));
    });
  };
  require(settings.C > 0 && std::isfinite(settings.C), "C");
  require(settings.lambda.value >= 0 &&
              (!settings.lambda.relative || std::isfinite(settings.lambda.value)),
          "lambda");
  require(settings.norm >= 1, "norm");
  require(!settings.kernels.list().empty(), "kernels");
  check_distinct(settings.kernels.list());
  require(settings.normalise.kind != Normalisation::Kind::tail || settings.normalise.h >= 1,
          "normalise");
  require(settings.smooth >= 1 && settings.smooth <= 1000, "smooth");
  require(settings.tolerance > 0 && std::isfinite(settings.tolerance), "tolerance");
  require(settings.max_steps >= 1, "max-steps");
  require(settings.map.rank >= 1, "map");
  parameters_of(settings);
  first_stage_of(settings);
  const std::vector<std::string> blocks = score_blocks(settings.kernels.list());
  if (!blocks.empty() && (settings.method->pools || settings.method->is_linear()))
    throw InputError(fmt::format(
        "`kernels`: @{} needs a method with an SVM for every task, which {} has not. Use coterie, "
        "stl or mtl.",
        blocks.front(), settings.method->name));
}

Parameters parameters_of(const Settings& settings) {
  const Method& method = *settings.method;
  Parameters values;
  for (const Parameter& parameter : method.parameters) values[parameter.name] = parameter.value;
  for (const auto& [name, value] : settings.parameters) {
    check_parameter(method, parameter_named(method, name), value, text_of(value));
    values[name] = value;
  }
  return values;
}

Settings in_full(Settings settings) {
  const Method& method = *settings.method;
  if (method.lambda) settings.lambda = *method.lambda;
  if (method.is_linear()) settings.lambda = 0;
  settings.parameters = parameters_of(settings);
  if (!score_blocks(settings.kernels.list()).empty())
    settings.first_stage = first_stage_of(settings);
  if (!settings.scale)
    settings.scale = method.is_linear() && !settings.map.mapped ? Scale::standard : Scale::none;
  return settings;
}

bool is_convex(const Settings& settings) {
  return !settings.method->convex || settings.method->convex(parameters_of(settings));
}

namespace {

std::vector<std::string> unused_by_kernels(const Settings& settings) {
  if (score_blocks(settings.kernels.list()).empty()) return {"first-stage"};
  return {};
}

}  // namespace

std::vector<std::string> unused_fields(const Settings& settings) {
  const Method& method = *settings.method;
  const std::vector<std::string> always = unused_by_kernels(settings);
  const auto with = [&](std::vector<std::string> fields) {
    fields.insert(fields.end(), always.begin(), always.end());
    return fields;
  };
  if (method.is_main()) return with({"parameters", "loss", "map"});
  if (method.is_linear()) {
    std::vector<std::string> fields = with({"C", "lambda", "norm", "solver"});
    if (!settings.map.mapped) fields.insert(fields.end(), {"kernels", "normalise"});
    return fields;
  }
  std::vector<std::string> fields = with({"lambda", "solver", "loss", "map"});
  if (!method.joint) fields.emplace_back("norm");
  return fields;
}

}  // namespace coterie
