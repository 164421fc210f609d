// The bounds of rounding against 113 bits of mantissa: objective and dual value of fits by all linear methods, from their definitions in
// docs/methods.md, by plain loops that share nothing with the solver or with the checker of models.
#include "coterie/baseline/linear_proof.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "coterie/baseline/clustered_linear.hpp"
#include "coterie/baseline/cmtl.hpp"
#include "coterie/baseline/coclus.hpp"
#include "coterie/baseline/flexclus.hpp"
#include "coterie/baseline/metag.hpp"
#include "coterie/baseline/ridge.hpp"
#include "coterie/baseline/whom.hpp"

namespace coterie {
namespace {

using Real = boost::multiprecision::cpp_bin_float_quad;
using Row = std::vector<Real>;
using Rows = std::vector<Row>;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

Rows exact(const Matrix& A) {
  Rows out(at(A.rows()), Row(at(A.cols())));
  for (Index i = 0; i < A.rows(); ++i)
    for (Index j = 0; j < A.cols(); ++j) out[at(i)][at(j)] = A(i, j);
  return out;
}

Real dot(const Row& a, const Row& b) {
  Real sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

Real squares(const Rows& A) {
  Real sum = 0;
  for (const Row& a : A) sum += dot(a, a);
  return sum;
}

Rows mean_rows(const Rows& A) {
  Row mean(A.front().size(), 0);
  for (const Row& a : A)
    for (std::size_t k = 0; k < a.size(); ++k) mean[k] += a[k] / Real(A.size());
  return Rows(A.size(), mean);
}

Rows minus(Rows A, const Rows& B) {
  for (std::size_t i = 0; i < A.size(); ++i)
    for (std::size_t k = 0; k < A[i].size(); ++k) A[i][k] -= B[i][k];
  return A;
}

// Rows turned until they are orthogonal: sigma_i v_i, descending, with the rows u_i of the turns.
struct Svd4 {
  Row sigma;
  Rows u, v;
};
Svd4 decompose(Rows A) {
  const std::size_t T = A.size();
  Rows turns(T, Row(T, 0));
  for (std::size_t i = 0; i < T; ++i) turns[i][i] = 1;
  const Real nothing = 1e-60 * squares(A);
  for (bool turned = true; turned;) {
    turned = false;
    for (std::size_t p = 0; p < T; ++p)
      for (std::size_t q = p + 1; q < T; ++q) {
        const Real a = dot(A[p], A[p]), b = dot(A[q], A[q]), c = dot(A[p], A[q]);
        if (c * c <= 1e-62 * a * b || a <= nothing || b <= nothing) continue;
        turned = true;
        const Real zeta = (b - a) / (2 * c);
        const Real tangent = (zeta < 0 ? -1 : 1) / (abs(zeta) + sqrt(1 + zeta * zeta));
        const Real cosine = 1 / sqrt(1 + tangent * tangent), sine = cosine * tangent;
        for (Rows* B : {&A, &turns})
          for (std::size_t k = 0; k < (*B)[p].size(); ++k) {
            const Real x = (*B)[p][k], y = (*B)[q][k];
            (*B)[p][k] = cosine * x - sine * y;
            (*B)[q][k] = sine * x + cosine * y;
          }
      }
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < T; ++i) order.push_back(i);
  std::ranges::stable_sort(order,
                           [&](auto i, auto j) { return dot(A[i], A[i]) > dot(A[j], A[j]); });
  Svd4 out;
  for (const std::size_t i : order) {
    out.sigma.push_back(sqrt(dot(A[i], A[i])));
    out.u.push_back(turns[i]);
    out.v.push_back(A[i]);
    if (out.sigma.back() > 0)
      for (Real& x : out.v.back()) x /= out.sigma.back();
  }
  return out;
}

struct Values {
  Real primal = 0, dual = 0;
};

// The losses' part of both values, and Z.
Values losses_of(const LinearProblem& problem, const Matrix& W, const Vector& b, Rows& Z) {
  Values out;
  const Rows weights = exact(W);
  Z.assign(weights.size(), Row(at(W.cols()), 0));
  for (std::size_t t = 0; t < weights.size(); ++t) {
    const Rows x = exact(problem.X[t]);
    const Vector& y = problem.y[t];
    Row s;
    Real side[2] = {0, 0}, total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Index k = static_cast<Index>(i);
      const Real c = problem.c[t][k];
      const Real m = y[k] * (dot(weights[t], x[i]) + b[static_cast<Index>(t)]);
      Real pull = 1 - m;
      if (problem.loss == Loss::squared_hinge && pull < 0) pull = 0;
      if (problem.loss == Loss::logistic) {
        pull = 1 / (1 + exp(m));
        out.primal += c * (m < -40 ? -m + exp(m) : log1p(exp(-m)));
      } else {
        out.primal += c * pull * pull / 2;
      }
      side[y[k] > 0] += c * pull;
      total += c;
      s.push_back(pull);
    }
    const Real less = side[0] < side[1] ? side[0] : side[1];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Index k = static_cast<Index>(i);
      const Real c = problem.c[t][k], own = side[y[k] > 0];
      if (problem.loss == Loss::square)
        s[i] -= y[k] * (side[1] - side[0]) / total;
      else if (own > less)
        s[i] *= less / own;
      if (problem.loss == Loss::logistic)
        out.dual -= c * ((s[i] > 0 ? s[i] * log(s[i]) : Real(0)) + (1 - s[i]) * log1p(-s[i]));
      else
        out.dual -= c * (s[i] * s[i] / 2 - s[i]);
      for (std::size_t j = 0; j < x[i].size(); ++j) Z[t][j] += c * s[i] * y[k] * x[i][j];
    }
  }
  return out;
}

// ---- The penalties -----------------------------------------------------------------------------------------------------------------

Values cmtl_values(const CmtlParameters& p, const Rows& W, const Rows& Z) {
  const Real alpha = 1 / Real(p.within), beta = 1 / Real(p.between);
  const int free = static_cast<int>(std::min<Index>(p.clusters, std::ssize(W))) - p.centred;
  Row sigma = decompose(p.centred ? minus(W, mean_rows(W)) : W).sigma;
  Row zeta = decompose(p.centred ? minus(Z, mean_rows(Z)) : Z).sigma;
  Values out;
  if (p.centred) {
    sigma.pop_back();
    zeta.pop_back();
    out.primal = p.mean * squares(mean_rows(W));
    out.dual = squares(mean_rows(Z)) / (4 * Real(p.mean));
  }
  const Real budget = (Real(sigma.size()) - free) * alpha + free * beta;
  const auto weight = [&](const Real& s, const Real& kappa) {
    const Real l = kappa * s;
    return l < alpha ? alpha : l > beta ? beta : l;
  };
  if (!sigma.empty() && sigma[0] > 0) {
    Real low = alpha / sigma[0] / 2, high = beta / sigma[0] * 1e40;
    for (int k = 0; k < 400; ++k) {
      const Real middle = k < 150 ? sqrt(low * high) : Real((low + high) / 2);
      Real sum = 0;
      for (const Real& s : sigma) sum += weight(s, middle);
      (sum <= budget * (1 + Real(1e-33)) ? low : high) = middle;
    }
    for (const Real& s : sigma) out.primal += s * s / weight(s, low);
  }
  for (std::size_t i = 0; i < zeta.size(); ++i)
    out.dual += (static_cast<int>(i) < free ? beta : alpha) * zeta[i] * zeta[i] / 4;
  return {p.lambda * out.primal, out.dual / p.lambda};
}

Values whom_values(double lambda, const Groups& groups, const Rows& W, const Rows& Z) {
  Values out;
  for (const std::vector<Index>& group : groups) {
    Rows W_g, Z_g;
    for (const Index t : group) {
      W_g.push_back(W[at(t)]);
      Z_g.push_back(Z[at(t)]);
    }
    Real trace = 0;
    for (const Real& sigma : decompose(W_g).sigma) trace += sigma;
    out.primal += lambda * trace * trace;
    const Real largest = decompose(Z_g).sigma.front();
    out.dual += largest * largest / (4 * Real(lambda));
  }
  return out;
}

Values flexclus_values(const FlexclusParameters& p, const Rows& W, const Rows& U, const Rows& Z) {
  const std::size_t T = W.size();
  const Real l1 = p.lambda1, l2 = p.lambda2, l3 = p.lambda3;
  Values out;
  out.dual = squares(Z) / (4 * l3);
  for (std::size_t j = 0; j < W[0].size(); ++j) {
    Row z;
    for (std::size_t t = 0; t < T; ++t) {
      out.primal += l2 * U[t][j] * U[t][j] + l3 * (W[t][j] - U[t][j]) * (W[t][j] - U[t][j]);
      for (std::size_t s = 0; s < t; ++s) out.primal += l1 * abs(U[s][j] - U[t][j]);
      z.push_back(Z[t][j] / (2 * l2));
    }
    std::ranges::sort(z);
    for (std::size_t i = 0; i < T; ++i) z[i] -= l1 / (2 * l2) * (2 * Real(i) + 1 - Real(T));
    for (std::size_t i = 0; i < T;
         ++i) {  // isotonic regression: max over a <= i of the min over b >= i of means
      Real x = 0;
      for (std::size_t a = 0; a <= i; ++a) {
        Real least = 0, sum = 0;
        for (std::size_t b = a; b < T; ++b) {
          sum += z[b];
          const Real mean = sum / Real(b + 1 - a);
          if (b == i || (b > i && mean < least)) least = mean;
        }
        if (a == 0 || least > x) x = least;
      }
      out.dual += l2 * x * x;
    }
  }
  return out;
}

Values metag_values(const MetagParameters& p, const Rows& W, const Rows& Z, const Rows& nu) {
  Values out;
  Rows left = Z;
  std::size_t pair = 0;
  for (std::size_t s = 0; s < W.size(); ++s)
    for (std::size_t t = s + 1; t < W.size(); ++t, ++pair) {
      Row apart = W[s];
      for (std::size_t k = 0; k < apart.size(); ++k) {
        apart[k] -= W[t][k];
        left[s][k] -= nu[pair][k];
        left[t][k] += nu[pair][k];
      }
      out.primal += p.lambda * sqrt(dot(apart, apart));
      EXPECT_LE(dot(nu[pair], nu[pair]), Real(p.lambda) * p.lambda);
    }
  out.primal += Real(p.ridge) / 2 * squares(W);
  out.dual = squares(left) / (2 * Real(p.ridge));
  return out;
}

Values coclus_values(const CoclusParameters& p, const Rows& W, const Rows& P, const Rows& Z) {
  const Rows Q = minus(W, P);
  const std::size_t all = std::min(W.size(), W[0].size()), k = at(p.clusters);
  const Svd4 svd = decompose(Q);
  const Real l1 = p.lambda1, l2 = p.lambda2, ridge = p.ridge;
  Values out;
  out.primal = l1 * squares(minus(P, mean_rows(P))) + ridge / 2 * (squares(P) + squares(Q));
  Real by_tasks = 0, by_features = 0;
  for (std::size_t i = 0; i < all; ++i) {
    if (i >= k) out.primal += l2 * svd.sigma[i] * svd.sigma[i];
    if (i >= k) continue;
    for (std::size_t j = 0; j < Z[0].size(); ++j) {
      Real along = 0;
      for (std::size_t t = 0; t < Z.size(); ++t) along += svd.u[i][t] * Z[t][j];
      by_tasks += along * along;
    }
    for (const Row& z : Z) by_features += dot(svd.v[i], z) * dot(svd.v[i], z);
  }
  Real h = by_tasks > by_features ? by_tasks : by_features;
  if (k >= all) h = squares(Z);
  const Rows mean = mean_rows(Z);
  out.dual = squares(minus(Z, mean)) / (4 * l1 + 2 * ridge) + squares(mean) / (2 * ridge) +
             (squares(Z) - h) / (4 * l2 + 2 * ridge) + h / (2 * ridge);
  return out;
}

// ---- Problems ----------------------------------------------------------------------------------------------------------------------

double power(Random& random, double low, double high) {
  return std::pow(10, random.uniform(low, high));
}

LinearProblem draw(Random& random, Loss loss, bool bad_scales) {
  ClusteredLinear kind;
  kind.T = 1 + random.below(6);
  kind.d = 1 + random.below(7);
  kind.samples = 4 + random.below(12);
  kind.loss = loss;
  LinearProblem problem = clustered_linear(random, kind);
  Vector scale = Vector::Ones(kind.d);
  if (bad_scales)
    for (double& s : scale) s = random.below(2) == 0 ? 1e5 : power(random, -5, 5);
  for (Matrix& X : problem.X) X = X * scale.asDiagonal();
  return problem;
}

// Features and weights as far off as the problem says they may be.
struct Nearby {
  LinearProblem problem;
  Matrix W;
};

Nearby nearby(const LinearProblem& problem, const Matrix& W, Random& random) {
  Nearby out{problem, W};
  if (problem.X_error.empty()) return out;
  for (Index t = 0; t < problem.T(); ++t) {
    for (Index i = 0; i < problem.X[t].rows(); ++i) {
      const Matrix e = random_matrix(random, 1, problem.d());
      out.problem.X[t].row(i) += problem.X_error[t][i] / e.norm() * e;
    }
    const Vector off = problem.W_error * W.row(t).cwiseAbs().transpose();
    for (Index k = 0; k < W.cols(); ++k) out.W(t, k) += random.below(2) == 0 ? off[k] : -off[k];
  }
  return out;
}

struct Case {
  LinearFit fit;
  Values exact;  // the penalty's part: R(W), R*(Z)
  Nearby at{};   // there
};

Case solve(const std::string& method, const LinearProblem& problem, const LinearSettings& settings,
           Random& random, Rows& Z) {
  const double low = -6, high = 6;
  Case out;
  const auto weights = [&] {
    out.at = nearby(problem, out.fit.W, random);
    losses_of(out.at.problem, out.at.W, out.fit.b, Z);
    return exact(out.at.W);
  };
  if (method == "cmtl") {
    CmtlParameters p{.lambda = power(random, low, high), .clusters = 1 + random.below(3)};
    p.centred = random.below(3) > 0;
    p.mean = power(random, -2, 2);
    p.within = power(random, 0, random.below(2) == 0 ? 2 : 8);
    out.fit = fit_cmtl(problem, p, settings);
    const Rows W = weights();
    out.exact = cmtl_values(p, W, Z);
  } else if (method == "whom") {
    const WhomParameters p{power(random, low, high), 1 + random.below(3), 1, 1};
    out.fit = fit_whom(problem, p, settings);
    const Rows W = weights();
    out.exact = whom_values(p.lambda, out.fit.clusters, W, Z);
  } else if (method == "flexclus") {
    const FlexclusParameters p{power(random, low, high), power(random, low, high),
                               power(random, low, high)};
    out.fit = fit_flexclus(problem, p, settings);
    const Rows W = weights();
    out.exact = flexclus_values(p, W, exact(out.fit.shared), Z);
  } else if (method == "metag") {
    const MetagParameters p{power(random, low, 2), power(random, low, high), 1, 2};
    out.fit = fit_metag(problem, p, settings);
    const Rows W = weights();
    out.exact = metag_values(p, W, Z, exact(out.fit.nu));
  } else {
    const CoclusParameters p{random.below(4), power(random, low, 2), power(random, low, 2),
                             power(random, low, high), 1};
    out.fit = fit_coclus(problem, p, settings);
    const Rows W = weights();
    out.exact = coclus_values(p, W, exact(out.fit.shared), Z);
  }
  return out;
}

const char* const methods[] = {"cmtl", "whom", "flexclus", "metag", "coclus"};

TEST(LinearProof, BoundsHoldInHigherPrecision) {
  Random random(20);
  std::map<Status, int> ended;
  int cases = 0, small = 0;
  double largest_share = 0;  // of its bound that an error took
  for (int round = 0; round < 24; ++round)
    for (const char* method : methods)
      for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square}) {
        const LinearProblem problem = draw(random, loss, round % 3 == 0);
        LinearSettings settings;
        settings.gap_tolerance = std::pow(10, -2 - 3 * static_cast<double>(random.below(5)));
        settings.max_steps = random.below(3) == 0 ? random.below(3) : 4;  // bounds hold anywhere
        settings.threads = 1;
        Rows Z;
        const auto [fit, charge, place] = solve(method, problem, settings, random, Z);
        Rows unused;
        const Values losses = losses_of(place.problem, place.W, fit.b, unused);
        const Real primal = losses.primal + charge.primal, dual = losses.dual - charge.dual;
        const Real error = abs(Real(fit.gap) * fit.primal - (primal - dual));
        const double allowed = fit.bound * fit.primal * (1 + 1e-12);
        const std::string what =
            std::string(method) + " " + to_string(loss) + " round " + std::to_string(round);
        EXPECT_LE(static_cast<double>(error), allowed) << what;
        EXPECT_LE(static_cast<double>(abs(primal - fit.primal)), allowed) << what;
        if (std::string(method) != "coclus") {
          EXPECT_LE(static_cast<double>(abs(dual - fit.dual)), allowed) << what;
        }
        if (allowed > 0)
          largest_share = std::max(largest_share, static_cast<double>(error) / allowed);
        if (fit.status == Status::converged) {
          EXPECT_LE(std::max(0.0, fit.gap) + fit.bound, settings.gap_tolerance) << what;
          EXPECT_LE(primal - dual, Real(settings.gap_tolerance) * primal * (1 + 1e-12)) << what;
        } else {
          EXPECT_FALSE(std::max(0.0, fit.gap) + fit.bound <= settings.gap_tolerance) << what;
        }
        EXPECT_GE(primal - dual, -Real(1e-25) * primal) << what;  // weak duality, whatever the fit
        ++ended[fit.status];
        ++cases;
        small += fit.bound <= 1e-9;
      }
  EXPECT_EQ(cases, 360);
  RecordProperty("largest_share", std::to_string(largest_share));
  std::printf(
      "converged %d, step_limit %d, stalled %d, precision %d; bound <= 1e-9 in %d; "
      "largest error / bound %.3g\n",
      ended[Status::converged], ended[Status::step_limit], ended[Status::stalled],
      ended[Status::precision], small, largest_share);
  EXPECT_GE(small, 250);           // the bounds are of use
  EXPECT_GE(largest_share, 1e-3);  // and not arbitrary
  EXPECT_GE(ended[Status::converged], 150);
}

