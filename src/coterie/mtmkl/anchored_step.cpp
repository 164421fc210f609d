#include "coterie/mtmkl/anchored_step.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace coterie {

namespace {

class CentralPath {
 public:
  explicit CentralPath(const AnchoredProblem& problem)
      : problem_(problem),
        A_(problem.anchors.rows()),
        U_(problem.c.rows()),
        M_(problem.c.cols()),
        x_(U_, M_),
        nu_(std::ssize(problem.graph), M_) {
    const double p = problem.weights.p();
    x_.rowwise() = (p == 1 ? 1 : 0.9) * problem.weights.uniform(M_).transpose();
    size_ = model_gradient(x_).cwiseAbs().maxCoeff();
    if (problem.kappa.size() > 0) size_ = std::max(size_, problem.kappa.maxCoeff());
    size_ = std::max(size_, 1e-300);
    mu_ = size_;
  }

  double mu() const { return mu_; }
  double size() const { return size_; }  // of the gradients that are balanced
  const Matrix& nu() const { return nu_; }
  double expected_gap() const {
    return mu_ * static_cast<double>(2 * std::ssize(problem_.graph) + U_ * (M_ + 1));
  }

  // To the centre for the present mu. Returns Newton steps.
  Index centre(const KeepGoing& keep_going) {
    constexpr Index limit = 60;  // where rounding keeps the decrement up
    for (Index step = 1;; ++step) {
      ask(keep_going);
      const Matrix g = gradient(x_);
      Matrix dx = newton_direction(g);
      const bool broken = !dx.allFinite();  // beyond the precision of the numbers
      if (broken) dx.setZero();
      const double slope = g.cwiseProduct(dx).sum();  // -dx' H dx
      const double decrement = std::sqrt(std::max(0.0, -slope / mu_));
      const bool last = decrement <= 0.1 || step == limit || broken;
      // A dual of a fused edge is the ratio of two tiny numbers: x cannot hold the step that would set it right, its first-order change can.
      if (last) nu_ = predicted_duals(dx);
      x_ += step_length(dx, slope, decrement) * dx;
      if (last) return step;
    }
  }

  void reduce_mu(double factor) { mu_ *= factor; }

  // Candidates for the answer, the most rounded first.
  struct Rounded {
    Matrix theta;
    std::vector<Index> joined;
  };
  std::vector<Rounded> candidates() const {
    const std::vector<Index> joined = fused_points();
    std::vector<Index> apart(static_cast<std::size_t>(U_));
    for (Index u = 0; u < U_; ++u) apart[static_cast<std::size_t>(u)] = A_ + u;
    return {{rounded(joined, true), joined},
            {rounded(joined, false), joined},
            {rounded(apart, true), apart},
            {rounded(apart, false), apart}};
  }

  // The gap of the model at theta with the duals of the path.
  double gap(const Matrix& theta) const {
    Matrix r = model_gradient(theta);
    double sum = 0;
    for (std::size_t i = 0; i < problem_.graph.size(); ++i) {
      const Index k = static_cast<Index>(i);
      const Edge& edge = problem_.graph[i];
      const Vector d = point(theta, edge.t) - point(theta, edge.s);
      sum += problem_.kappa[k] * d.norm() - nu_.row(k).dot(d);
      add(r, edge, nu_.row(k).transpose());
    }
    for (Index u = 0; u < U_; ++u)
      sum += r.row(u).dot(theta.row(u)) - problem_.weights.smallest(r.row(u).transpose());
    return sum;
  }

 private:
  Vector point(const Matrix& x, Index k) const {
    return k < A_ ? problem_.anchors.row(k).transpose() : x.row(k - A_).transpose();
  }

  // + at t, - at s, where they are not anchors
  void add(Matrix& sum, const Edge& edge, const Vector& nu) const {
    if (edge.t >= A_) sum.row(edge.t - A_) += nu;
    sum.row(edge.s - A_) -= nu;
  }

  Matrix model_gradient(const Matrix& x) const {
    Matrix g = problem_.c;
    for (Index u = 0; u < U_; ++u) g.row(u) += x.row(u) * problem_.B[static_cast<std::size_t>(u)];
    return g;
  }

  Vector dual_of(Index k, const Vector& d) const {
    const double kappa = problem_.kappa[k];
    const double sigma = std::hypot(mu_, kappa * d.norm());
    return kappa * (kappa / (mu_ + sigma)) * d;
  }

  // d nu / d d = f I - (f^2 / sigma) d d',  f = kappa^2 / (mu + sigma)
  Eigen::MatrixXd stiffness(Index k, const Vector& d) const {
    const double kappa = problem_.kappa[k];
    const double sigma = std::hypot(mu_, kappa * d.norm());
    const double f = kappa * kappa / (mu_ + sigma);
    Eigen::MatrixXd N = (-f * f / sigma) * d * d.transpose();
    N.diagonal().array() += f;
    return N;
  }

