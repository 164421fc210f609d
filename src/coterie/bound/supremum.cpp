#include "coterie/bound/supremum.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace coterie {

namespace {

// The step of ADMM in units of the problem, which is scaled so that the roots are about 1; and the over-relaxation. Measured on the
// signs of landmine and digits: three times more or less takes one and a half to three times the iterations.
constexpr double step = 1;
constexpr double relaxation = 1.6;
constexpr Index check_every = 10;  // a certificate costs as much as a few iterations

double root(double z) { return std::sqrt(std::max(0.0, z)); }

double sum_of_roots(ConstMatrixRef U, ConstMatrixRef theta) {
  double sum = 0;
  for (Index t = 0; t < U.rows(); ++t) sum += root(U.row(t).dot(theta.row(t)));
  return sum;
}

// The nearest point to x in D, drawn towards u:  argmin_{z in D}  1/2 ||z - x||^2 - sqrt(u'z) / step.  It is the projection of
// x + a u / step with a = 1 / (2 sqrt(u'z)), and a is the root of a function that rises. `a` is the start, and becomes the root.
Vector drawn_projection(const WeightSet& D, const Vector& x, const Vector& u, double& a) {
  constexpr double close = 1e-4;  // inexact steps are judged by the certificate, as all are
  double low = 0, high = std::numeric_limits<double>::infinity();
  Vector z;
  for (int trial = 0; trial < 30; ++trial) {
    z = D.project(x + (a / step) * u);
    const double value = root(u.dot(z));
    const double wanted = value > 0 ? 1 / (2 * value) : std::numeric_limits<double>::infinity();
    if (std::abs(a - wanted) <= close * a) break;
    (a < wanted ? low : high) = a;
    a = std::min(wanted, 4 * a);
    if (!(a > low && a < high)) a = low == 0 ? high / 4 : std::sqrt(low * high);
  }
  return z;
}

// The best a of one task in (15): a convex function, whose slope is u'x - 1/(4 a^2) at the x that is best for a.
double task_bound(const WeightSet& D, const Vector& u, const Vector& g, double a) {
  if (u.maxCoeff() <= 0) return support(D, -g);  // a goes to infinity
  const auto value = [&](double at) { return 1 / (4 * at) + support(D, at * u - g); };
  double low = a / 4, high = a * 4;
  for (int halving = 0; halving < 24; ++halving) {
    const double middle = std::sqrt(low * high);
    const Vector x = D.minimiser(g - middle * u);
    (u.dot(x) > 1 / (4 * middle * middle) ? high : low) = middle;
  }
  return std::min({value(low), value(high), value(a)});
}

// Copies of the weights in D, with their scaled duals.
struct Copies {
  Matrix z, y;
  Vector a;  // per task, of the draw towards u

  Copies(ConstMatrixRef U, const WeightSet& D)
      : z(Matrix::Zero(U.rows(), U.cols())), y(z), a(Vector::Ones(U.rows())) {
    z.rowwise() = D.uniform(U.cols()).transpose();
  }

  void update(ConstMatrixRef U, const WeightSet& D, const Matrix& theta) {
    for (Index t = 0; t < U.rows(); ++t) {
      const Vector x = relaxation * theta.row(t) + (1 - relaxation) * z.row(t) + y.row(t);
      const Vector u = U.row(t);
      const Vector moved = u.maxCoeff() > 0 ? drawn_projection(D, x, u, a[t]) : D.project(x);
      z.row(t) = moved;
      y.row(t) = x - moved;
    }
  }
};

// Differences of all pairs in the ball of radius gamma, with their scaled duals e = w - d, where d is the projection of w. Their step is
// 1/T of that of the copies: every task is in T - 1 pairs.
class PairBall {
 public:
  PairBall(Index T, Index M, double gamma)
      : T_(T),
        gamma_(gamma),
        d_(Matrix::Zero(T * (T - 1) / 2, M)),
        e_(d_),
        length_(Vector::Zero(d_.rows())) {}