// Features and weights that are known to within something, as those that stand for kernels.
TEST(LinearProof, BoundsHoldWhereFeaturesAreOff) {
  Random random(21);
  double largest_share = 0;
  for (int round = 0; round < 20; ++round)
    for (const char* method : methods)
      for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square}) {
        LinearProblem problem = draw(random, loss, round % 3 == 0);
        const double size = power(random, -12, -4);
        for (const Matrix& X : problem.X) problem.X_error.emplace_back(size * X.rowwise().norm());
        problem.W_error = size * random_matrix(random, problem.d(), problem.d()).cwiseAbs();
        Rows Z, unused;
        const auto [fit, charge, place] =
            solve(method, problem, {.max_steps = 4, .threads = 1}, random, Z);
        const Values losses = losses_of(place.problem, place.W, fit.b, unused);
        const Real primal = losses.primal + charge.primal, dual = losses.dual - charge.dual;
        const double allowed = fit.bound * fit.primal * (1 + 1e-12);
        const double error = static_cast<double>(abs(Real(fit.gap) * fit.primal - (primal - dual)));
        const std::string what =
            std::string(method) + " " + to_string(loss) + " round " + std::to_string(round);
        EXPECT_LE(error, allowed) << what;
        EXPECT_LE(static_cast<double>(abs(primal - fit.primal)), allowed) << what;
        largest_share = std::max(largest_share, error / allowed);
      }
  std::printf("largest error / bound %.3g\n", largest_share);
  EXPECT_GE(largest_share, 0.01);
}

