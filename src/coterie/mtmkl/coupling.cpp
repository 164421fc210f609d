#include "coterie/mtmkl/coupling.hpp"

#include <algorithm>
#include <utility>

#include "coterie/mtmkl/anchored_step.hpp"

namespace coterie {

Groups Coupling::singletons() const {
  Groups groups;
  for (Index at = 0; at < points(); ++at) groups.push_back({at});
  return groups;
}

Groups Coupling::equal_points(const Matrix& theta, double distance) const {
  std::vector<bool> equal;
  for (const Edge& edge : graph_)
    equal.push_back((point(theta, edge.t) - point(theta, edge.s)).cwiseAbs().maxCoeff() <=
                    distance);
  return connected_parts(points(), graph_, equal);
}

Matrix Coupling::merge(const Matrix& theta, const Groups& groups) const {
  const Index A = anchors_.rows();
  Matrix merged = theta;
  for (const std::vector<Index>& group : groups) {
    if (group.size() < 2) continue;
    Vector common = Vector::Zero(theta.cols());
    if (group.front() < A) {
      common = anchors_.row(group.front());
    } else {
      for (const Index at : group) common += theta.row(at - A);
      common /= static_cast<double>(group.size());
    }
    for (const Index at : group)
      if (at >= A) merged.row(at - A) = common;
  }
  return merged;
}

Matrix Coupling::between(const Matrix& x, const Matrix& next, double length,
                         const Groups& groups) const {
  if (length == 1) return next;
  const Index A = anchors_.rows();
  Matrix theta = x + length * (next - x);
  for (const std::vector<Index>& group : groups)
    for (const Index at : group)
      if (at >= A) theta.row(at - A) = point(theta, group.front());
  return theta;
}

TiedWeights::TiedWeights(Tied tied)
    : Coupling(std::move(tied.unit), tied.units, std::move(tied.graph), std::move(tied.anchors)),
      kappa_(std::move(tied.kappa)),
      weights_(tied.weights),
      fixed_(tied.fixed) {}

double TiedWeights::penalty(const Matrix& theta) const {
  double sum = 0;
  for (Index i = 0; i < ties(); ++i) {
    const Edge& edge = graph()[static_cast<std::size_t>(i)];
    sum += kappa_[i] * (point(theta, edge.t) - point(theta, edge.s)).norm();
  }
  return sum;
}

double TiedWeights::smallest(const Iterate& x, const Matrix& nu) const {
  const Index A = anchors().rows();
  Matrix r = x.g;
  double sum = 0;
  for (Index i = 0; i < ties(); ++i) {
    const Edge& edge = graph()[static_cast<std::size_t>(i)];
    if (edge.t < A)
      sum += nu.row(i).dot(anchors().row(edge.t));
    else
      r.row(edge.t - A) += nu.row(i);
    r.row(edge.s - A) -= nu.row(i);
  }
  for (Index u = 0; u < units(); ++u)
    sum += fixed_ ? r.row(u).dot(x.theta.row(u)) : weights_.smallest(r.row(u).transpose());
  return sum;
}

Proof TiedWeights::prove(const std::vector<TaskProof>& tasks, const Matrix& theta,
                         const Matrix& nu) const {
  return join_proofs(tasks, unit(), theta, {graph(), kappa_, anchors(), weights_, fixed_}, nu);
}

WeightStep TiedWeights::step(const Iterate& x, double mu, const ThetaSettings& limits) {
  const Index M = x.theta.cols();
  std::vector<Matrix> B(static_cast<std::size_t>(units()), mu * Matrix::Identity(M, M));
  for (std::size_t k = 0; k < x.tasks.size(); ++k)
    if (x.tasks[k].H.size() > 0) B[static_cast<std::size_t>(unit()[k])] += x.tasks[k].H;
  Matrix c = x.g;
  for (Index u = 0; u < units(); ++u) c.row(u) -= x.theta.row(u) * B[static_cast<std::size_t>(u)];
  ThetaResult next =
      anchors().rows() > 0 ? anchored_step(c, B, limits) : free_step(c, B, x, limits);
  pull_inside(next.nu, kappa_);
  iterations += next.iterations;

  const Matrix d = next.theta - x.theta;
  double change = x.g.cwiseProduct(d).sum() + penalty(next.theta) - x.penalty;
  for (Index u = 0; u < units(); ++u)
    change += 0.5 * d.row(u).dot(d.row(u) * B[static_cast<std::size_t>(u)]);
  return {std::move(next.theta), std::move(next.nu), std::move(next.groups), next.gap, -change};
}

ThetaResult TiedWeights::free_step(const Matrix& c, const std::vector<Matrix>& B, const Iterate& x,
                                   const ThetaSettings& limits) {
  if (state_.theta.size() == 0)
    state_ = {x.theta, x.theta, Matrix::Zero(units(), x.theta.cols()),
              Matrix::Zero(ties(), x.theta.cols()), 0};
  ThetaResult next = solve_theta({c, B, graph(), kappa_, weights_}, state_, limits);
  put_inside(next.theta, weights_);
  return next;
}

ThetaResult TiedWeights::anchored_step(const Matrix& c, const std::vector<Matrix>& B,
                                       const ThetaSettings& limits) const {
  const Index A = anchors().rows();
  // Strong ties round by more than a close model asks for.
  const double rounding = kappa_.size() > 0 ? 1e-15 * kappa_.maxCoeff() : 0;
  const double tolerance = std::max(limits.gap_tolerance, std::min(limits.enough, rounding));
  AnchoredStep step =
      solve_anchored({c, B, anchors(), graph(), kappa_, weights_}, tolerance, limits.keep_going);
  ThetaResult next{std::move(step.theta), std::move(step.nu), {}, step.gap, step.newton_steps};
  // Weights that are those of an anchor stay so to the last bit.
  Matrix inside = next.theta;
  put_inside(inside, weights_);
  std::vector<std::vector<Index>> members(static_cast<std::size_t>(points()));
  for (Index a = 0; a < A; ++a) members[static_cast<std::size_t>(a)].push_back(a);
  for (Index u = 0; u < units(); ++u) {
    const Index to = step.joined[static_cast<std::size_t>(u)];
    if (to >= A) next.theta.row(u) = inside.row(u);
    members[static_cast<std::size_t>(to)].push_back(A + u);
  }
  for (std::vector<Index>& group : members)
    if (!group.empty()) next.groups.push_back(std::move(group));
  return next;
}

}  // namespace coterie