  Vector difference(const Matrix& x, Index k) const {
    const Edge& edge = problem_.graph[static_cast<std::size_t>(k)];
    return point(x, edge.t) - point(x, edge.s);
  }

  // Positive inside, for 1 < p < inf.
  double slack(ConstVectorRef x) const { return 1 - x.array().pow(problem_.weights.p()).sum(); }

  bool inside(const Matrix& x) const {
    if (!(x.minCoeff() > 0)) return false;
    const double p = problem_.weights.p();
    if (p == 1) return true;
    if (std::isinf(p)) return x.maxCoeff() < 1;
    for (Index u = 0; u < U_; ++u)
      if (!(slack(x.row(u).transpose()) > 0)) return false;
    return true;
  }

  Matrix gradient(const Matrix& x) const {
    Matrix g = model_gradient(x);
    for (Index k = 0; k < nu_.rows(); ++k)
      add(g, problem_.graph[static_cast<std::size_t>(k)], dual_of(k, difference(x, k)));
    g.array() -= mu_ / x.array();
    const double p = problem_.weights.p();
    if (std::isinf(p)) g.array() += mu_ / (1 - x.array());
    if (p > 1 && std::isfinite(p))
      for (Index u = 0; u < U_; ++u)
        g.row(u).array() += mu_ * p * x.row(u).array().pow(p - 1) / slack(x.row(u).transpose());
    return g;
  }

  Eigen::MatrixXd hessian() const {
    Eigen::MatrixXd H = Eigen::MatrixXd::Zero(U_ * M_, U_ * M_);
    const auto block = [&](Index u, Index v) { return H.block(u * M_, v * M_, M_, M_); };
    const double p = problem_.weights.p();
    for (Index u = 0; u < U_; ++u) {
      const Vector x = x_.row(u);
      block(u, u) += problem_.B[static_cast<std::size_t>(u)];
      block(u, u).diagonal().array() += mu_ / x.array().square();
      if (std::isinf(p)) block(u, u).diagonal().array() += mu_ / (1 - x.array()).square();
      if (p > 1 && std::isfinite(p)) {
        const double room = slack(x);
        const Vector slope = p * x.array().pow(p - 1) / room;
        block(u, u) += mu_ * slope * slope.transpose();
        block(u, u).diagonal().array() += mu_ * p * (p - 1) * x.array().pow(p - 2) / room;
      }
    }
    for (Index k = 0; k < nu_.rows(); ++k) {
      const Edge& edge = problem_.graph[static_cast<std::size_t>(k)];
      const Eigen::MatrixXd N = stiffness(k, difference(x_, k));
      const Index s = edge.s - A_;
      block(s, s) += N;
      if (edge.t < A_) continue;
      const Index t = edge.t - A_;
      block(t, t) += N;
      block(t, s) -= N;
      block(s, t) -= N;
    }
    return H;
  }

  // H dx = -g, for p = 1 with sum_m dx_um = 0: dx = -H^-1 (g + E y), E' dx = 0. H is brought to a unit diagonal first, whose entries
  // range over many orders of magnitude.
  Matrix newton_direction(const Matrix& g) const {
    Eigen::MatrixXd H = hessian();
    const Vector scale = H.diagonal().cwiseSqrt().cwiseInverse();
    H = scale.asDiagonal() * H * scale.asDiagonal();
    H.diagonal().array() += 1e-14;
    const Eigen::LLT<Eigen::MatrixXd> factor(H);
    Vector right = scale.cwiseProduct(g.reshaped<Eigen::RowMajor>());
    if (problem_.weights.p() == 1) {
      Eigen::MatrixXd E = Eigen::MatrixXd::Zero(U_ * M_, U_);
      for (Index u = 0; u < U_; ++u) E.col(u).segment(u * M_, M_) = scale.segment(u * M_, M_);
      const Eigen::MatrixXd H_E = factor.solve(E);
      const Vector y = (E.transpose() * H_E).llt().solve(-H_E.transpose() * right);
      right += E * y;
    }
    const Vector dx = -scale.cwiseProduct(factor.solve(right));
    return dx.reshaped<Eigen::RowMajor>(U_, M_);
  }

  // The full step, shortened while it leaves the set or the objective rises again at its end; 1 / (1 + decrement) is always good.
  double step_length(const Matrix& dx, double slope, double decrement) const {
    const double safe = 1 / (1 + decrement);
    double length = 1;
    for (int trial = 0; trial < 60; ++trial) {
      const Matrix there = x_ + length * dx;
      const bool in = inside(there);
      if (in && (decrement <= 0.25 || length <= safe)) break;
      if (in && gradient(there).cwiseProduct(dx).sum() <= -0.3 * slope) break;
      length = in ? std::max(0.5 * length, safe) : 0.5 * length;
    }
    return length;
  }