// Bounds are a few hundred units in the last place for problems that are well scaled.
TEST(LinearProof, BoundsAreSmallForScaledFeatures) {
  Random random(3);
  for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square}) {
    const LinearProblem problem =
        clustered_linear(random, {.T = 6, .d = 8, .samples = 40, .loss = loss});
    EXPECT_LE(fit_cmtl(problem, {}, {}).bound, 1e-12);
    EXPECT_LE(fit_whom(problem, {.restarts = 1}, {}).bound, 1e-12);
    EXPECT_LE(fit_flexclus(problem, {}, {}).bound, 1e-12);
    EXPECT_LE(fit_metag(problem, {}, {}).bound, 1e-12);
    EXPECT_LE(fit_coclus(problem, {}, {}).bound, 1e-10);
  }
}

// Where doubles are too coarse, long double decides.
TEST(LinearProof, LongDoubleTakesOver) {
  const LinearProblem problem = draw(*std::make_unique<Random>(5), Loss::squared_hinge, false);
  RidgePenalty penalty(0.1);
  const LinearFit fit = minimise(problem, penalty, {.gap_tolerance = 1e-10});
  const auto at_Z = [&](const Matrix& Z) { return penalty.prove(fit.W, Z); };
  const LinearProof rounded = prove_linear(problem, at_Z, fit.W, fit.b, 1, 1);
  const LinearProof careful = prove_linear(problem, at_Z, fit.W, fit.b, 0, 1);
  EXPECT_FALSE(rounded.coarse());
  EXPECT_TRUE(careful.coarse());
  EXPECT_LT(careful.error, rounded.error / 2);
  EXPECT_LE(std::abs(careful.gap() - rounded.gap()), careful.error + rounded.error);
}

