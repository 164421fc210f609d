// coterie stats: which methods are better, by a table of results.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "command.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/results.hpp"
#include "coterie/report/critical_difference.hpp"
#include "coterie/stats/comparison.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

enum class TableFormat { text, markdown, latex, csv };

TableFormat table_format_named(const std::string& name) {
  const std::map<std::string, TableFormat> known = {{"text", TableFormat::text},
                                                    {"markdown", TableFormat::markdown},
                                                    {"latex", TableFormat::latex},
                                                    {"csv", TableFormat::csv}};
  if (const auto format = known.find(name); format != known.end()) return format->second;
  throw InputError(fmt::format("--format is '{}'; it must be text, markdown, latex or csv.", name));
}

struct StatsOptions {
  std::string path, control, picture_path;
  ResultColumns columns;
  bool lower_is_better = false;
  double alpha = 0.05;
  std::optional<double> test_train_ratio;
  TableFormat format = TableFormat::text;
  OutputOptions output;
};

struct ComparedBlock {
  ResultBlock results;
  Comparison comparison;

  const std::string& method(Index i) const { return results.methods[static_cast<std::size_t>(i)]; }
  const std::string& control() const { return method(comparison.control); }
};

// One method on one data set with repetitions, and what the control has more (or less, where less is better).
struct RepeatedScore {
  std::string dataset, method;
  MeanInterval score;
  std::optional<PairedT> control_gain;  // none for the control itself
};

std::vector<RepeatedScore> repeated_scores(const ComparedBlock& block,
                                           const StatsOptions& options) {
  std::vector<RepeatedScore> out;
  if (!options.columns.repetition) return out;
  const double sign = options.lower_is_better ? -1 : 1, confidence = 1 - options.alpha;
  const Index control = block.comparison.control;
  for (std::size_t d = 0; d < block.results.datasets.size(); ++d) {
    const Matrix& scores = block.results.scores[d];
    for (Index m = 0; m < scores.rows(); ++m) {
      RepeatedScore row{block.results.datasets[d], block.method(m),
                        mean_interval(scores.row(m), confidence), std::nullopt};
      if (m != control && options.test_train_ratio)
        row.control_gain = resampled_t_test(sign * (scores.row(control) - scores.row(m)),
                                            *options.test_train_ratio, confidence);
      out.push_back(std::move(row));
    }
  }
  return out;
}

// ---- JSON

Json json_statistic(const RankStatistic& statistic) {
  return {{"chi_square", json_number(statistic.chi_square)},
          {"chi_square_p", json_number(statistic.chi_square_p)},
          {"F", json_number(statistic.F)},
          {"F_p", json_number(statistic.F_p)}};
}

Json json_friedman(const Friedman& friedman) {
  Json out = json_statistic(friedman.corrected);
  out["degrees"] = friedman.degrees;
  out["F_degrees"] = {friedman.degrees, friedman.F_degrees_below};
  out["without_tie_correction"] = json_statistic(friedman.uncorrected);
  return out;
}

Json json_repeated(const RepeatedScore& row) {
  Json out = {{"dataset", row.dataset},
              {"method", row.method},
              {"mean", json_number(row.score.mean)},
              {"standard_error", json_number(row.score.standard_error)},
              {"low", json_number(row.score.low)},
              {"high", json_number(row.score.high)}};
  if (row.control_gain)
    out["control_gain"] = {
        {"mean", json_number(row.control_gain->difference.mean)},
        {"standard_error", json_number(row.control_gain->difference.standard_error)},
        {"low", json_number(row.control_gain->difference.low)},
        {"high", json_number(row.control_gain->difference.high)},
        {"t", json_number(row.control_gain->t)},
        {"degrees", row.control_gain->degrees},
        {"p", json_number(row.control_gain->p)}};
  return out;
}

Json json_compared(const ComparedBlock& block, const StatsOptions& options) {
  const Comparison& comparison = block.comparison;
  Json out = {{"block", options.columns.block ? Json(block.results.name) : Json(nullptr)},
              {"datasets", block.results.datasets},
              {"methods", block.results.methods},
              {"control", block.control()}};
  out["average_ranks"] = Json::object();
  for (Index i = 0; i < comparison.average_ranks.size(); ++i)
    out["average_ranks"][block.method(i)] = comparison.average_ranks[i];
  out["friedman"] = json_friedman(comparison.friedman);
  out["holm"] = Json::array();
  out["wilcoxon"] = Json::array();
  for (std::size_t i = 0; i < comparison.holm.size(); ++i) {
    const AgainstControl& other = comparison.holm[i];
    const Wilcoxon& signs = comparison.wilcoxon[i];
    out["holm"].push_back({{"method", block.method(other.method)},
                           {"z", other.z},
                           {"p", other.holm.p},
                           {"adjusted_alpha", other.holm.adjusted_alpha},
                           {"adjusted_p", other.holm.adjusted_p},
                           {"rejected", other.holm.rejected}});
    out["wilcoxon"].push_back({{"method", block.method(other.method)},
                               {"n", signs.n},
                               {"plus", signs.plus},
                               {"minus", signs.minus},
                               {"p", signs.p},
                               {"exact", signs.exact}});
  }
  Json groups = Json::array();
  for (const std::vector<Index>& group : comparison.nemenyi.groups) {
    Json names = Json::array();
    for (const Index i : group) names.push_back(block.method(i));
    groups.push_back(names);
  }
  out["nemenyi"] = {{"q", comparison.nemenyi.q},
                    {"critical_difference", comparison.nemenyi.critical_difference},
                    {"groups", groups}};
  for (const RepeatedScore& row : repeated_scores(block, options))
    out["scores"].push_back(json_repeated(row));
  return out;
}