  double weight() const { return 1 / static_cast<double>(T_); }

  // argmin  ||theta - target||^2 + weight sum_{t<s} ||theta_t - theta_s - (d - e)_ts||^2
  Matrix weights(Matrix target) const {
    for_pairs([&](Index t, Index s, Index i) {
      for (Index m = 0; m < d_.cols(); ++m) {
        const double pull = weight() * (d_(i, m) - e_(i, m));
        target(t, m) += pull;
        target(s, m) -= pull;
      }
    });
    const Eigen::RowVectorXd sum = weight() * target.colwise().sum();
    target.rowwise() += sum;
    return target / (1 + weight() * static_cast<double>(T_));
  }

  void update(const Matrix& theta) {
    double sum = 0;
    for_pairs([&](Index t, Index s, Index i) {
      double square = 0;
      for (Index m = 0; m < d_.cols(); ++m) {
        const double w =
            relaxation * (theta(t, m) - theta(s, m)) + (1 - relaxation) * d_(i, m) + e_(i, m);
        e_(i, m) = w;
        square += w * w;
      }
      length_[i] = std::sqrt(square);
      sum += length_[i];
    });
    const double cut = sum > gamma_ ? threshold(sum) : 0;
    for (Index i = 0; i < d_.rows(); ++i) {
      const double kept = length_[i] > cut ? 1 - cut / length_[i] : 0;
      for (Index m = 0; m < d_.cols(); ++m) {
        d_(i, m) = kept * e_(i, m);
        e_(i, m) -= d_(i, m);
      }
    }
  }

  // g of (15), in scaled units, and the length that no e exceeds.
  Matrix duals() const {
    Matrix g = Matrix::Zero(T_, d_.cols());
    for_pairs([&](Index t, Index s, Index i) {
      g.row(t) += e_.row(i);
      g.row(s) -= e_.row(i);
    });
    return g;
  }
  double longest() const {
    return e_.rows() > 0 ? std::sqrt(e_.rowwise().squaredNorm().maxCoeff()) : 0;
  }

 private:
  template <typename F>
  void for_pairs(F f) const {
    Index i = 0;
    for (Index t = 0; t < T_; ++t)
      for (Index s = t + 1; s < T_; ++s) f(t, s, i++);
  }

  // The cut at which sum max(length - cut, 0) = gamma: it rises over the sets of lengths beyond it (Michelot 1986), which only shrink.
  double threshold(double sum) const {
    double cut = (sum - gamma_) / static_cast<double>(length_.size());
    for (Index pass = 0; pass < length_.size(); ++pass) {
      const auto beyond = length_.array() > cut;
      const double count = static_cast<double>(beyond.count());
      if (count == 0) break;
      const double next = (beyond.select(length_, 0.0).sum() - gamma_) / count;
      if (!(next > cut)) break;
      cut = next;
    }
    return cut;
  }

  Index T_;
  double gamma_;
  Matrix d_, e_;  // pairs x M; within update, e is first w
  Vector length_;
};

// The best certificate so far.
struct Best {
  ConstMatrixRef U;
  const WeightSet& D;
  double gamma;
  Supremum found;

  Best(ConstMatrixRef U_, const WeightSet& D_, double gamma_) : U(U_), D(D_), gamma(gamma_) {
    found.upper = std::numeric_limits<double>::infinity();
    found.lower = -1;
  }

  // Any weights in D: drawn to their mean until they are feasible.
  void try_weights(const Matrix& z) {
    const double wide = spread(z);
    const double kept = wide > gamma ? gamma / wide : 1;
    const Eigen::RowVectorXd mean = z.colwise().mean();
    Matrix theta = kept * (z.rowwise() - mean);
    theta.rowwise() += mean;
    const double value = sum_of_roots(U, theta);
    if (value <= found.lower) return;
    found.lower = value;
    found.theta = std::move(theta);
  }

