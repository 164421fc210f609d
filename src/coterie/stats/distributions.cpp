#include "coterie/stats/distributions.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <numbers>

namespace coterie {
namespace {

namespace bm = boost::math;
// Double is enough for p-values, and quicker to compile than long double.
using Policy = bm::policies::policy<bm::policies::promote_double<false>>;
using ChiSquared = bm::chi_squared_distribution<double, Policy>;
using FisherF = bm::fisher_f_distribution<double, Policy>;
using StudentsT = bm::students_t_distribution<double, Policy>;

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

}  // namespace

double chi_square_upper_tail(double x, double degrees) {
  if (std::isinf(x)) return 0;
  return bm::cdf(bm::complement(ChiSquared(degrees), x));
}

double f_upper_tail(double x, double degrees_above, double degrees_below) {
  if (std::isinf(x)) return 0;
  return bm::cdf(bm::complement(FisherF(degrees_above, degrees_below), x));
}

double student_two_sided(double t, double degrees) {
  if (std::isinf(t)) return 0;
  return 2 * bm::cdf(bm::complement(StudentsT(degrees), std::abs(t)));
}

double student_quantile(double p, double degrees) { return bm::quantile(StudentsT(degrees), p); }

double normal_two_sided(double z) { return std::erfc(std::abs(z) / std::numbers::sqrt2); }

// With z the largest variable and the others within q below it,
//
//   P(range < q) = k * integral of phi(z) (Phi(z) - Phi(z - q))^(k-1) dz.
//
// The integrand is analytic and dies out at both ends, where the trapezoidal rule errs by less than rounding: phi(9) is 1e-18.
double range_upper_tail(double q, double k) {
  assert(k >= 2);
  if (!(q > 0)) return 1;
  constexpr double end = 9, step = 1.0 / 16;
  double sum = 0;
  for (double z = -end; z <= end; z += step)
    sum += std::exp(-z * z / 2) * std::pow(normal_cdf(z) - normal_cdf(z - q), k - 1);
  const double inside = k * sum * step / std::sqrt(2 * std::numbers::pi);
  return std::max(0.0, 1 - inside);
}

double range_upper_quantile(double p, double k) {
  assert(p > 0 && p < 1);
  double low = 0, high = 64;  // where the tail is beyond doubles, for any k
  while (true) {              // halves until the doubles between are used up
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) return middle;
    (range_upper_tail(middle, k) > p ? low : high) = middle;
  }
}

}  // namespace coterie
