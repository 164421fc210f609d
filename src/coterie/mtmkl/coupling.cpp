#include "coterie/mtmkl/coupling.hpp"

#include <algorithm>
#include <utility>

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
  return parts_around(anchors_.rows(), points(), graph_, equal, [&](Index i) {
    const Edge& edge = graph_[static_cast<std::size_t>(i)];
    return (point(theta, edge.t) - point(theta, edge.s)).norm();
  });
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
  const Index A = anchors().rows();
  std::vector<Matrix> B(static_cast<std::size_t>(points()));
  Matrix c = Matrix::Zero(points(), M);
  for (Index u = 0; u < units(); ++u)
    B[static_cast<std::size_t>(A + u)] = mu * Matrix::Identity(M, M);
  for (std::size_t k = 0; k < x.tasks.size(); ++k)
    if (x.tasks[k].H.size() > 0) B[static_cast<std::size_t>(A + unit()[k])] += x.tasks[k].H;
  for (Index u = 0; u < units(); ++u)
    c.row(A + u) = x.g.row(u) - x.theta.row(u) * B[static_cast<std::size_t>(A + u)];
  if (state_.theta.size() == 0) {
    state_.theta.resize(points(), M);
    for (Index at = 0; at < points(); ++at) state_.theta.row(at) = point(x.theta, at);
  }
  ThetaResult next = solve_theta({c, B, graph(), kappa_, weights_, A}, state_, limits);
  Matrix theta = next.theta.bottomRows(units());
  put_inside(theta, weights_);
  // Weights that are those of an anchor stay so to the last bit.
  for (Index u = 0; u < units(); ++u)
    for (Index a = 0; a < A; ++a)
      if (next.theta.row(A + u) == anchors().row(a)) theta.row(u) = anchors().row(a);
  pull_inside(next.nu, kappa_);
  iterations += next.iterations;

  const Matrix d = theta - x.theta;
  double change = x.g.cwiseProduct(d).sum() + penalty(theta) - x.penalty;
  for (Index u = 0; u < units(); ++u)
    change += 0.5 * d.row(u).dot(d.row(u) * B[static_cast<std::size_t>(A + u)]);
  return {std::move(theta), std::move(next.nu), std::move(next.groups), next.gap, -change};
}

}  // namespace coterie
