#include "coterie/report/comparison.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "coterie/data/names.hpp"
#include "coterie/report/svg.hpp"
#include "coterie/report/text.hpp"

namespace coterie {
namespace {

std::string with_escapes(const std::string& text, std::string_view special,
                         const std::function<std::string(char)>& escaped) {
  std::string out;
  for (const char c : text)
    out += special.find(c) == std::string_view::npos ? std::string(1, c) : escaped(c);
  return out;
}

std::string latex_text(const std::string& text) {
  return with_escapes(text, "&%$#_{}~^\\", [](char c) -> std::string {
    if (c == '\\') return "\\textbackslash{}";
    if (c == '~' || c == '^') return fmt::format("\\{}{{}}", c);
    return {'\\', c};
  });
}

std::string html_table(const std::vector<Cells>& lines, std::size_t names) {
  std::string out = "<div class=\"scroll\"><table>\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += i == 0 ? "<thead><tr>" : "<tr>";
    for (std::size_t c = 0; c < lines[i].size(); ++c)
      out += fmt::format("<{0}{1}>{2}</{0}>", i == 0 ? "th" : "td",
                         c < names ? " class=\"name\"" : "", svg::escape(lines[i][c]));
    out += i == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

// Of the method, next to the control.
const char* verdict(const AgainstControl& other) {
  return !other.holm.rejected ? "-" : other.z > 0 ? "worse" : "better";
}

// The control first, then the others in Holm's order. CSV has the numbers in full, and the block in its first column.
void add_holm_lines(const ComparedBlock& block, bool with_block, bool full,
                    std::vector<Cells>& lines) {
  const Comparison& comparison = block.comparison;
  const auto number = [&](double value, int digits) {
    return full ? fmt::format("{}", value) : fmt::format("{:.{}f}", value, digits);
  };
  const auto p_value = [&](double p) { return full ? fmt::format("{}", p) : p_text(p); };
  const auto add = [&](Cells cells) {
    if (with_block) cells.insert(cells.begin(), block.results.name);
    lines.push_back(std::move(cells));
  };
  add({block.control(), number(comparison.average_ranks[comparison.control], 2), "", "", "", "",
       full ? "" : "control", ""});
  for (std::size_t i = 0; i < comparison.holm.size(); ++i) {
    const AgainstControl& other = comparison.holm[i];
    add({block.method(other.method), number(comparison.average_ranks[other.method], 2),
         number(other.z, 2), p_value(other.holm.p), number(other.holm.adjusted_alpha, 4),
         p_value(other.holm.adjusted_p),
         full ? (other.holm.rejected ? "true" : "false") : verdict(other),
         p_value(comparison.wilcoxon[i].p)});
  }
}

const Cells holm_header = {"method",         "average rank", "z",    "p",
                           "adjusted alpha", "adjusted p",   "Holm", "Wilcoxon p"};

}  // namespace

std::string table_text(const std::vector<Cells>& lines, std::size_t names, TableFormat format) {
  if (format == TableFormat::text) {
    Table table(lines.front(), std::string(names, 'l'));
    for (std::size_t i = 1; i < lines.size(); ++i) table.add(lines[i]);
    return table.text();
  }
  if (format == TableFormat::html) return html_table(lines, names);
  const std::size_t columns = lines.front().size();
  std::string out;
  if (format == TableFormat::latex)
    out = fmt::format("\\begin{{tabular}}{{{}{}}}\n\\toprule\n", std::string(names, 'l'),
                      std::string(columns - names, 'r'));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Cells cells;
    for (const std::string& cell : lines[i])
      cells.push_back(format == TableFormat::csv     ? csv_field(cell)
                      : format == TableFormat::latex ? latex_text(cell)
                                                     : with_escapes(cell, "|\\", [](char c) {
                                                         return std::string{'\\', c};
                                                       }));
    if (format == TableFormat::csv) {
      out += fmt::format("{}\n", fmt::join(cells, ","));
    } else if (format == TableFormat::latex) {
      out += fmt::format("{} \\\\\n", fmt::join(cells, " & "));
      if (i == 0) out += "\\midrule\n";
    } else {
      out += fmt::format("| {} |\n", fmt::join(cells, " | "));
      if (i == 0) {
        for (std::size_t c = 0; c < columns; ++c) out += c < names ? "|---" : "|---:";
        out += "|\n";
      }
    }
  }
  return out + (format == TableFormat::latex ? "\\bottomrule\n\\end{tabular}\n" : "");
}

std::string paragraph(const std::string& text, TableFormat format) {
  if (format == TableFormat::latex) return latex_text(text) + "\n\n";
  if (format == TableFormat::html) return fmt::format("<p>{}</p>\n", svg::escape(text));
  return text + "\n" + (format == TableFormat::markdown ? "\n" : "");
}

std::string p_text(double p) {
  if (std::isnan(p)) return "-";
  return p < 1e-4 && p > 0 ? fmt::format("{:.1e}", p) : fmt::format("{:.4f}", p);
}

std::string comparison_text(const ComparedBlock& block, double alpha, TableFormat format) {
  const Comparison& comparison = block.comparison;
  const RankStatistic& friedman = comparison.friedman.corrected;
  const char* indent = format == TableFormat::text ? "  " : "";
  std::string out =
      paragraph(fmt::format("{}Friedman: chi-square {:.3f} with {:g} degrees of freedom, p {}; "
                            "Iman-Davenport: F {:.3f} with {:g} and {:g}, p {}",
                            indent, friedman.chi_square, comparison.friedman.degrees,
                            p_text(friedman.chi_square_p), friedman.F, comparison.friedman.degrees,
                            comparison.friedman.F_degrees_below, p_text(friedman.F_p)),
                format);
  out += paragraph(fmt::format("{}Nemenyi: average ranks differ from {:.3f} on (alpha {:g})",
                               indent, comparison.nemenyi.critical_difference, alpha),
                   format);
  std::vector<Cells> lines = {holm_header};
  add_holm_lines(block, false, false, lines);
  if (format == TableFormat::text) out += "\n";
  return out + table_text(lines, 1, format);
}

std::string comparisons_csv(const std::vector<ComparedBlock>& blocks, bool with_block) {
  std::vector<Cells> lines = {{"method", "average_rank", "z", "p", "adjusted_alpha", "adjusted_p",
                               "rejected", "wilcoxon_p"}};
  if (with_block) lines[0].insert(lines[0].begin(), "block");
  for (const ComparedBlock& block : blocks) add_holm_lines(block, with_block, true, lines);
  return table_text(lines, 1, TableFormat::csv);
}

CriticalDifference diagram_of(const ComparedBlock& block, const std::string& title, double alpha) {
  return {.title = title,
          .remark = fmt::format("average ranks; bars join what Nemenyi's test does not "
                                "tell apart (alpha {:g})",
                                alpha),
          .methods = block.results.methods,
          .average_ranks = block.comparison.average_ranks,
          .critical_difference = block.comparison.nemenyi.critical_difference,
          .groups = block.comparison.nemenyi.groups};
}

}  // namespace coterie
