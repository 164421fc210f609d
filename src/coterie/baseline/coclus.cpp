#include "coterie/baseline/coclus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coterie/baseline/partition.hpp"
#include "coterie/math/kmeans.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {

namespace {

// The first k singular vectors of Q. When k is all there are, nothing of Q is penalised: U and V are whole.
struct Directions {
  Matrix U, V;  // T x k, d x k
};

Directions leading(const Matrix& Q, Index k) {
  const Index T = Q.rows(), d = Q.cols();
  if (k == 0) return {Matrix(T, 0), Matrix(d, 0)};
  if (k >= std::min(T, d)) return {Matrix::Identity(T, T), Matrix::Identity(d, d)};
  const Svd svd = svd_of(Q);
  return {svd.U.leftCols(k), svd.V.leftCols(k)};
}

Matrix row_means(const Matrix& X) { return X.colwise().mean().replicate(X.rows(), 1); }

// A majorant of the penalty as a function of W alone,
//
//   R(W) = min_{P + Q = W} <P, A P> + <Q, B Q>,      A = lambda1 (I - 11'/T) + rho/2 I
//
// where B weighs the part of Q in the directions kept by rho/2 and the rest by lambda2 + rho/2. Hence with S = A^-1 + B^-1
//
//   R(W) = <W, S^-1 W>,    R*(Z) = 1/4 <Z, S Z>,    P = A^-1 S^-1 W.
//
// On the side of tasks B is a T x T matrix like A. On the side of features it is one number within V and another outside: S is one
// T x T matrix for W V V', another for the rest.
class Majorant final : public Penalty {
 public:
  enum class Side { tasks, features };

  Majorant(const CoclusParameters& parameters, const Directions& kept, Side side, Index T)
      : inverse_centred_(1 / (parameters.lambda1 + parameters.ridge / 2)),
        inverse_free_(2 / parameters.ridge) {
    const double inverse_rest = 1 / (parameters.lambda2 + parameters.ridge / 2);
    const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(T, T);
    const Eigen::MatrixXd A = inverse_A(I);
    if (side == Side::tasks) {
      outside_ = spectrum_of(A + inverse_rest * I +
                             (inverse_free_ - inverse_rest) * kept.U * kept.U.transpose());
    } else {
      V_ = kept.V;
      outside_ = spectrum_of(A + inverse_rest * I);
      inside_ = spectrum_of(A + inverse_free_ * I);
    }
  }

  double value(const Matrix& W) override { return W.cwiseProduct(S_inverse(W)).sum(); }
  Matrix prox(const Matrix& Z, double step, double) override {
    return map(Z, [step](auto s) { return s / (s + 2 * step); });
  }
  double conjugate(const Matrix& Z) override {
    return Z.cwiseProduct(map(Z, [](auto s) { return s; })).sum() / 4;
  }
  Matrix P(const Matrix& W) const { return inverse_A(S_inverse(W)); }

 private:
  Matrix inverse_A(const Matrix& X) const {
    return inverse_centred_ * X + (inverse_free_ - inverse_centred_) * row_means(X);
  }
  Matrix S_inverse(const Matrix& W) const {
    return map(W, [](auto s) { return 1 / s; });
  }

  // f(S) X, with f acting on the eigenvalues
  template <typename F>
  Matrix map(const Matrix& X, F f) const {
    const auto by = [&](const Spectrum& S, const Matrix& part) -> Matrix {
      const Vector factor = S.values.unaryExpr(f);
      return S.vectors * (factor.asDiagonal() * (S.vectors.transpose() * part));
    };
    if (V_.size() == 0) return by(outside_, X);
    const Matrix inside = X * V_;
    return by(outside_, X - inside * V_.transpose()) + by(inside_, inside) * V_.transpose();
  }

  double inverse_centred_, inverse_free_;  // eigenvalues of A^-1
  Matrix V_;                               // empty: all is outside
  Spectrum outside_, inside_;              // of S
};
using Side = Majorant::Side;

struct Point {
  Matrix P, Q;
  Vector b;
  Vector task_objective{};
  Directions kept{};
  double F = 0, gap = 0;
  Side side = Side::tasks;  // of the majorant that goes further down
};

class Descent {
 public:
  Descent(const LinearProblem& problem, const CoclusParameters& parameters,
          const LinearSettings& settings)
      : problem_(problem), parameters_(parameters), settings_(settings) {}

  // The optimum when `k` directions of Q are free, k = 0 or all of them.
  Point end(Index k) const {
    CoclusParameters convex = parameters_;
    convex.clusters = k;
    Majorant penalty(convex, leading(Matrix::Zero(problem_.T(), problem_.d()), k), Side::tasks,
                     problem_.T());
    const LinearFit fit =
        minimise(problem_, penalty, rough(std::max(1e-2, settings_.gap_tolerance)));
    const Matrix P = penalty.P(fit.W);
    return at(P, fit.W - P, fit.b);
  }

