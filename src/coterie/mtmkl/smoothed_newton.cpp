#include "coterie/mtmkl/smoothed_newton.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace coterie {

namespace {

// Tasks closer than this many eps belong together: they follow eps on its way to zero.
constexpr double reach = 2;
// With so few unknowns Newton's system is factorised.
constexpr Index few_unknowns = 300;
// A larger matrix of group moves would cost more than it saves.
constexpr Index most_coarse_unknowns = 1600;

Index padded(Index M) { return (M + 3) / 4 * 4; }

// Calls f with the padded number of kernels, a constant where it is small: the inner loops then unroll.
template <class F>
void with_width(Index width, const F& f) {
  switch (width) {
    case 4:
      return f(std::integral_constant<int, 4>());
    case 8:
      return f(std::integral_constant<int, 8>());
    case 12:
      return f(std::integral_constant<int, 12>());
    case 16:
      return f(std::integral_constant<int, 16>());
    default:
      return f(std::integral_constant<int, Eigen::Dynamic>());
  }
}

template <int S>
using ConstRow = Eigen::Map<const Eigen::Array<double, S, 1>, Eigen::Aligned32>;
template <int S>
using Row = Eigen::Map<Eigen::Array<double, S, 1>, Eigen::Aligned32>;

// Where a task may move: the free kernels, and the normal of the outer boundary of D.
struct Face {
  Index pivot = -1;  // the free kernel that yields to the others; -1: no boundary
  Index unknowns = 0;
};

// What is known at a point theta.
struct Point {
  Matrix offset;  // theta - base, all T x padded M
  Matrix theta;
  Matrix pull;          // sum of +-nu_i
  Matrix r;             // gradient
  Eigen::ArrayXd norm;  // of every d_i
  double value = 0;     // of (30)
  double kink = 0;      // sum_i kappa_i ||d_i|| - nu_i'd_i
  double slope = 0;     // sum_t r_t'theta_t - min_D r_t'x
  double gap() const { return kink + slope; }
};

Groups singletons(Index T) {
  Groups groups;
  for (Index t = 0; t < T; ++t) groups.push_back({t});
  return groups;
}

class SmoothedNewton {
 public:
  SmoothedNewton(const ThetaProblem& problem, const Matrix& theta, double eps)
      : problem_(problem),
        T_(problem.c.rows()),
        M_(problem.c.cols()),
        S_(padded(M_)),
        E_(std::ssize(problem.graph)),
        p_(problem.weights.p()),
        eps_(eps) {
    ends_.reserve(problem.graph.size());
    for (const Edge& edge : problem.graph)
      ends_.push_back({static_cast<std::int32_t>(edge.t), static_cast<std::int32_t>(edge.s)});
    base_ = Matrix::Zero(T_, S_);
    base_.leftCols(M_) = theta;
    for (Point* point : {&at_, &trial_}) {
      point->theta = base_;
      point->offset = Matrix::Zero(T_, S_);
      point->pull = Matrix::Zero(T_, S_);
      point->r = Matrix::Zero(T_, S_);
      point->norm.resize(E_);
    }
    flat_ = linear_ = Eigen::ArrayXd::Zero(E_);
    free_ = Matrix::Zero(T_, S_);
    normal_ = Matrix::Zero(T_, S_);
    bend_ = Matrix::Zero(T_, S_);
    face_.resize(static_cast<std::size_t>(T_));
    stiffness_.resize(T_);
    step_ = residual_ = direction_ = image_ = solved_ = Matrix::Zero(T_, S_);
    limit_ = 1e-300;
    for (Index t = 0; t < T_; ++t)
      limit_ += (problem_.c.row(t) + theta.row(t) * problem_.B[index(t)]).norm();
    evaluate(at_);
    shrink(1, fused_parts(reach));
  }

  const Point& at() const { return at_; }
  double eps() const { return eps_; }

  // One Newton step with a line search. False: no descent.
  bool step() {
    choose_faces();
    const Matrix bend = bend_;
    for (int attempt = 0; attempt < 5; ++attempt) {
      weigh_edges();
      residual_ = -at_.r;
      project(residual_);
      for (Index t = 0; t < T_; ++t)
        bend_.row(t) =
            bend.row(t).array() + ridge_ * residual_.row(t).norm() * free_.row(t).array();
      solve();
      drop_small();
      if (search()) {
        ridge_ = ridge_ > 1e-2 ? 0.1 * ridge_ : 0;
        return true;
      }
      tangential_ = attempt == 0 ? std::min(0.5, 0.5 * tangential_) : 0;
      ridge_ = std::max(0.1, 10 * ridge_);
    }
    return false;
  }

