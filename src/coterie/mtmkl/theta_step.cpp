#include "coterie/mtmkl/theta_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "coterie/math/dense.hpp"
#include "coterie/mtmkl/smoothed_newton.hpp"

namespace coterie {

namespace {

// The sum of +-nu over the edges of every task, T x M: + at t, - at s.
Matrix pull(const TaskGraph& graph, const Matrix& nu, Index T) {
  Matrix sum = Matrix::Zero(T, nu.cols());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto row = nu.row(static_cast<Index>(i));
    sum.row(graph[i].t) += row;
    sum.row(graph[i].s) -= row;
  }
  return sum;
}

class Admm {
 public:
  Admm(const ThetaProblem& problem, ThetaState& state)
      : problem_(problem),
        s_(state),
        T_(problem.c.rows()),
        M_(problem.c.cols()),
        fixed_(problem.fixed) {
    degree_ = Vector::Zero(T_);
    for (const Edge& edge : problem.graph) {
      degree_[edge.t] += 1;
      degree_[edge.s] += 1;
    }
    fused_.assign(problem.graph.size(), false);
    if (s_.rho == 0) {
      const double tasks = static_cast<double>(T_ - fixed_);
      double curvature = 0;
      for (Index t = fixed_; t < T_; ++t)
        curvature += problem.B[index(t)].trace() / (static_cast<double>(M_) * tasks);
      const double slope = problem.c.bottomRows(T_ - fixed_).norm() / std::sqrt(tasks);
      s_.rho = std::max(1e-8, std::max(curvature, slope) / (1 + degree_.mean()));
    }
    factor();
  }

  // One pass: theta, edges, z. Sets the residuals.
  void iterate() {
    previous_z_ = s_.z;
    const Matrix right = s_.rho * s_.z + s_.v - problem_.c - drive_;
    const Matrix old = s_.theta;
    for (Index t = fixed_; t < T_; ++t) {
      const Vector rhs = (right.row(t) + s_.rho * degree_[t] * old.row(t)).transpose();
      s_.theta.row(t) = times(inverse_[index(t)], rhs);
    }
    edges();
    for (Index t = fixed_; t < T_; ++t)
      s_.z.row(t) =
          problem_.weights.project(s_.theta.row(t).transpose() - s_.v.row(t).transpose() / s_.rho);
    s_.v += s_.rho * (s_.z - s_.theta);
    primal_residual_ = std::sqrt((s_.z - s_.theta).squaredNorm() + consensus_);
    dual_residual_ = s_.rho * std::sqrt((s_.z - previous_z_).squaredNorm() + consensus_change(old));
  }

  // Keeps the two residuals, each relative to the size of its variables, within a factor of each other.
  void adapt() {
    const double primal_scale = std::max(1e-300, s_.z.norm() + consensus_scale());
    const double dual_scale = std::max(1e-300, s_.v.norm() + std::sqrt(2.0) * s_.nu.norm());
    const double ratio =
        (primal_residual_ / primal_scale) / std::max(1e-300, dual_residual_ / dual_scale);
    if (ratio > 4 || ratio < 0.25)
      set_rho(std::clamp(s_.rho * std::clamp(std::sqrt(ratio), 0.2, 5.0), 1e-12, 1e12));
  }

  Groups groups() const {
    return parts_around(fixed_, T_, problem_.graph, fused_, [&](Index i) {
      const Edge& edge = problem_.graph[index(i)];
      return (s_.z.row(edge.t) - s_.z.row(edge.s)).norm();
    });
  }

 private:
  static std::size_t index(Index i) { return static_cast<std::size_t>(i); }

  void set_rho(double rho) {
    s_.rho = rho;
    factor();
  }

  void factor() {
    inverse_.resize(index(T_));
    for (Index t = fixed_; t < T_; ++t) {
      Eigen::MatrixXd A = problem_.B[index(t)];
      A.diagonal().array() += s_.rho * (degree_[t] + 1);
      cholesky(A);
      inverse_[index(t)] = cholesky_inverse(A);
    }
    drive_ = pull(problem_.graph, s_.nu, T_);
  }

