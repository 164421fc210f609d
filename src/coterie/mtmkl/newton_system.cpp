#include "coterie/mtmkl/newton_system.hpp"

#include <utility>

namespace coterie {

namespace {

// With so few unknowns the system is factorised.
constexpr Index few_unknowns = 300;

}  // namespace

Groups singletons(Index T) {
  Groups groups;
  for (Index t = 0; t < T; ++t) groups.push_back({t});
  return groups;
}

Matrix NewtonSystem::solve(const NewtonMatrix& H, const Matrix& residual,
                           const std::function<Groups()>& groups,
                           const std::function<bool()>& keep_going) {
  if (H.faces.unknowns > few_unknowns)
    return conjugate_gradients(H, residual, groups(), keep_going);
  const Groups single = singletons(residual.rows());
  Matrix step = Matrix::Zero(residual.rows(), residual.cols());
  moves_.factorise(H, single);
  moves_.add_solution(single, residual, step);
  return step;
}

Matrix NewtonSystem::conjugate_gradients(const NewtonMatrix& H, Matrix residual,
                                         const Groups& groups,
                                         const std::function<bool()>& keep_going) {
  const bool common = moves_.factorise(H, groups);
  own_.resize(static_cast<std::size_t>(residual.rows()));
  for (const std::vector<Index>& group : groups) {
    if (keep_going && !keep_going()) return Matrix::Zero(residual.rows(), residual.cols());
    if (!common || group.size() > 1)
      for (const Index t : group)
        if (t >= H.problem.fixed) own_[static_cast<std::size_t>(t)] = H.own_inverse(t);
  }
  H.edges.prepare_products(H.theta, H.faces.free);
  Matrix step = Matrix::Zero(residual.rows(), residual.cols());
  Matrix solved(step), image(step);
  precondition(H, groups, common, residual, solved);
  Matrix direction = solved;
  double product_before = residual.cwiseProduct(solved).sum();
  const double enough = 1e-4 * product_before;
  for (int k = 0; k < 50 && product_before > 0; ++k) {
    H.multiply(direction, image);
    const double curvature = direction.cwiseProduct(image).sum();
    if (!(curvature > 0)) break;
    const double length = product_before / curvature;
    step += length * direction;
    residual -= length * image;
    precondition(H, groups, common, residual, solved);
    const double product_now = residual.cwiseProduct(solved).sum();
    if (product_now <= enough || (keep_going && !keep_going())) break;
    direction = solved + (product_now / product_before) * direction;
    product_before = product_now;
  }
  return step;
}

// y <- the two approximate inverses times x. Where common moves are factorised, a task that is its own group needs no more.
void NewtonSystem::precondition(const NewtonMatrix& H, const Groups& groups, bool common,
                                const Matrix& x, Matrix& y) {
  const Index M = H.problem.c.cols();
  y.setZero();
  for (const std::vector<Index>& group : groups)
    if (!common || group.size() > 1)
      for (const Index t : group)
        if (t >= H.problem.fixed)
          y.row(t).head(M).noalias() = x.row(t).head(M) * own_[static_cast<std::size_t>(t)];
  if (common) {
    moves_.add_solution(groups, x, y);
    H.faces.project(y);
  }
}

}  // namespace coterie
