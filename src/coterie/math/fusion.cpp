#include "coterie/math/fusion.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "coterie/math/isotonic.hpp"
#include "coterie/math/no_allocation.hpp"

namespace coterie {

// In increasing order z_0 <= z_1 <= .. the penalty is linear as long as the order lasts: the k-th entry is pulled by lambda times the
// number of entries below it minus that above it, 2k - (T-1). So x is the isotonic regression of z_k - lambda (2k - (T-1)). A block from
// i to j-1 then has the mean of its z, pulled by lambda (i + j - T). A lambda of max z - min z fuses all, and no larger one is used.
ScalarFusion fuse_scalars(ConstVectorRef z, double lambda) {
  assert(lambda >= 0);
  const Index T = z.size();
  ScalarFusion out{Vector(T), std::vector<Index>(static_cast<std::size_t>(T))};
  if (T == 0) return out;
  std::vector<Index> order(static_cast<std::size_t>(T));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index i) { return std::pair(z[i], i); });
  const Vector sorted = z(order);
  const double kappa = std::min(lambda, sorted[T - 1] - sorted[0]);
  const auto last = static_cast<double>(T - 1);
  const Vector pulled = sorted - kappa * Vector::LinSpaced(T, -last, last);
  std::vector<Index> first = isotonic_regression(pulled, Vector::Ones(T)).first;
  first.push_back(T);
  for (std::size_t k = 0; k + 1 < first.size(); ++k) {
    const Index i = first[k];
    const Index j = first[k + 1];
    const double mean = std::clamp(sorted.segment(i, j - i).mean(), sorted[i], sorted[j - 1]);
    for (Index l = i; l < j; ++l) {
      out.x[order[l]] = mean - kappa * static_cast<double>(i + j - T);
      out.block[order[l]] = static_cast<Index>(k);
    }
  }
  return out;
}

double sum_of_differences(ConstVectorRef x) {
  Vector sorted = x;
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;  // of neighbours: k + 1 entries lie below the gap after the k-th
  for (Index k = 0; k + 1 < x.size(); ++k)
    sum += static_cast<double>((k + 1) * (x.size() - k - 1)) * (sorted[k + 1] - sorted[k]);
  return sum;
}

double sum_of_distances(const Matrix& U) {
  double sum = 0;
  for (Index s = 0; s < U.rows(); ++s)
    for (Index t = s + 1; t < U.rows(); ++t) sum += (U.row(s) - U.row(t)).norm();
  return sum;
}

Matrix spread_of_duals(const Matrix& nu, Index T) {
  assert(nu.rows() == T * (T - 1) / 2);
  Matrix spread = Matrix::Zero(T, nu.cols());
  Index e = 0;
  for (Index s = 0; s < T; ++s) {
    for (Index t = s + 1; t < T; ++t, ++e) {
      spread.row(s) += nu.row(e);
      spread.row(t) -= nu.row(e);
    }
  }
  return spread;
}

namespace {

constexpr Index first_checks = 3;  // steps that are all checked; after them every fifth is
constexpr Index rounds_between_checks = 5;

// The dual of the fusion of vectors: maximise g(nu) = 1/2 ||Z||^2 - 1/2 ||Z - D nu||^2 over ||nu_st|| <= lambda, where D D' has the largest
// eigenvalue T. Accelerated projected gradient, from y = nu + beta (nu - nu_before) with V = Z - D y:
//
//   nu_st  <-  y_st + (v_s - v_t) / T,   brought back to the ball
//
// begun afresh (beta = 0) where g falls. One pass over the pairs reads nu and nu_before and leaves the new nu in the place of the latter.
// A pair that the ball did not stop is taken for fused. Rows that such pairs connect get their mean: if that lowers the primal, the
// first-order error that small differences cost is gone, and the proof closes with the square of the error of nu.
class PairDuals {
 public:
  PairDuals(const Matrix& Z, double lambda, const Matrix& start)
      : lambda_(lambda),
        T_(Z.rows()),
        mean_(Z.colwise().mean()),
        Z_(Z.rowwise() - mean_),
        nu_(start),
        joined_(static_cast<std::size_t>(T_)),
        U_(Z_),
        rounding_(4 * std::numeric_limits<double>::epsilon() * Z_.squaredNorm()) {
    const Index pairs = T_ * (T_ - 1) / 2;
    if (start.rows() != pairs || start.cols() != Z.cols()) nu_ = Matrix::Zero(pairs, Z.cols());
    for (Index e = 0; e < pairs; ++e) {
      const double norm = nu_.row(e).norm();
      if (norm > lambda) nu_.row(e) *= lambda / norm;
    }
    before_ = nu_;
    spread_ = spread_before_ = spread_of_duals(nu_, T_);
    next_.resizeLike(spread_);
    V_.resizeLike(spread_);
    dual_ = dual_value();
  }