  // nu_i <- projection of nu_i + rho/2 (theta_t - theta_s); drive = pull(2 nu_new - nu_old), what the theta update needs.
  void edges() {
    drive_.setZero();
    double change = 0;
    const double half = s_.rho / 2;
    for (std::size_t i = 0; i < problem_.graph.size(); ++i) {
      const Edge& edge = problem_.graph[i];
      const Index k = static_cast<Index>(i);
      const double* a = s_.theta.row(edge.t).data();
      const double* b = s_.theta.row(edge.s).data();
      double* nu = s_.nu.row(k).data();
      double* to = drive_.row(edge.t).data();
      double* from = drive_.row(edge.s).data();
      double squared = 0;
      for (Index m = 0; m < M_; ++m) {
        const double x = nu[m] + half * (a[m] - b[m]);
        squared += x * x;
      }
      const double kappa = problem_.kappa[k];
      const bool fused = squared <= kappa * kappa;
      const double scale = fused ? 1 : kappa / std::sqrt(squared);
      for (Index m = 0; m < M_; ++m) {
        const double before = nu[m];
        const double after = scale * (before + half * (a[m] - b[m]));
        const double ahead = 2 * after - before;
        change += (after - before) * (after - before);
        nu[m] = after;
        to[m] += ahead;
        from[m] -= ahead;
      }
      fused_[i] = fused;
    }
    consensus_ = 2 * change / (s_.rho * s_.rho);  // both copies of every edge minus theta, squared
  }

  // The copies of task t move about as theta_t does, one for every edge.
  double consensus_change(const Matrix& old) const {
    return ((s_.theta - old).rowwise().squaredNorm().array() * degree_.array()).sum();
  }
  double consensus_scale() const {
    return std::sqrt((s_.theta.rowwise().squaredNorm().array() * degree_.array()).sum());
  }

  const ThetaProblem& problem_;
  ThetaState& s_;
  Index T_, M_, fixed_;
  Vector degree_;
  std::vector<Eigen::MatrixXd> inverse_;
  Matrix drive_, previous_z_;
  std::vector<bool> fused_;
  double consensus_ = 0, primal_residual_ = 0, dual_residual_ = 0;
};

}  // namespace

ThetaResult solve_theta(const ThetaProblem& problem, ThetaState& state,
                        const ThetaSettings& settings) {
  constexpr double first_eps = 0.1;  // about the size of differences between weights
  constexpr double warm_eps = 1e-3;  // small enough to keep groups, large enough to let them change
  SmoothedPath path = follow_smoothed_path(
      problem, state.theta, state.eps > 0 ? std::clamp(state.eps, warm_eps, first_eps) : first_eps,
      settings);
  state.theta = std::move(path.theta);
  state.eps = path.eps;
  ThetaResult result{std::move(path.merged), std::move(path.nu), std::move(path.groups), path.gap,
                     path.iterations};
  if (path.converged || path.gap <= settings.enough ||
      (settings.keep_going && !settings.keep_going()))
    return result;

  state.v = std::move(path.r);
  return improve_by_admm(problem, state, std::move(result), settings);
}

ThetaResult improve_by_admm(const ThetaProblem& problem, ThetaState& state, ThetaResult result,
                            const ThetaSettings& settings) {
  const Index newton_steps = result.iterations;
  state.z = result.theta;
  state.nu = result.nu;
  Admm admm(problem, state);
  Index next_check = 10;
  const Index numbers = state.nu.size() + state.z.size() * state.z.cols();  // touched by a pass
  constexpr Index piece = 20'000'000;  // of them between questions whether to go on
  Index work = 0;
  double halved = result.gap;  // and when it was
  Index halved_at = 0;
  for (Index iteration = 1; iteration <= settings.max_iterations; ++iteration) {
    admm.iterate();
    if ((work += numbers) > piece && settings.keep_going) {
      work = 0;
      if (!settings.keep_going()) break;
    }
    if (iteration != next_check && iteration != settings.max_iterations) continue;
    next_check += std::clamp<Index>(iteration / 5, 10, 100);
    const Groups groups = admm.groups();
    const Matrix theta = mean_of_groups(state.z, groups, problem.fixed);
    const double gap = model_gap(problem, theta, state.nu);
    if (gap < result.gap) result = {theta, state.nu, groups, gap, 0};
    result.iterations = newton_steps + iteration;
    if (result.gap <= 0.5 * halved) {
      halved = result.gap;
      halved_at = iteration;
    }
    if (iteration - halved_at > settings.idle_passes + halved_at) break;
    if (gap <= std::max(settings.gap_tolerance, settings.enough) ||
        (settings.keep_going && !settings.keep_going()))
      break;
    admm.adapt();
  }
  state.theta = state.z;
  return result;
}

}  // namespace coterie
