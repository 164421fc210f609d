#include "coterie/baseline/flexclus.hpp"

#include <fmt/format.h>

#include <cmath>

#include "coterie/baseline/linear_proof.hpp"
#include "coterie/math/fusion.hpp"

namespace coterie {

namespace {

// The penalty with V = W - U, docs/methods.md (14). Columns are features; clus(U) = sum_j sum_{s<t} |U_sj - U_tj|.
//
//   R(W)  = min_U  lambda1 clus(U) + lambda2 ||U||^2 + lambda3 ||W - U||^2
//
// All of it is one map: with F(x, kappa) = argmin_u 1/2 ||u - x||^2 + kappa clus(u), feature by feature,
//
//   argmin_u  a/2 ||u - x||^2 + l1 clus(u) + l2 ||u||^2   =   F(a x / (a + 2 l2), l1 / (a + 2 l2)).                       (*)
//
// The best U for W is (*) with a = 2 lambda3, x = W. The proximal map first takes W out: for given U it is (Z + r U) / (1 + r) with
// r = 2 step lambda3, which leaves a = r / (1 + r) of the distance of U from Z. The conjugate of the sum that defines R is the sum
//
//   R*(Z) = max_U { <Z, U> - lambda1 clus(U) - lambda2 ||U||^2 }  +  ||Z||^2 / (4 lambda3),
//
// where the best U is F(Z / (2 lambda2), lambda1 / (2 lambda2)), and the maximum lambda2 ||U||^2.
class FlexclusPenalty : public Penalty {
 public:
  explicit FlexclusPenalty(const FlexclusParameters& parameters) : p_(parameters) {}

  double value(const Matrix& W) override {
    const Matrix U = shared(W);
    double clus = 0;
    for (Index j = 0; j < U.cols(); ++j) clus += sum_of_differences(U.col(j));
    return p_.lambda1 * clus + p_.lambda2 * U.squaredNorm() + p_.lambda3 * (W - U).squaredNorm();
  }

  Matrix prox(const Matrix& Z, double step, double /*accuracy*/) override {
    const double r = 2 * step * p_.lambda3;
    const Matrix U = fuse(Z, r / (1 + r), step * p_.lambda1, step * p_.lambda2);
    return (Z + r * U) / (1 + r);
  }

  double conjugate(const Matrix& Z, double) override {
    const Matrix U = fuse_columns(Z / (2 * p_.lambda2), p_.lambda1 / (2 * p_.lambda2));
    return p_.lambda2 * U.squaredNorm() + Z.squaredNorm() / (4 * p_.lambda3);
  }

  // The value is that of W with the U that the model states: a sum of terms that are not below 0. U of the conjugate is made of means and
  // multiples of kappa, of at most T numbers each.
  PenaltyProof prove(const Matrix& W, const Matrix& Z) override {
    constexpr double u = unit_roundoff;
    const double T = static_cast<double>(Z.rows());
    const double sums = static_cast<double>(W.size() + W.rows() + 8) * u;
    PenaltyProof proof;
    proof.value.value = value(W);
    proof.value.error = sums * proof.value.value;
    const Matrix z = Z / (2 * p_.lambda2);
    const double kappa = p_.lambda1 / (2 * p_.lambda2);
    const Matrix U = fuse_columns(z, kappa);
    double off = 0;  // squared length of the error of U
    for (Index j = 0; j < z.cols(); ++j) {
      const double largest = z.col(j).cwiseAbs().maxCoeff();
      const double pull = std::min(kappa, z.col(j).maxCoeff() - z.col(j).minCoeff());
      const double here = 4 * (T + 8) * u * (largest + T * pull);
      off += T * here * here;
    }
    const double shared = p_.lambda2 * U.squaredNorm();
    const double own = Z.squaredNorm() / (4 * p_.lambda3);
    proof.conjugate = {shared + own, change_of_square(shared, std::sqrt(p_.lambda2 * off)) +
                                         sums * (shared + own)};
    proof.reach = 1 / (4 * p_.lambda2) + 1 / (4 * p_.lambda3);
    proof.W_reach = p_.lambda3;
    return proof;
  }

  // The best U for W.
  Matrix shared(const Matrix& W) const { return fuse(W, 2 * p_.lambda3, p_.lambda1, p_.lambda2); }

 private:
  // (*)
  static Matrix fuse(const Matrix& x, double a, double l1, double l2) {
    return fuse_columns(a / (a + 2 * l2) * x, l1 / (a + 2 * l2));
  }

  static Matrix fuse_columns(const Matrix& Z, double kappa) {
    Matrix U(Z.rows(), Z.cols());
    for (Index j = 0; j < Z.cols(); ++j) U.col(j) = fuse_scalars(Vector(Z.col(j)), kappa).x;
    return U;
  }

  FlexclusParameters p_;
};

void check(const FlexclusParameters& p) {
  if (!(p.lambda1 >= 0) || !std::isfinite(p.lambda1))
    throw InputError(fmt::format("flexclus: lambda1 is {}, but must be >= 0.", p.lambda1));
  for (const auto& [name, value] :
       {std::pair{"lambda2", p.lambda2}, std::pair{"lambda3", p.lambda3}})
    if (!(value > 0) || !std::isfinite(value))
      throw InputError(fmt::format("flexclus: {} is {}, but must be > 0.", name, value));
}

// Tasks whose shared parts are equal in more than half of the features, and all that such pairs connect. Of two pairs with a common task,
// some feature then has all three equal: a chain of tasks is never without a common ground.
Groups clusters_from(const Matrix& U) {
  const TaskGraph graph = complete_graph(U.rows());
  std::vector<bool> joined;
  for (const Edge& edge : graph)
    joined.push_back(2 * (U.row(edge.t).array() == U.row(edge.s).array()).count() > U.cols());
  return connected_parts(U.rows(), graph, joined);
}

}  // namespace

LinearFit fit_flexclus(const LinearProblem& problem, const FlexclusParameters& parameters,
                       const LinearSettings& settings, const LinearStart& start,
                       const ProgressCallback& progress) {
  check(parameters);
  FlexclusPenalty penalty(parameters);
  LinearFit fit = minimise(problem, penalty, settings, start, progress);
  fit.shared = penalty.shared(fit.W);
  fit.clusters = clusters_from(fit.shared);
  return fit;
}

}  // namespace coterie
