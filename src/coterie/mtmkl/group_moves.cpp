#include "coterie/mtmkl/group_moves.hpp"

#include <algorithm>

#include "coterie/math/dense.hpp"

namespace coterie {

namespace {

// A larger matrix would cost more than it saves.
constexpr Index most_unknowns = 1600;

std::size_t index(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

bool GroupMoves::factorise(const NewtonMatrix& H, const Groups& groups) {
  const Index unknowns = choose_bases(H, groups);
  if (unknowns > most_unknowns) return false;
  matrix_.setZero(unknowns, unknowns);
  add_tasks(H, groups);
  add_edges(H, groups);
  if (unknowns == 0) return true;
  // Scaled to a diagonal of ones: the curvatures of kernels differ by many orders of magnitude. Rounding may leave a singular matrix slightly indefinite.
  matrix_.diagonal().array() += 1e-10 * H.penalty.limit() + 1e-300;
  scale_ = matrix_.diagonal().cwiseSqrt().cwiseInverse();
  for (Index j = 0; j < unknowns; ++j)
    matrix_.col(j).tail(unknowns - j).array() *= scale_[j] * scale_.tail(unknowns - j).array();
  double ridge = 1e-12;
  for (int attempt = 0; attempt < 6; ++attempt, ridge *= 100) {
    matrix_.diagonal().array() += ridge;
    factor_ = matrix_;
    if (cholesky(factor_)) break;
  }
  return true;
}

// The number of unknowns, or some number beyond the most that are wanted.
Index GroupMoves::choose_bases(const NewtonMatrix& H, const Groups& groups) {
  const Index M = H.problem.c.cols();
  const Faces& faces = H.faces;
  basis_.assign(groups.size(), {});
  group_of_.resize(index(H.theta.rows()));
  mean_.resize(std::ssize(groups), H.theta.cols());
  Index unknowns = 0;
  for (Index g = 0; g < std::ssize(groups); ++g) {
    const std::vector<Index>& group = groups[index(g)];
    Eigen::RowVectorXd both = Eigen::RowVectorXd::Ones(H.theta.cols());
    mean_.row(g).setZero();
    bool outer = true;
    for (const Index t : group) {
      both.array() *= faces.free.row(t).array();
      mean_.row(g) += H.theta.row(t) / static_cast<double>(group.size());
      outer = outer && faces.pivot[index(t)] >= 0;
      group_of_[index(t)] = g;
    }
    Basis& basis = basis_[index(g)];
    basis.first = unknowns;
    if (outer)
      for (Index m = 0; m < M; ++m)
        if (both[m] != 0 && (basis.pivot < 0 || mean_(g, m) > mean_(g, basis.pivot)))
          basis.pivot = m;
    for (Index m = 0; m < M; ++m) {
      if (both[m] == 0 || m == basis.pivot) continue;
      basis.kernels.push_back(m);
      const Index t = group.front();
      basis.share.push_back(basis.pivot < 0 ? 0
                                            : faces.normal(t, m) / faces.normal(t, basis.pivot));
    }
    unknowns += std::ssize(basis.kernels);
    if (unknowns > most_unknowns) break;
  }
  return unknowns;
}

void GroupMoves::add_tasks(const NewtonMatrix& H, const Groups& groups) {
  const Index M = H.problem.c.cols();
  Matrix own(M, M);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    own.setZero();
    if (basis_[g].kernels.empty()) continue;
    for (const Index t : groups[g]) {
      own += H.problem.B[index(t)];
      own.diagonal() += H.bend.row(t).head(M);
    }
    add_block(basis_[g], own);
  }
}

// Between groups (32) is taken at their means, with the sum of kappa over the edges that join them.
void GroupMoves::add_edges(const NewtonMatrix& H, const Groups& groups) {
  const std::vector<RoundedPenalty::Ends>& ends = H.penalty.ends();
  const Index E = std::ssize(ends);
  const Index G = std::ssize(groups);
  if (G == H.theta.rows()) {
    for (Index i = 0; i < E; ++i)
      add_pair(ends[index(i)].t, ends[index(i)].s, H.edges.flat(i), H.edges.linear(i));
    return;
  }
  Matrix kappa = Matrix::Zero(G, G);
  for (Index i = 0; i < E; ++i) {
    const Index g = group_of_[index(ends[index(i)].t)];
    const Index h = group_of_[index(ends[index(i)].s)];
    kappa(std::min(g, h), std::max(g, h)) += H.problem.kappa[i];
  }
  for (Index g = 0; g < G; ++g)
    for (Index h = g + 1; h < G; ++h) {
      if (kappa(g, h) == 0) continue;
      const double norm = std::max(H.penalty.eps(), (mean_.row(g) - mean_.row(h)).norm());
      const double w = kappa(g, h) / norm;
      add_pair(g, h, w, H.edges.tau() * w / (norm * norm));
    }
}

void GroupMoves::add_block(const Basis& a, const Matrix& own) {
  for (std::size_t i = 0; i < a.kernels.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double x = own(a.kernels[i], a.kernels[j]);
      if (a.pivot >= 0)
        x += a.share[i] * a.share[j] * own(a.pivot, a.pivot) -
             a.share[i] * own(a.pivot, a.kernels[j]) - a.share[j] * own(a.pivot, a.kernels[i]);
      matrix_(a.first + static_cast<Index>(i), a.first + static_cast<Index>(j)) += x;
    }
}

// += Z_a' (w I - linear d d') Z_b with d_a = Z_a'd, the lower half when a = b. Inline: three calls for every pair.
inline void GroupMoves::add_edge(const Basis& a, const std::vector<double>& d_a, const Basis& b,
                                 const std::vector<double>& d_b, double w, double linear) {
  const bool same = &a == &b;
  for (std::size_t j = 0; j < b.kernels.size(); ++j) {
    const Index n = b.kernels[j];
    double* column = matrix_.col(b.first + static_cast<Index>(j)).data() + a.first;
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

// The curvature w I - linear d d' between groups g and h.
void GroupMoves::add_pair(Index g, Index h, double w, double linear) {
  const Basis& a = basis_[index(std::max(g, h))];
  const Basis& b = basis_[index(std::min(g, h))];
  if (a.kernels.empty() && b.kernels.empty()) return;
  d_ = mean_.row(g) - mean_.row(h);
  const auto along = [&](const Basis& basis, std::vector<double>& to) {
    to.resize(basis.kernels.size());
    for (std::size_t k = 0; k < to.size(); ++k)
      to[k] = d_[basis.kernels[k]] - (basis.pivot >= 0 ? basis.share[k] * d_[basis.pivot] : 0);
  };
  along(a, d_a_);
  along(b, d_b_);
  add_edge(a, d_a_, a, d_a_, w, linear);
  add_edge(b, d_b_, b, d_b_, w, linear);
  add_edge(a, d_a_, b, d_b_, -w, -linear);
}

void GroupMoves::add_solution(const Groups& groups, const Matrix& x, Matrix& y) {
  solution_.setZero(matrix_.rows());
  if (solution_.size() == 0) return;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Basis& basis = basis_[g];
    for (const Index t : groups[g])
      for (std::size_t k = 0; k < basis.kernels.size(); ++k)
        solution_[basis.first + static_cast<Index>(k)] +=
            x(t, basis.kernels[k]) - (basis.pivot >= 0 ? basis.share[k] * x(t, basis.pivot) : 0);
  }
  solution_.array() *= scale_.array();
  solve_lower(factor_, solution_);
  solve_lower_transposed(factor_, solution_);
  solution_.array() *= scale_.array();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Basis& basis = basis_[g];
    for (const Index t : groups[g])
      for (std::size_t k = 0; k < basis.kernels.size(); ++k) {
        const double value = solution_[basis.first + static_cast<Index>(k)];
        y(t, basis.kernels[k]) += value;
        if (basis.pivot >= 0) y(t, basis.pivot) -= basis.share[k] * value;
      }
  }
}

}  // namespace coterie