  void try_duals(const Matrix& g, double mu, const Vector& a) {
    double value = mu * gamma;
    for (Index t = 0; t < U.rows(); ++t) value += task_bound(D, U.row(t), g.row(t), a[t]);
    if (value >= found.upper) return;
    found.upper = value;
    found.slope = mu;
  }

  bool done(double tolerance) const { return found.upper - found.lower <= tolerance * found.upper; }
};

Supremum solve_pairs(ConstMatrixRef U, const WeightSet& D, double gamma,
                     const SupremumSettings& settings) {
  Copies copies(U, D);
  PairBall pairs(U.rows(), U.cols(), gamma);
  Best best(U, D, gamma);
  for (Index k = 1; k <= settings.max_iterations; ++k) {
    const Matrix theta = pairs.weights(copies.z - copies.y);
    copies.update(U, D, theta);
    pairs.update(theta);
    best.found.iterations = k;
    if (k % check_every != 0 && k < settings.max_iterations) continue;
    const double unit = step * pairs.weight();
    best.try_weights(copies.z);
    best.try_duals(unit * pairs.duals(), unit * pairs.longest(), copies.a);
    if (best.done(settings.tolerance)) break;
  }
  return best.found;
}

// gamma = 0: theta is the mean of the copies, and their duals, which sum to zero, are g.
Supremum solve_common(ConstMatrixRef U, const WeightSet& D, const SupremumSettings& settings) {
  Copies copies(U, D);
  Best best(U, D, 0);
  for (Index k = 1; k <= settings.max_iterations; ++k) {
    const Eigen::RowVectorXd mean = (copies.z - copies.y).colwise().mean();
    copies.update(U, D, mean.replicate(U.rows(), 1));
    best.found.iterations = k;
    if (k % check_every != 0 && k < settings.max_iterations) continue;
    const Eigen::RowVectorXd centre = copies.y.colwise().mean();
    best.try_weights(copies.z);
    best.try_duals(-step * (copies.y.rowwise() - centre), 0, copies.a);
    if (best.done(settings.tolerance)) break;
  }
  return best.found;
}

// Every task at its own best weights: the answer where gamma allows it.
Supremum solve_separate(ConstMatrixRef U, const WeightSet& D) {
  Supremum found;
  found.theta.resize(U.rows(), U.cols());
  for (Index t = 0; t < U.rows(); ++t) {
    found.theta.row(t) = D.minimiser(-U.row(t).transpose());
    found.upper += root(support(D, U.row(t)));
  }
  found.lower = std::min(found.upper, sum_of_roots(U, found.theta));
  return found;
}

}  // namespace

double support(const WeightSet& D, ConstVectorRef c) { return -D.smallest(-c); }

double spread(ConstMatrixRef theta) {
  double sum = 0;
  for (Index t = 0; t < theta.rows(); ++t)
    for (Index s = t + 1; s < theta.rows(); ++s) sum += (theta.row(t) - theta.row(s)).norm();
  return sum;
}

Supremum largest_sum(ConstMatrixRef U, const WeightSet& D, double gamma,
                     const SupremumSettings& settings) {
  assert(U.rows() > 0 && gamma >= 0 && (U.array() >= 0).all());
  Supremum apart = solve_separate(U, D);
  if (apart.upper == 0 || U.rows() == 1 || spread(apart.theta) <= gamma) return apart;
  // Homogeneous: W(c^2 U) = c W(U). The roots are about 1 after this.
  const double unit = apart.upper / static_cast<double>(U.rows());
  const Matrix scaled = U / (unit * unit);
  Supremum found =
      gamma == 0 ? solve_common(scaled, D, settings) : solve_pairs(scaled, D, gamma, settings);
  found.lower *= unit;
  found.upper *= unit;
  found.slope *= unit;
  if (found.upper > apart.upper) found.upper = apart.upper, found.slope = 0;
  return found;
}

}  // namespace coterie
