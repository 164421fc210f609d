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
#include <vector>

#include "coterie/baseline/loss.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

struct LinearProblem {
  std::vector<Matrix> X;  // [task] samples x features
  std::vector<Vector> y;  // [task], -1 or +1
  std::vector<Vector> c;  // [task], weights of the samples; those of a task sum to 1
  Loss loss = Loss::squared_hinge;
  Index T() const { return static_cast<Index>(X.size()); }
  Index d() const { return X.empty() ? 0 : X.front().cols(); }
};

// What gaps of linear methods are relative to: the objective itself. Losses are means, so it may be far below 1; below 1e-9 nothing counts.
inline double gap_scale(double primal) { return std::max(std::abs(primal), 1e-9); }

struct LinearSettings {
  double gap_tolerance = 1e-4;  // stop when primal - dual <= gap_tolerance * gap_scale(primal)
  Index max_steps = 100;        // outer steps
  int threads = 0;
};

struct LinearFit {
  Matrix W;       // T x d
  Vector b;       // T
  Matrix shared;  // T x d, the part of W that tasks share: U of flexclus, P of coclus; else empty
  Matrix nu;      // pairs x d: pair duals of metag, in the order of complete_graph(); else empty
  Groups clusters;
  double primal = 0, dual = -std::numeric_limits<double>::infinity(), gap = 0;
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

// The pulls at (W, b), made to balance: what they prove of the losses, and their Z.
struct DualPoint {
  double losses = 0;  // - sum_t sum_i c_ti phi*(-s_ti)
  Matrix Z;           // T x d
};
DualPoint dual_point(const LinearProblem& problem, const Matrix& W, const Vector& b,
                     int threads = 1);

// A convex penalty of W (T x d). The maps may keep what helps the next call (a warm start), so they are not const.
class Penalty {
 public:
  virtual ~Penalty() = default;
  virtual double value(const Matrix& W) = 0;
  // argmin_W  1/2 ||W - Z||^2 + step R(W); without a closed form, to a distance of accuracy * ||Z||.
  virtual Matrix prox(const Matrix& Z, double step, double accuracy) = 0;
  // R*(Z) = max_W <Z, W> - R(W), or an upper bound of it that is tight at the optimum.
  virtual double conjugate(const Matrix& Z) = 0;
};

// Proximal Newton: the losses by their curvature, the penalty as it is; a line search guards every step. W, b, primal, dual, gap,
// task_objective, steps and status of the result are set; the biases are the best ones for W, and the dual value is that of the pulls
// at (W, b), so that both values can be computed again from W and b alone. The last call of
// penalty.conjugate is the one that gave this dual value. The callback sees every outer step.
LinearFit minimise(const LinearProblem& problem, Penalty& penalty, const LinearSettings& settings,
                   const LinearStart& start = {}, const ProgressCallback& progress = {});

}  // namespace coterie
