#include "coterie/math/simplex.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

namespace coterie {

namespace {

double norm_p(ConstVectorRef theta, double p) {
  if (std::isinf(p)) return theta.size() ? theta.cwiseAbs().maxCoeff() : 0.0;
  if (p == 2) return theta.norm();
  const double largest = theta.size() ? theta.cwiseAbs().maxCoeff() : 0.0;
  if (largest == 0) return 0;
  return largest * std::pow((theta.array().abs() / largest).pow(p).sum(), 1 / p);
}

// The root x >= 0 of  x + mu x^(p-1) = v,  v > 0. For p < 2 it is sought as x = s^(1/(p-1)), which makes the
// function convex; Newton's method from the right end then falls monotonically on the root.
double shrink_coordinate(double v, double mu, double p) {
  const double a = p >= 2 ? 1 : 1 / (p - 1);
  const double b = p >= 2 ? p - 1 : 1;
  // Right of the root: x <= v and mu x^(p-1) <= v.
  double s = p >= 2 ? std::min(v, std::pow(v / mu, 1 / (p - 1))) : std::pow(v, p - 1);
  for (int step = 0; step < 60; ++step) {
    const double excess = std::pow(s, a) + mu * std::pow(s, b) - v;
    const double slope = a * std::pow(s, a - 1) + mu * b * std::pow(s, b - 1);
    const double next = s - excess / slope;
    if (!(next > 0) || next >= s) break;
    s = next;
  }
  return std::pow(s, a);
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
  // ||theta(mu)||_p falls as mu grows: bracket the mu where it is 1, then halve the bracket in the logarithm.
  const auto shrunk = [&](double mu) {
    Vector theta = positive;
    for (double& x : theta) x = x > 0 ? shrink_coordinate(x, mu, p) : 0;
    return theta;
  };
  double low = 1e-12;
  double high = 1;
  while (norm_p(shrunk(high), p) > 1 && high < 1e300) high *= 4;
  while (high / low > 1 + 1e-15) {
    const double middle = std::sqrt(low * high);
    if (middle <= low || middle >= high) break;
    (norm_p(shrunk(middle), p) > 1 ? low : high) = middle;
  }
  Vector theta = shrunk(high);
  const double left = norm_p(theta, p);
  if (left > 1) theta /= left;
  return theta;
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