  // Moves on along the path: the members of a group keep their places in units of eps.
  void shrink(double factor, const Groups& groups) {
    for (const std::vector<Index>& group : groups) {
      if (group.size() < 2) {
        base_.row(group.front()) = at_.theta.row(group.front());
        at_.offset.row(group.front()).setZero();
        continue;
      }
      const Eigen::RowVectorXd centre = centre_of(group);
      for (const Index t : group) {
        at_.offset.row(t).head(M_) += base_.row(t).head(M_) - centre;
        at_.offset.row(t) *= factor;
        base_.row(t).head(M_) = centre;
      }
    }
    at_.theta = base_ + at_.offset;
    eps_ *= factor;
    evaluate(at_);
  }

  // Connected parts of the edges shorter than this many eps.
  Groups fused_parts(double lengths) const {
    std::vector<bool> fused(index(E_));
    for (Index i = 0; i < E_; ++i)
      fused[index(i)] =
          problem_.kappa[i] > 0 && at_.norm[i] * steepest(i) <= lengths * problem_.kappa[i];
    return connected_parts(T_, problem_.graph, fused);
  }

  // Where a group will be at eps = 0: the mean of its members, without the kernels that some member does not use.
  Eigen::RowVectorXd centre_of(const std::vector<Index>& group) const {
    Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(M_);
    for (const Index t : group) mean += at_.theta.row(t).head(M_);
    mean /= static_cast<double>(group.size());
    Eigen::RowVectorXd centre = mean;
    for (const Index t : group)
      for (Index m = 0; m < M_; ++m)
        if (at_.theta(t, m) == 0) centre[m] = 0;
    if (p_ == 1) {
      if (centre.maxCoeff() <= 0.5 * mean.maxCoeff()) return mean;
      Index largest = 0;
      centre.maxCoeff(&largest);
      centre[largest] = 0;
      centre[largest] = 1 - centre.sum();
    } else if (!std::isinf(p_)) {
      bool outer = true;  // the mean of points of the outer boundary lies slightly inside
      for (const Index t : group)
        outer = outer && norm(at_.theta.row(t).head(M_)) > 1 - 1e-3 * eps_;
      if (outer) centre /= norm(centre);
    }
    return centre;
  }

  // theta with the mean of each group in the place of its members.
  Matrix merged(const Groups& groups) const {
    Matrix z = at_.theta.leftCols(M_);
    for (const std::vector<Index>& group : groups) {
      if (group.size() < 2) continue;
      const Eigen::RowVectorXd centre = centre_of(group);
      for (const Index t : group) z.row(t) = centre;
    }
    return z;
  }

  // (18) at z with the pair duals (31) of theta.
  double gap_at(const Matrix& z) {
    trial_.theta.leftCols(M_) = z;
    double gap = 0;
    Vector r_t(M_);
    for (Index t = 0; t < T_; ++t) {
      r_t = problem_.c.row(t) + at_.pull.row(t).head(M_);
      r_t.noalias() += problem_.B[index(t)] * z.row(t).transpose();
      gap += r_t.dot(z.row(t)) - problem_.weights.smallest(r_t) -
             at_.pull.row(t).head(M_).dot(z.row(t));
    }
    find_columns(trial_.theta);
    compress(trial_.theta, first_);
    with_width(width_, [&](auto width) { gap += distance<width>(first_); });
    return gap;
  }

  Matrix pair_duals() const {
    Matrix nu(E_, M_);
    for (Index i = 0; i < E_; ++i) {
      const double scale = std::min(steepest(i), problem_.kappa[i] / at_.norm[i]);
      const Index t = ends_[index(i)].t;
      const Index s = ends_[index(i)].s;
      nu.row(i) =
          scale *
          ((base_.row(t) - base_.row(s)) + (at_.offset.row(t) - at_.offset.row(s))).head(M_);
    }
    return nu;
  }

 private:
  struct Ends {
    std::int32_t t, s;
  };
  // The curvature of edge i near zero.
  double steepest(Index i) const { return std::min(problem_.kappa[i], limit_) / eps_; }
  static std::size_t index(Index i) { return static_cast<std::size_t>(i); }

