#include "coterie/search/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "coterie/kernel/gram.hpp"

namespace coterie {

namespace {

constexpr Index kLongest = 10'000;   // numbers of a list
constexpr double kMostPoints = 1e6;  // of a grid

[[noreturn]] void fail(const std::string& option, const std::string& part) {
  throw InputError(fmt::format(
      "{} has '{}'; each entry must be a number, a power such as 2^-3, a range of powers such as "
      "2^-10..2^10, or a range with the number of points such as 0.01..10:7{}.",
      option, part,
      option == "`lambda`" ? ", with 'max' after a number for a share of lambda_max" : ""));
}

void check_length(std::size_t length, const std::string& option) {
  if (std::cmp_greater(length, kLongest))
    throw InputError(fmt::format("{} has more than {} numbers; give fewer.", option, kLongest));
}

struct Entry {
  double value = 0;
  double base = 0;  // of a power; 0 when there is none
  bool relative = false;
};

std::optional<double> number(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) return {};
  return value;
}

Entry parse_entry(std::string_view text, const std::string& option, const std::string& part) {
  Entry entry;
  if (text.ends_with("max")) {
    entry.relative = true;
    text.remove_suffix(3);
  }
  const std::size_t hat = text.find('^');
  const std::optional<double> base = number(text.substr(0, hat));
  if (!base) fail(option, part);
  entry.value = *base;
  if (hat != std::string_view::npos) {
    const std::optional<double> exponent = number(text.substr(hat + 1));
    if (!exponent || !(*base > 0)) fail(option, part);
    entry.base = *base;
    entry.value = std::pow(*base, *exponent);
  }
  return entry;
}

// "a..b" of powers of one base, or "a..b:n".
void add_range(const std::string& part, std::size_t dots, const std::string& option,
               NumberList& list) {
  const std::size_t colon = part.find(':', dots);
  const Entry from = parse_entry(std::string_view(part).substr(0, dots), option, part);
  const std::size_t second = dots + 2;
  const Entry to =
      parse_entry(std::string_view(part).substr(
                      second, colon == std::string::npos ? std::string::npos : colon - second),
                  option, part);
  if (from.relative != to.relative || !(from.value > 0) || !(to.value > 0) ||
      std::isinf(from.value) || std::isinf(to.value))
    fail(option, part);
  double steps = 0;
  if (colon != std::string::npos) {
    const std::optional<double> count = number(std::string_view(part).substr(colon + 1));
    if (!count || *count < 2 || *count != std::floor(*count)) fail(option, part);
    steps = *count - 1;
  } else {
    if (from.base == 0 || from.base != to.base || from.base == 1) fail(option, part);
    steps = std::abs(std::round(std::log(to.value / from.value) / std::log(from.base)));
    const double end =
        from.value *
        std::pow(from.base, (to.value > from.value) == (from.base > 1) ? steps : -steps);
    if (std::abs(end - to.value) > 1e-9 * to.value) fail(option, part);
  }
  if (steps + 1 > static_cast<double>(kLongest))
    throw InputError(fmt::format("{} has '{}', which is {:.0f} numbers; {} is the most.", option,
                                 part, steps + 1, kLongest));
  const double ratio = std::log2(to.value / from.value);
  for (double k = 0; k <= steps; ++k) {
    double value = from.value * std::exp2(steps == 0 ? 0 : ratio * k / steps);
    // Powers of two are exact, and the ends are as written; others lose the digits that mean nothing.
    if (colon != std::string::npos || from.base != 2)
      value = *number(fmt::format("{:.{}g}", value, colon == std::string::npos ? 12 : 4));
    if (k == 0) value = from.value;
    if (k == steps) value = to.value;
    list.values.push_back(value);
    list.relative.push_back(from.relative);
  }
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    std::string part = text.substr(start, end - start);
    const std::size_t first = part.find_first_not_of(' ');
    part = first == std::string::npos ? ""
                                      : part.substr(first, part.find_last_not_of(' ') + 1 - first);
    parts.push_back(std::move(part));
    start = end + 1;
  }
  return parts;
}

template <typename T>
void check_once(const std::vector<T>& values, const std::string& option) {
  std::set<T> seen;
  for (const T& value : values)
    if (!seen.insert(value).second)
      throw InputError(fmt::format("{} has {} twice; give each value once.", option, value));
}

