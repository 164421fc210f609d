#include "coterie/report/study.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "coterie/data/names.hpp"
#include "coterie/experiment/tables.hpp"
#include "coterie/report/comparison.hpp"
#include "coterie/report/score_plot.hpp"
#include "coterie/report/svg.hpp"
#include "coterie/report/text.hpp"
#include "coterie/report/weight_plane.hpp"

namespace coterie {
namespace {

std::string percent_of_share(double share) { return fmt::format("{:.4g}", 100 * share); }

std::string chapter_title(const StudyBlock& block) {
  return block.share ? fmt::format("Training share {} %", percent_of_share(*block.share))
                     : std::string("All shares");
}

// "letter 20, landmine 5+3": of every data set, one number for each share.
std::string basis_text(const StudyBlock& block) {
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < block.repetitions.size(); ++d)
    parts.push_back(
        fmt::format("{} {}", block.results.datasets[d], fmt::join(block.repetitions[d], "+")));
  return fmt::format(
      "{} on {}, by the mean test score over the repetitions that all methods "
      "have: {}{}.",
      plural(std::ssize(block.results.methods), "method"),
      plural(std::ssize(block.results.datasets), "data set"), fmt::join(parts, ", "),
      block.share ? "" : " (a number for each share, whose means are averaged)");
}

// ---- Differences

const Difference* find_difference(const StudyBlock& block, const std::string& dataset,
                                  const std::string& method) {
  for (const Difference& of : block.differences)
    if (of.dataset == dataset && of.method == method) return &of;
  return nullptr;
}

// "+1.23 ± 0.80", with a star where the interval leaves out 0.
std::string gain_text(const Difference& of) {
  const double unit = unit_of(of.score);
  const int digits = of.score == Score::log_loss ? 4 : 2;
  const MeanInterval& gain = of.gain.difference;
  std::string out = fmt::format("{:+.{}f}", unit * gain.mean, digits);
  if (std::stod(out) == 0) out.erase(0, 1);  // neither more nor less
  if (std::isnan(gain.low)) return out;
  out += fmt::format(" ± {:.{}f}", unit * (gain.high - gain.mean), digits);
  return out + (gain.low > 0 || gain.high < 0 ? " *" : "");
}

std::vector<Cells> gain_lines(const StudyBlock& block, const std::vector<std::string>& methods) {
  std::vector<Cells> lines = {{"data set"}};
  std::vector<std::string> datasets;
  for (const Difference& of : block.differences)
    if (datasets.empty() || datasets.back() != of.dataset) datasets.push_back(of.dataset);
  for (const std::string& method : methods)
    if (method != block.control) lines[0].push_back(method);
  lines[0].emplace_back("N");
  for (const std::string& dataset : datasets) {
    Cells cells = {dataset};
    std::set<Index> counts;
    for (const std::string& method : methods) {
      if (method == block.control) continue;
      const Difference* of = find_difference(block, dataset, method);
      cells.push_back(of ? gain_text(*of) : "");
      if (of) counts.insert(of->repetitions);
    }
    cells.push_back(counts.size() == 1 ? fmt::format("{}", *counts.begin())
                                       : fmt::format("{}-{}", *counts.begin(), *counts.rbegin()));
    lines.push_back(std::move(cells));
  }
  return lines;
}

std::string gain_words(const StudyBlock& block) {
  return fmt::format(
      "What {} has more than each method, in points (log loss: less), with {:g} % intervals of the "
      "corrected resampled t-test of Nadeau and Bengio over the N repetitions that both have; the "
      "rows that a method sees are those of training and validation. A star: the interval leaves "
      "out 0, without a correction for the number of comparisons.",
      block.control, 100 * (1 - block.alpha));
}

std::string block_text_of(const StudyBlock& block, const std::vector<std::string>& methods,
                          TableFormat format) {
  std::string out;
  if (block.comparison) {
    out += paragraph(basis_text(block), format);
    out += comparison_text({block.results, *block.comparison}, block.alpha, format) + "\n";
  }
  for (const std::string& note : block.notes) out += paragraph(note, format);
  if (block.differences.empty()) return out;
  return out + paragraph(gain_words(block), format) +
         table_text(gain_lines(block, methods), 1, format);
}

std::string differences_csv(const std::vector<StudyBlock>& blocks) {
  std::vector<Cells> lines = {{"share", "dataset", "control", "method", "measure", "repetitions",
                               "test_train_ratio", "gain", "standard_error", "low", "high", "t",
                               "p"}};
  const auto number = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{}", value);
  };
  for (const StudyBlock& block : blocks)
    for (const Difference& of : block.differences) {
      const MeanInterval& gain = of.gain.difference;
      lines.push_back({number(*block.share), of.dataset, block.control, of.method,
                       to_string(of.score), fmt::format("{}", of.repetitions),
                       number(of.test_train_ratio), number(gain.mean), number(gain.standard_error),
                       number(gain.low), number(gain.high), number(of.gain.t), number(of.gain.p)});
    }
  return table_text(lines, 1, TableFormat::csv);
}