  Point at(Matrix P, Matrix Q, Vector b) const {
    const auto [k, lambda1, lambda2, ridge, seed] = parameters_;
    Point point{.P = std::move(P), .Q = std::move(Q), .b = std::move(b)};
    point.task_objective = task_losses(problem_, point.P + point.Q, point.b, settings_.threads);
    point.kept = leading(point.Q, k);
    const auto& [U, V] = point.kept;
    const Matrix rest = point.Q - U * (U.transpose() * point.Q);
    point.F = point.task_objective.sum() + lambda1 * (point.P - row_means(point.P)).squaredNorm() +
              lambda2 * rest.squaredNorm() +
              ridge / 2 * (point.P.squaredNorm() + point.Q.squaredNorm());

    const DualPoint dual = dual_point(problem_, point.P + point.Q, point.b, settings_.threads);
    const Matrix mean = row_means(dual.Z);
    const double hU = (U.transpose() * dual.Z).squaredNorm(), hV = (dual.Z * V).squaredNorm();
    const double h = std::max(hU, hV);
    const double bound = dual.losses - (dual.Z - mean).squaredNorm() / (4 * lambda1 + 2 * ridge) -
                         mean.squaredNorm() / (2 * ridge) -
                         (dual.Z.squaredNorm() - h) / (4 * lambda2 + 2 * ridge) - h / (2 * ridge);
    point.gap = std::max(0.0, point.F - bound) / gap_scale(point.F);
    point.side = hU >= hV ? Side::tasks : Side::features;
    return point;
  }

  // Majorise, minimise. The convex problem is solved to a tenth of the gap, so that each step takes nine tenths of what it can take.
  Point step(const Point& point) const {
    Majorant penalty(parameters_, point.kept, point.side, problem_.T());
    const LinearFit fit =
        minimise(problem_, penalty, rough(point.gap / 10), {.W = point.P + point.Q, .b = point.b});
    const Matrix P = penalty.P(fit.W);
    return at(P, fit.W - P, fit.b);
  }

 private:
  LinearSettings rough(double gap_tolerance) const {
    LinearSettings settings = settings_;
    settings.gap_tolerance = gap_tolerance;
    return settings;
  }

  const LinearProblem& problem_;
  const CoclusParameters& parameters_;
  const LinearSettings& settings_;
};

void check(const CoclusParameters& p) {
  if (p.clusters < 0)
    throw InputError(fmt::format("clusters is {}; it must be a whole number >= 0.", p.clusters));
  if (!(p.lambda1 >= 0 && std::isfinite(p.lambda1)))
    throw InputError(fmt::format("lambda1 is {}; it must be a number >= 0.", p.lambda1));
  if (!(p.lambda2 >= 0 && std::isfinite(p.lambda2)))
    throw InputError(fmt::format("lambda2 is {}; it must be a number >= 0.", p.lambda2));
  if (!(p.ridge > 0 && std::isfinite(p.ridge)))
    throw InputError(fmt::format("ridge is {}; it must be a number > 0.", p.ridge));
}

}  // namespace

CoClusters co_clusters(const Matrix& Q, Index clusters, Index seed) {
  const Index T = Q.rows(), d = Q.cols();
  CoClusters out{std::vector<Index>(static_cast<std::size_t>(T), 0),
                 std::vector<Index>(static_cast<std::size_t>(d), 0)};
  const Index k = std::min({clusters, T, d});
  if (k < 2) return out;
  const Svd svd = svd_of(Q);
  Matrix points(T + d, k);
  points << svd.U.leftCols(k), svd.V.leftCols(k);
  Vector degree(T + d);
  degree << Q.cwiseAbs().rowwise().sum(), Q.cwiseAbs().colwise().sum().transpose();
  for (Index i = 0; i < T + d; ++i) {
    if (degree[i] > 0)
      points.row(i) /= std::sqrt(degree[i]);
    else
      points.row(i).setZero();
  }
  constexpr Index restarts = 20;
  const std::vector<Index> label =
      kmeans(points, k, restarts, static_cast<std::uint64_t>(seed)).label;
  std::copy(label.begin(), label.begin() + T, out.task.begin());
  std::copy(label.begin() + T, label.end(), out.feature.begin());
  return out;
}

LinearFit fit_coclus(const LinearProblem& problem, const CoclusParameters& parameters,
                     const LinearSettings& settings, const LinearStart& start,
                     const ProgressCallback& progress) {
  check(parameters);
  const Descent descent(problem, parameters, settings);
  const bool given = start.W.size() > 0;
  const Index all = std::min(problem.T(), problem.d());
  const bool convex = parameters.clusters == 0 || parameters.clusters >= all;
  const Index descents = given || convex ? 1 : 2;

  LinearFit fit;
  fit.primal = std::numeric_limits<double>::infinity();
  fit.claim = Claim::stationary;
  fit.status = Status::converged;
  for (Index part = 0; part < descents && fit.status != Status::stopped; ++part) {
    Point now;
    if (given) {
      const Matrix P = start.shared.size() > 0 ? start.shared : row_means(start.W);
      now = descent.at(P, start.W - P, start.b);
    } else {
      now = descent.end(part == 0 ? 0 : all);
    }
    Status status = Status::converged;
    Index step = 0;
    for (;; ++step) {
      if (progress && !progress({.outer_step = step,
                                 .primal = now.F,
                                 .dual = fit.dual,
                                 .gap = now.gap,
                                 .part = part,
                                 .parts = descents})) {
        status = Status::stopped;
        break;
      }
      if (now.gap <= settings.gap_tolerance) break;
      if (step == settings.max_steps) {
        status = Status::step_limit;
        break;
      }
      Point next = descent.step(now);
      if (!(next.F < now.F)) {  // rounding
        status = Status::stalled;
        break;
      }
      now = std::move(next);
    }
    fit.steps += step;
    if (now.F < fit.primal) {
      fit.W = now.P + now.Q;
      fit.b = now.b;
      fit.shared = now.P;
      fit.primal = now.F;
      fit.gap = now.gap;
      fit.task_objective = now.task_objective;
      fit.status = status;
    } else if (status == Status::stopped) {
      fit.status = status;
    }
  }
  fit.clusters =
      groups_of(co_clusters(fit.W - fit.shared, parameters.clusters, parameters.seed).task);
  return fit;
}

}  // namespace coterie
