#include "coterie/mtmkl/rounded_penalty.hpp"

#include <cmath>

namespace coterie {

RoundedPenalty::RoundedPenalty(const ThetaProblem& problem, const Matrix& theta, double eps)
    : problem_(problem), eps_(eps), rows_(problem.c.cols()) {
  ends_.reserve(problem.graph.size());
  for (const Edge& edge : problem.graph)
    ends_.push_back({static_cast<std::int32_t>(edge.t), static_cast<std::int32_t>(edge.s)});
  for (std::size_t i = 0; i < ends_.size(); ++i)
    if (ends_[i].t < problem.fixed) limit_ += problem.kappa[static_cast<Index>(i)];
  for (Index t = problem.fixed; t < theta.rows(); ++t)
    limit_ += (problem_.c.row(t) + theta.row(t) * problem_.B[static_cast<std::size_t>(t)]).norm();
}

void RoundedPenalty::evaluate(const Matrix& theta, const Matrix& base, const Matrix& offset,
                              PenaltyValue& at) {
  rows_.choose_columns(theta);
  rows_.compress(offset, offset_);
  rows_.compress(base, base_);
  pull_.setZero(theta.rows(), rows_.width());
  at.norm.resize(std::ssize(ends_));
  with_width(rows_.width(), [&](auto width) { sum_edges<width>(at); });
  at.pull.setZero(theta.rows(), theta.cols());
  rows_.add(pull_, at.pull);
}

// Value, kink, norms and pull. The edges of one first end follow each other in most graphs.
template <int S>
void RoundedPenalty::sum_edges(PenaltyValue& at) {
  const Index width = rows_.width();
  const Index E = std::ssize(ends_);
  const double* base = base_.data();
  const double* offset = offset_.data();
  const double* kappa = problem_.kappa.data();
  const Ends* ends = ends_.data();
  double* norms = at.norm.data();
  double* pull = pull_.data();
  double value = 0;
  double kink = 0;
  Eigen::Array<double, S, 1> base_t(width), offset_t(width), sum(width), d(width);
  for (Index i = 0; i < E;) {
    const Index t = ends[i].t;
    base_t = ConstRow<S>(base + width * t, width);
    offset_t = ConstRow<S>(offset + width * t, width);
    sum.setZero();
    for (; i < E && ends[i].t == t; ++i) {
      const Index s = width * ends[i].s;
      d = (base_t - ConstRow<S>(base + s, width)) + (offset_t - ConstRow<S>(offset + s, width));
      const double squared = d.square().sum();
      const double norm = std::sqrt(squared);
      const double steepest = std::min(kappa[i], limit_) / eps_;
      const double scale = std::min(steepest, kappa[i] / norm);
      const double product = scale * squared;  // nu_i'd
      value +=
          scale == steepest ? product / 2 : kappa[i] * norm - 0.5 * kappa[i] * kappa[i] / steepest;
      kink += kappa[i] * norm - product;
      norms[i] = norm;
      d *= scale;
      sum += d;
      Row<S>(pull + s, width) -= d;
    }
    Row<S>(pull + width * t, width) += sum;
  }
  at.value = value;
  at.kink = kink;
}

double RoundedPenalty::with_kinks(const Matrix& theta) {
  rows_.choose_columns(theta);
  rows_.compress(theta, base_);
  double sum = 0;
  with_width(rows_.width(), [&](auto width) { sum = sum_norms<width>(); });
  return sum;
}

template <int S>
double RoundedPenalty::sum_norms() const {
  const Index width = rows_.width();
  const double* kappa = problem_.kappa.data();
  double sum = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const ConstRow<S> a(base_.data() + width * ends_[i].t, width);
    const ConstRow<S> b(base_.data() + width * ends_[i].s, width);
    sum += kappa[i] * std::sqrt((a - b).square().sum());
  }
  return sum;
}

Matrix RoundedPenalty::pair_duals(const Matrix& base, const Matrix& offset,
                                  const Eigen::ArrayXd& norm) const {
  const Index M = problem_.c.cols();
  Matrix nu(std::ssize(ends_), M);
  for (Index i = 0; i < nu.rows(); ++i) {
    const double scale = std::min(steepest(i), problem_.kappa[i] / norm[i]);
    const Index t = ends_[static_cast<std::size_t>(i)].t;
    const Index s = ends_[static_cast<std::size_t>(i)].s;
    nu.row(i) = scale * ((base.row(t) - base.row(s)) + (offset.row(t) - offset.row(s))).head(M);
  }
  return nu;
}

Groups RoundedPenalty::fused_parts(const Eigen::ArrayXd& norm, double lengths) const {
  std::vector<bool> fused(ends_.size());
  for (Index i = 0; i < norm.size(); ++i)
    fused[static_cast<std::size_t>(i)] =
        problem_.kappa[i] > 0 && norm[i] * steepest(i) <= lengths * problem_.kappa[i];
  return parts_around(problem_.fixed, problem_.c.rows(), problem_.graph, fused,
                      [&](Index i) { return norm[i]; });
}

EdgeCurvature::EdgeCurvature(const ThetaProblem& problem, const RoundedPenalty& penalty)
    : problem_(problem),
      penalty_(penalty),
      flat_(Eigen::ArrayXd::Zero(std::ssize(problem.graph))),
      linear_(flat_),
      stiffness_(Vector::Zero(problem.c.rows())),
      rows_(problem.c.cols()) {}

void EdgeCurvature::weigh(const Eigen::ArrayXd& norm, double tau) {
  tau_ = tau;
  stiffness_.setZero();
  for (Index i = 0; i < norm.size(); ++i) {
    const double steepest = penalty_.steepest(i);
    const double w = std::min(steepest, problem_.kappa[i] / norm[i]);
    flat_[i] = w;
    linear_[i] = w == steepest ? 0 : tau * w / (norm[i] * norm[i]);
    const RoundedPenalty::Ends ends = penalty_.ends()[static_cast<std::size_t>(i)];
    stiffness_[ends.t] += w;
    stiffness_[ends.s] += w;
  }
}

void EdgeCurvature::prepare_products(const Matrix& theta, const Matrix& free) {
  rows_.choose_columns(free);
  rows_.compress(theta, theta_);
}

void EdgeCurvature::add_product(const Matrix& x, Matrix& y) {
  rows_.compress(x, x_);
  sum_.setZero(x.rows(), rows_.width());
  with_width(rows_.width(), [&](auto width) { sum_products<width>(); });
  rows_.add(sum_, y);
}

template <int S>
void EdgeCurvature::sum_products() {
  const Index width = rows_.width();
  const Index E = flat_.size();
  const double* x = x_.data();
  const double* theta = theta_.data();
  const double* flat = flat_.data();
  const double* linear = linear_.data();
  const RoundedPenalty::Ends* ends = penalty_.ends().data();
  double* y = sum_.data();
  Eigen::Array<double, S, 1> x_t(width), theta_t(width), sum(width), u(width), d(width);
  for (Index i = 0; i < E;) {
    const Index t = ends[i].t;
    x_t = ConstRow<S>(x + width * t, width);
    theta_t = ConstRow<S>(theta + width * t, width);
    sum.setZero();
    for (; i < E && ends[i].t == t; ++i) {
      const Index s = width * ends[i].s;
      u = x_t - ConstRow<S>(x + s, width);
      d = theta_t - ConstRow<S>(theta + s, width);
      u = flat[i] * u - (linear[i] * (d * u).sum()) * d;
      sum += u;
      Row<S>(y + s, width) -= u;
    }
    Row<S>(y + width * t, width) += sum;
  }
}

}  // namespace coterie
