#include "coterie/math/simplex.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

namespace coterie {

namespace {

double norm_p(ConstVectorRef theta, double p) {
  if (std::isinf(p)) return theta.size() ? theta.cwiseAbs().maxCoeff() : 0.0;
  if (p == 2) return theta.stableNorm();  // squares of 1e-200 are zero
  const double largest = theta.size() ? theta.cwiseAbs().maxCoeff() : 0.0;
  if (largest == 0) return 0;
  return largest * std::pow((theta.array().abs() / largest).pow(p).sum(), 1 / p);
}

// The root x > 0 of  x + mu x^(p-1) = v,  v > 0. In u = log x the function is convex and rises; Newton's method from a point right of the root, where neither
// term exceeds v, falls monotonically on the root, in a few steps for every p.
double shrink_coordinate(double v, double mu, double p) {
  double u = std::min(std::log(v), std::log(v / mu) / (p - 1));
  for (int step = 0; step < 60; ++step) {
    const double own = std::exp(u);
    const double pull = mu * std::exp((p - 1) * u);
    const double slope = own + (p - 1) * pull;
    const double next = u - (own + pull - v) / slope;
    if (!(next < u) || !(slope > 0)) break;
    u = next;
  }
  return std::exp(u);
}

}  // namespace

Vector project_onto_simplex(ConstVectorRef v) {
  Vector sorted = v;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0;
  double shift = 0;
  for (Index k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double candidate = (sum - 1) / static_cast<double>(k + 1);
    if (k > 0 && sorted[k] <= candidate) break;
    shift = candidate;
  }
  return (v.array() - shift).cwiseMax(0.0);
}

Vector project_onto_norm_ball(ConstVectorRef v, double p) {
  Vector positive = v.cwiseMax(0.0);
  if (std::isinf(p)) return positive.cwiseMin(1.0);
  const double norm = norm_p(positive, p);
  if (norm <= 1) return positive;
  if (p == 2) return positive / norm;
  // sum theta(mu)^p falls as mu grows, to 1: Newton's method in log mu, within a bracket that is halved where Newton leaves it.
  Vector theta(positive.size());
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double mu = 1;
  for (int step = 0; step < 200; ++step) {
    double excess = -1;
    double fall = 0;  // of the sum, by d log mu
    for (Index m = 0; m < theta.size(); ++m) {
      theta[m] = positive[m] > 0 ? shrink_coordinate(positive[m], mu, p) : 0;
      if (theta[m] == 0) continue;
      const double power = std::pow(theta[m], p);
      const double bent = mu * std::pow(theta[m], p - 2);
      excess += power;
      fall += p * power * bent / (1 + (p - 1) * bent);
    }
    (excess > 0 ? low : high) = mu;
    if (std::abs(excess) <= 1e-15 || high <= low * (1 + 1e-15)) break;
    double next = mu * std::exp(std::clamp(excess / fall, -50.0, 50.0));
    if (!(next > low && next < high))
      next = low == 0           ? 1e-3 * high
             : std::isinf(high) ? 1e3 * low
                                : std::sqrt(low) * std::sqrt(high);
    if (next == mu || !(next > 1e-300)) break;
    mu = next;
  }
  const double left = norm_p(theta, p);
  return left > 1 ? Vector(theta / left) : theta;
}

WeightSet::WeightSet(double p) : p_(p) { assert(p >= 1); }

Vector WeightSet::project(ConstVectorRef v) const {
  return p_ == 1 ? project_onto_simplex(v) : project_onto_norm_ball(v, p_);
}

double WeightSet::smallest(ConstVectorRef c) const {
  if (p_ == 1) return c.minCoeff();
  const double conjugate = std::isinf(p_) ? 1 : p_ / (p_ - 1);
  return -norm_p((-c).cwiseMax(0.0), conjugate);
}

Vector WeightSet::minimiser(ConstVectorRef c) const {
  Vector theta = Vector::Zero(c.size());
  if (p_ == 1) {
    Index best = 0;
    c.minCoeff(&best);
    theta[best] = 1;
    return theta;
  }
  if (std::isinf(p_)) return (c.array() < 0).cast<double>();
  const Vector wanted = (-c).cwiseMax(0.0);
  const double largest = wanted.size() ? wanted.maxCoeff() : 0.0;
  if (!(largest > 0)) return theta;
  theta = (wanted / largest).array().pow(1 / (p_ - 1));
  return theta / norm_p(theta, p_);
}

Vector WeightSet::uniform(Index M) const {
  return Vector::Constant(M, std::isinf(p_) ? 1.0 : std::pow(static_cast<double>(M), -1 / p_));
}

bool WeightSet::contains(ConstVectorRef theta, double slack) const {
  if (theta.minCoeff() < -slack || !theta.allFinite()) return false;
  return p_ == 1 ? std::abs(theta.sum() - 1) <= slack : norm_p(theta, p_) <= 1 + slack;
}

}  // namespace coterie
