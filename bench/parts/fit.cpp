// A cold fit with Gram matrices given, against one LIBSVM pass over the tasks at the kernels that it found.
#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"
#include "reference.hpp"

namespace coterie::bench {

std::vector<Report> part_fit(const Options& options) {
  Report report{"fit",
                fmt::format("cold fit to relative gap 1e-4 with Gram matrices given, over LIBSVM "
                            "training the tasks once, cold, at the final kernels (precomputed, "
                            "mixing not counted, eps 1e-3); one thread, interleaved, {}",
                            how_often(options)),
                {{"gap_tolerance", gap_tolerance}, {"threads", 1}, {"eps", libsvm_epsilon}}};
  for (const Work& work : chosen_work(options)) {
    Prepared prepared = prepare(work.load(), work.settings(), {}, 1, Storage::stored);
    for (const double C : {1.0, 64.0}) {
      set_C(prepared, C);
      const double largest = lambda_max_of(prepared);
      for (const double share : {0.05, 0.3}) {
        const std::string name = case_name(work, C, share);
        say("fit: " + name);
        Fit last;
        const Timing timing =
            interleave(options.runs, {[&] {
                                        TimedFit run = timed_fit(prepared, share * largest);
                                        last = std::move(run.fit);
                                        return run.seconds;
                                      },
                                      [&] { return libsvm_pass(prepared, last); }});
        report.rows.push_back({{"case", name},
                               {"fit s", timing.seconds[0]},
                               {"LIBSVM s", timing.seconds[1]},
                               {"ratio", timing.seconds[0] / timing.seconds[1]},
                               {"outer steps", last.outer_steps},
                               {"SVM solves", last.svm_solves},
                               {"theta iterations", last.theta_iterations},
                               {"groups", last.groups.size()},
                               {"gap", last.gap},
                               {"status", to_string(last.status)}});
      }
    }
  }
  report.notes.push_back(extreme(report, "ratio", true));
  return {report};
}

std::vector<Report> part_phases(const Options& options) {
  Report report{"phases",
                fmt::format("seconds of reading, preparing (both once) and the phases of a "
                            "cold fit to relative gap 1e-4, C 1, lambda 0.1max, one thread, {}",
                            how_often(options)),
                {{"gap_tolerance", gap_tolerance}, {"threads", 1}, {"C", 1}, {"lambda", "0.1max"}}};
  for (const Work& work : chosen_work(options)) {
    say("phases: " + work.name);
    const Watch read;
    Dataset data = work.load();
    const double read_seconds = read.seconds();
    const Watch gram;
    const Prepared prepared = prepare(std::move(data), work.settings(), {}, 1);
    const double gram_seconds = gram.seconds();
    const double lambda = 0.1 * lambda_max_of(prepared);
    std::vector<double> svms, theta, proof;
    Fit last;
    const Timing timing = interleave(options.runs, {[&] {
                                       PhaseClock clock;
                                       TimedFit run =
                                           timed_fit(prepared, lambda, 1, clock.callback());
                                       clock.finish();
                                       svms.push_back(clock.seconds(Phase::svms));
                                       theta.push_back(clock.seconds(Phase::theta_step));
                                       proof.push_back(clock.seconds(Phase::proof));
                                       last = std::move(run.fit);
                                       return run.seconds;
                                     }});
    report.rows.push_back({{"data", work.name},
                           {"tasks", last.theta.rows()},
                           {"read s", read_seconds},
                           {"prepare s", gram_seconds},
                           {"svms s", median(svms)},
                           {"theta s", median(theta)},
                           {"certificate s", median(proof)},
                           {"fit s", timing.seconds[0]},
                           {"outer steps", last.outer_steps},
                           {"groups", last.groups.size()},
                           {"gap", last.gap}});
  }
  return {report};
}

}  // namespace coterie::bench
