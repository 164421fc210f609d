#include "coterie/baseline/shared_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/math/dense.hpp"

namespace coterie {

namespace {

// Block 0 is mu, block 1 + u is lambda_u. A block without budget is not there: its rows stay 0.
class InteriorPoint {
 public:
  explicit InteriorPoint(const SharedQuadratic& problem)
      : problem_(problem), U_(problem.c.rows()), M_(problem.c.cols()) {
    budget_ = Vector::Constant(U_ + 1, 1 - problem.share);
    budget_[0] = problem.share;
    x_ = budget_ * Vector::Constant(M_, 1 / static_cast<double>(M_)).transpose();
    // Slacks of the gradient above its minimum, and as large again as the gradient varies.
    const Matrix r = gradients(theta());
    z_ = Matrix::Zero(U_ + 1, M_);
    for (Index b = 0; b <= U_; ++b) {
      if (budget_[b] == 0) continue;
      const Vector slope = slope_of(r, b);
      z_.row(b) = (slope.array() - slope.minCoeff()).matrix();
    }
    const double spread = std::max(z_.maxCoeff(), 1e-12 * problem.c.cwiseAbs().maxCoeff());
    for (Index b = 0; b <= U_; ++b)
      if (budget_[b] > 0) z_.row(b).array() += std::max(spread, 1e-300);
  }

  Matrix theta() const { return theta_of(x_); }

  // The point with 0 for what is about to vanish.
  Matrix rounded() const {
    Matrix x = x_;
    for (Index b = 0; b <= U_; ++b) {
      if (budget_[b] == 0) continue;
      const double scale = z_.row(b).maxCoeff();
      for (Index m = 0; m < M_; ++m)
        if (x(b, m) * scale < z_(b, m) * budget_[b]) x(b, m) = 0;
      const double sum = x.row(b).sum();
      if (sum > 0)
        x.row(b) *= budget_[b] / sum;
      else
        x.row(b) = x_.row(b);
    }
    return theta_of(x);
  }

  double gap(const Matrix& theta) const {
    const Matrix r = gradients(theta);
    return r.cwiseProduct(theta).sum() - smallest_shared(r, problem_.share);
  }

  // Predictor, then centring with the predictor's second-order terms. False: no progress is possible.
  bool step() {
    if (!factor()) return false;
    const double product = mean_product(x_, z_);
    Matrix target = -x_.cwiseProduct(z_);
    Direction d = solve(target);
    const double ahead = longest(d);
    const double after = mean_product(x_ + ahead * d.x, z_ + ahead * d.z);
    const double sigma = std::pow(std::clamp(after / product, 0.0, 1.0), 3);
    target -= d.x.cwiseProduct(d.z);
    for (Index b = 0; b <= U_; ++b)
      if (budget_[b] > 0) target.row(b).array() += sigma * product;
    d = solve(target);
    const double length = std::min(1.0, 0.995 * longest(d));
    if (!(length > 1e-8)) return false;
    x_ += length * d.x;
    z_ += length * d.z;
    return x_.allFinite() && z_.allFinite();
  }

 private:
  struct Direction {
    Matrix x, z;
  };

  Matrix theta_of(const Matrix& x) const { return x.bottomRows(U_).rowwise() + x.row(0); }

  Matrix gradients(const Matrix& theta) const {
    Matrix r = problem_.c;
    for (Index u = 0; u < U_; ++u)
      r.row(u) += product(theta.row(u), problem_.B[static_cast<std::size_t>(u)]);
    return r;
  }

  Vector slope_of(const Matrix& r, Index b) const {
    return b == 0 ? Vector(r.colwise().sum()) : Vector(r.row(b - 1));
  }

  double mean_product(const Matrix& x, const Matrix& z) const {
    return x.cwiseProduct(z).sum() / static_cast<double>((budget_.array() > 0).count() * M_);
  }

  // Up to where a variable or a slack becomes 0.
  double longest(const Direction& d) const {
    double length = 1;
    for (Index b = 0; b <= U_; ++b) {
      if (budget_[b] == 0) continue;
      for (Index m = 0; m < M_; ++m) {
        if (d.x(b, m) < 0) length = std::min(length, -x_(b, m) / d.x(b, m));
        if (d.z(b, m) < 0) length = std::min(length, -z_(b, m) / d.z(b, m));
      }
    }
    return length;
  }