// ---- Pictures

std::string ranks_picture(const StudyBlock& block) {
  const std::string title = fmt::format("{}: {} on {}", chapter_title(block),
                                        plural(std::ssize(block.results.methods), "method"),
                                        plural(std::ssize(block.results.datasets), "data set"));
  return as_svg({diagram_of({block.results, *block.comparison}, title, block.alpha)}, "");
}

std::string scores_picture(const ScoreTable& table, const std::string& control) {
  ScorePlot plot{.title = fmt::format("Training share {} %", percent_of_share(table.share)),
                 .remark =
                     "test scores in percent (log loss as it is): mean and standard error "
                     "over N repetitions",
                 .methods = table.methods};
  const auto place = std::ranges::find(table.methods, control);
  if (place != table.methods.end()) plot.marked = place - table.methods.begin();
  const Index k = std::ssize(table.methods);
  for (const ScoreRow& row : table.rows) {
    ScorePanel panel{row.label(),
                     fmt::format("{} of {} rows, N {}", row.train, row.all, row.repetitions),
                     Vector(k), Vector(k)};
    for (Index m = 0; m < k; ++m) {
      const std::optional<ScoreSummary>& of = row.methods[static_cast<std::size_t>(m)];
      panel.mean[m] = of ? of->mean : std::nan("");
      panel.error[m] = of ? of->standard_error : std::nan("");
    }
    plot.panels.push_back(std::move(panel));
  }
  return as_svg(plot);
}

// ---- The page

std::string html_scores(const ScoreTable& table) {
  std::string out =
      "<div class=\"scroll\"><table>\n<thead><tr><th class=\"name\">data set</th><th>training "
      "rows</th>";
  for (const std::string& method : table.methods)
    out += fmt::format("<th>{}</th>", svg::escape(method));
  out += "<th>N</th></tr></thead>\n<tbody>\n";
  for (const ScoreRow& row : table.rows) {
    out += fmt::format("<tr><td class=\"name\">{}</td><td>{} of {}</td>", svg::escape(row.label()),
                       row.train, row.all);
    for (const std::optional<ScoreSummary>& of : row.methods)
      out +=
          of ? fmt::format("<td>{0}{1}{2}{3}</td>", of->best ? "<b>" : "", of->value,
                           of->best ? "</b>" : "",
                           of->error.empty() ? "" : fmt::format(" <small>± {}</small>", of->error))
             : "<td></td>";
    out += fmt::format("<td>{}</td></tr>\n", row.repetitions);
  }
  return out + "</tbody></table></div>\n";
}

constexpr std::string_view kPageHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body { margin: 2rem auto; max-width: 90rem; padding: 0 1rem; background: #fff; color: #222;
  font: 15px/1.5 Helvetica, Arial, "Liberation Sans", sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1.05rem; margin-top: 1.5rem; }
