#include "coterie/baseline/cmtl.hpp"

#include <fmt/format.h>

#include <cmath>

#include "coterie/baseline/linear_proof.hpp"
#include "coterie/math/dense.hpp"
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
struct Eigenpairs {
  Vector sigma;             // T
  Eigen::MatrixXd vectors;  // T x T, columns
};
Eigenpairs directions_of(const Matrix& W) {
  const Spectrum products = spectrum_of(product(W, W.transpose()));
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
  const Eigenpairs own = directions_of(p.centred ? centred(W) : W);
  return p.lambda * (mean + box_norm_squared(own.sigma.head(directions_), box_));
}

// Mean and centred part are orthogonal, so each has its own map; on singular values the latter is prox_box_norm.
Matrix CmtlPenalty::prox(const Matrix& Z, double step, double) {
  const CmtlParameters& p = parameters_;
  const double mu = 2 * step * p.lambda;
  Matrix W = p.centred ? centred(Z) : Z;
  if (directions_ > 0) {
    const Eigenpairs own = directions_of(W);
    const Vector sigma = own.sigma.head(directions_);
    const Vector shrunk = prox_box_norm(sigma, mu, box_);
    Vector factor = Vector::Zero(Z.rows());  // nothing is left in directions of size 0
    for (Index i = 0; i < directions_; ++i)
      if (sigma[i] > 0) factor[i] = shrunk[i] / sigma[i];
    W = spectral_product(own.vectors, factor, W);
  }
  if (p.centred) W.rowwise() += mean_of(Z).transpose() / (1 + mu * p.mean);
  return W;
}

double CmtlPenalty::conjugate(const Matrix& Z, double) {
  const CmtlParameters& p = parameters_;
  const double T = static_cast<double>(Z.rows());
  double sum = p.centred ? T * mean_of(Z).squaredNorm() / (4 * p.mean) : 0;
  if (directions_ > 0)
    sum +=
        box_norm_conjugate(directions_of(p.centred ? centred(Z) : Z).sigma.head(directions_), box_);
  return sum / p.lambda;
}

// The box norm is concave in the squares of singular values, with slopes up to 1/alpha, and its conjugate linear in them, with slopes up
// to beta/4: squares from the products of rows do, as long as alpha is not far below beta. Else small singular values matter, which those
// products lose; they are then taken from W itself. The roots of both are norms: each changes by at most its value at what its argument
// is off by.
void CmtlPenalty::add_box(const Matrix& W, const Matrix& Z, PenaltyProof& proof) const {
  constexpr double u = unit_roundoff;
  const CmtlParameters& p = parameters_;
  const Index T = W.rows();
  const double m = static_cast<double>(directions_);
  constexpr double even_enough = 1e3;
  const bool by_products = box_.beta <= even_enough * box_.alpha;
  struct Values {
    Vector sigma;
    double off = 0;          // length of their error
    double squares_off = 0;  // of the sum of their squares, where these are what is computed
  };
  const auto values_of = [&](const Matrix& A) -> Values {
    const Matrix part = p.centred ? centred(A) : A;
    const double one = error_of_singular_values(T, A.cols(), part.norm());
    const double means = p.centred ? static_cast<double>(2 * T + 4) * u * A.norm() : 0;
    if (by_products)
      return {directions_of(part).sigma.head(directions_), means, m * one * part.norm()};
    Vector sigma = Vector::Zero(directions_);
    const Vector found = singular_values(part.transpose());
    const Index count = std::min(directions_, found.size());
    sigma.head(count) = found.head(count);
    return {sigma, std::sqrt(m) * one + means, 0};
  };
  const auto [sigma, sigma_off, W_squares_off] = values_of(W);
  const double value = box_norm_squared(sigma, box_);
  const Vector l = clip_weights(sigma, box_);
  double above = 0;  // of the budget, in weights that are not at their lower end
  for (const double weight : l)
    if (weight > box_.alpha) above += weight;
  const double clipped = 4 * (m + 8) * u * (above > 0 ? 1 + box_.budget / above : 1);
  const double even = std::min(box_.beta, box_.budget / m);
  proof.value.error +=
      change_of_square(value, sigma_off / std::sqrt(even) * (1 + 1e-9)) + clipped * value;
  proof.value.error += W_squares_off / box_.alpha;
  proof.value.value += value;

  const auto [zeta, zeta_off, Z_squares_off] = values_of(Z);
  const double conjugate = box_norm_conjugate(zeta, box_);
  proof.conjugate.error += change_of_square(conjugate, zeta_off * std::sqrt(box_.beta / 4)) +
                           (m + 8) * u * (conjugate + box_.budget * zeta[0] * zeta[0]);
  proof.conjugate.error += Z_squares_off * box_.beta / 4;
  proof.conjugate.value += conjugate;
  proof.reach = std::max(proof.reach, box_.beta / 4);
}

PenaltyProof CmtlPenalty::prove(const Matrix& W, const Matrix& Z) {
  constexpr double u = unit_roundoff;
  const CmtlParameters& p = parameters_;
  const Index T = W.rows();
  const double tasks = static_cast<double>(T), sums = static_cast<double>(T + W.cols() + 8) * u;
  PenaltyProof proof;
  if (p.centred) {
    const auto mean_part = [&](const Matrix& A, double factor) -> Rounded {
      const double value = factor * tasks * mean_of(A).squaredNorm();
      const double off = std::sqrt(factor) * static_cast<double>(T + 2) * u * A.norm();
      return {value, change_of_square(value, off) + sums * value};
    };
    proof.value = mean_part(W, p.mean);
    proof.conjugate = mean_part(Z, 1 / (4 * p.mean));
    proof.reach = 1 / (4 * p.mean);
  }
  if (directions_ > 0) add_box(W, Z, proof);
  const auto scale = [](Rounded x, double factor) -> Rounded {
    return {factor * x.value, factor * (x.error + 4 * u * x.value)};
  };
  return {scale(proof.value, p.lambda), scale(proof.conjugate, 1 / p.lambda),
          proof.reach / p.lambda, p.lambda * std::max(p.centred ? p.mean : 0, p.within)};
}

CmtlPenalty::Relaxed CmtlPenalty::matrix_of_clusters(const Matrix& W) const {
  if (directions_ == 0) return {Vector(0), Matrix(W.rows(), 0)};
  const Eigenpairs own = directions_of(parameters_.centred ? centred(W) : W);
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
