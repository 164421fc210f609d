#include "coterie/stats/calibration.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "coterie/math/isotonic.hpp"

namespace coterie {
namespace {

constexpr int most_steps = 200;          // of Newton's method; some ten are taken
constexpr double armijo = 1e-4;          // share of the predicted decrease that a step must bring
constexpr double smallest = 1e-10;       // step length that the line search tries
constexpr double least_radius = 1e-300;  // of scores that differ
constexpr double least_spread =
    1e-9;  // of their size: less is rounding, and says nothing of a label

double sigmoid(double z) {
  // Of the two forms, the one whose exponential cannot overflow.
  const double e = std::exp(-std::abs(z));
  return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double log1p_exp(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

void check_scores(ConstVectorRef f, [[maybe_unused]] ConstVectorRef y) {
  assert(f.size() == y.size());
  if (!f.allFinite()) throw InputError("calibration needs scores that are finite numbers.");
}

Calibration constant(double p) {
  return {Calibration::Kind::platt, 0, std::log(p / (1 - p)), {}, {}};
}

// The cross-entropy F of p = sigmoid(a g + b), for scores g in [-1, 1].
struct CrossEntropy {
  const Vector& g;
  const Vector& t;

  double operator()(double a, double b) const {
    double sum = 0;
    for (Index i = 0; i < g.size(); ++i) {
      const double z = a * g[i] + b;
      sum += t[i] * log1p_exp(-z) + (1 - t[i]) * log1p_exp(z);
    }
    return sum;
  }
};

struct Line {
  double a = 0, b = 0;
};

// Newton's direction. The equations are solved for scores centred at their mean under the weights p (1 - p), which makes the Hessian
// diagonal: a far outlier, or scores that are almost equal, then cost no digits. `decrease` is what the quadratic model predicts.
struct Direction {
  double a = 0, b = 0, decrease = 0;
};

Direction newton_direction(const Vector& g, const Vector& t, Line x) {
  const Vector p = (x.a * g.array() + x.b).unaryExpr(&sigmoid);
  const Vector weight = p.array() * (1 - p.array());
  const double total = weight.sum();
  if (!(total > 0)) return {};
  const double mean = weight.dot(g) / total;
  const Vector centred = g.array() - mean;
  const double spread = weight.dot(centred.cwiseAbs2());
  const double slope_gradient = (p - t).dot(centred);
  const double offset_gradient = (p - t).sum();
  Direction out;
  if (spread > 0) out.a = -slope_gradient / spread;
  out.b = -offset_gradient / total - mean * out.a;
  out.decrease = offset_gradient * offset_gradient / total - slope_gradient * out.a;
  return out;
}

Line minimise(const Vector& g, const Vector& t, Line x) {
  const CrossEntropy F{g, t};
  double value = F(x.a, x.b);
  for (int step = 0; step < most_steps; ++step) {
    const Direction d = newton_direction(g, t, x);
    if (!(d.decrease > 1e-15 * value)) break;
    double length = 1;
    double next = F(x.a + d.a, x.b + d.b);
    while (!(next <= value - armijo * length * d.decrease) && length > smallest) {
      length /= 2;
      next = F(x.a + length * d.a, x.b + length * d.b);
    }
    if (!(next < value)) break;  // as low as rounding lets it be
    x = {x.a + length * d.a, x.b + length * d.b};
    value = next;
  }
  return x;
}

}  // namespace

bool Calibration::operator==(const Calibration& o) const {
  const auto same = [](const Vector& a, const Vector& b) { return a.size() == b.size() && a == b; };
  return std::tie(kind, slope, offset) == std::tie(o.kind, o.slope, o.offset) &&
         same(score, o.score) && same(value, o.value);
}

std::string to_string(Calibration::Kind kind) {
  switch (kind) {
    case Calibration::Kind::platt:
      return "platt";
    case Calibration::Kind::isotonic:
      return "isotonic";
    default:
      return "none";
  }
}

std::optional<Calibration::Kind> calibration_kind_from(const std::string& text) {
  for (const auto kind :
       {Calibration::Kind::none, Calibration::Kind::platt, Calibration::Kind::isotonic})
    if (text == to_string(kind)) return kind;
  return std::nullopt;
}

Calibration fit_platt(ConstVectorRef f, ConstVectorRef y) {
  check_scores(f, y);
  if (f.size() == 0) return constant(0.5);
  const auto positives = static_cast<double>((y.array() > 0).count());
  const double negatives = static_cast<double>(y.size()) - positives;
  const double high = (positives + 1) / (positives + 2);
  const double low = 1 / (negatives + 2);
  const Vector t = (y.array() > 0).select(Vector::Constant(y.size(), high), low);

  // Scores are brought to [-1, 1], halved first because their difference may be too large for a double.
  const double centre = f.minCoeff() / 2 + f.maxCoeff() / 2;
  const double radius = f.maxCoeff() / 2 - f.minCoeff() / 2;
  if (radius < std::max(least_radius, least_spread * f.cwiseAbs().maxCoeff()))
    return constant(t.mean());
  const Vector g = ((f.array() / 2 - centre / 2) / (radius / 2)).cwiseMax(-1.0).cwiseMin(1.0);
  const Line x = minimise(g, t, {0, constant(t.mean()).offset});
  Calibration fitted{Calibration::Kind::platt, x.a / radius, x.b - x.a * (centre / radius), {}, {}};
  const bool usable =
      fitted.slope > 0 && std::isfinite(fitted.slope) && std::isfinite(fitted.offset);
  return usable ? fitted : constant(t.mean());
}

// Of equal scores those of positive samples come first: then pooling gives all of them one probability.
Calibration fit_isotonic(ConstVectorRef f, ConstVectorRef y) {
  check_scores(f, y);
  const Index n = f.size();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index i) { return std::pair(f[i], y[i] > 0 ? 0 : 1); });
  const Vector positive = (y(order).array() > 0).cast<double>();
  Isotonic pools = isotonic_regression(positive, Vector::Ones(n));
  pools.first.push_back(n);

