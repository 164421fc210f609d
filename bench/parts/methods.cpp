// The methods side by side: the time of one fit, and of a whole grid of strengths.
#include <algorithm>
#include <cmath>
#include <optional>

#include "coterie/model/train.hpp"
#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr int threads = 2;

Settings settings_of(const Work& work, const coterie::Method& method) {
  Settings settings = work.settings();
  settings.method = method;
  settings.tolerance = gap_tolerance;
  if (method.is_linear()) settings.scale.reset();  // what suits it
  return settings;
}

std::string claim_of(const MethodFit& fit) {
  return to_string(fit.linear() ? fit.linear()->claim : fit.kernel()->fit.claim);
}

Report time_fits(const Options& options) {
  Report report{
      "methods",
      fmt::format(
          "one cold fit of every method with its default parameters to relative gap 1e-4, Gram "
          "matrices or scaled features given; what the gap certifies: the optimum, the weights for "
          "the "
          "groups found, or that a further step gains no more; {} threads, interleaved, {}",
          threads, how_often(options)),
      {{"gap_tolerance", gap_tolerance}, {"threads", threads}}};
  for (const Work& work : chosen_work(options, {"letter 50%", "landmine 50%", "pen 20%"})) {
    const Dataset data = work.load();
    // Methods of a family have the same problem; pooled has one task with all samples.
    const auto prepare_for = [&](const std::string& name) {
      return prepare_method(data, settings_of(work, *MethodRef(name)), {}, threads);
    };
    const MethodProblem kernel = prepare_for("coterie"), linear = prepare_for("cmtl"),
                        pool = prepare_for("pooled");
    const auto problem_of = [&](const coterie::Method& method) -> const MethodProblem& {
      if (method.pools) return pool;
      return method.is_linear() ? linear : kernel;
    };
    const std::vector<coterie::Method>& contestants = coterie::methods();
    std::vector<MethodFit> fits(contestants.size());
    std::vector<std::function<double()>> runs;
    for (std::size_t k = 0; k < contestants.size(); ++k)
      runs.emplace_back([&, k] {
        const coterie::Method& method = contestants[k];
        say(fmt::format("methods: {}, {}", work.name, method.name));
        const Watch watch;
        fits[k] = fit_method(problem_of(method), settings_of(work, method), threads);
        return watch.seconds();
      });
    const Timing timing = interleave(options.runs, runs);
    for (std::size_t k = 0; k < contestants.size(); ++k)
      report.rows.push_back({{"data", work.name},
                             {"method", contestants[k].name},
                             {"seconds", timing.seconds[k]},
                             {"steps", fits[k].steps()},
                             {"gap", fits[k].gap()},
                             {"certifies", claim_of(fits[k])},
                             {"status", to_string(fits[k].status())},
                             {"runs", timing.runs}});
  }
  return report;
}

// The parameter that is searched over all powers of 2.
std::optional<std::string> strength_of(const coterie::Method& method) {
  for (const Parameter& parameter : method.parameters)
    if (parameter.grid == "2^-10..2^10") return parameter.name;
  return std::nullopt;
}

Report time_grids(const Options& options) {
  Report report{
      "methods-grid",
      fmt::format("21 strengths 2^10 .. 2^-10 of every convex linear method, other parameters by "
                  "default, each fit starting at the one before, to relative gap 1e-4; {} threads, "
                  "{}; to be below 60 s",
                  threads, how_often(options)),
      {{"gap_tolerance", gap_tolerance}, {"threads", threads}}};
  for (const Work& work : chosen_work(options, {"letter 50%"})) {
    const Dataset data = work.load();
    for (const coterie::Method& method : coterie::methods()) {
      const std::optional<std::string> strength = strength_of(method);
      Settings settings = settings_of(work, method);
      if (!method.is_linear() || !is_convex(settings) || !strength) continue;
      const MethodProblem problem = prepare_method(data, settings, {}, threads);
      Index steps = 0, open = 0;
      double worst = 0;
      const auto run = [&] {
        say(fmt::format("methods: grid of {}", method.name));
        steps = open = 0;
        worst = 0;
        MethodFit fit;
        const Watch watch;
        for (int power = 10; power >= -10; --power) {
          settings.parameters = {{*strength, std::exp2(power)}};
          fit = fit_method(problem, settings, threads, {}, power == 10 ? nullptr : &fit);
          steps += fit.steps();
          worst = std::max(worst, fit.gap());
          open += fit.status() != Status::converged ? 1 : 0;
        }
        return watch.seconds();
      };
      const Timing timing = interleave(options.runs, {run});
      report.rows.push_back({{"data", work.name},
                             {"method", method.name},
                             {"parameter", *strength},
                             {"seconds", timing.seconds[0]},
                             {"steps", steps},
                             {"largest gap", worst},
                             {"unconverged fits", open},
                             {"runs", timing.runs}});
    }
  }
  return report;
}

}  // namespace

std::vector<Report> part_methods(const Options& options) {
  return {time_fits(options), time_grids(options)};
}

}  // namespace coterie::bench
