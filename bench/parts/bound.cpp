// What the bound says of models of real data, next to their error on rows that nobody saw (docs/bound.md).
#include <ctime>

#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr double train_share = 0.5;
constexpr std::uint64_t seed = 1;

// Errors over the rows of all tasks that were held out.
double test_error(const Model& model, const Dataset& data, const Split& split) {
  Index errors = 0, n = 0;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    std::vector<Index> rows;
    for (const Index i : split.rest[t])
      rows.push_back(data.tasks[t].rows[static_cast<std::size_t>(i)]);
    const Vector f = decision_values(model, static_cast<Index>(t), data.X(rows, Eigen::all));
    const Vector y = data.tasks[t].y(split.rest[t]);
    errors += (f.array() * y.array() <= 0).count();
    n += y.size();
  }
  return static_cast<double>(errors) / static_cast<double>(n);
}

std::string estimate_text(const Estimate& estimate) {
  return fmt::format("{:.4g} ± {:.1g}", estimate.value, estimate.standard_error);
}
std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

struct Case {
  std::string name;
  Bound found;
  double test_error = 0, seconds = 0;
};

std::vector<Case> run_cases(const Options& options) {
  std::vector<Case> out;
  for (const Study& study : studies()) {
    if (study.name == "vehicle" || study.name.find(options.only) == std::string::npos) continue;
    const Dataset data = study.load();
    const Split split = hold_out_tasks(data, 1 - train_share, seed);
    const Dataset train_side = subset(data, split.train);
    for (const double C : {1.0, 1.0 / 64}) {
      say(fmt::format("bound: {}, C {}", study.name, C));
      const Model model = train(train_side, {.C = C});
      const std::clock_t start = std::clock();  // of all threads: other programs do not count
      const std::optional<Bound> found = bound(model, train_side);
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      out.push_back(
          {fmt::format("{} {:.0f}%, C {}", study.name, 100 * train_share, C == 1 ? "1" : "1/64"),
           found.value(), test_error(model, data, split), seconds});
    }
  }
  return out;
}

}  // namespace

std::vector<Report> part_bound(const Options& options) {
  Report complexity{
      "bound",
      "complexities of the class of each model, 1000 draws of signs (upper values, ± standard "
      "error), default lambda and kernels; CPU seconds of the whole of `bound`, of all threads "
      "together"};
  Report errors{"guarantee",
                "the same models: bounds on the pooled error at delta = 0.05, each at its best "
                "margin, and the error on the rows that were held out"};
  for (const Case& one : run_cases(options)) {
    const Bound& b = one.found;
    complexity.rows.push_back({{"data", one.name},
                               {"N", b.samples},
                               {"T", b.tasks},
                               {"R", fmt::format("{:.3g}", b.R)},
                               {"gamma", fmt::format("{:.3g}", b.gamma)},
                               {"published", fmt::format("{:.3g}", b.published)},
                               {"closed form", fmt::format("{:.3g}", b.complexity.closed)},
                               {"by data", estimate_text(b.complexity.data)},
                               {"Monte Carlo", estimate_text(b.complexity.monte_carlo)},
                               {"mean gap", fmt::format("{:.0e}", b.complexity.gap)},
                               {"one kernel", estimate_text(b.common.monte_carlo)},
                               {"separate kernels", estimate_text(b.separate.monte_carlo)},
                               {"bias", fmt::format("{:.2g}", b.bias_complexity)},
                               {"CPU seconds", fmt::format("{:.1f}", one.seconds)}});
    const Guarantee& best = b.by_monte_carlo;
    errors.rows.push_back({{"data", one.name},
                           {"published", fmt::format("{:.3f}", b.by_published.bound)},
                           {"closed form", fmt::format("{:.3f}", b.by_closed.bound)},
                           {"by data", fmt::format("{:.3f}", b.by_data.bound)},
                           {"Monte Carlo", fmt::format("{:.3f}", best.bound)},
                           {"interval", percent_text(best.low) + " to " + percent_text(best.high)},
                           {"margin", fmt::format("{:.3g}", best.margin)},
                           {"margin error", percent_text(best.margin_error)},
                           {"deviation", fmt::format("{:.3f}", best.deviation)},
                           {"training error", percent_text(b.training_error)},
                           {"test error", percent_text(one.test_error)}});
  }
  return {complexity, errors};
}

}  // namespace coterie::bench