  void advance() {
    const NoAllocation in_this_step;
    const double t = (1 + std::sqrt(1 + 4 * momentum_ * momentum_)) / 2;
    const double beta = (momentum_ - 1) / t;
    momentum_ = t;
    V_ = Z_ - (1 + beta) * spread_ + beta * spread_before_;
    sweep(beta);
    nu_.swap(before_);
    spread_before_.swap(spread_);
    spread_.swap(next_);
    const double dual = dual_value();
    if (dual < dual_) momentum_ = 1;
    dual_ = dual;
  }

  // The better of Z - D nu and its fused form.
  double primal() {
    U_ = Z_ - spread_;
    const double plain = primal_at(U_);
    groups_from_pairs();
    V_.setZero();
    count_.setZero(T_);
    for (Index t = 0; t < T_; ++t) {
      V_.row(joined_[t]) += U_.row(t);
      ++count_[joined_[t]];
    }
    for (Index t = 0; t < T_; ++t) next_.row(t) = V_.row(joined_[t]) / count_[joined_[t]];
    const double fused = primal_at(next_);
    if (fused <= plain + rounding_) {
      U_.swap(next_);
      return fused;
    }
    std::iota(joined_.begin(), joined_.end(), Index{0});
    return plain;
  }

  double dual() const { return dual_; }
  double rounding() const { return rounding_; }  // what the two values may be wrong by

  VectorFusion result(double primal, Index iterations) {
    // The mean goes back with one addition per group, so that equal rows stay equal.
    return {U_.rowwise() + mean_, joined_, std::move(nu_), primal, dual_, iterations};
  }

 private:
  using Row = Eigen::Map<Eigen::Array<double, 1, Eigen::Dynamic>>;
  using ConstRow = Eigen::Map<const Eigen::Array<double, 1, Eigen::Dynamic>>;

  void sweep(double beta) {
    const Index d = Z_.cols();
    const double step = 1 / static_cast<double>(T_);
    next_.setZero();
    std::iota(joined_.begin(), joined_.end(), Index{0});
    Index e = 0;
    for (Index s = 0; s < T_; ++s) {
      const ConstRow v_s(V_.data() + s * d, d);
      Row sum_s(next_.data() + s * d, d);
      for (Index t = s + 1; t < T_; ++t, ++e) {
        const ConstRow v_t(V_.data() + t * d, d);
        const ConstRow nu(nu_.data() + e * d, d);
        Row to(before_.data() + e * d, d);
        Row sum_t(next_.data() + t * d, d);
        to = (1 + beta) * nu - beta * to + step * (v_s - v_t);
        const double norm = std::sqrt(to.square().sum());
        if (norm > lambda_)
          to *= lambda_ / norm;
        else
          join(s, t);
        sum_s += to;
        sum_t -= to;
      }
    }
  }

  // joined_[t] <= t leads from every task to the first of its group.
  Index root(Index t) const {
    while (joined_[t] != t) t = joined_[t];
    return t;
  }
  void join(Index s, Index t) {
    const Index a = root(s);
    const Index b = root(t);
    joined_[std::max(a, b)] = std::min(a, b);
  }
  void groups_from_pairs() {
    Index groups = 0;
    for (Index t = 0; t < T_; ++t) {
      const Index first = joined_[t];
      joined_[t] = first == t ? groups++ : joined_[first];
    }
  }

  double dual_value() const { return spread_.cwiseProduct(Z_ - spread_ / 2).sum(); }
  double primal_at(const Matrix& U) const {
    return (Z_ - U).squaredNorm() / 2 + lambda_ * sum_of_distances(U);
  }

  double lambda_;
  Index T_;
  Eigen::RowVectorXd mean_;
  Matrix Z_;                                  // centred; the mean of rows never changes
  Matrix nu_, before_;                        // pairs x d
  Matrix spread_, spread_before_, next_, V_;  // T x d; spread = D nu
  std::vector<Index> joined_;
  Matrix U_;
  Eigen::ArrayXd count_;
  double rounding_;
  double momentum_ = 1;
  double dual_ = 0;
};

}  // namespace

// One step from nu = 0 solves T = 1, T = 2 and whatever fuses entirely with ||z_s - z_t|| <= lambda T.
VectorFusion fuse_vectors(const Matrix& Z, double lambda, double gap_tolerance,
                          const Matrix& nu_start, Index max_iterations) {
  assert(lambda >= 0 && std::isfinite(lambda));
  PairDuals duals(Z, lambda, nu_start);
  for (Index k = 1;; ++k) {
    duals.advance();
    const bool last = k >= max_iterations;
    if (k > first_checks && k % rounds_between_checks != 0 && !last) continue;
    const double primal = duals.primal();
    if (last || primal - duals.dual() <= std::max(gap_tolerance * primal, duals.rounding()))
      return duals.result(primal, k);
  }
}

}  // namespace coterie
