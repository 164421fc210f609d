// What ties the kernel weights of tasks together, as proximal Newton (newton.hpp) sees it:
//
//   minimise   F(J_1(theta_1), .., J_T(theta_T)) + P(theta)        theta among the weights that are allowed
//
// F is the sum, or another function that grows with every J_t and is homogeneous: F(J) = c'J with c_t = dF/dJ_t. Private to the solvers.
#pragma once

#include <functional>
#include <vector>

#include "coterie/mtmkl/few_kernels.hpp"
#include "coterie/mtmkl/objective.hpp"
#include "coterie/mtmkl/proof.hpp"
#include "coterie/mtmkl/theta_step.hpp"

namespace coterie {

// Weights with the SVMs there, and all that the next step needs.
struct Iterate {
  Matrix theta;                  // units x M
  std::vector<TaskState> tasks;  // [task]
  Groups groups;                 // of points: weights that were made equal
  double primal = 0;     // with the barriers of (40), without the losses of samples left out
  double plain = 0;      // without barriers
  double penalty = 0;    // in both
  double left_out = 0;   // what those losses add, where they were counted
  bool counted = false;  // over all samples: plain + left_out is the objective of the whole problem
  Vector c;              // [task], slopes of F
  Matrix g;              // units x M, gradient of F(J)
};

// A minimum of the model around an iterate.
struct WeightStep {
  Matrix theta;          // units x M, allowed, equal bit for bit within a group
  Matrix nu;             // ties x M, pair duals within their balls
  Groups groups;         // of points
  double gap = 0;        // of the model
  double predicted = 0;  // how far the model falls
};

class Coupling {
 public:
  virtual ~Coupling() = default;

  // Task k has row unit[k] of theta. Points 0 .. A-1 of the graph are anchors, weights that stay as they are; A + u has row u of theta.
  const std::vector<Index>& unit() const { return unit_; }
  Index units() const { return units_; }
  const TaskGraph& graph() const { return graph_; }
  const Matrix& anchors() const { return anchors_; }
  Index points() const { return anchors_.rows() + units_; }
  Index ties() const { return std::ssize(graph_); }
  Index iterations = 0;  // of the minimisation of models

  virtual bool is_fixed() const { return false; }  // there is one theta only
  virtual bool is_convex() const { return true; }  // else the objective must never rise
  virtual double value(const Vector& J) const { return J.sum(); }
  virtual Vector slopes(const Vector& J) const { return Vector::Ones(J.size()); }
  virtual double penalty(const Matrix& theta) const = 0;

  // What the dual value has besides sum_t c_t 1'alpha_t: min over theta of g'theta plus the pair duals.
  virtual double smallest(const Iterate& x, const Matrix& nu) const = 0;
  virtual Proof prove(const std::vector<TaskProof>& tasks, const Matrix& theta,
                      const Matrix& nu) const = 0;

  // Minimises the model around x, the Hessians of its tasks (none: 0) and mu I for curvature.
  virtual WeightStep step(const Iterate& x, double mu, const ThetaSettings& limits) = 0;

  Eigen::Ref<const Eigen::RowVectorXd> point(const Matrix& theta, Index at) const {
    return at < anchors_.rows() ? anchors_.row(at) : theta.row(at - anchors_.rows());
  }
  Groups singletons() const;
  // Tied points whose weights differ by at most `distance` in every kernel, 0: equal bit for bit. No group has two anchors.
  virtual Groups equal_points(const Matrix& theta, double distance = 0) const;
  // Every group has the weights of its anchor, or the mean of its members.
  Matrix merge(const Matrix& theta, const Groups& groups) const;
  // x + length (next - x), equal bit for bit within every group.
  Matrix between(const Matrix& x, const Matrix& next, double length, const Groups& groups) const;

 protected:
  Coupling(std::vector<Index> unit, Index units, TaskGraph graph, Matrix anchors)
      : unit_(std::move(unit)),
        units_(units),
        graph_(std::move(graph)),
        anchors_(std::move(anchors)) {}

 private:
  std::vector<Index> unit_;
  Index units_;
  TaskGraph graph_;
  Matrix anchors_;
};

// The tasks share nothing but a pairwise penalty, docs/maths.md (1), (53):
//
//   F = sum_t J_t,     P = sum_i kappa_i ||theta_t - theta_s||,     theta_u in D
struct Tied {
  std::vector<Index> unit;
  Index units = 0;
  TaskGraph graph;  // between points
  Vector kappa;     // per edge, > 0
  Matrix anchors;   // A x M, all different; no rows: none
  WeightSet weights;
  bool fixed = false;
};

class TiedWeights : public Coupling {
 public:
  explicit TiedWeights(Tied tied);

  bool is_fixed() const override { return fixed_; }
  double penalty(const Matrix& theta) const override;
  double smallest(const Iterate& x, const Matrix& nu) const override;
  Proof prove(const std::vector<TaskProof>& tasks, const Matrix& theta,
              const Matrix& nu) const override;
  WeightStep step(const Iterate& x, double mu, const ThetaSettings& limits) override;
  const Vector& kappa() const { return kappa_; }

 private:
  RootedModel rooted_model(const Iterate& x, double mu) const;
  WeightStep step_to(const Iterate& x, ThetaResult next,
                     const std::function<double(Index unit, const Vector& d)>& quadratic);

  Vector kappa_;
  WeightSet weights_;
  bool fixed_;
  ThetaState state_;  // where the last model was solved
};

}  // namespace coterie
