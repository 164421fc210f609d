#include "coterie/experiment/statistics.hpp"
#include "coterie/experiment/tables.hpp"
#include "coterie/page/views.hpp"

namespace coterie::page {
namespace {

constexpr double kLevel = 0.05;

Json json_score_table(const ScoreTable& table) {
  Json rows = Json::array();
  for (const ScoreRow& row : table.rows) {
    Json cells = Json::array();
    for (const std::optional<ScoreSummary>& of : row.methods)
      cells.push_back(of ? Json{{"mean", number(of->mean)},
                                {"standard_error", number(of->standard_error)},
                                {"text", of->value},
                                {"error_text", of->error},
                                {"best", of->best}}
                         : Json());
    rows.push_back({{"dataset", row.label()},
                    {"train", row.train},
                    {"all", row.all},
                    {"repetitions", row.repetitions},
                    {"cells", std::move(cells)}});
  }
  return {{"share", table.share}, {"methods", table.methods}, {"rows", std::move(rows)}};
}

Json json_block(const StudyBlock& block) {
  Json out = {{"name", block.name},          {"share", block.share ? Json(*block.share) : Json()},
              {"control", block.control},    {"datasets", block.results.datasets},
              {"notes", block.notes},        {"ranks", Json::array()},
              {"differences", Json::array()}};
  if (block.comparison) {
    const Comparison& found = *block.comparison;
    for (std::size_t m = 0; m < block.results.methods.size(); ++m) {
      Json one = {{"method", block.results.methods[m]},
                  {"rank", number(found.average_ranks[static_cast<Index>(m)])},
                  {"adjusted_p", nullptr}};
      for (const AgainstControl& other : found.holm)
        if (other.method == static_cast<Index>(m))
          one["adjusted_p"] = number(other.holm.adjusted_p);
      out["ranks"].push_back(std::move(one));
    }
    out["critical_difference"] = number(found.nemenyi.critical_difference);
    out["friedman_p"] = number(found.friedman.corrected.F_p);
  }
  for (const Difference& of : block.differences) {
    const MeanInterval& gain = of.gain.difference;
    const double unit = unit_of(of.score);
    out["differences"].push_back({{"dataset", of.dataset},
                                  {"method", of.method},
                                  {"measure", to_string(of.score)},
                                  {"repetitions", of.repetitions},
                                  {"mean", number(unit * gain.mean)},
                                  {"low", number(unit * gain.low)},
                                  {"high", number(unit * gain.high)},
                                  {"p", number(of.gain.p)}});
  }
  return out;
}

}  // namespace

Json study_view(const Experiment& experiment) {
  Json out = {{"remark", remark_on_scores(experiment)},
              {"alpha", kLevel},
              {"cells", experiment.cells.size()},
              {"done", experiment.done()},
              {"tables", Json::array()},
              {"blocks", Json::array()}};
  for (const ScoreTable& table : score_tables(experiment))
    out["tables"].push_back(json_score_table(table));
  for (const StudyBlock& block : study_statistics(experiment, kLevel))
    out["blocks"].push_back(json_block(block));
  return out;
}

}  // namespace coterie::page
