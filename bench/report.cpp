#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "coterie/math/types.hpp"

namespace coterie::bench {

namespace {

std::string machine() {
  std::string name = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      name = line.substr(line.find(':') + 2);
      break;
    }
  return fmt::format("{}, {} cores", name, std::thread::hardware_concurrency());
}

std::string commit() {
  const char* text = std::getenv("COTERIE_COMMIT");
  return text ? text : "unknown";
}

std::string cell(const Row& row, const std::string& column) {
  if (!row.contains(column) || row[column].is_null()) return "";
  const Row& value = row[column];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return fmt::format("{}", value.get<long>());
  if (!value.is_number()) return value.dump();
  const double number = value.get<double>();
  if (number >= 1000 && number < 1e6) return fmt::format("{:.0f}", number);
  return fmt::format("{:.3g}", number);
}

std::vector<std::string> columns_of(const Report& report) {
  std::vector<std::string> columns;
  for (const auto& [name, value] : report.rows.front().items()) columns.push_back(name);
  return columns;
}

}  // namespace

std::string extreme(const Report& report, const std::string& column, bool largest) {
  const Row* found = nullptr;
  for (const Row& row : report.rows) {
    if (!row.contains(column) || !row[column].is_number()) continue;
    const double value = row[column].get<double>();
    if (!found || (largest ? value > (*found)[column] : value < (*found)[column])) found = &row;
  }
  if (!found) return "";
  return fmt::format("{} {}: {} ({})", largest ? "largest" : "smallest", column,
                     cell(*found, column), cell(*found, columns_of(report).front()));
}

std::string as_text(const Report& report) {
  std::string text = fmt::format("{}: {}\n\n", report.part, report.about);
  if (!report.rows.empty()) {
    const auto line = [&](const auto& field_of) {
      std::string out;
      for (const std::string& column : columns_of(report)) {
        std::size_t width = column.size();
        for (const Row& row : report.rows) width = std::max(width, cell(row, column).size());
        const std::string field = field_of(column);
        out += out.empty() ? fmt::format("{:<{}}", field, width)
                           : fmt::format("  {:>{}}", field, width);
      }
      text += out + "\n";
    };
    line([](const std::string& column) { return column; });
    for (const Row& row : report.rows)
      line([&](const std::string& column) { return cell(row, column); });
    text += "\n";
  }
  for (const std::string& note : report.notes) text += note + "\n";
  if (!report.notes.empty()) text += "\n";
  return text;
}

std::string as_markdown(const Report& report) {
  std::string text = fmt::format("**{}**: {}.\n\n", report.part, report.about);
  if (!report.rows.empty()) {
    const std::vector<std::string> columns = columns_of(report);
    for (const std::string& column : columns) text += "| " + column + " ";
    text += "|\n|---|";
    for (std::size_t k = 1; k < columns.size(); ++k) text += "---:|";
    text += "\n";
    for (const Row& row : report.rows) {
      for (const std::string& column : columns) text += "| " + cell(row, column) + " ";
      text += "|\n";
    }
    text += "\n";
  }
  for (const std::string& note : report.notes) text += "- " + note + "\n";
  if (!report.notes.empty()) text += "\n";
  return text;
}

std::string as_json(const std::vector<Report>& reports, const Row& settings) {
  Row parts = Row::array();
  for (const Report& report : reports)
    parts.push_back({{"part", report.part},
                     {"about", report.about},
                     {"settings", report.settings},
                     {"rows", report.rows},
                     {"notes", report.notes}});
  const Row document = {{"commit", commit()},   {"compiler", BENCH_COMPILER},
                        {"flags", BENCH_FLAGS}, {"machine", machine()},
                        {"settings", settings}, {"parts", parts}};
  return document.dump(1) + "\n";
}

std::string with_block(const std::string& document, const std::string& part,
                       const std::string& text) {
  const std::string opening = fmt::format("<!-- bench {} -->\n", part);
  const std::string closing = "<!-- end -->";
  const std::size_t begin = document.find(opening);
  const std::size_t end = begin == std::string::npos ? begin : document.find(closing, begin);
  if (end == std::string::npos)
    throw InputError(
        fmt::format("the document has no place for the tables of '{0}'. Add the lines "
                    "'<!-- bench {0} -->' and '{1}'.",
                    part, closing));
  return document.substr(0, begin + opening.size()) + text + document.substr(end);
}

std::string provenance() {
  return fmt::format("commit {}, {}, {}, {}", commit(), BENCH_COMPILER, BENCH_FLAGS, machine());
}

}  // namespace coterie::bench
