// Linear classifiers of T tasks that are learnt together, docs/methods.md (1):
//
//   minimise   sum_t sum_i c_ti phi(y_ti (w_t'x_ti + b_t))  +  R(W)            W with a row w_t per task; biases are free
//
// The methods differ in the penalty R. A convex R comes with its proximal map, for the solver, and its conjugate, for the proof:
// with pulls s_ti = -phi'(m_ti) (made to balance in every task) and Z with rows z_t = sum_i c_ti s_ti y_ti x_ti,
//
//   dual = - sum_t sum_i c_ti phi*(-s_ti) - R*(Z)   <=   optimum   <=   primal.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "coterie/baseline/loss.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

struct LinearProblem {
  std::vector<Matrix> X;  // [task] samples x features
  std::vector<Vector> y;  // [task], -1 or +1
  std::vector<Vector> c;  // [task], weights of the samples; those of a task sum to 1
  Loss loss = Loss::squared_hinge;
  // Features that stand for kernels are known to within rounding, docs/methods.md (24); empty where X is exact.
  std::vector<Vector> X_error{};  // [task], length of what a row of X may be off by
  Matrix W_error{};  // d x d: a model cannot hold w, but weights within W_error |w| of it
  Index T() const { return static_cast<Index>(X.size()); }
  Index d() const { return X.empty() ? 0 : X.front().cols(); }
};

struct LinearSettings {
  double gap_tolerance = 1e-4;  // stop when primal - dual + its rounding <= gap_tolerance * primal
  Index max_steps = 100;        // outer steps
  int threads = 0;
  bool bounded =
      true;  // false: the gap as it is in double, for problems on the way; no bound is stated
};

struct LinearFit {
  Matrix W;       // T x d
  Vector b;       // T
  Matrix shared;  // T x d, the part of W that tasks share: U of flexclus, P of coclus; else empty
  Matrix nu;      // pairs x d: pair duals of metag, in the order of complete_graph(); else empty
  Groups clusters;
  double primal = 0, dual = -std::numeric_limits<double>::infinity();
  double gap = 0;         // relative to primal
  double bound = 0;       // of the rounding error of the gap, relative to primal
  double coarseness = 0;  // what doubles leave open of the gap, where that is too much to decide
  Vector task_objective;  // T, loss of every task
  Claim claim = Claim::optimum;
  Index steps = 0;
  Status status = Status::converged;
};

// Where to begin; may be empty. A fit of the same tasks at other parameters is a good one.
struct LinearStart {
  Matrix W{};
  Vector b{};
  Matrix shared{};
  Matrix nu{};
  Groups clusters{};
};

// Loss of every task at (W, b).
Vector task_losses(const LinearProblem& problem, const Matrix& W, const Vector& b, int threads = 1);

// The biases that are best for W, sought from b on.
Vector best_biases(const LinearProblem& problem, const Matrix& W, Vector b, int threads = 1);

// The pulls at (W, b), made to balance: what they prove of the losses, and their Z.
struct DualPoint {
  double losses = 0;  // - sum_t sum_i c_ti phi*(-s_ti)
  Matrix Z;           // T x d
};
DualPoint dual_point(const LinearProblem& problem, const Matrix& W, const Vector& b,
                     int threads = 1);

// A number with a bound of its rounding error.
struct Rounded {
  double value = 0, error = 0;
};

// What a penalty brings to a certificate: its values at these very W and Z, and how far R* changes where Z is off by E,
//
//   |R*(Z + E) - R*(Z)|  <=  2 sqrt(reach R*(Z)) ||E|| + reach ||E||^2.                                   docs/methods.md (22)
//
// This holds where R* is the square of a norm with R*(E) <= reach ||E||^2, and where it is convex, not below 0 and its gradient changes
// by at most 2 reach ||E||. Likewise R changes by at most  2 sqrt(W_reach R(W)) ||E|| + W_reach ||E||^2 + W_slope ||E||  where W is off.
struct PenaltyProof {
  Rounded value, conjugate;
  double reach = 0;
  double W_reach = 0, W_slope = 0;
};

// A convex penalty of W (T x d). The maps may keep what helps the next call (a warm start), so they are not const.
class Penalty {
 public:
  virtual ~Penalty() = default;
  virtual double value(const Matrix& W) = 0;
  // argmin_W  1/2 ||W - Z||^2 + step R(W); without a closed form, to a distance of accuracy * ||Z||.
  virtual Matrix prox(const Matrix& Z, double step, double accuracy) = 0;
  // R*(Z) = max_W <Z, W> - R(W), or an upper bound of it; without a closed form, one that is too large by at most `slack`.
  virtual double conjugate(const Matrix& Z, double slack) = 0;
  // Both values with their rounding. A bound of R* is that of the last call of conjugate(), whose Z was this one but for rounding.
  virtual PenaltyProof prove(const Matrix& W, const Matrix& Z) = 0;
  // Of a quadratic penalty, R(W) = 1/2 <W, gradient(W)>: the least and the largest eigenvalue of its gradient. Others have none.
  struct Spread {
    double least = 0, largest = 0;
  };
  virtual std::optional<Spread> quadratic() const { return std::nullopt; }
  virtual Matrix gradient(const Matrix& W) const { return W; }
};

// Proximal Newton: the losses by their curvature, the penalty as it is; a line search guards every step. W, b, primal, dual, gap, bound,
// task_objective, steps and status of the result are set; the biases are the best ones for W, and the dual value is that of the pulls
// at (W, b), so that both values can be computed again from W and b alone. The last call of penalty.prove is the one that gave them.
// Status::precision: doubles cannot tell whether the gap is within the tolerance. The callback sees every outer step.
LinearFit minimise(const LinearProblem& problem, Penalty& penalty, const LinearSettings& settings,
                   const LinearStart& start = {}, const ProgressCallback& progress = {});

}  // namespace coterie
