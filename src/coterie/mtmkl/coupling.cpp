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

RootedModel TiedWeights::rooted_model(const Iterate& x, double mu) const {
  const Index A = anchors().rows();
  RootedModel model{Matrix::Zero(points(), x.theta.cols()), {}, mu, graph(), kappa_, weights_, A};
  model.roots.resize(static_cast<std::size_t>(points()));
  for (std::size_t k = 0; k < x.tasks.size(); ++k)
    if (x.tasks[k].has_curvature)
      model.roots[static_cast<std::size_t>(A + unit()[k])].push_back(&x.tasks[k].root);
  for (Index u = 0; u < units(); ++u)
    model.c.row(A + u) = x.g.row(u) - model.times_B(A + u, x.theta.row(u).transpose()).transpose();
  return model;
}

WeightStep TiedWeights::step(const Iterate& x, double mu, const ThetaSettings& limits) {
  const Index M = x.theta.cols();
  const Index A = anchors().rows();
  if (state_.theta.size() == 0) {
    state_.theta.resize(points(), M);
    for (Index at = 0; at < points(); ++at) state_.theta.row(at) = point(x.theta, at);
  }
  // Of many kernels few have weight where p = 1, and no matrices of all of them are made.
  const bool many = M > kWholeHessian && weights_.p() == 1;
  if (many) {
    const RootedModel model = rooted_model(x, mu);
    return step_to(x, solve_on_few_kernels(model, state_, limits),
                   [&](Index u, const Vector& d) { return d.dot(model.times_B(A + u, d)); });
  }
  std::vector<Matrix> B(static_cast<std::size_t>(points()));
  Matrix c = Matrix::Zero(points(), M);
  for (Index u = 0; u < units(); ++u)
    B[static_cast<std::size_t>(A + u)] = mu * Matrix::Identity(M, M);
  for (std::size_t k = 0; k < x.tasks.size(); ++k)
    if (x.tasks[k].has_curvature) B[static_cast<std::size_t>(A + unit()[k])] += hessian(x.tasks[k]);
  for (Index u = 0; u < units(); ++u)
    c.row(A + u) = x.g.row(u) - x.theta.row(u) * B[static_cast<std::size_t>(A + u)];
  return step_to(x, solve_theta({c, B, graph(), kappa_, weights_, A}, state_, limits),
                 [&](Index u, const Vector& d) {
                   const Eigen::RowVectorXd row = d.transpose();
                   return row.dot(row * B[static_cast<std::size_t>(A + u)]);
                 });
}

// The minimum that was found, allowed to the last bit, and what the model says it gains. `quadratic`: d'B d of a unit.
WeightStep TiedWeights::step_to(
    const Iterate& x, ThetaResult next,
    const std::function<double(Index unit, const Vector& d)>& quadratic) {
  const Index A = anchors().rows();
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
  for (Index u = 0; u < units(); ++u) change += 0.5 * quadratic(u, d.row(u).transpose());
  return {std::move(theta), std::move(next.nu), std::move(next.groups), next.gap, -change};
}

}  // namespace coterie
