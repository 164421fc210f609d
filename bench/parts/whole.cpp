// From parsed features to a certified fit, against LIBSVM with one Gaussian kernel on the same features.
#include <map>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"
#include "reference.hpp"

namespace coterie::bench {

namespace {

// What is known before the clocks start: lambda_max at every C, and the scaled features as LIBSVM's users would have them.
struct Known {
  std::map<double, double> lambda_max;
  Dataset scaled;
};

Known find_out(const Work& work, const Dataset& data) {
  Known known;
  Prepared prepared = prepare(data, work.settings(), {}, 1);
  for (const double C : {1.0, 64.0}) {
    set_C(prepared, C);
    known.lambda_max[C] = lambda_max_of(prepared);
  }
  known.scaled = std::move(prepared.set.data);
  return known;
}

}  // namespace

std::vector<Report> part_whole(const Options& options) {
  Report report{
      "whole",
      fmt::format(
          "from parsed features: scaling, the kernel values that are needed and a cold fit to "
          "relative gap 1e-4 at a given lambda, over LIBSVM (one Gaussian kernel, its "
          "defaults) training the tasks once from the same scaled features; one thread, "
          "interleaved, {}",
          how_often(options)),
      {{"gap_tolerance", gap_tolerance},
       {"threads", 1},
       {"eps", libsvm_epsilon},
       {"gamma", "1/features"},
       {"cache MB", 100}}};
  for (const Work& work : chosen_work(options)) {
    say("whole: " + work.name);
    const Dataset data = work.load();
    const Known known = find_out(work, data);
    for (const double C : {1.0, 64.0})
      for (const double share : {0.05, 0.3}) {
        const std::string name = case_name(work, C, share);
        say("whole: " + name);
        Settings settings = work.settings();
        settings.C = C;
        std::vector<double> grams, fits;
        const auto ours = [&] {
          Dataset copy = data;
          const Watch watch;
          const Prepared prepared = prepare(std::move(copy), settings, {}, 1);
          grams.push_back(watch.seconds());
          fits.push_back(timed_fit(prepared, share * known.lambda_max.at(C)).seconds);
          return watch.seconds();
        };
        const auto theirs = [&] {
          double seconds = 0;
          for (const Task& task : known.scaled.tasks)
            seconds += libsvm_on_features(known.scaled.X, task.rows, task.y, C).seconds;
          return seconds;
        };
        const Timing timing = interleave(options.runs, {ours, theirs});
        report.rows.push_back({{"case", name},
                               {"prepare s", median(grams)},
                               {"fit s", median(fits)},
                               {"whole s", timing.seconds[0]},
                               {"LIBSVM s", timing.seconds[1]},
                               {"ratio", timing.seconds[0] / timing.seconds[1]}});
      }
  }
  report.notes.push_back(extreme(report, "ratio", true));
  return {report};
}

}  // namespace coterie::bench