  // The columns of x that are not zero: only they enter the sums over edges.
  void find_columns(const Matrix& x) {
    columns_.clear();
    for (Index m = 0; m < M_; ++m)
      if (!x.col(m).isZero(0)) columns_.push_back(m);
    width_ = std::max<Index>(4, padded(std::ssize(columns_)));
  }
  void compress(const Matrix& x, Matrix& compact) const {
    compact.setZero(T_, width_);
    for (Index t = 0; t < T_; ++t)
      for (std::size_t k = 0; k < columns_.size(); ++k)
        compact(t, static_cast<Index>(k)) = x(t, columns_[k]);
  }

  // sum_i kappa_i ||x_t - x_s||, x compressed
  template <int S>
  double distance(const Matrix& x) const {
    const Index width = width_;
    const double* kappa = problem_.kappa.data();
    double sum = 0;
    for (Index i = 0; i < E_; ++i) {
      const ConstRow<S> a(x.data() + width * ends_[index(i)].t, width);
      const ConstRow<S> b(x.data() + width * ends_[index(i)].s, width);
      sum += kappa[i] * std::sqrt((a - b).square().sum());
    }
    return sum;
  }

  // Value, kink, norms and pull of the penalty at x. The edges of one first end follow each other in most graphs.
  template <int S>
  void penalty(Point& x) {
    const Index width = width_;
    sum_.setZero(T_, width);
    const double* base = second_.data();
    const double* offset = first_.data();
    const double* kappa = problem_.kappa.data();
    const Ends* ends = ends_.data();
    double* norms = x.norm.data();
    double* pull = sum_.data();
    double value = 0;
    double kink = 0;
    Eigen::Array<double, S, 1> base_t(width), offset_t(width), sum(width), d(width);
    for (Index i = 0; i < E_;) {
      const Index t = ends[i].t;
      base_t = ConstRow<S>(base + width * t, width);
      offset_t = ConstRow<S>(offset + width * t, width);
      sum.setZero();
      for (; i < E_ && ends[i].t == t; ++i) {
        const Index s = width * ends[i].s;
        d = (base_t - ConstRow<S>(base + s, width)) + (offset_t - ConstRow<S>(offset + s, width));
        const double squared = d.square().sum();
        const double norm = std::sqrt(squared);
        const double steepest = std::min(kappa[i], limit_) / eps_;
        const double scale = std::min(steepest, kappa[i] / norm);
        const double product = scale * squared;  // nu_i'd
        value += scale == steepest ? product / 2
                                   : kappa[i] * norm - 0.5 * kappa[i] * kappa[i] / steepest;
        kink += kappa[i] * norm - product;
        norms[i] = norm;
        d *= scale;
        sum += d;
        Row<S>(pull + s, width) -= d;
      }
      Row<S>(pull + width * t, width) += sum;
    }
    x.value = value;
    x.kink = kink;
  }

  void evaluate(Point& x) {
    find_columns(x.theta);
    compress(x.offset, first_);
    compress(base_, second_);
    with_width(width_, [&](auto width) { penalty<width>(x); });
    x.pull.setZero();
    for (Index t = 0; t < T_; ++t)
      for (std::size_t k = 0; k < columns_.size(); ++k)
        x.pull(t, columns_[k]) = sum_(t, static_cast<Index>(k));
    double slope = 0;
    for (Index t = 0; t < T_; ++t) {
      auto r = x.r.row(t).head(M_);
      const auto theta = x.theta.row(t).head(M_);
      r.noalias() = theta * problem_.B[index(t)];
      x.value += problem_.c.row(t).dot(theta) + 0.5 * r.dot(theta);
      r += problem_.c.row(t) + x.pull.row(t).head(M_);
      slope += r.dot(theta) - problem_.weights.smallest(r.transpose());
    }
    x.slope = slope;
  }