// "1..5": every whole number from 1 to 5. What is something else is left as it is.
std::string spell_out(const std::string& text, const std::string& option) {
  std::vector<std::string> parts;
  for (const std::string& part : split_commas(text)) {
    const std::size_t dots = part.find("..");
    const std::optional<double> from = number(part.substr(0, dots));
    const std::optional<double> to =
        dots == std::string::npos ? std::nullopt : number(part.substr(dots + 2));
    const bool whole = from && to && *from == std::floor(*from) && *to == std::floor(*to);
    if (!whole || std::abs(*to - *from) >= static_cast<double>(kLongest)) {
      parts.push_back(part);
      continue;
    }
    const double step = *to < *from ? -1 : 1;
    for (double value = *from; value != *to + step; value += step)
      parts.push_back(fmt::format("{}", value));
    check_length(parts.size(), option);
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

ParameterList parse_list(const Method& method, const Parameter& parameter, const std::string& text,
                         bool given) {
  const std::string option = fmt::format("`parameters`: {}", parameter.name);
  const NumberList list = parse_numbers(parameter.whole ? spell_out(text, option) : text, option);
  ParameterList out{parameter.name, list.values, given};
  for (std::size_t i = 0; i < list.values.size(); ++i) {
    if (list.relative[i])
      throw InputError(
          fmt::format("{} has a share of lambda_max, which only `lambda` of the method "
                      "coterie knows; give numbers.",
                      option));
    check_parameter(method, parameter, list.values[i], fmt::format("{}", list.values[i]));
  }
  check_once(out.values, option);
  std::ranges::sort(out.values);
  if (parameter.larger_is_simpler) std::ranges::reverse(out.values);
  return out;
}

// More could not be fitted, nor even listed.
void check_points(const Grid& grid) {
  double points = static_cast<double>(grid.C.size()) * static_cast<double>(grid.lambda.size()) *
                  static_cast<double>(grid.norm.size()) *
                  static_cast<double>(grid.normalise.size());
  for (const ParameterList& list : grid.parameters)
    points *= static_cast<double>(list.values.size());
  if (points > kMostPoints)
    throw InputError(
        fmt::format("the lists make {:.4g} points to try; {:.4g} are the most. Give shorter lists.",
                    points, kMostPoints));
}

// Whether the method has C, lambda, norm or normalise.
bool has_setting(const Settings& settings, const std::string& setting) {
  const std::vector<std::string> unused = unused_fields(settings);
  return std::ranges::find(unused, setting) == unused.end();
}

}  // namespace

NumberList parse_numbers(const std::string& text, const std::string& option) {
  NumberList list;
  for (const std::string& part : split_commas(text)) {
    const std::size_t dots = part.find("..");
    if (dots != std::string::npos) {
      add_range(part, dots, option, list);
    } else {
      const Entry entry = parse_entry(part, option, part);
      list.values.push_back(entry.value);
      list.relative.push_back(entry.relative);
    }
    check_length(list.values.size(), option);
  }
  return list;
}

Grid parse_grid(const GridText& text) {
  Grid grid;
  const NumberList C = parse_numbers(text.C, "`C`");
  for (std::size_t i = 0; i < C.values.size(); ++i)
    if (!(C.values[i] > 0) || std::isinf(C.values[i]) || C.relative[i])
      throw InputError(fmt::format("`C` has {}{}; every C must be a number > 0.", C.values[i],
                                   C.relative[i] ? "max" : ""));
  grid.C = C.values;
  check_once(grid.C, "`C`");
  std::ranges::sort(grid.C);

  const NumberList lambda = parse_numbers(text.lambda, "`lambda`");
  std::vector<std::size_t> order(lambda.values.size());
  bool relative = false, absolute = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    const double value = lambda.values[i];
    if (!(value >= 0) || (lambda.relative[i] && std::isinf(value)))
      throw InputError(fmt::format("`lambda` has {}; it must be at least 0, or 'inf'.", value));
    if (value == 0 || std::isinf(value)) continue;
    (lambda.relative[i] ? relative : absolute) = true;
  }
  if (relative && absolute)
    throw InputError(
        "`lambda` mixes numbers and shares of lambda_max; which of them shares more would change "
        "with C. Give one kind (0 and inf go with both).");
  check_once(lambda.values, "`lambda`");
  std::ranges::sort(
      order, [&](std::size_t a, std::size_t b) { return lambda.values[a] > lambda.values[b]; });
  for (const std::size_t i : order) {
    const double value = lambda.values[i];
    const bool share = relative && value > 0 && !std::isinf(value);
    grid.lambda.push_back(share ? Lambda::share(value) : Lambda(value));
  }

  const NumberList norm = parse_numbers(text.norm, "`norm`");
  for (std::size_t i = 0; i < norm.values.size(); ++i)
    if (!(norm.values[i] >= 1) || norm.relative[i])
      throw InputError(
          fmt::format("`norm` has {}; every norm must be a number >= 1, or inf.", norm.values[i]));
  grid.norm = norm.values;
  check_once(grid.norm, "`norm`");
  std::vector<std::string> names;
  for (const std::string& part : split_commas(text.normalise)) {
    const std::optional<Normalisation> found = normalisation_from(part);
    if (!found)
      throw SettingError("normalise", part,
                         "cosine, variance, none, or tail:h with a whole number h of at least 1, "
                         "such as tail:8");
    grid.normalise.push_back(*found);
    names.push_back(to_string(*found));
  }
  check_once(names, "`normalise`");
  return grid;
}

