// Tails and quantiles that tests of significance need. The first three are those of Boost.Math.
#pragma once

namespace coterie {

double chi_square_upper_tail(double x, double degrees);
double f_upper_tail(double x, double degrees_above, double degrees_below);
double student_two_sided(double t, double degrees);  // P(|T| >= |t|)
double student_quantile(double p, double degrees);   // P(T <= result) = p
double normal_two_sided(double z);                   // P(|Z| >= |z|)

// The range of k independent standard normal variables, k >= 2: the studentized range with infinitely many degrees of freedom.
double range_upper_tail(double q, double k);      // P(largest - smallest >= q), to about 1e-14
double range_upper_quantile(double p, double k);  // where that is p, for p in (0, 1)

}  // namespace coterie