  // The free kernels of every task: those that are used, and those whose gradient asks for it.
  void choose_faces() {
    const bool simplex = p_ == 1;
    const bool box = std::isinf(p_);
    const double small = std::min(1e-8, 1e-7 * eps_);
    const double slack = eps_ * std::max(1e-3, eps_);
    for (Index t = 0; t < T_; ++t) {
      auto theta = at_.theta.row(t).head(M_);
      const auto r = at_.r.row(t).head(M_);
      auto free = free_.row(t);
      auto normal = normal_.row(t);
      auto bend = bend_.row(t);
      free.setZero();
      normal.setZero();
      bend.setZero();
      Face& face = face_[index(t)];
      face = {};
      const double along =
          r.dot(theta);  // the multiplier of the outer boundary, for p > 1 its negative
      Index largest = 0;
      theta.maxCoeff(&largest);
      const double level = simplex ? r[largest] : 0;  // a larger gradient asks for less of a kernel
      const bool outer =
          simplex ||
          (!box && along < 0 && !problem_.weights.contains((1 + slack) * theta.transpose(), 0));
      for (Index m = 0; m < M_; ++m) {
        const bool low = theta[m] <= small && r[m] >= level && !(simplex && m == largest);
        const bool high = box && theta[m] >= 1 && r[m] <= 0;
        if (low || high) continue;
        free[m] = 1;
        ++face.unknowns;
      }
      if (!outer || face.unknowns == 0) continue;
      for (Index m = 0; m < M_; ++m) {
        if (free[m] == 0) continue;
        normal[m] = simplex ? 1 : std::pow(theta[m], p_ - 1);
        if (!simplex) bend[m] = -along * (p_ - 1) * std::pow(std::max(theta[m], 1e-4), p_ - 2);
        if (face.pivot < 0 || theta[m] > theta[face.pivot]) face.pivot = m;
      }
      normal /= normal.norm();
      --face.unknowns;
    }
  }

  // The curvature of edge i is flat_i I - linear_i d d'.
  void weigh_edges() {
    stiffness_.setZero();
    for (Index i = 0; i < E_; ++i) {
      const double norm = at_.norm[i];
      const double w = std::min(steepest(i), problem_.kappa[i] / norm);
      flat_[i] = w;
      linear_[i] = w == steepest(i) ? 0 : tangential_ * w / (norm * norm);
      stiffness_[ends_[index(i)].t] += w;
      stiffness_[ends_[index(i)].s] += w;
    }
  }

  // x <- its part along the faces
  void project(Matrix& x) const {
    x.array() *= free_.array();
    for (Index t = 0; t < T_; ++t)
      if (face_[index(t)].pivot >= 0) x.row(t) -= x.row(t).dot(normal_.row(t)) * normal_.row(t);
  }

