// Two threads against one, and whether they agree bit for bit.
#include <thread>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"

namespace coterie::bench {

std::vector<Report> part_threads(const Options& options) {
  Report report{"threads",
                fmt::format("cold fit to relative gap 1e-4 on 1 and on 2 threads, with Gram "
                            "matrices given (fit) and from parsed features (whole); C 1, lambda "
                            "0.1max, interleaved, {}",
                            how_often(options)),
                {{"gap_tolerance", gap_tolerance}, {"C", 1}, {"lambda", "0.1max"}}};
  for (const Work& work : chosen_work(options)) {
    say("threads: " + work.name);
    const Dataset data = work.load();
    double lambda = 0;
    bool same = true;
    Timing fits;
    {
      const Prepared prepared = prepare(data, work.settings(), {}, 1, Storage::stored);
      lambda = 0.1 * lambda_max_of(prepared);
      Fit first;
      const auto one = [&] {
        TimedFit run = timed_fit(prepared, lambda, 1);
        first = std::move(run.fit);
        return run.seconds;
      };
      const auto two = [&] {
        const TimedFit run = timed_fit(prepared, lambda, 2);
        same = same && run.fit.theta == first.theta && run.fit.alpha == first.alpha;
        return run.seconds;
      };
      // What the machine gives: two fits side by side that have nothing to do with each other.
      const auto apart = [&] {
        const Watch watch;
        std::thread other([&] { timed_fit(prepared, lambda, 1); });
        timed_fit(prepared, lambda, 1);
        other.join();
        return watch.seconds() / 2;
      };
      fits = interleave(options.runs, {one, two, apart});
    }
    const auto whole = [&](int threads) {
      return [&, threads] {
        Dataset copy = data;
        const Watch watch;
        const Prepared prepared = prepare(std::move(copy), work.settings(), {}, threads);
        timed_fit(prepared, lambda, threads);
        return watch.seconds();
      };
    };
    const Timing wholes = interleave(options.runs, {whole(1), whole(2)});
    report.rows.push_back({{"data", work.name},
                           {"fit, 1 thread s", fits.seconds[0]},
                           {"2 threads s", fits.seconds[1]},
                           {"times faster", fits.seconds[0] / fits.seconds[1]},
                           {"two fits apart, times faster", fits.seconds[0] / fits.seconds[2]},
                           {"whole, 1 thread s", wholes.seconds[0]},
                           {"on 2 s", wholes.seconds[1]},
                           {"whole times faster", wholes.seconds[0] / wholes.seconds[1]},
                           {"same bits", same}});
  }
  return {report};
}

}  // namespace coterie::bench