// ---- Tables

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

using Cells = std::vector<std::string>;

// Names in the first columns, numbers in the others.
std::string table_text(const std::vector<Cells>& lines, std::size_t names, TableFormat format) {
  if (format == TableFormat::text) {
    Table table(lines.front(), std::string(names, 'l'));
    for (std::size_t i = 1; i < lines.size(); ++i) table.add(lines[i]);
    return table.text();
  }
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

std::string p_text(double p) {
  if (std::isnan(p)) return "-";
  return p < 1e-4 && p > 0 ? fmt::format("{:.1e}", p) : fmt::format("{:.4f}", p);
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

std::string paragraph(const std::string& text, TableFormat format) {
  if (format == TableFormat::latex) return latex_text(text) + "\n\n";
  return text + "\n" + (format == TableFormat::markdown ? "\n" : "");
}

std::string block_title(const ComparedBlock& block, const StatsOptions& options) {
  return fmt::format("{}{} on {}, by {}",
                     options.columns.block
                         ? fmt::format("{} {}: ", *options.columns.block, block.results.name)
                         : "",
                     plural(std::ssize(block.results.methods), "method"),
                     plural(std::ssize(block.results.datasets), "data set"), options.columns.score);
}

std::string repeated_text(const ComparedBlock& block, const StatsOptions& options) {
  const std::vector<RepeatedScore> rows = repeated_scores(block, options);
  if (rows.empty()) return {};
  const bool tested = options.test_train_ratio.has_value();
  std::vector<Cells> lines = {{"data set", "method", "mean", "low", "high"}};
  if (tested)
    for (const char* name : {"control gains", "t", "p"}) lines[0].emplace_back(name);
  for (const RepeatedScore& row : rows) {
    lines.push_back({row.dataset, row.method, short_number(row.score.mean),
                     short_number(row.score.low), short_number(row.score.high)});
    if (!tested) continue;
    const std::optional<PairedT>& gain = row.control_gain;
    lines.back().push_back(gain ? short_number(gain->difference.mean) : "");
    lines.back().push_back(gain ? fmt::format("{:.2f}", gain->t) : "");
    lines.back().push_back(gain ? p_text(gain->p) : "");
  }
  return "\n" +
         paragraph(fmt::format("Mean over the repetitions, {:g} % intervals (Student){}",
                               100 * (1 - options.alpha),
                               tested ? "; corrected resampled t-test against the control" : ""),
                   options.format) +
         table_text(lines, 2, options.format);
}

std::string block_text(const ComparedBlock& block, const StatsOptions& options) {
  const Comparison& comparison = block.comparison;
  const RankStatistic& friedman = comparison.friedman.corrected;
  const char* indent = options.format == TableFormat::text ? "  " : "";
  std::string out = paragraph(block_title(block, options), options.format);
  out +=
      paragraph(fmt::format("{}Friedman: chi-square {:.3f} with {:g} degrees of freedom, p {}; "
                            "Iman-Davenport: F {:.3f} with {:g} and {:g}, p {}",
                            indent, friedman.chi_square, comparison.friedman.degrees,
                            p_text(friedman.chi_square_p), friedman.F, comparison.friedman.degrees,
                            comparison.friedman.F_degrees_below, p_text(friedman.F_p)),
                options.format);
  out += paragraph(fmt::format("{}Nemenyi: average ranks differ from {:.3f} on (alpha {:g})",
                               indent, comparison.nemenyi.critical_difference, options.alpha),
                   options.format);
  std::vector<Cells> lines = {holm_header};
  add_holm_lines(block, false, false, lines);
  if (options.format == TableFormat::text) out += "\n";
  return out + table_text(lines, 1, options.format) + repeated_text(block, options);
}

std::string all_as_csv(const std::vector<ComparedBlock>& blocks, const StatsOptions& options) {
  const bool with_block = options.columns.block.has_value();
  std::vector<Cells> lines = {{"method", "average_rank", "z", "p", "adjusted_alpha", "adjusted_p",
                               "rejected", "wilcoxon_p"}};
  if (with_block) lines[0].insert(lines[0].begin(), "block");
  for (const ComparedBlock& block : blocks) add_holm_lines(block, with_block, true, lines);
  return table_text(lines, 1, TableFormat::csv);
}

std::string picture_of(const std::vector<ComparedBlock>& blocks, const StatsOptions& options) {
  std::vector<CriticalDifference> diagrams;
  for (const ComparedBlock& block : blocks)
    diagrams.push_back(
        {.title = block_title(block, options),
         .remark = fmt::format("average ranks; bars join what Nemenyi's test does not "
                               "tell apart (alpha {:g})",
                               options.alpha),
         .methods = block.results.methods,
         .average_ranks = block.comparison.average_ranks,
         .critical_difference = block.comparison.nemenyi.critical_difference,
         .groups = block.comparison.nemenyi.groups});
  return as_svg(diagrams, "");
}

void check_stats_options(const StatsOptions& options) {
  if (!(options.alpha > 0 && options.alpha < 1))
    throw InputError(
        fmt::format("--alpha is {}; it must be a number between 0 and 1.", options.alpha));
  const double ratio = options.test_train_ratio.value_or(0);
  if (!(ratio >= 0 && std::isfinite(ratio)))
    throw InputError(
        fmt::format("--test-train-ratio is {}; it must be a finite number >= 0.", ratio));
  if (options.test_train_ratio && !options.columns.repetition)
    throw InputError(
        "--test-train-ratio is for repetitions on a data set; name their column by --repetition.");
  check_extra_output(options.picture_path, "--picture", {".svg"}, {options.path});
}

int run_stats(const StatsOptions& options) {
  check_stats_options(options);
  std::vector<ComparedBlock> blocks;
  for (ResultBlock& results : read_results(options.path, options.columns)) {
    Comparison comparison =
        compare_methods(results, options.control, options.alpha,
                        options.lower_is_better ? Better::lower : Better::higher);
    blocks.push_back({std::move(results), std::move(comparison)});
  }
  if (!options.picture_path.empty())
    write_file_atomically(options.picture_path, picture_of(blocks, options));
  if (options.output.json) {
    Json out = {{"alpha", options.alpha}, {"higher_is_better", !options.lower_is_better}};
    for (const ComparedBlock& block : blocks)
      out["blocks"].push_back(json_compared(block, options));
    print_json(out);
    return exit_done;
  }
  if (options.format == TableFormat::csv) {
    print_text(all_as_csv(blocks, options));
    return exit_done;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    print_text((i > 0 ? "\n" : "") + block_text(blocks[i], options));
  return exit_done;
}

}  // namespace

void add_stats(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<StatsOptions>();
  CLI::App& command = add_command(
      program, "stats", "Say which methods are better, by ranks, from a table of results",
      "coterie stats results.csv --block share --score accuracy --control ours --picture ranks.svg",
      options, run_stats, chosen);
  command.add_option("TABLE", options->path, "CSV or TSV with a row per score, gzip too")
      ->required()
      ->type_name("");
  command
      .add_option("--block", options->columns.block,
                  "column that divides the table; every block is compared by itself (default: one "
                  "block)")
      ->type_name("COL");
  command.add_option("--dataset", options->columns.dataset, "column of data sets")
      ->type_name("COL")
      ->capture_default_str();
  command.add_option("--method", options->columns.method, "column of methods")
      ->type_name("COL")
      ->capture_default_str();
  command
      .add_option("--repetition", options->columns.repetition,
                  "column that numbers the scores of a method on a data set; their means are "
                  "ranked (default: there is one score)")
      ->type_name("COL");
  command.add_option("--score", options->columns.score, "column of scores")
      ->type_name("COL")
      ->capture_default_str();
  command.add_option("--control", options->control, "the method that others are compared with")
      ->required()
      ->type_name("NAME");
  command.add_flag("--lower-is-better", options->lower_is_better,
                   "scores are errors or losses (default: off)");
  add_number(command, "--alpha", options->alpha, "level of significance",
             "a number between 0 and 1");
  command
      .add_option_function<double>(
          "--test-train-ratio", [options](double ratio) { options->test_train_ratio = ratio; },
          "test samples per training sample of a repetition, for the corrected resampled t-test on "
          "every data set (default: no such test)")
      ->type_name("NUMBER");
  command
      .add_option_function<std::string>(
          "--format",
          [options](const std::string& name) { options->format = table_format_named(name); },
          "of the tables: text, markdown, latex or csv")
      ->type_name("TEXT")
      ->default_str("text");
  command
      .add_option("--picture", options->picture_path,
                  "write the critical-difference diagram, .svg (default: no)")
      ->type_name("FILE");
  add_json(command, options->output);
}

}  // namespace coterie::app