  // sum_ <- the sum over edges of their curvature times first_; second_ holds theta
  template <int S>
  void edge_product() {
    const Index width = width_;
    sum_.setZero(T_, width);
    const double* x = first_.data();
    const double* theta = second_.data();
    const double* flat = flat_.data();
    const double* linear = linear_.data();
    const Ends* ends = ends_.data();
    double* y = sum_.data();
    Eigen::Array<double, S, 1> x_t(width), theta_t(width), sum(width), u(width), d(width);
    for (Index i = 0; i < E_;) {
      const Index t = ends[i].t;
      x_t = ConstRow<S>(x + width * t, width);
      theta_t = ConstRow<S>(theta + width * t, width);
      sum.setZero();
      for (; i < E_ && ends[i].t == t; ++i) {
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

  // y <- Hessian x, along the faces
  void product(const Matrix& x, Matrix& y) {
    y.array() = bend_.array() * x.array();
    for (Index t = 0; t < T_; ++t)
      y.row(t).head(M_).noalias() += x.row(t).head(M_) * problem_.B[index(t)];
    compress(x, first_);
    with_width(width_, [&](auto width) { edge_product<width>(); });
    for (Index t = 0; t < T_; ++t)
      for (std::size_t k = 0; k < columns_.size(); ++k)
        y(t, columns_[k]) += sum_(t, static_cast<Index>(k));
    project(y);
  }

  // The unknowns of a group: its kernels that are free in every member, without the pivot.
  struct Basis {
    std::vector<Index> kernels;
    std::vector<double> share;  // what the pivot yields
    Index pivot = -1;
    Index first = 0;
  };

  // Newton's matrix on moves that are common to each group.
  bool factor_coarse(const Groups& groups) {
    const Index G = std::ssize(groups);
    basis_.assign(index(G), {});
    Index unknowns = 0;
    Matrix mean(G, S_);
    std::vector<Index> group_of(index(T_));
    for (Index g = 0; g < G; ++g) {
      const std::vector<Index>& group = groups[index(g)];
      Eigen::RowVectorXd both = Eigen::RowVectorXd::Ones(S_);
      mean.row(g).setZero();
      bool outer = true;
      for (const Index t : group) {
        both.array() *= free_.row(t).array();
        mean.row(g) += at_.theta.row(t) / static_cast<double>(group.size());
        outer = outer && face_[index(t)].pivot >= 0;
        group_of[index(t)] = g;
      }
      Basis& basis = basis_[index(g)];
      basis.first = unknowns;
      if (outer)
        for (Index m = 0; m < M_; ++m)
          if (both[m] != 0 && (basis.pivot < 0 || mean(g, m) > mean(g, basis.pivot)))
            basis.pivot = m;
      for (Index m = 0; m < M_; ++m) {
        if (both[m] == 0 || m == basis.pivot) continue;
        basis.kernels.push_back(m);
        const Index t = group.front();
        basis.share.push_back(basis.pivot < 0 ? 0 : normal_(t, m) / normal_(t, basis.pivot));
      }
      unknowns += std::ssize(basis.kernels);
      if (unknowns > most_coarse_unknowns) return false;
    }
    coarse_.setZero(unknowns, unknowns);
    Matrix own(M_, M_);
    for (Index g = 0; g < G; ++g) {
      own.setZero();
      for (const Index t : groups[index(g)]) {
        own += problem_.B[index(t)];
        own.diagonal() += bend_.row(t).head(M_);
      }
      add_block(basis_[index(g)], own);
    }
    Eigen::RowVectorXd d(S_);
    const auto along = [&](const Basis& a, std::vector<double>& to) {
      to.resize(a.kernels.size());
      for (std::size_t k = 0; k < to.size(); ++k)
        to[k] = d[a.kernels[k]] - (a.pivot >= 0 ? a.share[k] * d[a.pivot] : 0);
    };
    const auto add_pair = [&](Index g, Index h, double w, double linear) {
      const Basis& a = basis_[index(std::max(g, h))];
      const Basis& b = basis_[index(std::min(g, h))];
      if (a.kernels.empty() && b.kernels.empty()) return;
      d = mean.row(g) - mean.row(h);
      along(a, d_a_);
      along(b, d_b_);
      add_edge(a, d_a_, a, d_a_, w, linear);
      add_edge(b, d_b_, b, d_b_, w, linear);
      add_edge(a, d_a_, b, d_b_, -w, -linear);
    };
    if (G == T_) {
      for (Index i = 0; i < E_; ++i)
        add_pair(ends_[index(i)].t, ends_[index(i)].s, flat_[i], linear_[i]);
    } else {
      Matrix kappa = Matrix::Zero(G, G);
      for (Index i = 0; i < E_; ++i) {
        const Index g = group_of[index(ends_[index(i)].t)];
        const Index h = group_of[index(ends_[index(i)].s)];
        kappa(std::min(g, h), std::max(g, h)) += problem_.kappa[i];
      }
      for (Index g = 0; g < G; ++g)
        for (Index h = g + 1; h < G; ++h) {
          if (kappa(g, h) == 0) continue;
          const double norm = std::max(eps_, (mean.row(g) - mean.row(h)).norm());
          const double w = kappa(g, h) / norm;
          add_pair(g, h, w, tangential_ * w / (norm * norm));
        }
    }
    if (unknowns == 0) return true;
    // Rounding may leave a singular matrix slightly indefinite.
    double ridge = 1e-11 * coarse_.diagonal().cwiseAbs().mean() + 1e-10 * limit_;
    for (int attempt = 0; attempt < 12; ++attempt, ridge *= 100) {
      coarse_.diagonal().array() += ridge;
      llt_.compute(coarse_);
      if (llt_.info() == Eigen::Success) break;
    }
    return true;
  }

  void add_block(const Basis& a, const Matrix& own) {
    for (std::size_t i = 0; i < a.kernels.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double x = own(a.kernels[i], a.kernels[j]);
        if (a.pivot >= 0)
          x += a.share[i] * a.share[j] * own(a.pivot, a.pivot) -
               a.share[i] * own(a.pivot, a.kernels[j]) - a.share[j] * own(a.pivot, a.kernels[i]);
        coarse_(a.first + static_cast<Index>(i), a.first + static_cast<Index>(j)) += x;
      }
  }

  // += Z_a' (w I - linear d d') Z_b with d_a = Z_a'd, the lower half when a = b
  void add_edge(const Basis& a, const std::vector<double>& d_a, const Basis& b,
                const std::vector<double>& d_b, double w, double linear) {
    const bool same = &a == &b;
    for (std::size_t j = 0; j < b.kernels.size(); ++j) {
      const Index n = b.kernels[j];
      double* column = coarse_.col(b.first + static_cast<Index>(j)).data() + a.first;
      for (std::size_t i = same ? j : 0; i < a.kernels.size(); ++i) {
        const Index m = a.kernels[i];
        double overlap = m == n ? 1 : 0;
        if (m == b.pivot) overlap -= b.share[j];
        if (n == a.pivot) overlap -= a.share[i];
        if (a.pivot >= 0 && a.pivot == b.pivot) overlap += a.share[i] * b.share[j];
        column[i] += w * overlap - linear * d_a[i] * d_b[j];
      }
    }
  }

  // y += the coarse solution for right-hand side x
  void add_coarse(const Groups& groups, const Matrix& x, Matrix& y) {
    rhs_.setZero(coarse_.rows());
    if (rhs_.size() == 0) return;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Basis& basis = basis_[g];
      for (const Index t : groups[g])
        for (std::size_t k = 0; k < basis.kernels.size(); ++k)
          rhs_[basis.first + static_cast<Index>(k)] +=
              x(t, basis.kernels[k]) - (basis.pivot >= 0 ? basis.share[k] * x(t, basis.pivot) : 0);
    }
    llt_.solveInPlace(rhs_);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Basis& basis = basis_[g];
      for (const Index t : groups[g])
        for (std::size_t k = 0; k < basis.kernels.size(); ++k) {
          const double value = rhs_[basis.first + static_cast<Index>(k)];
          y(t, basis.kernels[k]) += value;
          if (basis.pivot >= 0) y(t, basis.pivot) -= basis.share[k] * value;
        }
    }
  }

  // The inverse of B_t + stiffness I along the face of t.
  void factor_own(Index t) {
    std::vector<Index> kernels;
    for (Index m = 0; m < M_; ++m)
      if (free_(t, m) != 0) kernels.push_back(m);
    const Index n = std::ssize(kernels);
    Eigen::MatrixXd A(n, n);
    Vector normal(n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j)
        A(i, j) = problem_.B[index(t)](kernels[index(i)], kernels[index(j)]);
      A(i, i) += stiffness_[t] + bend_(t, kernels[index(i)]);
      normal[i] = normal_(t, kernels[index(i)]);
    }
    A.diagonal().array() += 1e-12 * A.diagonal().sum() + 1e-300;
    Eigen::MatrixXd inverse = A.llt().solve(Eigen::MatrixXd::Identity(n, n));
    if (face_[index(t)].pivot >= 0) {
      const Vector q = inverse * normal;
      inverse -= q * q.transpose() / normal.dot(q);
    }
    Matrix& own = own_[index(t)];
    own.setZero(M_, M_);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) own(kernels[index(i)], kernels[index(j)]) = inverse(i, j);
  }