p { max-width: 60rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .45rem; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid #888; } tbody tr:nth-child(odd) { background: #f3f4f6; }
.name { text-align: left; } small { color: #555; }
svg { max-width: 100%; height: auto; }
</style>
)";

std::string figure(const std::string& picture) {
  return fmt::format("<div class=\"scroll\">\n{}</div>\n", picture);
}

// One share, or all: its scores, ranks and differences.
struct Chapter {
  const StudyBlock& block;
  std::string scores, ranks;  // pictures; empty: none
};

std::string page_of(const Experiment& experiment, const std::string& plan,
                    const std::vector<Chapter>& chapters, const std::vector<ScoreTable>& tables,
                    const std::vector<std::string>& methods) {
  std::string out =
      std::string(kPageHead) + fmt::format("<title>{0}</title>\n</head>\n<body>\n<h1>{0}</h1>\n",
                                           svg::escape("Study " + plan));
  out += paragraph(remark_on_scores(experiment), TableFormat::html);
  if (experiment.done() < std::ssize(experiment.cells))
    out += paragraph(fmt::format("Not finished: {} of {} are done.", experiment.done(),
                                 plural(std::ssize(experiment.cells), "cell")),
                     TableFormat::html);
  for (const Chapter& chapter : chapters) {
    out += fmt::format("<h2>{}</h2>\n", svg::escape(chapter_title(chapter.block)));
    for (const ScoreTable& table : tables)
      if (chapter.block.share == table.share) out += html_scores(table);
    if (!chapter.scores.empty()) out += figure(chapter.scores);
    out += "<h3>Statistics</h3>\n";
    if (!chapter.ranks.empty()) out += figure(chapter.ranks);
    out += block_text_of(chapter.block, methods, TableFormat::html);
  }
  return out + "</body>\n</html>\n";
}

std::string statistics_md(const std::vector<StudyBlock>& blocks,
                          const std::vector<std::string>& methods) {
  std::string out;
  for (const StudyBlock& block : blocks)
    out += fmt::format("{}## {}\n\n{}", out.empty() ? "" : "\n", chapter_title(block),
                       block_text_of(block, methods, TableFormat::markdown));
  return out;
}

std::vector<std::string> methods_of_plan(const Plan& plan) {
  std::vector<std::string> out;
  for (const MethodPlan& method : plan.methods)
    if (std::ranges::find(out, method.name) == out.end()) out.push_back(method.name);
  return out;
}

}  // namespace

std::vector<ReportFile> study_files(const Experiment& experiment,
                                    const std::vector<StudyBlock>& blocks,
                                    const std::string& plan) {
  const std::vector<ScoreTable> tables = score_tables(experiment);
  const std::vector<std::string> methods = methods_of_plan(experiment.plan);
  std::vector<ReportFile> files;
  std::vector<Chapter> chapters;
  std::vector<ComparedBlock> compared;
  for (const StudyBlock& block : blocks) {
    Chapter chapter{block, "", block.comparison ? ranks_picture(block) : ""};
    for (const ScoreTable& table : tables)
      if (block.share == table.share) chapter.scores = scores_picture(table, block.control);
    if (block.comparison) compared.push_back({block.results, *block.comparison});
    const std::string name = block.share ? percent_of_share(*block.share) : "all";
    files.push_back({fmt::format("ranks-{}.svg", name), chapter.ranks});
    if (block.share) files.push_back({fmt::format("scores-{}.svg", name), chapter.scores});
    chapters.push_back(std::move(chapter));
  }
  files.push_back({"statistics.md", statistics_md(blocks, methods)});
  files.push_back({"statistics.csv", comparisons_csv(compared, true)});
  files.push_back({"differences.csv", differences_csv(blocks)});
  files.push_back({"index.html", page_of(experiment, plan, chapters, tables, methods)});
  return files;
}

std::vector<ReportFile> figure_files(const Figure& figure) {
  const WeightPlane plane{
      .title = figure.name,
      .remark = fmt::format("{}; a colour for tasks that share a kernel", figure.chosen),
      .x_name = figure.kernels[0],
      .y_name = figure.kernels[1],
      .tasks = figure.tasks,
      .weights = figure.theta,
      .groups = figure.groups};
  std::string table =
      fmt::format("task,group,{},{}\n", csv_field(figure.kernels[0]), csv_field(figure.kernels[1]));
  for (std::size_t g = 0; g < figure.groups.size(); ++g)
    for (const Index t : figure.groups[g])
      table += fmt::format("{},{},{},{}\n", csv_field(figure.tasks[static_cast<std::size_t>(t)]),
                           g + 1, figure.theta(t, 0), figure.theta(t, 1));
  return {{figure.file + ".svg", as_svg(plane)}, {figure.file + ".csv", table}};
}

}  // namespace coterie
