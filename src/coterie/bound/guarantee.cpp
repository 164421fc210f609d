#include "coterie/bound/guarantee.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "coterie/bound/strata.hpp"

namespace coterie {

namespace {

// The part of delta that pays for the error of the draws, for all classes together.
constexpr double share_of_draws = 0.05;
// Margins are tried over so many powers of 2 in R / rho^2 to both sides of where the complexity is 1. The shares of delta fall so slowly
// that the ends cost little.
constexpr Index powers_tried = 30;
constexpr Index largest_power = 1000;  // of 2, that is a number
// The norms and biases of a model carry rounding; its class is wider by this.
constexpr double rounding = 1e-9;

struct Choice {
  double rho;
  Stratum radius;  // of R / rho^2
};

// The margins to try: with R / rho^2 a power of 2, so that nothing is lost in rounding it up; or the one given.
std::vector<Choice> choices(const GuaranteeProblem& problem, double unit) {
  const double R = std::max(problem.R * (1 + rounding), std::numeric_limits<double>::min());
  if (problem.margin.value) {
    const double rho = *problem.margin.value;
    return {{rho, power_stratum(R / rho / rho)}};
  }
  const Index centre = unit > 0 ? static_cast<Index>(std::round(-2 * std::log2(unit))) : 0;
  // Beyond twice the largest margin all are within rho, and nothing is gained; scores of 1 are what an SVM aims at. Where R is small beside
  // the bias that is far from the centre.
  const double longest = std::max(1.0, problem.margins.cwiseAbs().maxCoeff());
  const Index widest = static_cast<Index>(std::floor(std::log2(R) - 2 * std::log2(2 * longest)));
  const Index first = std::max<Index>(-largest_power, std::min(centre - powers_tried, widest));
  const Index last = std::min<Index>(largest_power, std::max(centre, first) + powers_tried);
  std::vector<Choice> out;
  for (Index j = first; j <= last; ++j) {
    const Stratum radius = power_stratum_at(j);
    const double rho = std::sqrt(R / radius.value);
    if (rho <= 4 * longest || j == last) out.push_back({rho, radius});
  }
  return out;
}

// Margin, complexity and deviation of (4) for one class and margin; the rest is left.
Guarantee pieces(const GuaranteeProblem& problem, const ClassCost& cost, const Choice& choice,
                 double delta, double classes) {
  const double radius = choice.rho * std::sqrt(choice.radius.value);  // >= sqrt(R)
  const Stratum bias = bias_stratum(problem.largest_bias * (1 + rounding) / radius);
  const bool draws = cost.drawn > 0;
  const double unit =
      cost.unit +
      (draws ? cost.drawn * std::sqrt(std::log(classes / (share_of_draws * delta))) : 0);
  const double rest = draws ? 1 - share_of_draws : 1;
  const double paid = rest * delta * cost.share * choice.radius.share * bias.share;
  Guarantee out;
  out.margin = choice.rho;
  out.complexity = radius * (unit + bias.value * problem.bias_unit);
  out.deviation = 3 * problem.row_weight * std::sqrt(std::log(2 / paid) / 2);
  return out;
}

using Pieces = std::function<std::vector<Guarantee>(double delta)>;

// The smallest upper bound of the pieces, and the interval by that and the largest lower bound, each at delta / 2.
Guarantee best_of(const Vector& margins, double delta, const Pieces& pieces_at) {
  const auto slack = [](const Guarantee& one) {
    return 2 / one.margin * one.complexity + one.deviation;
  };
  const auto smallest = [&](double part) {
    Guarantee best;
    best.bound = std::numeric_limits<double>::infinity();
    for (Guarantee one : pieces_at(part)) {
      one.margin_error = margin_error(margins, one.margin);
      one.bound = one.margin_error + slack(one);
      if (one.bound < best.bound) best = one;
    }
    return best;
  };
  Guarantee out = smallest(delta);
  out.high = std::min(1.0, smallest(delta / 2).bound);
  for (const Guarantee& one : pieces_at(delta / 2))
    out.low = std::max(out.low, sure_error(margins, one.margin) - slack(one));
  return out;
}

}  // namespace

double margin_error(ConstVectorRef margins, double rho) {
  return (1 - margins.array() / rho).cwiseMax(0.0).cwiseMin(1.0).mean();
}

double sure_error(ConstVectorRef margins, double rho) {
  return (-margins.array() / rho).cwiseMax(0.0).cwiseMin(1.0).mean();
}

Guarantee best_guarantee(const GuaranteeProblem& problem, const std::vector<ClassCost>& classes,
                         double delta) {
  return best_of(problem.margins, delta, [&](double part) {
    std::vector<Guarantee> out;
    for (const ClassCost& cost : classes)
      for (const Choice& choice : choices(problem, cost.unit))
        out.push_back(pieces(problem, cost, choice, part, static_cast<double>(classes.size())));
    return out;
  });
}

Guarantee published_guarantee(const GuaranteeProblem& problem, double complexity, double delta) {
  const double N = static_cast<double>(problem.margins.size());
  const double unit = problem.R > 0 ? complexity / std::sqrt(problem.R) : 0;
  return best_of(problem.margins, delta, [&](double part) {
    std::vector<Guarantee> out;
    for (const Choice& choice : choices(problem, unit))
      out.push_back({.margin = choice.rho,
                     .complexity = complexity,
                     .deviation = 3 * std::sqrt(std::log(1 / part) / (2 * N))});
    return out;
  });
}

}  // namespace coterie
