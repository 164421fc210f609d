// How time grows with tasks, samples and kernels: planted problems that change one of them at a time.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "coterie/data/planted.hpp"
#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"
#include "plot.hpp"

namespace coterie::bench {

namespace {

constexpr double C = 1, share_of_lambda_max = 0.3;  // of the series
constexpr double once_seconds = 20;                 // a fit that takes longer is not repeated

struct Series {
  std::string part, about;
  std::vector<Index> sizes;
  std::function<Dataset(Index)> data;
  std::function<std::string(Index)> kernels;
  std::vector<std::pair<Index, double>> extra = {};  // sizes at other shares of lambda_max
};

Series tasks_series() {
  return {"tasks",
          "5 planted groups, 50 samples a task, the paper's 10 kernels",
          {10, 30, 100, 300, 1000, 2000},
          [](Index size) { return planted_tasks(size, 50, 5); },
          [](Index) { return "paper"; },
          {{300, 0.1}, {1000, 0.1}}};
}

Series samples_series() {
  return {"samples",
          "4 tasks in 2 planted groups, the paper's 10 kernels",
          {100, 200, 400, 800, 1600, 2800, 4000},
          [](Index size) { return planted_tasks(4, size, 2); },
          [](Index) { return "paper"; }};
}

// linear, poly:2 and Gaussians whose widths are spread geometrically from 1/8 to 128.
std::string many_kernels(Index count) {
  if (count == 2) return "linear gauss:4";
  std::string text = "linear poly:2 gauss:";
  const Index widths = count - 2;
  for (Index k = 0; k < widths; ++k) {
    const double place =
        static_cast<double>(k) / std::max<double>(1, static_cast<double>(widths - 1));
    text += fmt::format("{}{:.6g}", k ? "," : "", std::exp2(-3 + 10 * place));
  }
  return text;
}

Series kernels_series() {
  return {
      "kernels",
      "10 tasks in 5 planted groups, 200 samples a task; linear, poly:2 and Gaussians of widths "
      "spread from 1/8 to 128",
      {2, 5, 10, 20, 50, 100},
      [](Index) { return planted_tasks(10, 200, 5); },
      many_kernels};
}

// Two kernels for each of so many columns that their number is `size`.
Series columns_series() {
  return {"columns",
          "number of kernels, two for every column (gauss:0.5,1@each); 10 tasks in 5 planted "
          "groups, 100 samples a task",
          {10, 30, 100, 300, 1000},
          [](Index size) {
            const PlantedSettings planted{
                .tasks = 10, .groups = 5, .samples = 100, .features_per_block = size / 10};
            return cast_into_tasks(plant_groups(planted).samples, Casting::binary);
          },
          [](Index) { return "gauss:0.5,1@each"; },
          {{1000, 0.1}}};
}

struct Point {
  Row row;
  double gram = 0, fit = 0;
  bool finished = true;
};

Point measure(const Series& series, Index size, double share, const Options& options) {
  Settings settings;
  settings.C = C;
  settings.kernels = series.kernels(size);
  const Dataset data = series.data(size);
  const double lambda = share * lambda_max_of(prepare(data, settings, {}, 1));
  std::vector<double> grams, fits, svms, theta;
  Fit last;
  Index wanted = 0;
  const Watch all;
  do {
    const Watch watch;
    const Prepared prepared = prepare(data, settings, {}, 1);
    grams.push_back(watch.seconds());
    PhaseClock clock(options.limit_seconds);
    TimedFit run = timed_fit(prepared, lambda, 1, clock.callback());
    clock.finish();
    last = std::move(run.fit);
    fits.push_back(run.seconds);
    svms.push_back(clock.seconds(Phase::svms));
    theta.push_back(clock.seconds(Phase::theta_step));
    // Short fits are repeated more often, until a second has passed.
    wanted = options.runs > 3 && all.seconds() < 1 ? 5 * options.runs : options.runs;
  } while (std::ssize(fits) < wanted && fits.back() < once_seconds &&
           last.status == Status::converged);
  return {.row = {{series.part, size},
                  {"lambda", fmt::format("{}max", share)},
                  {"prepare s", median(grams)},
                  {"fit s", median(fits)},
                  {"svms s", median(svms)},
                  {"theta s", median(theta)},
                  {"theta share", median(theta) / median(fits)},
                  {"outer steps", last.outer_steps},
                  {"theta iterations", last.theta_iterations},
                  {"groups", last.groups.size()},
                  {"gap", last.gap},
                  {"status", to_string(last.status)},
                  {"runs", fits.size()}},
          .gram = median(grams),
          .fit = median(fits),
          .finished = last.status == Status::converged};
}

struct Grown {
  Report report;
  Plot plot;
};

Grown grow(const Series& series, const Options& options) {
  Grown out;
  out.report = {
      series.part,
      fmt::format("cold fit to relative gap 1e-4 against {}: {}; C {}, "
                  "complete graph, one thread, {}; a fit is stopped after {} s, and the "
                  "series ends there",
                  series.part, series.about, C,
                  options.runs == 1
                      ? "once"
                      : fmt::format("medians of {} or more (once where a fit takes more than {} s)",
                                    options.runs, once_seconds),
                  options.limit_seconds),
      {{"gap_tolerance", gap_tolerance},
       {"threads", 1},
       {"C", C},
       {"lambda", fmt::format("{}max", share_of_lambda_max)},
       {"limit_seconds", options.limit_seconds}}};
  std::vector<double> sizes, grams, fits;
  for (const Index size : series.sizes) {
    say(fmt::format("{}: {}", series.part, size));
    const Point point = measure(series, size, share_of_lambda_max, options);
    out.report.rows.push_back(point.row);
    if (!point.finished) break;
    sizes.push_back(static_cast<double>(size));
    grams.push_back(point.gram);
    fits.push_back(point.fit);
  }
  for (const auto& [size, share] : series.extra) {
    say(fmt::format("{}: {} at {}max", series.part, size, share));
    const Point point = measure(series, size, share, options);
    out.report.rows.push_back(point.row);
    if (!point.finished) break;
  }
  out.plot = {.x_name = series.part, .y_name = "seconds"};
  const auto line = [&](const std::string& name, const std::vector<double>& seconds) {
    if (sizes.size() < 2) return;
    const PowerLaw law = fit_power_law(sizes, seconds);
    // The upper half shows where it is heading: small sizes are flat with what every run costs.
    const auto upper = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + std::ssize(all) / 2, all.end());
    };
    out.report.notes.push_back(
        fmt::format("time of the {} grows as {}^{:.2f} from {} to {}", name, series.part,
                    law.exponent, sizes.front(), sizes.back()) +
        (sizes.size() < 4 ? ""
                          : fmt::format(", as ^{:.2f} from {} on",
                                        fit_power_law(upper(sizes), upper(seconds)).exponent,
                                        upper(sizes).front())));
    out.plot.series.push_back({name, sizes, seconds, law});
  };
  line("fit", fits);
  line("preparation", grams);
  return out;
}

}  // namespace

std::vector<Report> part_tasks(const Options& options) {
  return {grow(tasks_series(), options).report};
}

std::vector<Report> part_samples(const Options& options) {
  return {grow(samples_series(), options).report};
}

std::vector<Report> part_kernels(const Options& options) {
  return {grow(kernels_series(), options).report};
}

std::vector<Report> part_columns(const Options& options) {
  return {grow(columns_series(), options).report};
}

std::vector<Report> part_growth(const Options& options) {
  std::vector<Report> reports;
  for (const Series& series : {tasks_series(), samples_series(), kernels_series()}) {
    Grown grown = grow(series, options);
    const std::filesystem::path path =
        std::filesystem::path(options.plots) / ("growth-" + series.part + ".svg");
    std::ofstream file(path);
    file << as_svg(grown.plot);
    if (!file.flush()) throw InputError(fmt::format("{}: cannot be written.", path.string()));
    grown.report.notes.push_back("plotted in " + path.string());
    reports.push_back(std::move(grown.report));
  }
  return reports;
}

}  // namespace coterie::bench