  void precondition(const Groups& groups, bool coarse, const Matrix& x, Matrix& y) {
    y.setZero();
    for (const std::vector<Index>& group : groups)
      if (!coarse || group.size() > 1)
        for (const Index t : group)
          y.row(t).head(M_).noalias() = x.row(t).head(M_) * own_[index(t)];
    if (coarse) {
      add_coarse(groups, x, y);
      project(y);
    }
  }

  // step_ <- Newton's direction
  void solve() {
    step_.setZero();
    Index unknowns = 0;
    for (const Face& face : face_) unknowns += face.unknowns;
    if (unknowns <= few_unknowns) {
      const Groups single = singletons(T_);
      factor_coarse(single);
      add_coarse(single, residual_, step_);
      return;
    }
    const Groups groups = fused_parts(reach);
    const bool coarse = factor_coarse(groups);
    own_.resize(index(T_));
    for (const std::vector<Index>& group : groups)
      if (!coarse || group.size() > 1)
        for (const Index t : group) factor_own(t);
    // Conjugate gradients.
    find_columns(free_);
    compress(at_.theta, second_);
    precondition(groups, coarse, residual_, solved_);
    direction_ = solved_;
    double product_before = residual_.cwiseProduct(solved_).sum();
    const double enough = 1e-4 * product_before;
    for (int k = 0; k < 50 && product_before > 0; ++k) {
      product(direction_, image_);
      const double curvature = direction_.cwiseProduct(image_).sum();
      if (!(curvature > 0)) break;
      const double length = product_before / curvature;
      step_ += length * direction_;
      residual_ -= length * image_;
      precondition(groups, coarse, residual_, solved_);
      const double product_now = residual_.cwiseProduct(solved_).sum();
      if (product_now <= enough) break;
      direction_ = solved_ + (product_now / product_before) * direction_;
      product_before = product_now;
    }
  }

