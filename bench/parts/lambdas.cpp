// Is there a lambda at which a fit takes much longer than at others? 200 lambdas from lambda_max to a thousandth of it, each from where `train` starts: the fit at lambda = inf.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr int points = 200;
constexpr double smallest_share = 1e-3;

struct Problem {
  std::string name;
  Dataset data;
  Settings settings;
};

// Few samples and noise, as with patients as tasks: degenerate SVMs. Ten kernels of all features, then narrow and wide ones of single features.
Problem planted_problem(Index kernels) {
  constexpr Index tasks = 39;
  PlantedSettings planted;
  planted.tasks = tasks;
  planted.groups = 4;
  planted.samples = 14;
  planted.noise = 0.15;
  Problem problem{fmt::format("{} tasks, {} kernels", tasks, kernels),
                  cast_into_tasks(plant_groups(planted).samples, Casting::binary),
                  {}};
  std::string list = "paper";
  Index count = 10;
  for (double width = 0.5; count < kernels; width *= 1.3)
    for (const std::string& feature : problem.data.features)
      for (const char* const family : {"gauss", "laplace"})
        if (count++ < kernels) list += fmt::format(" {}:{:.6g}@{}", family, width, feature);
  problem.settings.kernels = list;
  problem.settings.scale = Scale::standard;
  return problem;
}

// The table that COTERIE_LAMBDAS names, x.csv, with its kernels in x.kernels.txt.
std::vector<Problem> given_problem() {
  const char* const path = std::getenv("COTERIE_LAMBDAS");
  if (!path) return {};
  const std::string table = path;
  Problem problem{table, cast_into_tasks(read_samples({table}), Casting::binary), {}};
  std::ifstream file(table.substr(0, table.rfind('.')) + ".kernels.txt");
  std::stringstream text;
  if (file && text << file.rdbuf()) problem.settings.kernels = text.str();
  problem.settings.scale = Scale::standard;
  return {std::move(problem)};
}

Row walk(const Problem& problem, int runs) {
  const Prepared prepared = prepare(problem.data, problem.settings, {}, 1, Storage::stored);
  const Fit common = timed_fit(prepared, infinite).fit;
  const double largest = lambda_max(problem_of(prepared, infinite), common);
  const WarmStart start{common.theta, common.alpha, {}};
  std::vector<double> seconds;
  Index most_iterations = 0;
  Index unconverged = 0;
  for (int k = 0; k < points; ++k) {
    const double lambda = largest * std::pow(smallest_share, k / (points - 1.0));
    double best = infinite;  // another program may slow down a run
    for (int run = 0; run < runs; ++run) {
      const TimedFit timed = timed_fit(prepared, lambda, 1, {}, start);
      best = std::min(best, timed.seconds);
      most_iterations = std::max(most_iterations, timed.fit.theta_iterations);
      unconverged += run == 0 && timed.fit.status != Status::converged;
    }
    seconds.push_back(best);
  }
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  const double place = static_cast<double>(slowest - seconds.begin()) / (points - 1.0);
  return {{"data", problem.name},
          {"median s", median(seconds)},
          {"slowest s", *slowest},
          {"ratio", *slowest / median(seconds)},
          {"slowest at", fmt::format("{:.4g}max", std::pow(smallest_share, place))},
          {"most theta iterations", most_iterations},
          {"unconverged fits", unconverged}};
}

}  // namespace

std::vector<Report> part_lambdas(const Options& options) {
  const int runs = std::min(options.runs, 3);
  Report report{"lambdas",
                fmt::format("{} lambdas from lambda_max to {} of it, each from the fit at lambda "
                            "= inf: the slowest fit over the median one; C 1, relative gap 1e-4, "
                            "Gram matrices given, one thread, best of {}",
                            points, smallest_share, runs),
                {{"gap_tolerance", gap_tolerance}, {"threads", 1}, {"lambda points", points}}};
  std::vector<Problem> problems = given_problem();
  for (const Index kernels : {10, 44, 100, 300}) problems.push_back(planted_problem(kernels));
  for (const Problem& problem : problems) {
    if (problem.name.find(options.only) == std::string::npos) continue;
    say("lambdas: " + problem.name);
    report.rows.push_back(walk(problem, runs));
  }
  report.notes.push_back(extreme(report, "ratio", true));
  return {report};
}

}  // namespace coterie::bench
