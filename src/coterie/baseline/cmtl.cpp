#include "coterie/baseline/cmtl.hpp"

#include <fmt/format.h>

#include <cmath>

#include "coterie/math/kmeans.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {

namespace {

void check(const CmtlParameters& p) {
  const auto require = [](bool holds, const char* name, double value, const std::string& rule) {
    if (!holds) throw InputError(fmt::format("{} is {}; it must be {}.", name, value, rule));
  };
  require(p.lambda > 0 && std::isfinite(p.lambda), "lambda", p.lambda, "a number > 0");
  require(p.clusters >= 1, "clusters", static_cast<double>(p.clusters), "a whole number >= 1");
  require(p.mean > 0 && std::isfinite(p.mean), "mean", p.mean, "a number > 0");
  require(p.between > 0 && std::isfinite(p.between), "between", p.between, "a number > 0");
  require(p.within >= p.between && std::isfinite(p.within), "within", p.within,
          fmt::format("a number >= between, {}", p.between));
}

// W = left singular vectors * (singular values) * right ones, through the T x T products of its rows. Descending.
struct Directions {
  Vector sigma;    // T
  Matrix vectors;  // T x T, columns
};
Directions directions_of(const Matrix& W) {
  const Spectrum products = spectrum_of(W * W.transpose());
  return {products.values.reverse().cwiseMax(0).cwiseSqrt(), products.vectors.rowwise().reverse()};
}

Vector mean_of(const Matrix& W) { return W.colwise().mean().transpose(); }
Matrix centred(const Matrix& W) { return W.rowwise() - W.colwise().mean(); }

}  // namespace

CmtlPenalty::CmtlPenalty(const CmtlParameters& parameters, Index T) : parameters_(parameters) {
  check(parameters);
  parameters_.clusters = std::min(parameters.clusters, T);
  directions_ = parameters.centred ? T - 1 : T;
  const double free = static_cast<double>(parameters_.clusters - (parameters.centred ? 1 : 0));
  const double alpha = 1 / parameters.within, beta = 1 / parameters.between;
  box_ = {alpha, beta, (static_cast<double>(directions_) - free) * alpha + free * beta};
}

double CmtlPenalty::value(const Matrix& W) {
  const CmtlParameters& p = parameters_;
  const double T = static_cast<double>(W.rows());
  const double mean = p.centred ? p.mean * T * mean_of(W).squaredNorm() : 0;
  if (directions_ == 0) return p.lambda * mean;
  const Directions own = directions_of(p.centred ? centred(W) : W);
  return p.lambda * (mean + box_norm_squared(own.sigma.head(directions_), box_));
}

// Mean and centred part are orthogonal, so each has its own map; on singular values the latter is prox_box_norm.
Matrix CmtlPenalty::prox(const Matrix& Z, double step, double) {
  const CmtlParameters& p = parameters_;
  const double mu = 2 * step * p.lambda;
  Matrix W = p.centred ? centred(Z) : Z;
  if (directions_ > 0) {
    const Directions own = directions_of(W);
    const Vector sigma = own.sigma.head(directions_);
    const Vector shrunk = prox_box_norm(sigma, mu, box_);
    Vector factor = Vector::Zero(Z.rows());  // nothing is left in directions of size 0
    for (Index i = 0; i < directions_; ++i)
      if (sigma[i] > 0) factor[i] = shrunk[i] / sigma[i];
    W = own.vectors * (factor.asDiagonal() * (own.vectors.transpose() * W));
  }
  if (p.centred) W.rowwise() += mean_of(Z).transpose() / (1 + mu * p.mean);
  return W;
}

double CmtlPenalty::conjugate(const Matrix& Z) {
  const CmtlParameters& p = parameters_;
  const double T = static_cast<double>(Z.rows());
  double sum = p.centred ? T * mean_of(Z).squaredNorm() / (4 * p.mean) : 0;
  if (directions_ > 0)
    sum +=
        box_norm_conjugate(directions_of(p.centred ? centred(Z) : Z).sigma.head(directions_), box_);
  return sum / p.lambda;
}

CmtlPenalty::Relaxed CmtlPenalty::matrix_of_clusters(const Matrix& W) const {
  if (directions_ == 0) return {Vector(0), Matrix(W.rows(), 0)};
  const Directions own = directions_of(parameters_.centred ? centred(W) : W);
  // Below the rounding of their squares, singular values and their directions are noise.
  const Vector sigma = (own.sigma.head(directions_).array() > 1e-7 * W.norm())
                           .select(own.sigma.head(directions_), 0);
  const Vector l = clip_weights(sigma, box_);
  Relaxed relaxed{Vector::Zero(directions_), own.vectors.leftCols(directions_)};
  const double range = parameters_.within - parameters_.between;
  for (Index i = 0; i < directions_; ++i)
    if (sigma[i] > 0) relaxed.values[i] = range > 0 ? (parameters_.within - 1 / l[i]) / range : 1;
  return relaxed;
}

LinearFit fit_cmtl(const LinearProblem& problem, const CmtlParameters& parameters,
                   const LinearSettings& settings, const LinearStart& start,
                   const ProgressCallback& progress) {
  CmtlPenalty penalty(parameters, problem.T());
  LinearFit fit = minimise(problem, penalty, settings, start, progress);
  const CmtlPenalty::Relaxed M = penalty.matrix_of_clusters(fit.W);
  const Index leading =
      std::min(parameters.clusters - (parameters.centred ? 1 : 0), M.values.size());
  const Matrix points =
      M.vectors.leftCols(leading) * M.values.head(leading).cwiseMax(0).cwiseSqrt().asDiagonal();
  const Kmeans read = kmeans(points, leading > 0 ? parameters.clusters : 1, 20,
                             static_cast<std::uint64_t>(parameters.seed));
  for (Index t = 0; t < problem.T(); ++t) {
    const std::size_t number = static_cast<std::size_t>(read.label[static_cast<std::size_t>(t)]);
    if (number >= fit.clusters.size()) fit.clusters.resize(number + 1);
    fit.clusters[number].push_back(t);
  }
  return fit;
}

}  // namespace coterie
