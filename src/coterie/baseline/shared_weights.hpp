// Kernel weights with a common part, docs/methods.md (8)-(11), for proximal Newton (mtmkl/newton.hpp). With theta_t = mu + lambda_t as in (7),
//
//   minimise   F(J_1(theta_1), .., J_T(theta_T)),      F(g) = ( sum_t g_t^p )^(1/p)                                          (8)
//
// F grows with every g_t, and is homogeneous: F(g) = c'g with
//
//   c_t = dF/dg_t = (g_t / F)^(p-1).                                                                                         (9)
//
// Proof: F(g) = max { c'g : c >= 0, ||c||_q <= 1 } for p >= 1 with 1/p + 1/q = 1, and c of (9) is such a c. Thus for any admissible alpha
//
//   optimum  >=  dual = sum_t c_t 1'alpha_t - tau/2 max_m sum_t c_t S_t^m - (1-tau)/2 sum_t c_t max_m S_t^m.                (10)
//
// For p < 1 F is concave, and (10) bounds only sum_t c_t J_t with the weights at hand, whose value there is F too. Their gap vanishes where
// no step lowers F to first order: the claim is Claim::stationary.
//
// Step: with m_t the quadratic model of J_t at the current weights, from its SVM,
//
//   p > 1    minimise F(m_1(theta_1), .., m_T(theta_T)), by Newton steps of its own that need no SVM                        (11)
//   p <= 1   minimise sum_t c_t m_t(theta_t): c'g lies above F and touches it, so that what lowers it lowers F
//
// p other than 1 asks for tau = 1.
#pragma once

#include "coterie/mtmkl/coupling.hpp"
#include "coterie/mtmkl/newton.hpp"

namespace coterie {

struct SharedShape {
  double share = 1;  // tau
  double power = 1;  // p
};

class SharedWeights : public Coupling {
 public:
  SharedWeights(Index T, const SharedShape& shape);  // a row of theta per task

  bool is_convex() const override { return shape_.power >= 1; }
  double value(const Vector& J) const override;
  Vector slopes(const Vector& J) const override;
  double penalty(const Matrix&) const override { return 0; }
  double smallest(const Iterate& x, const Matrix& nu) const override;
  Proof prove(const std::vector<TaskProof>& tasks, const Matrix& theta,
              const Matrix& nu) const override;
  WeightStep step(const Iterate& x, double mu, const ThetaSettings& limits) override;
  Groups equal_points(const Matrix& theta, double distance) const override;

 private:
  SharedShape shape_;
};

// lambda, graph and weights of the problem have no part.
Fit fit_shared(const MtmklProblem& problem, const SharedShape& shape, const FitSettings& settings,
               const ProgressCallback& progress, const WarmStart& start, Workspace* workspace);

// What a fit of all tasks in one piece found.
Fit as_fit(NewtonResult result);

// (8) and (9)
double power_mean(const Vector& g, double p);
Vector power_weights(const Vector& g, double p);

}  // namespace coterie
