// A path of 21 lambdas and a grid of 21 x 21 (C, lambda) with warm starts, in units of one cold fit.
#include <algorithm>
#include <cmath>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr int points = 21;

// What a walk over many fits adds up to.
struct Walk {
  double seconds = 0, worst_gap = 0;
  Index fits = 0, outer_steps = 0, svm_solves = 0;
  Index unconverged = 0;  // fits that did not reach the tolerance
  Workspace workspace;    // from fit to fit

  Fit take(const Prepared& prepared, double lambda, const WarmStart& start) {
    TimedFit run = timed_fit(prepared, lambda, 1, {}, start, &workspace);
    seconds += run.seconds;
    worst_gap = std::max(worst_gap, run.fit.gap);
    ++fits;
    outer_steps += run.fit.outer_steps;
    svm_solves += run.fit.svm_solves;
    unconverged += run.fit.status != Status::converged;
    return std::move(run.fit);
  }
};

// lambda_max by a fit at lambda = inf, which counts, then 21 lambdas down to a hundredth of it, each from the one before.
// Returns the fit at lambda = inf.
Fit walk_path(const Prepared& prepared, const WarmStart& start, Walk& walk) {
  const Fit common = walk.take(prepared, infinite, start);
  const Watch watch;
  const double largest = lambda_max(problem_of(prepared, infinite), common);
  walk.seconds += watch.seconds();
  WarmStart warm{common.theta, common.alpha, {}};
  for (int k = 0; k < points; ++k) {
    const double lambda = largest * std::pow(0.01, k / (points - 1.0));
    Fit fit = walk.take(prepared, lambda, warm);
    warm = {std::move(fit.theta), std::move(fit.alpha), std::move(fit.nu)};
  }
  return common;
}

// C = 2^-10 .. 2^10, and for each a path. The fit at lambda = inf starts from that of the C before.
Walk walk_grid(Prepared& prepared) {
  Walk walk;
  WarmStart start;
  for (int k = 0; k < points; ++k) {
    set_C(prepared, std::exp2(k - 10));
    Fit common = walk_path(prepared, start, walk);
    start = {std::move(common.theta), std::move(common.alpha), {}};
  }
  return walk;
}

Row compare(const Work& work, const Walk& walk, const Timing& timing, const std::string& name) {
  return {{"data", work.name},
          {name + " s", timing.seconds[0]},
          {"cold fit s", timing.seconds[1]},
          {"ratio", timing.seconds[0] / timing.seconds[1]},
          {"fits", walk.fits},
          {"outer steps", walk.outer_steps},
          {"SVM solves", walk.svm_solves},
          {"worst gap", walk.worst_gap},
          {"unconverged fits", walk.unconverged},
          {"runs", timing.runs}};
}

Row settings() {
  return {{"gap_tolerance", gap_tolerance}, {"threads", 1}, {"lambda points", points}};
}

}  // namespace

std::vector<Report> part_path(const Options& options) {
  Report report{"path",
                fmt::format("{} lambdas from lambda_max to 0.01 lambda_max, warm starts, the fit "
                            "at lambda = inf that finds lambda_max included, over one cold fit at "
                            "0.1 lambda_max; C 1, relative gap 1e-4, Gram matrices given, one "
                            "thread, interleaved, {}",
                            points, how_often(options)),
                settings()};
  for (const Work& work :
       chosen_work(options, {"letter 50%", "vehicle 50%", "landmine 50%", "pen 20%"})) {
    say("path: " + work.name);
    const Prepared prepared = prepare(work.load(), work.settings(), {}, 1, Storage::stored);
    const double lambda = 0.1 * lambda_max_of(prepared);
    Walk walk;
    const auto path = [&] {
      walk = Walk();
      walk_path(prepared, {}, walk);
      return walk.seconds;
    };
    const Timing timing =
        interleave(options.runs, {path, [&] { return timed_fit(prepared, lambda).seconds; }});
    report.rows.push_back(compare(work, walk, timing, "path"));
  }
  report.notes.push_back(extreme(report, "ratio", true));
  return {report};
}

std::vector<Report> part_grid(const Options& options) {
  Report report{"grid",
                fmt::format("{0} x {0} fits, C = 2^-10 .. 2^10, at each C lambda from its own "
                            "lambda_max to 0.01 of it, warm starts, the {0} fits at lambda = inf "
                            "included, over one cold fit at C 1, 0.1 lambda_max; relative gap "
                            "1e-4, Gram matrices given, one thread, interleaved, {1}",
                            points, how_often(options)),
                settings()};
  for (const Work& work : chosen_work(options, {"letter 50%", "vehicle 50%", "landmine 50%"})) {
    say("grid: " + work.name);
    Prepared prepared = prepare(work.load(), work.settings(), {}, 1, Storage::stored);
    const double lambda = 0.1 * lambda_max_of(prepared);
    Walk walk;
    const auto grid = [&] {
      walk = walk_grid(prepared);
      return walk.seconds;
    };
    const auto cold = [&] {
      set_C(prepared, 1);
      return timed_fit(prepared, lambda).seconds;
    };
    report.rows.push_back(compare(work, walk, interleave(options.runs, {grid, cold}), "grid"));
  }
  report.notes.push_back(extreme(report, "ratio", true));
  return {report};
}

}  // namespace coterie::bench