// The rule scales with the problem: an objective of 1e-8 is judged like one of 1.
TEST(LinearProof, TheGapIsRelativeToTheObjectiveHoweverSmall) {
  LinearProblem problem;
  Random random(4);
  for (Index t = 0; t < 3; ++t) {
    Matrix X = random_matrix(random, 12, 3);
    Vector y(12);
    for (Index i = 0; i < 12; ++i) {
      y[i] = i % 2 == 0 ? 1 : -1;
      X(i, 0) = 3 * y[i] + 0.1 * X(i, 0);
    }
    problem.X.push_back(X);
    problem.y.push_back(y);
    problem.c.push_back(Vector::Constant(12, 1.0 / 12));
  }
  for (const double lambda : {1e-3, 1e-6, 1e-8}) {
    const CmtlParameters p{.lambda = lambda};
    const LinearFit fit = fit_cmtl(problem, p, {.gap_tolerance = 1e-3});
    EXPECT_LT(fit.primal, 10 * lambda);
    EXPECT_GT(fit.primal, 0.01 * lambda);
    EXPECT_EQ(fit.status, Status::converged) << to_string(fit.status);
    EXPECT_LE(fit.primal - fit.dual, 1e-3 * fit.primal);
  }
  EXPECT_EQ(relative(0, 0), 0);
  EXPECT_TRUE(std::isinf(relative(1e-300, 0)));
}

}  // namespace
}  // namespace coterie
