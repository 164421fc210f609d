// The time of a whole selection: 21 x 21 points, 5 folds, on one thread and on all.
#include "coterie/math/parallel.hpp"
#include "coterie/search/choice.hpp"
#include "measure.hpp"
#include "parts.hpp"

namespace coterie::bench {

std::vector<Report> part_select(const Options& options) {
  Report report{"select",
                fmt::format("21 C x 21 lambda (2^-10 .. 2^10, the grid of the paper), 5 folds, "
                            "kernel matrices included, relative gap 1e-4; {}",
                            how_often(options)),
                {{"gap_tolerance", 1e-4}, {"folds", 5}, {"points", 441}}};
  Report coarse{
      "coarse",
      "the same grid searched from coarse to fine, next to the whole of it; accuracy in per "
      "cent by cross-validation",
      report.settings};
  for (const Work& work : chosen_work(options, {"vehicle 50%", "letter 50%", "landmine 50%"})) {
    const Dataset data = work.load();
    const Settings settings = work.settings();
    const Extras extras;
    const Grid grid = parse_grid({});
    const std::vector<Split> splits = fold_tasks(data, 5, 1);
    GridScores scores;
    const auto run = [&](int threads, bool whole) {
      say(fmt::format("select: {}, threads: {}", work.name, thread_count(threads)));
      const Watch watch;
      const SearchData search{data, settings, extras, grid.C.back(), Storage::stored, threads};
      scores =
          whole ? score_grid(search, splits, grid) : score_coarse_to_fine(search, splits, grid);
      return watch.seconds();
    };
    const Timing timing =
        interleave(options.runs, {[&] { return run(1, true); }, [&] { return run(0, true); }});
    report.rows.push_back({{"data", work.name},
                           {"1 thread s", timing.seconds[0]},
                           {fmt::format("{} threads s", thread_count(0)), timing.seconds[1]},
                           {"times faster", timing.seconds[0] / timing.seconds[1]},
                           {"fits", scores.fits},
                           {"points x folds", 5 * 441},
                           {"answered by lambda = inf", scores.reused},
                           {"worst gap", scores.worst_gap},
                           {"unconverged fits", scores.unconverged},
                           {"runs", timing.runs}});
    const std::vector<Ranked> all = rank_points(scores);
    const Index all_fits = scores.fits;
    run(0, false);
    const std::vector<Ranked> few = rank_points(scores);
    const auto name = [&](const Ranked& one) {
      const Settings at = settings_at({}, grid, one.point);
      return fmt::format("C {:.4g}, lambda {:.4g}", at.C, at.lambda.value);
    };
    coarse.rows.push_back({{"data", work.name},
                           {"best of all", fmt::format("{:.2f}", 100 * all[0].score)},
                           {"where", name(all[0])},
                           {"best found", fmt::format("{:.2f}", 100 * few[0].score)},
                           {"where ", name(few[0])},
                           {"std. error", fmt::format("{:.2f}", 100 * all[0].standard_error)},
                           {"points", std::ssize(few)},
                           {"of", std::ssize(all)},
                           {"fits", scores.fits},
                           {"of ", all_fits}});
  }
  return {report, coarse};
}

}  // namespace coterie::bench
