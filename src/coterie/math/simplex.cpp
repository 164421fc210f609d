#include "coterie/math/simplex.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace coterie {

namespace {

double norm_p(ConstVectorRef theta, double p) {
  if (std::isinf(p)) return theta.size() ? theta.cwiseAbs().maxCoeff() : 0.0;
  if (p == 2) return theta.stableNorm();  // squares of 1e-200 are zero
  const double largest = theta.size() ? theta.cwiseAbs().maxCoeff() : 0.0;
  if (largest == 0) return 0;
  return largest * std::pow((theta.array().abs() / largest).pow(p).sum(), 1 / p);
}

// The root x > 0 of  x + mu x^(p-1) = v,  v > 0. In u = log x the function is convex and rises: Newton's method from the right of the root falls monotonically
// on it, in a few steps for every p, and from the left its first step leads to the right. Neither term exceeds v at the root.
struct ShrunkCoordinate {
  double u = std::numeric_limits<double>::infinity();  // log x
  double x = 0, pull = 0;                              // the two terms

  void solve(double log_v, double v, double log_mu, double p) {
    const double most = std::min(log_v, (log_v - log_mu) / (p - 1));
    if (most < -700) {  // x is nothing to a double
      u = most;
      x = 0;
      pull = v;
      return;
    }
    const bool fresh = u >= most;
    u = std::min(u, most);
    for (int step = 0; step < 60; ++step) {
      x = std::exp(u);
      pull = std::exp(log_mu + (p - 1) * u);
      const double slope = x + (p - 1) * pull;
      const double next = std::min(most, u - (x + pull - v) / slope);
      if (!(slope > 0) || (!(next < u) && (fresh || step > 0)) || next == u) break;
      u = next;
    }
  }
  // of u, by d log mu
  double slope(double p) const { return -pull / (x + (p - 1) * pull); }
};

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
  const Vector logs = positive.array().log();
  if (p == 2 || positive.maxCoeff() <= 0) {
    const double norm = norm_p(positive, p);
    return norm <= 1 ? positive : Vector(positive / norm);
  }
  if ((p * logs).array().exp().sum() <= 1) return positive;
  // sum theta(mu)^p falls as mu grows, to 1: Newton's method in log mu, within a bracket that is halved where Newton leaves it. The
  // coordinates follow from where the last mu had them.
  Vector theta = Vector::Zero(positive.size());
  std::vector<ShrunkCoordinate> own(static_cast<std::size_t>(positive.size()));
  double low = -std::numeric_limits<double>::infinity();
  double high = -low;
  double log_mu = 0;
  double excess = 0;
  for (int step = 0; step < 200; ++step) {
    excess = -1;
    double fall = 0;  // of the sum, by d log mu
    for (Index m = 0; m < theta.size(); ++m) {
      if (!(positive[m] > 0)) continue;
      ShrunkCoordinate& at = own[static_cast<std::size_t>(m)];
      at.solve(logs[m], positive[m], log_mu, p);
      theta[m] = at.x;
      const double power = at.x * std::exp((p - 1) * at.u);
      excess += power;
      fall -= p * power * at.slope(p);
    }
    (excess > 0 ? low : high) = log_mu;
    if (std::abs(excess) <= 1e-15 || high - low <= 1e-15) break;
    double next = log_mu + std::clamp(excess / fall, -50.0, 50.0);
    if (!(next > low && next < high))
      next = std::isinf(low) ? high - 7 : std::isinf(high) ? low + 7 : 0.5 * (low + high);
    if (next == log_mu || !(next > -690)) break;
    for (ShrunkCoordinate& at : own)
      if (at.x > 0) at.u += at.slope(p) * (next - log_mu);
    log_mu = next;
  }
  return excess > 0 ? Vector(theta / std::pow(1 + excess, 1 / p)) : theta;
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
