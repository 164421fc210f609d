#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "coterie/page/views.hpp"

namespace coterie::page {
namespace {

// What a value of a list is sorted by: "0.1max" is 0.1; NaN for words.
double size_of_value(std::string text) {
  if (text.ends_with("max")) text.resize(text.size() - 3);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' ? value : std::nan("");
}

// The values of a column that were looked at, rising; words stay as they come.
std::vector<std::string> values_of_column(const Selection& selection, const std::string& column) {
  std::vector<std::string> values;
  for (const GridPoint& point : all_points(selection.grid)) {
    const std::string value = value_at(selection.grid, point, column);
    const bool seen = std::ranges::any_of(selection.ranked, [&](const Ranked& one) {
      return value_at(selection.grid, one.point, column) == value;
    });
    if (seen && std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  std::ranges::stable_sort(values, [](const std::string& a, const std::string& b) {
    return size_of_value(a) < size_of_value(b);
  });
  return values;
}

Json json_methods(const Contest& contest) {
  Json out = Json::array();
  if (contest.contenders.size() < 2) return out;
  for (std::size_t k = 0; k < contest.contenders.size(); ++k) {
    const Contender& one = contest.contenders[k];
    out.push_back({{"name", contest.name(one)},
                   {"value", number(one.selection.of_chosen().score)},
                   {"standard_error", number(one.selection.of_chosen().standard_error)},
                   {"behind", number(one.behind)},
                   {"behind_error", number(one.behind_error)},
                   {"best", k == contest.best}});
  }
  return out;
}

}  // namespace

Json grid_view(const Contest& contest) {
  const Selection& selection = contest.chosen();
  const Confidence& sure = selection.confidence;
  const Ranked& best = selection.ranked.front();
  Json columns = Json::array();
  std::vector<std::vector<std::string>> values;
  for (const std::string& column : selection.grid.columns) {
    values.push_back(values_of_column(selection, column));
    columns.push_back({{"name", column}, {"values", values.back()}});
  }
  const double sign = higher_is_better(selection.score) ? 1 : -1;
  const double slack = std::isnan(best.standard_error) ? 0 : best.standard_error;
  Json points = Json::array();
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < selection.ranked.size(); ++i) {
    const Ranked& one = selection.ranked[i];
    if (one.point == selection.chosen) chosen = i;
    Json place = Json::array();
    for (std::size_t c = 0; c < values.size(); ++c) {
      const std::string value = value_at(selection.grid, one.point, selection.grid.columns[c]);
      place.push_back(std::ranges::find(values[c], value) - values[c].begin());
    }
    points.push_back({{"at", std::move(place)},
                      {"score", number(one.score)},
                      {"standard_error", number(one.standard_error)},
                      {"within", sign * one.score >= sign * best.score - slack}});
  }
  return {{"method", selection.grid.method->name},
          {"score", to_string(selection.score)},
          {"higher_is_better", higher_is_better(selection.score)},
          {"judged_by", selection.judged_by},
          {"columns", std::move(columns)},
          {"points", std::move(points)},
          {"chosen", chosen},
          {"one_se", selection.one_se},
          {"within", sure.within},
          {"chosen_again", number(sure.chosen_again)},
          {"near", number(sure.near)},
          {"optimism", number(sure.optimism)},
          {"resamples", sure.resamples},
          {"methods", json_methods(contest)}};
}

}  // namespace coterie::page