  // Kernels that are hardly used and not free go to zero.
  void drop_small() {
    for (Index t = 0; t < T_; ++t)
      for (Index m = 0; m < M_; ++m) {
        const double theta = at_.theta(t, m);
        if (free_(t, m) != 0 || theta == 0 || theta > 0.5) continue;
        step_(t, m) = -theta;
        if (p_ == 1) step_(t, face_[index(t)].pivot) += theta;
      }
  }

  // trial <- the point of D that theta + length step leads to
  void retract(double length) {
    trial_.offset = at_.offset + length * step_;
    for (Index t = 0; t < T_; ++t) {
      const auto base = base_.row(t).head(M_);
      auto offset = trial_.offset.row(t).head(M_);
      auto x = trial_.theta.row(t).head(M_);
      for (Index m = 0; m < M_; ++m) {
        if (base[m] + offset[m] < 0 || (length == 1 && free_(t, m) == 0 && at_.theta(t, m) < 0.5))
          offset[m] = -base[m];
        if (std::isinf(p_) && base[m] + offset[m] > 1) offset[m] = 1 - base[m];
      }
      x = base + offset;
      const Index pivot = face_[index(t)].pivot;
      if (p_ == 1) {
        offset[pivot] = 0;
        offset[pivot] = -offset.sum();
        x[pivot] = base[pivot] + offset[pivot];
        if (x[pivot] >= 0) continue;
        x = problem_.weights
                .project((at_.theta.row(t) + length * step_.row(t)).head(M_).transpose())
                .transpose();
        offset = x - base;
      } else if (!std::isinf(p_) && (pivot >= 0 || !problem_.weights.contains(x.transpose(), 0))) {
        x /= norm(x);
        offset = x - base;
      }
    }
  }
  double norm(const Eigen::Ref<const Eigen::RowVectorXd>& x) const {
    if (p_ == 2) return x.norm();
    return std::pow(x.array().pow(p_).sum(), 1 / p_);
  }

  bool search() {
    double length = 1;
    for (int trial = 0; trial < 12; ++trial) {
      retract(length);
      evaluate(trial_);
      const double promised = at_.r.cwiseProduct(trial_.theta - at_.theta).sum();
      const double noise = 1e-13 * std::abs(at_.value);
      if (trial_.value <= at_.value + 1e-4 * std::min(0.0, promised) + noise &&
          (trial_.value < at_.value - noise || trial_.slope < at_.slope)) {
        std::swap(at_, trial_);
        tangential_ = length == 1 ? std::min(1.0, tangential_ + 0.25) : 0.7 * tangential_;
        return true;
      }
      if (trial > 1) return false;
      length *= 0.4;
    }
    return false;
  }

  const ThetaProblem& problem_;
  Index T_, M_, S_, E_;
  double p_, eps_;
  double limit_ = 0;  // no pair dual needs to be longer
  double ridge_ = 0;  // added to the Hessian, times the gradient
  double tangential_ =
      1;  // 1: Newton; 0: the majoriser of Weiszfeld, which never overshoots a kink
  std::vector<Ends> ends_;
  Matrix
      base_;  // equal within a group: differences inside it are then exact to the last digit of the offsets
  Point at_, trial_;
  std::vector<Index> columns_;
  Index width_ = 4;
  Matrix first_, second_, sum_;  // T x width, columns only
  Eigen::ArrayXd flat_, linear_;
  Matrix free_, normal_, bend_;
  std::vector<Face> face_;
  Vector stiffness_;
  Matrix step_, residual_, direction_, image_, solved_;
  std::vector<Matrix> own_;
  std::vector<Basis> basis_;
  Eigen::MatrixXd coarse_;
  Eigen::LLT<Eigen::MatrixXd> llt_;
  Vector rhs_;
  std::vector<double> d_a_, d_b_;
};

}  // namespace

