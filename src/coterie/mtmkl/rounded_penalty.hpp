// The penalty with rounded kinks, docs/maths.md (30)-(32), over all edges i = (t, s) with d_i = theta_t - theta_s:
//
//   sum_i kappa_i h(d_i),      h(d) = ||d||^2 / (2 eps)   for ||d|| <= eps,      ||d|| - eps/2   beyond                   (30)
//
//   nu_i = kappa_i d_i / max(||d_i||, eps)                                                                                (31)
//
//   Hessian of kappa h:   kappa/eps I   inside,      kappa/||d|| (I - tau d d'/||d||^2)   beyond                          (32)
//
// theta comes as base + offset, where base is equal within a group: differences inside it are then exact to the last digit of the offsets.
// No dual needs to be longer than the sum of all gradients, of which fixed tasks have none but up to kappa at each of their edges. Where kappa is, eps is widened by
// their ratio, which keeps the curvature bounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coterie/mtmkl/compact_rows.hpp"
#include "coterie/mtmkl/theta_step.hpp"

namespace coterie {

// What the penalty is at a point.
struct PenaltyValue {
  double value = 0;     // (30)
  double kink = 0;      // sum_i kappa_i ||d_i|| - nu_i'd_i: what the rounding costs
  Matrix pull;          // T x padded M, sum of +-nu_i: the gradient
  Eigen::ArrayXd norm;  // of every d_i
};

class RoundedPenalty {
 public:
  struct Ends {
    std::int32_t t, s;
  };

  // Takes the length that duals are limited to from the gradients at theta, T x M.
  RoundedPenalty(const ThetaProblem& problem, const Matrix& theta, double eps);

  double eps() const { return eps_; }
  void set_eps(double eps) { eps_ = eps; }

  // at <- value and gradient at theta = base + offset, all T x padded M
  void evaluate(const Matrix& theta, const Matrix& base, const Matrix& offset, PenaltyValue& at);

  // The penalty with its kinks, sum_i kappa_i ||theta_t - theta_s||.
  double with_kinks(const Matrix& theta);

  // edges x M, (31)
  Matrix pair_duals(const Matrix& base, const Matrix& offset, const Eigen::ArrayXd& norm) const;

  // Connected parts of the edges shorter than this many eps, none with two fixed tasks.
  Groups fused_parts(const Eigen::ArrayXd& norm, double lengths) const;

  // The curvature of edge i near zero.
  double steepest(Index i) const { return std::min(problem_.kappa[i], limit_) / eps_; }

  double limit() const { return limit_; }
  const std::vector<Ends>& ends() const { return ends_; }  // [edge]

 private:
  template <int S>
  void sum_edges(PenaltyValue& at);
  template <int S>
  double sum_norms() const;

  const ThetaProblem& problem_;
  double eps_;
  double limit_ = 1e-300;  // no pair dual needs to be longer
  std::vector<Ends> ends_;
  CompactRows rows_;
  Matrix base_, offset_, pull_;  // compact
};

// (32) at a point: the curvature of edge i is flat_i I - linear_i d d'.
class EdgeCurvature {
 public:
  EdgeCurvature(const ThetaProblem& problem, const RoundedPenalty& penalty);

  // At a point with these norms of d. tau = 1: Newton; 0: the majoriser of Weiszfeld, which never overshoots a kink.
  void weigh(const Eigen::ArrayXd& norm, double tau);

  // What products need: theta, and the kernels outside of which their arguments are zero, both T x padded M.
  void prepare_products(const Matrix& theta, const Matrix& free);
  // y += the sum over edges of their curvature times x
  void add_product(const Matrix& x, Matrix& y);

  double tau() const { return tau_; }
  double flat(Index i) const { return flat_[i]; }
  double linear(Index i) const { return linear_[i]; }
  double stiffness(Index t) const { return stiffness_[t]; }  // sum of flat_i over the edges of t

 private:
  template <int S>
  void sum_products();

  const ThetaProblem& problem_;
  const RoundedPenalty& penalty_;
  double tau_ = 1;
  Eigen::ArrayXd flat_, linear_;
  Vector stiffness_;
  CompactRows rows_;
  Matrix theta_, x_, sum_;  // compact
};

}  // namespace coterie
