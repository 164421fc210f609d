#include "coterie/experiment/record.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace coterie {

namespace {

constexpr std::string_view kResult = "--\n";  // between description and result

class Lines {
 public:
  template <typename Value>
  void add(std::string_view name, const Value& value) {
    text_ += fmt::format("{}: {}\n", name, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void describe(Lines& out, const DatasetPlan& plan) {
  out.add("data set", plan.name);
  out.add("casting", to_string(plan.casting));
  for (const auto& [a, b] : plan.pairs) out.add("pair", fmt::format("{} {}", a, b));
  out.add("equal classes", plan.equal_classes);
  out.add("scale", text_of(plan.scale));
  out.add("score", to_string(plan.score));
}

void describe(Lines& out, const MethodPlan& method) {
  for (const Settings& settings : method.settings)
    visit_fields(settings, [&](const char* name, const auto& value, const char*, const char*) {
      const std::string field = name;
      const bool in_grid = field == "C" || field == "lambda" || field == "norm" ||
                           field == "normalise" || field == "parameters";
      // A setting that came later is named where it is set: what was done before does not depend on it.
      const std::string none = field == "first-stage" ? "" : "1";
      const bool came_later = field == "first-stage" || field == "smooth";
      if (in_grid || (came_later && text_of(value) == none)) return;
      out.add(name, text_of(value));
    });
  for (const double C : method.grid.C) out.add("C", C);
  for (const Lambda& lambda : method.grid.lambda) out.add("lambda", text_of(lambda));
  for (const double norm : method.grid.norm) out.add("norm", norm);
  for (const Normalisation& kind : method.grid.normalise) out.add("normalise", text_of(kind));
  for (const ParameterList& list : method.grid.parameters)
    for (const double value : list.values) out.add(list.name, value);
  out.add("coarse", method.coarse);
}

// The lines of a result, one after the other, each under its name.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  std::string_view next(std::string_view name) {
    const std::size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    const std::string head = fmt::format("{}: ", name);
    if (end == std::string_view::npos || !line.starts_with(head))
      throw InputError(fmt::format("a line '{}' is expected", name));
    text_.remove_prefix(end + 1);
    return line.substr(head.size());
  }
  template <typename Number>
  Number number(std::string_view name) {
    return parse<Number>(next(name), name);
  }
  template <typename Number>
  static Number parse(std::string_view text, std::string_view name) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw InputError(fmt::format("'{}' is no number", name));
    return value;
  }
  bool at_end() const { return text_.empty(); }
  void expect_end() const {
    if (!text_.empty()) throw InputError("there is more than a result");
  }

 private:
  std::string_view text_;
};

}  // namespace

std::string describe_cell(const Plan& plan, const DatasetPlan& dataset, const std::string& data,
                          double share, Index repetition, const MethodPlan& method) {
  Lines out;
  out.add("coterie", COTERIE_VERSION);
  out.add("protocol", to_string(plan.protocol));
  out.add("seed", plan.seed);
  out.add("data", data);
  describe(out, dataset);
  out.add("share", share);
  out.add("repetition", repetition);
  describe(out, method);
  return out.text();
}

std::string encode(const Record& record) {
  const CellResult& result = record.result;
  Lines out;
  out.add("chosen", result.chosen);
  out.add("validation", result.validation);
  out.add("score", result.score);
  out.add("gap", result.gap);
  out.add("status", result.status);
  out.add("claim", result.claim);
  out.add("fits", result.fits);
  out.add("unconverged", result.unconverged);
  out.add("train", result.train);
  out.add("validated", result.validated);
  out.add("tested", result.tested);
  out.add("seconds", result.seconds);
  out.add("tasks", result.tasks.size());
  for (std::size_t t = 0; t < result.tasks.size(); ++t) {
    out.add("task", result.tasks[t]);
    out.add("its score", result.task_scores[t]);
  }
  if (!result.readings.empty()) out.add("readings", result.readings.size());
  for (const Reading& reading : result.readings) {
    out.add("reading", reading.name);
    out.add("its score", reading.score);
  }
  return record.description + std::string(kResult) + out.text();
}

Record decode(std::string_view text) {
  const std::size_t middle = text.find(kResult);
  if (middle == std::string_view::npos || (middle > 0 && text[middle - 1] != '\n'))
    throw InputError("it has no result");
  Record record{std::string(text.substr(0, middle)), {}};
  Reader in(text.substr(middle + kResult.size()));
  CellResult& out = record.result;
  out.chosen = in.next("chosen");
  out.validation = in.number<double>("validation");
  out.score = in.number<double>("score");
  out.gap = in.number<double>("gap");
  out.status = in.next("status");
  out.claim = in.next("claim");
  out.fits = in.number<Index>("fits");
  out.unconverged = in.number<Index>("unconverged");
  out.train = in.number<Index>("train");
  out.validated = in.number<Index>("validated");
  out.tested = in.number<Index>("tested");
  out.seconds = in.number<double>("seconds");
  const auto tasks = in.number<Index>("tasks");
  for (Index t = 0; t < tasks; ++t) {  // a wrong number ends with the lines
    out.tasks.emplace_back(in.next("task"));
    out.task_scores.push_back(in.number<double>("its score"));
  }
  const Index readings = in.at_end() ? 0 : in.number<Index>("readings");
  for (Index k = 0; k < readings; ++k) {
    std::string name(in.next("reading"));
    out.readings.push_back({std::move(name), in.number<double>("its score")});
  }
  in.expect_end();
  return record;
}

}  // namespace coterie