  Matrix predicted_duals(const Matrix& dx) const {
    Matrix nu = nu_;
    for (Index k = 0; k < nu.rows(); ++k) {
      const Edge& edge = problem_.graph[static_cast<std::size_t>(k)];
      const Vector d = difference(x_, k);
      Vector change = -dx.row(edge.s - A_);
      if (edge.t >= A_) change += dx.row(edge.t - A_).transpose();
      Vector value = dual_of(k, d) + stiffness(k, d) * change;
      const double norm = value.norm();
      if (norm > problem_.kappa[k]) value *= problem_.kappa[k] / norm;
      nu.row(k) = value;
    }
    return nu;
  }

  // Fused edges join points; a task that is joined with several anchors goes to the nearest of its own, for they are different.
  std::vector<Index> fused_points() const {
    std::vector<Index> joined(static_cast<std::size_t>(U_), -1);
    std::vector<double> nearest(static_cast<std::size_t>(U_),
                                std::numeric_limits<double>::infinity());
    std::vector<bool> together(problem_.graph.size(), false);
    TaskGraph among;  // new tasks
    for (std::size_t i = 0; i < problem_.graph.size(); ++i) {
      const Edge& edge = problem_.graph[i];
      const Index k = static_cast<Index>(i);
      const std::size_t u = static_cast<std::size_t>(edge.s - A_);
      const double distance = difference(x_, k).norm();
      const bool fused = distance * distance < mu_ / problem_.kappa[k];
      if (edge.t >= A_) {
        among.push_back({edge.t - A_, edge.s - A_, 1});
        together[among.size() - 1] = fused;
      } else if (fused && distance < nearest[u]) {
        nearest[u] = distance;
        joined[u] = edge.t;
      }
    }
    together.resize(among.size());
    for (const std::vector<Index>& group : connected_parts(U_, among, together)) {
      Index first = A_ + group.front();
      for (const Index u : group) {
        const Index anchor = joined[static_cast<std::size_t>(u)];
        if (anchor >= 0) first = std::min(first, anchor);
      }
      for (const Index u : group) {
        Index& own = joined[static_cast<std::size_t>(u)];
        if (own < 0) own = first;
      }
    }
    return joined;
  }

  // Joined points equal; small weights zero, if asked for; then back into D.
  Matrix rounded(const std::vector<Index>& joined, bool zeros) const {
    Matrix theta = x_;
    for (Index u = 0; u < U_; ++u) {
      const Index to = joined[static_cast<std::size_t>(u)];
      if (to < A_) {
        theta.row(u) = problem_.anchors.row(to);
        continue;
      }
      if (to < A_ + u) {  // its first member has been dealt with
        theta.row(u) = theta.row(to - A_);
        continue;
      }
      Vector mean = Vector::Zero(M_);
      double members = 0;
      for (Index v = u; v < U_; ++v) {
        if (joined[static_cast<std::size_t>(v)] != to) continue;
        mean += x_.row(v);
        members += 1;
      }
      mean /= members;
      if (zeros)
        for (double& weight : mean)
          if (weight * weight < mu_ / size_) weight = 0;
      theta.row(u) = onto_boundary(mean);
    }
    return theta;
  }

  // Points whose room to the outer boundary vanishes with mu are moved there.
  Vector onto_boundary(const Vector& x) const {
    const double p = problem_.weights.p();
    if (p == 1) return x / x.sum();
    if (std::isinf(p)) {
      Vector theta = x;
      for (double& weight : theta)
        if ((1 - weight) * (1 - weight) < mu_ / size_) weight = 1;
      return theta;
    }
    const double room = slack(x);
    return room * room < mu_ / size_ ? Vector(x / std::pow(1 - room, 1 / p)) : x;
  }

  const AnchoredProblem& problem_;
  Index A_, U_, M_;
  Matrix x_;   // U x M, inside D
  Matrix nu_;  // edges x M, of the last centre
  double mu_ = 1;
  double size_ = 1;
};

}  // namespace

AnchoredStep solve_anchored(const AnchoredProblem& problem, double gap_tolerance,
                            const KeepGoing& keep_going) {
  CentralPath path(problem);
  AnchoredStep best;
  best.gap = std::numeric_limits<double>::infinity();
  Index newton_steps = 0;
  constexpr double factor = 0.1;
  const double smallest_mu = 1e-15 * path.size();
  for (bool settled = false; !settled && path.mu() > smallest_mu; path.reduce_mu(factor)) {
    newton_steps += path.centre(keep_going);
    if (path.expected_gap() > gap_tolerance && path.mu() * factor > smallest_mu) continue;
    std::vector<CentralPath::Rounded> candidates = path.candidates();
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const double gap = path.gap(candidates[k].theta);
      const bool close = gap <= gap_tolerance;
      if (gap < best.gap || (close && k == 0))
        best = {std::move(candidates[k].theta), path.nu(), std::move(candidates[k].joined), gap, 0};
      if (!close) continue;
      settled = k == 0;  // less rounded, it may still become rounder
      break;
    }
  }
  best.newton_steps = newton_steps;
  return best;
}

}  // namespace coterie
