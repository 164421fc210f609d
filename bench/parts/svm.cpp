// Our SVM solver alone against LIBSVM on the same matrices, both driven to the same relative gap.
#include <algorithm>
#include <optional>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"
#include "reference.hpp"

namespace coterie::bench {

namespace {

// The largest stopping tolerance of LIBSVM in the list 0.1, 0.03, 0.009, .. with which it reaches the gap; none: not even the
// smallest does. Not timed.
std::optional<double> epsilon_for(const Matrix& K, const Vector& y, double C, double gap) {
  double epsilon = 0.1;
  for (int k = 0; k < 15; ++k, epsilon *= 0.3)
    if (relative_gap(K, y, C, libsvm_on_matrix(K, y, C, epsilon).beta) <= gap) return epsilon;
  return std::nullopt;
}

Row compare(const std::string& name, const std::vector<Matrix>& K, const std::vector<Vector>& y,
            double C, double gap, int runs) {
  constexpr double smallest = 1e-8;
  std::vector<double> epsilon;
  Index unconverged = 0;
  for (std::size_t t = 0; t < K.size(); ++t) {
    const std::optional<double> found = epsilon_for(K[t], y[t], C, gap);
    epsilon.push_back(found.value_or(smallest));
    unconverged += !found;
  }
  double our_gap = 0;
  double their_gap = 0;
  const auto ours = [&] {
    double seconds = 0;
    for (std::size_t t = 0; t < K.size(); ++t) {
      const TimedSvm run = timed_svm(K[t], y[t], C, gap);
      seconds += run.seconds;
      our_gap = std::max(our_gap, run.gap);
    }
    return seconds;
  };
  const auto theirs = [&] {
    double seconds = 0;
    for (std::size_t t = 0; t < K.size(); ++t) {
      const ReferenceRun run = libsvm_on_matrix(K[t], y[t], C, epsilon[t]);
      seconds += run.seconds;
      their_gap = std::max(their_gap, relative_gap(K[t], y[t], C, run.beta));
    }
    return seconds;
  };
  const Timing timing = interleave(runs, {ours, theirs});
  return {{"case", name},
          {"ours s", timing.seconds[0]},
          {"LIBSVM s", timing.seconds[1]},
          {"times faster", timing.seconds[1] / timing.seconds[0]},
          {"our worst gap", our_gap},
          {"LIBSVM's", their_gap},
          {"unconverged tasks", unconverged}};
}

}  // namespace

std::vector<Report> part_svm(const Options& options) {
  std::vector<Report> reports;
  for (const double gap : {1e-3, 1e-6})
    reports.push_back(
        {"svm",
         fmt::format("the SVMs of all tasks at equal kernel weights, ours and LIBSVM's on the same "
                     "matrices (rounded to single precision, in which LIBSVM computes), cold, to "
                     "relative gap {:.0e} of each solver's own primal and dual "
                     "value (LIBSVM: per task the largest eps of 0.1 x 0.3^k that reaches it, its "
                     "search not counted); one thread, interleaved, {}",
                     gap, how_often(options)),
         {{"gap_tolerance", gap}, {"threads", 1}, {"kernel weights", "uniform"}}});
  for (const Work& work : chosen_work(options)) {
    std::vector<Matrix> K;
    std::vector<Vector> y;
    {
      const Prepared prepared = prepare(work.load(), work.settings(), {}, 1);
      const Vector uniform = WeightSet(1).uniform(std::ssize(prepared.grams.kernels));
      for (Index t = 0; t < std::ssize(prepared.set.y); ++t)
        K.push_back(mixed(prepared, t, uniform).cast<float>().cast<double>());
      y = prepared.set.y;
    }
    for (const double C : {1.0, 64.0})
      for (Report& report : reports) {
        const std::string name = fmt::format("{}, C {}", work.name, C);
        const double gap = report.settings["gap_tolerance"];
        say(fmt::format("svm: {}, gap {:.0e}", name, gap));
        report.rows.push_back(compare(name, K, y, C, gap, options.runs));
      }
  }
  for (Report& report : reports) report.notes.push_back(extreme(report, "times faster", false));
  return reports;
}

}  // namespace coterie::bench
