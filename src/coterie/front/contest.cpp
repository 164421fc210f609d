#include "coterie/front/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace coterie {

namespace {

double sign_of(Score score) { return higher_is_better(score) ? 1 : -1; }

// Who is best, and how far the others are behind.
void judge(Contest& out) {
  const double sign = sign_of(out.contenders.front().selection.score);
  const auto value = [&](const Contender& one) { return sign * one.selection.of_chosen().score; };
  for (std::size_t k = 1; k < out.contenders.size(); ++k)
    if (value(out.contenders[k]) > value(out.contenders[out.best])) out.best = k;
  const auto cells = [](const Contender& one) -> const Matrix& {
    return one.selection.scores.cells.at(one.selection.chosen);
  };
  const Matrix best = cells(out.contenders[out.best]);
  for (Contender& one : out.contenders) {
    const Matrix difference = sign * (best - cells(one));
    one.behind = mean_score(difference);
    one.behind_error = standard_error(difference);
  }
}

}  // namespace

std::string name_of(const Candidate& candidate, const std::vector<Candidate>& among) {
  std::string name = candidate.grid.method->name;
  // Whether others of the method differ in a setting.
  const auto differs = [&](const auto Settings::*setting) {
    return std::ranges::any_of(among, [&](const Candidate& other) {
      return other.grid.method == candidate.grid.method &&
             other.settings.*setting != candidate.settings.*setting;
    });
  };
  if (differs(&Settings::kernels)) name += ", " + text_of(candidate.settings.kernels);
  if (differs(&Settings::smooth)) name += fmt::format(", smooth {}", candidate.settings.smooth);
  return name;
}

Extras extras_for(const Method& method, Extras extras) {
  if (!method.is_main()) {
    extras.complete = true;
    extras.graph.clear();
  }
  if (method.is_linear() || method.pools) extras.task_C.clear();
  return extras;
}

SelectSettings how_of(const Candidate& candidate, const SelectSettings& how) {
  SelectSettings out = how;
  out.settings = candidate.settings;
  out.settings.method = candidate.grid.method;
  out.settings = in_full(out.settings);
  out.coarse = how.coarse && candidate.grid.method->walks_lambda();
  return out;
}

std::vector<Contest::LeftOut> check_candidates(const Dataset& data,
                                               const std::vector<Candidate>& candidates,
                                               const SelectSettings& how, const Run& run,
                                               const Extras& extras) {
  std::vector<Contest::LeftOut> out;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const Method& method = *candidates[k].grid.method;
    std::optional<std::string> reason = why_not(method, data);
    try {
      Grid grid = candidates[k].grid;
      limit_clusters(grid, std::ssize(data.tasks));
      if (!reason)
        check_search(data, grid, how_of(candidates[k], how), run, extras_for(method, extras));
    } catch (const InputError& error) {
      reason = error.what();
    }
    if (!reason) continue;
    if (reason->ends_with('.')) reason->pop_back();
    out.push_back({k, *reason});
  }
  if (out.size() == candidates.size())
    throw InputError(out.empty() ? "there is no method to choose." : out.front().why + ".");
  return out;
}

Contest judge_candidates(const Dataset& data, const std::vector<Candidate>& candidates,
                         const SelectSettings& how, const Run& run, const Extras& extras,
                         const HooksOf& hooks_of) {
  Contest out;
  out.candidates = candidates;
  Run quiet = run;
  quiet.note = {};
  out.left_out = check_candidates(data, candidates, how, quiet, extras);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    if (std::ranges::find(out.left_out, k, &Contest::LeftOut::candidate) != out.left_out.end())
      continue;
    const SearchHooks hooks = hooks_of ? hooks_of(k) : SearchHooks{};
    // What a user should know of the choice is the same for all: the first says it.
    Selection one = choose(data, candidates[k].grid, how_of(candidates[k], how),
                           out.contenders.empty() ? run : quiet,
                           extras_for(*candidates[k].grid.method, extras), hooks);
    out.stopped = one.scores.stopped;
    if (out.stopped) return out;
    out.contenders.push_back({k, std::move(one)});
  }
  judge(out);
  return out;
}

Contest select_among(const Dataset& data, const std::vector<Candidate>& candidates,
                     const SelectSettings& how, const Run& run, const Extras& extras,
                     const HooksOf& hooks_of) {
  Contest out = judge_candidates(data, candidates, how, run, extras, hooks_of);
  if (!out.stopped)
    out.trained = train_in_detail(data, out.chosen().settings, run,
                                  extras_for(*out.chosen().grid.method, extras));
  return out;
}

}  // namespace coterie