  const double margin = 1 / (static_cast<double>(f.size()) + 2);
  std::vector<double> score;
  std::vector<double> value;
  for (std::size_t k = 0; k + 1 < pools.first.size(); ++k) {
    const Index first = pools.first[k];
    const Index last = pools.first[k + 1] - 1;
    const double share = std::clamp(pools.x[first], margin, 1 - margin);
    for (const double end : {f[order[first]], f[order[last]]}) {
      if (!score.empty() && score.back() == end) continue;
      score.push_back(end);
      value.push_back(share);
    }
  }
  if (score.empty()) {  // nothing is known
    score = {0};
    value = {0.5};
  }
  Calibration out;
  out.kind = Calibration::Kind::isotonic;
  out.score = Eigen::Map<const Vector>(score.data(), std::ssize(score));
  out.value = Eigen::Map<const Vector>(value.data(), std::ssize(value));
  return out;
}

Calibration fit_calibration(Calibration::Kind kind, ConstVectorRef f, ConstVectorRef y) {
  switch (kind) {
    case Calibration::Kind::platt:
      return fit_platt(f, y);
    case Calibration::Kind::isotonic:
      return fit_isotonic(f, y);
    default:
      return {};
  }
}

namespace {

// Every operation rounds monotonically, so the interpolation grows with f as the exact one does.
double interpolate(const Vector& score, const Vector& value, double f) {
  const Index last = score.size() - 1;
  const Index after = std::upper_bound(score.begin(), score.end(), f) - score.begin();
  if (after == 0) return value[0];
  if (after > last) return value[last];
  const double x0 = score[after - 1];
  const double x1 = score[after];
  const double width = x1 - x0;
  const double share =
      std::isfinite(width) ? (f - x0) / width : (f / 2 - x0 / 2) / (x1 / 2 - x0 / 2);
  return std::min(value[after - 1] + (value[after] - value[after - 1]) * share, value[after]);
}

}  // namespace

double probability(const Calibration& calibration, double f) {
  if (calibration.kind == Calibration::Kind::isotonic)
    return interpolate(calibration.score, calibration.value, f);
  return sigmoid(calibration.slope * f + calibration.offset);
}

Vector probabilities(const Calibration& calibration, ConstVectorRef f) {
  return f.unaryExpr([&](double value) { return probability(calibration, value); });
}

}  // namespace coterie