Grid parse_method_grid(const Settings& settings, const GridText& text,
                       const std::string& parameters) {
  const Method& method = *settings.method;
  const Settings plain;
  const auto list = [&](const std::string& setting, const std::string& given,
                        const std::string& otherwise) {
    return has_setting(settings, setting) ? given : otherwise;
  };
  Grid grid = parse_grid({list("C", text.C, fmt::format("{}", plain.C)),
                          list("lambda", text.lambda, text_of(method.lambda.value_or(0))),
                          list("norm", text.norm, fmt::format("{}", plain.norm)),
                          list("normalise", text.normalise, text_of(plain.normalise))});
  grid.method = method;
  std::erase_if(grid.columns,
                [&](const std::string& setting) { return !has_setting(settings, setting); });
  std::map<std::string, std::string> given;
  for (const auto& [name, values] : split_parameters(parameters))
    given[parameter_named(method, name).name] = values;
  for (const Parameter& parameter : method.parameters) {
    const auto found = given.find(parameter.name);
    if (found == given.end() && parameter.grid.empty()) continue;
    grid.parameters.push_back(parse_list(method, parameter,
                                         found == given.end() ? parameter.grid : found->second,
                                         found != given.end()));
    grid.columns.push_back(parameter.name);
  }
  check_points(grid);
  return grid;
}

void limit_clusters(Grid& grid, Index tasks) {
  const double most = static_cast<double>(std::max<Index>(1, tasks / 2));
  for (ParameterList& list : grid.parameters)
    if (list.name == "clusters" && !list.given)
      std::erase_if(list.values, [&](double value) { return value > most; });
}

bool has_lambda(const Grid& grid, Index norm) {
  return std::isfinite(grid.norm[static_cast<std::size_t>(norm)]);
}

std::vector<GridPoint> all_points(const Grid& grid) {
  std::vector<GridPoint> points;
  for (Index norm = 0; norm < std::ssize(grid.norm); ++norm)
    for (Index normalise = 0; normalise < std::ssize(grid.normalise); ++normalise)
      for (Index C = 0; C < std::ssize(grid.C); ++C)
        for (Index lambda = 0; lambda < (has_lambda(grid, norm) ? std::ssize(grid.lambda) : 1);
             ++lambda)
          points.push_back({norm, normalise, C, lambda});
  for (const ParameterList& list : grid.parameters) {
    std::vector<GridPoint> longer;
    for (const GridPoint& point : points)
      for (Index place = 0; place < std::ssize(list.values); ++place) {
        longer.push_back(point);
        longer.back().parameters.push_back(place);
      }
    points = std::move(longer);
  }
  return points;
}

Settings settings_at(const Settings& base, const Grid& grid, const GridPoint& point) {
  Settings settings = base;
  settings.C = grid.C[static_cast<std::size_t>(point.C)];
  settings.norm = grid.norm[static_cast<std::size_t>(point.norm)];
  settings.normalise = grid.normalise[static_cast<std::size_t>(point.normalise)];
  settings.lambda = has_lambda(grid, point.norm)
                        ? grid.lambda[static_cast<std::size_t>(point.lambda)]
                        : Lambda::infinite();
  settings.method = grid.method;
  settings.parameters.clear();
  for (std::size_t k = 0; k < grid.parameters.size(); ++k) {
    const ParameterList& list = grid.parameters[k];
    settings.parameters[list.name] = list.values[static_cast<std::size_t>(point.parameters[k])];
  }
  return settings;
}

std::string value_at(const Grid& grid, const GridPoint& point, const std::string& column) {
  const Settings at = settings_at({}, grid, point);
  if (column == "C") return fmt::format("{}", at.C);
  if (column == "norm") return fmt::format("{}", at.norm);
  if (column == "normalise") return text_of(at.normalise);
  for (std::size_t k = 0; k < grid.parameters.size(); ++k) {
    const ParameterList& list = grid.parameters[k];
    if (list.name == column)
      return fmt::format("{}", list.values[static_cast<std::size_t>(point.parameters[k])]);
  }
  return text_of(at.lambda);
}

}  // namespace coterie
