#include "coterie/math/clip.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <vector>

namespace coterie {

namespace {

void check([[maybe_unused]] Index m, [[maybe_unused]] const Box& box) {
  assert(box.alpha >= 0 && box.alpha <= box.beta && box.beta > 0);
  assert(box.budget > 0 && std::isfinite(box.budget));
  assert(static_cast<double>(m) * box.alpha <= box.budget * (1 + 1e-12));
}

// No entry can be larger than what the others leave of the budget: with that the upper end is finite.
double upper_end(Index m, const Box& box) {
  const double left = box.budget - static_cast<double>(m - 1) * box.alpha;
  return std::max(box.alpha, std::min(box.beta, left));
}

// l_i = clip(kappa a_i - mu, alpha, beta), a >= 0, with the largest kappa whose sum keeps the budget. The sum is piecewise linear in
// kappa: entry i leaves alpha at (alpha + mu) / a_i and reaches beta at (beta + mu) / a_i. Halving the sorted list of these ends finds
// the piece that spends the budget; there it is one linear equation. Entries with a_i = 0 stay at alpha, and so do those that are
// nothing beside the largest.
Vector spend(ConstVectorRef sizes, double mu, const Box& box) {
  const Index m = sizes.size();
  check(m, box);
  const double largest = m > 0 ? sizes.maxCoeff() : 0;
  if (!(largest > 0)) return Vector::Constant(m, box.alpha);
  const Vector a = (sizes.array() > 1e-250 * largest).select(sizes / largest, 0);
  const double alpha = box.alpha;
  const double beta = upper_end(m, box);
  const auto at = [&](double kappa) -> Vector {
    return (kappa * a.array() - mu).cwiseMax(alpha).cwiseMin(beta);
  };

  std::vector<double> ends;
  for (const double x : a) {
    if (!(x > 0)) continue;
    ends.push_back((alpha + mu) / x);
    ends.push_back((beta + mu) / x);
  }
  std::sort(ends.begin(), ends.end());
  const auto after = std::partition_point(
      ends.begin(), ends.end(), [&](double kappa) { return at(kappa).sum() <= box.budget; });
  if (after == ends.end()) {  // all that can have it get beta
    return (a.array() > 0).select(Vector::Constant(m, beta), alpha);
  }

  const double high = *after;
  const double low = after == ends.begin() ? 0 : *(after - 1);
  double rest = box.budget;
  double slope = 0;
  for (const double x : a) {  // between `low` and `high` every entry keeps its state
    if (!(x > 0) || (alpha + mu) / x >= high)
      rest -= alpha;
    else if ((beta + mu) / x <= low)
      rest -= beta;
    else {
      rest += mu;
      slope += x;
    }
  }
  const double kappa = slope > 0 ? std::clamp(rest / slope, low, high) : low;
  return at(kappa);
}

double ratio(double x, double l) { return l > 0 ? x * x / l : 0; }  // l = 0 only where x is nothing

}  // namespace

Vector clip_weights(ConstVectorRef sigma, const Box& box) { return spend(sigma, 0, box); }

double box_norm_squared(ConstVectorRef x, const Box& box) {
  const Vector l = spend(x.cwiseAbs(), 0, box);
  double sum = 0;
  for (Index i = 0; i < x.size(); ++i) sum += ratio(x[i], l[i]);
  return sum;
}

// A linear function of l: what alpha leaves of the budget goes to the largest z first.
double box_norm_conjugate(ConstVectorRef z, const Box& box) {
  check(z.size(), box);
  Vector squares = z.cwiseAbs2();
  std::sort(squares.begin(), squares.end(), std::greater<>());
  double sum = box.alpha * squares.sum();
  double rest = box.budget - static_cast<double>(z.size()) * box.alpha;
  for (const double square : squares) {
    const double share = std::clamp(rest, 0.0, box.beta - box.alpha);
    sum += share * square;
    rest -= share;
  }
  return sum / 4;
}

// For fixed l the best v_i is l_i x_i / (l_i + mu), which leaves (mu/2) sum x_i^2 / (l_i + mu) to be minimised over the box: the clip
// problem with all ends moved by mu.
Vector prox_box_norm(ConstVectorRef x, double mu, const Box& box) {
  assert(mu >= 0);
  if (mu == 0) return x;
  const Vector l = spend(x.cwiseAbs(), mu, box);
  return x.array() * l.array() / (l.array() + mu);
}

}  // namespace coterie
