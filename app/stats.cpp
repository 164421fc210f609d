// coterie stats: which methods are better, by a table of results.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "command.hpp"
#include "comparison_json.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/results.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

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

std::vector<RepeatedScore> repeated_of(const ComparedBlock& block, const StatsOptions& options) {
  if (!options.columns.repetition) return {};
  return repeated_scores(block.results, block.comparison.control, options.alpha,
                         options.test_train_ratio,
                         options.lower_is_better ? Better::lower : Better::higher);
}

Json json_repeated(const RepeatedScore& row) {
  Json out = {{"dataset", row.dataset},
              {"method", row.method},
              {"mean", json_number(row.score.mean)},
              {"standard_error", json_number(row.score.standard_error)},
              {"low", json_number(row.score.low)},
              {"high", json_number(row.score.high)}};
  if (row.control_gain) out["control_gain"] = json_paired(*row.control_gain);
  return out;
}

Json json_compared(const ComparedBlock& block, const StatsOptions& options) {
  Json out = {{"block", options.columns.block ? Json(block.results.name) : Json(nullptr)},
              {"datasets", block.results.datasets},
              {"methods", block.results.methods},
              {"control", block.control()}};
  out.update(json_comparison(block));
  for (const RepeatedScore& row : repeated_of(block, options))
    out["scores"].push_back(json_repeated(row));
  return out;
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
  const std::vector<RepeatedScore> rows = repeated_of(block, options);
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
  return paragraph(block_title(block, options), options.format) +
         comparison_text(block, options.alpha, options.format) + repeated_text(block, options);
}

std::string picture_of(const std::vector<ComparedBlock>& blocks, const StatsOptions& options) {
  std::vector<CriticalDifference> diagrams;
  for (const ComparedBlock& block : blocks)
    diagrams.push_back(diagram_of(block, block_title(block, options), options.alpha));
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
  const std::vector<ResultBlock> results = read_results(options.path, options.columns);
  std::vector<Comparison> comparisons;
  for (const ResultBlock& block : results)
    comparisons.push_back(
        compare_methods(block, options.control, options.alpha,
                        options.lower_is_better ? Better::lower : Better::higher));
  std::vector<ComparedBlock> blocks;
  for (std::size_t i = 0; i < results.size(); ++i) blocks.push_back({results[i], comparisons[i]});
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
    print_text(comparisons_csv(blocks, options.columns.block.has_value()));
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
                  "draw the average ranks, and which methods do not differ, .svg (default: no)")
      ->type_name("FILE");
  add_json(command, options->output);
}

}  // namespace coterie::app
