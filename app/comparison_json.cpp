#include "comparison_json.hpp"

namespace coterie::app {
namespace {

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

}  // namespace

Json json_comparison(const ComparedBlock& block) {
  const Comparison& comparison = block.comparison;
  Json out;
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
  return out;
}

Json json_paired(const PairedT& gain) {
  return {{"mean", json_number(gain.difference.mean)},
          {"standard_error", json_number(gain.difference.standard_error)},
          {"low", json_number(gain.difference.low)},
          {"high", json_number(gain.difference.high)},
          {"t", json_number(gain.t)},
          {"degrees", gain.degrees},
          {"p", json_number(gain.p)}};
}

Json json_study(const Experiment& experiment, const std::vector<StudyBlock>& blocks, double alpha) {
  Json out = {{"alpha", alpha},
              {"protocol", to_string(experiment.plan.protocol)},
              {"quick", experiment.plan.quick},
              {"cells", experiment.cells.size()},
              {"done", experiment.done()},
              {"blocks", Json::array()}};
  for (const StudyBlock& block : blocks) {
    Json one = {{"block", block.name},
                {"share", block.share ? Json(*block.share) : Json(nullptr)},
                {"control", block.control},
                {"methods", block.results.methods},
                {"datasets", block.results.datasets},
                {"repetitions", block.repetitions},
                {"notes", block.notes}};
    if (block.comparison) one.update(json_comparison({block.results, *block.comparison}));
    one["differences"] = Json::array();
    for (const Difference& of : block.differences) {
      Json row = {{"dataset", of.dataset},
                  {"method", of.method},
                  {"measure", to_string(of.score)},
                  {"repetitions", of.repetitions},
                  {"test_train_ratio", of.test_train_ratio}};
      row.update(json_paired(of.gain));
      one["differences"].push_back(std::move(row));
    }
    out["blocks"].push_back(std::move(one));
  }
  return out;
}

}  // namespace coterie::app