  // P = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1): the minimiser over steps that leave the sum alone. False where A is not definite.
  static bool constrained_inverse(Eigen::MatrixXd A, Eigen::MatrixXd& P) {
    if (!cholesky(A)) return false;
    P = cholesky_inverse(A);
    const Vector v = P.rowwise().sum();
    P -= v * v.transpose() / v.sum();
    return P.allFinite();
  }

  // With D = diag(z/x): P_u of B_u + D_u, and P_0 of what is left for mu when every unit follows, D_0 + sum_u [ B_u - B_u P_u B_u ].
  bool factor() {
    P_.assign(static_cast<std::size_t>(U_) + 1, Eigen::MatrixXd::Zero(M_, M_));
    Eigen::MatrixXd S = Eigen::MatrixXd::Zero(M_, M_);
    for (Index u = 0; u < U_; ++u) {
      const Matrix& B = problem_.B[static_cast<std::size_t>(u)];
      Eigen::MatrixXd& P = P_[static_cast<std::size_t>(u) + 1];
      if (budget_[u + 1] > 0) {
        Eigen::MatrixXd A = B;
        A.diagonal() += (z_.row(u + 1).array() / x_.row(u + 1).array()).matrix().transpose();
        if (!constrained_inverse(A, P)) return false;
      }
      if (budget_[0] > 0) S += B - product(B, product(P, B));
    }
    if (budget_[0] == 0) return true;
    S = Eigen::MatrixXd(0.5 * (S + S.transpose()));
    S.diagonal() += (z_.row(0).array() / x_.row(0).array()).matrix().transpose();
    return constrained_inverse(S, P_[0]);
  }

  // The step to x z + x dz + z dx = target + x z, where gradients minus slacks stay equal within each block.
  Direction solve(const Matrix& target) const {
    Direction d{Matrix::Zero(U_ + 1, M_), Matrix::Zero(U_ + 1, M_)};
    const auto right = [&](Index b) {
      return Vector((target.row(b).array() / x_.row(b).array()).matrix());
    };
    if (budget_[0] > 0) {
      Vector rhs = right(0);
      for (Index u = 0; u < U_ && budget_[1] > 0; ++u)
        rhs -= times(problem_.B[static_cast<std::size_t>(u)],
                     times(P_[static_cast<std::size_t>(u) + 1], right(u + 1)));
      d.x.row(0) = times(P_[0], rhs);
    }
    for (Index u = 0; u < U_ && budget_[1] > 0; ++u)
      d.x.row(u + 1) = times(P_[static_cast<std::size_t>(u) + 1],
                             Vector(right(u + 1) - times(problem_.B[static_cast<std::size_t>(u)],
                                                         d.x.row(0).transpose())));
    for (Index b = 0; b <= U_; ++b)
      if (budget_[b] > 0)
        d.z.row(b) =
            ((target.row(b) - z_.row(b).cwiseProduct(d.x.row(b))).array() / x_.row(b).array())
                .matrix();
    return d;
  }

  const SharedQuadratic& problem_;
  Index U_, M_;
  Vector budget_;  // per block
  Matrix x_, z_;   // blocks x M
  std::vector<Eigen::MatrixXd> P_;
};

}  // namespace

double smallest_shared(const Matrix& r, double share) {
  double own = 0;
  for (Index u = 0; u < r.rows(); ++u) own += r.row(u).minCoeff();
  return share * r.colwise().sum().minCoeff() + (1 - share) * own;
}

SharedStep solve_shared(const SharedQuadratic& problem, double gap_tolerance) {
  InteriorPoint point(problem);
  SharedStep best{point.theta(), point.gap(point.theta()), 0};
  for (Index iteration = 1; iteration <= 60 && best.gap > gap_tolerance; ++iteration) {
    const bool moved = point.step();
    for (const Matrix& theta : {point.theta(), point.rounded()}) {
      const double gap = point.gap(theta);
      if (gap < best.gap) best = {theta, gap, iteration};
    }
    best.iterations = iteration;
    if (!moved) break;
  }
  return best;
}

}  // namespace coterie