double model_gap(const ThetaProblem& problem, const Matrix& theta, const Matrix& nu) {
  Matrix r = problem.c;
  double gap = 0;
  for (std::size_t i = 0; i < problem.graph.size(); ++i) {
    const Edge& edge = problem.graph[i];
    const double* a = theta.row(edge.t).data();
    const double* b = theta.row(edge.s).data();
    const double* n = nu.row(static_cast<Index>(i)).data();
    double* to = r.row(edge.t).data();
    double* from = r.row(edge.s).data();
    double squared = 0;
    double along = 0;
    for (Index m = 0; m < theta.cols(); ++m) {
      const double d = a[m] - b[m];
      squared += d * d;
      along += n[m] * d;
      to[m] += n[m];
      from[m] -= n[m];
    }
    gap += problem.kappa[static_cast<Index>(i)] * std::sqrt(squared) - along;
  }
  for (Index t = 0; t < theta.rows(); ++t) {
    r.row(t).noalias() += theta.row(t) * problem.B[static_cast<std::size_t>(t)];
    gap += r.row(t).dot(theta.row(t)) - problem.weights.smallest(r.row(t).transpose());
  }
  return gap;
}

SmoothedPath follow_smoothed_path(const ThetaProblem& problem, const Matrix& theta, double eps,
                                  const ThetaSettings& settings) {
  SmoothedNewton newton(problem, theta, eps);
  SmoothedPath path;
  Groups groups_before;
  constexpr Index most_steps = 80;
  constexpr Index patience = 10;  // steps in which the gap must halve
  double mark = std::numeric_limits<double>::infinity();
  Index marked = 0;
  const double tolerance = settings.gap_tolerance;
  // The better of two guesses of the groups, and its gap.
  const auto merge = [&] {
    double gap = std::numeric_limits<double>::infinity();
    for (const double lengths : {reach, 1.0}) {
      Groups groups = newton.fused_parts(lengths);
      Matrix merged = newton.merged(groups);
      const double there = newton.gap_at(merged);
      if (there < gap) {
        gap = there;
        path.groups = std::move(groups);
        path.merged = std::move(merged);
      }
      if (gap <= tolerance) break;
    }
    return gap;
  };
  const auto separate = [&] {
    path.groups = singletons(problem.c.rows());
    path.merged = newton.at().theta.leftCols(problem.c.cols()).cwiseMax(0.0);
  };
  for (;;) {
    const Point& at = newton.at();
    const bool settled = at.slope <= std::max(0.5 * at.kink, 0.01 * tolerance);
    double gap = at.gap();
    if (at.slope <= 0.8 * tolerance && (settled || gap <= tolerance)) {
      gap = merge();
      if (gap <= tolerance) {
        path.converged = true;
        break;
      }
      if (at.gap() <= tolerance && !settings.groups) {
        separate();
        path.converged = true;
        break;
      }
    }
    if (path.iterations >= std::min(most_steps, settings.max_iterations) ||
        (settings.keep_going && !settings.keep_going()))
      break;
    if (settled) {
      if (newton.eps() < 1e-11) break;
      Groups groups = newton.fused_parts(reach);
      const double least = groups == groups_before ? 1e-3 : 0.03;
      newton.shrink(std::clamp(0.3 * tolerance / gap, least, 0.5), groups);
      groups_before = std::move(groups);
      mark = std::numeric_limits<double>::infinity();
    }
    if (gap < 0.5 * mark) {
      mark = gap;
      marked = path.iterations;
    }
    if (path.iterations >= marked + patience) break;
    ++path.iterations;
    if (!newton.step()) break;
  }
  path.theta = newton.at().theta.leftCols(problem.c.cols()).cwiseMax(0.0);
  path.eps = newton.eps();
  path.r = newton.at().r.leftCols(problem.c.cols());
  path.nu = newton.pair_duals();
  if (!path.converged && merge() > newton.at().gap() && !settings.groups) separate();
  path.gap = model_gap(problem, path.merged, path.nu);
  path.converged = path.gap <= tolerance;
  return path;
}

}  // namespace coterie
