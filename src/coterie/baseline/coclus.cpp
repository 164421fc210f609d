#include "coterie/baseline/coclus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "coterie/baseline/linear_proof.hpp"
#include "coterie/baseline/partition.hpp"
#include "coterie/math/anderson.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/math/kmeans.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {

namespace {

// The first k singular vectors of Q. When k is all there are, nothing of Q is penalised: U and V are whole.
struct KeptDirections {
  Matrix U, V;  // T x k, d x k
};

KeptDirections leading(const Matrix& Q, Index k) {
  const Index T = Q.rows(), d = Q.cols();
  if (k == 0) return {Matrix(T, 0), Matrix(d, 0)};
  if (k >= std::min(T, d)) return {Matrix::Identity(T, T), Matrix::Identity(d, d)};
  const Svd svd = svd_of(Q);
  return {svd.U.leftCols(k), svd.V.leftCols(k)};
}

// ||U'Z||^2 for the first k of the directions, of r in all, of a matrix whose singular values are off by at most `off`, docs/methods.md (23).
// KeptDirections turn by off over the distance to the next singular value. Those of singular values that are hardly apart may be any in the
// space that they span, so that the sum lies between what the best and the worst of that space would give.
Rounded along_leading(const Eigen::MatrixXd& directions, const Vector& sigma, double off, Index k,
                      const Eigen::MatrixXd& Z) {
  const Index r = sigma.size();
  const double apart = 1e-6 * sigma[0];
  Index first = k,
        last = k;  // [first, last): the cluster that the border between k - 1 and k goes through
  if (sigma[k - 1] - sigma[k] <= apart) {
    for (first = k - 1; first > 0 && sigma[first - 1] - sigma[first] <= apart;) --first;
    for (last = k + 1; last < r && sigma[last - 1] - sigma[last] <= apart;) ++last;
  }
  const double all = Z.squaredNorm();
  const double value = product(directions.leftCols(k).transpose(), Z).squaredNorm();
  const auto turn = [&](Index border) {
    if (border == 0 || border == r) return 0.0;
    const double step = sigma[border - 1] - sigma[border];
    return step > 2 * off ? off / (step - off) : 1;
  };
  double error = 8 * static_cast<double>(Z.rows() + Z.cols()) * unit_roundoff * all;
  if (first == last) return {value, error + all * turn(k)};
  error += all * (turn(first) + turn(last));
  const Eigen::MatrixXd certain = directions.leftCols(first);
  const Eigen::MatrixXd cluster = directions.middleCols(first, last - first);
  const Matrix inside = product(certain.transpose(), Z);
  const bool open = last == r;  // to all that is orthogonal to the directions before
  const Index dimension = open ? Z.rows() - first : last - first;
  const Eigen::MatrixXd between =
      open ? Matrix(Z - product(certain, inside)) : product(cluster.transpose(), Z);
  Vector squares = Vector::Zero(std::max(dimension, std::min(between.rows(), between.cols())));
  const Vector lengths = singular_values(between);
  squares.head(lengths.size()) = lengths.cwiseAbs2();
  const Index chosen = k - first;
  const double most = inside.squaredNorm() + squares.head(chosen).sum();
  const double least = inside.squaredNorm() + squares.segment(dimension - chosen, chosen).sum();
  return {value, error + std::max({0.0, most - value, value - least})};
}

Matrix row_means(const Matrix& X) { return X.colwise().mean().replicate(X.rows(), 1); }

// A majorant of the penalty, or its tangent model, as a function of W alone,
//
//   R(W) = min_{P + Q = W} <P, A P> + <Q, B Q>,      A = lambda1 (I - 11'/T) + rho/2 I
//
// where B weighs the part of Q in the directions kept by rho/2 and the rest by lambda2 + rho/2. Hence with S = A^-1 + B^-1
//
//   R(W) = <W, S^-1 W>,    R*(Z) = 1/4 <Z, S Z>,    P = A^-1 S^-1 W.
//
// On the side of tasks B is a T x T matrix like A. On the side of features it is one number within V and another outside: S is one
// T x T matrix for W V V', another for the rest. On both sides at once Q is free wherever either direction is kept:
//
//   ||(I - UU') Q' (I - VV')||^2   is   sum_{i>k} sigma_i(Q')^2   at Q' = Q, with its slope, but below either majorant:
//
// this model lets directions turn on both sides. It is no majorant, so its steps are tried before they are taken.
class PenaltyModel final : public Penalty {
 public:
  enum class Side { tasks, features, both };

  PenaltyModel(const CoclusParameters& parameters, const KeptDirections& kept, Side side, Index T)
      : inverse_centred_(1 / (parameters.lambda1 + parameters.ridge / 2)),
        inverse_free_(2 / parameters.ridge) {
    const double inverse_rest = 1 / (parameters.lambda2 + parameters.ridge / 2);
    const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(T, T);
    const Eigen::MatrixXd A = inverse_A(I);
    Eigen::MatrixXd outside = A + inverse_rest * I;
    if (side != Side::features)
      outside += (inverse_free_ - inverse_rest) * product(kept.U, kept.U.transpose());
    outside_ = spectrum_of(outside);
    if (side == Side::tasks) return;
    V_ = kept.V;
    inside_ = spectrum_of(A + inverse_free_ * I);
  }

  double value(const Matrix& W) override { return W.cwiseProduct(S_inverse(W)).sum(); }
  Matrix prox(const Matrix& Z, double step, double) override {
    return map(Z, [step](double s) { return s / (s + 2 * step); });
  }
  double conjugate(const Matrix& Z, double) override {
    return Z.cwiseProduct(map(Z, [](double s) { return s; })).sum() / 4;
  }
  // Eigenvalues of S are off by a multiple of the largest, and so are the directions kept from orthonormal.
  PenaltyProof prove(const Matrix& W, const Matrix& Z) override {
    const double roundings = 64 * static_cast<double>(W.rows() + W.cols()) * unit_roundoff;
    const double least = outside_.values[0], largest = largest_of_S();
    const double spread = largest / least;
    return {{value(W), roundings * spread * W.squaredNorm() / least},
            {conjugate(Z, 0), roundings * largest * Z.squaredNorm()},
            (1 + roundings) * largest / 4,
            1 / least};
  }
  std::optional<Spread> quadratic() const override {
    return Spread{2 / largest_of_S(), 2 / outside_.values[0]};
  }
  Matrix gradient(const Matrix& W) const override { return 2 * S_inverse(W); }
  Matrix P(const Matrix& W) const { return inverse_A(S_inverse(W)); }

 private:
  double largest_of_S() const {
    const double outside = outside_.values[outside_.values.size() - 1];
    return V_.size() > 0 ? std::max(outside, inside_.values[inside_.values.size() - 1]) : outside;
  }
  Matrix inverse_A(const Matrix& X) const {
    return inverse_centred_ * X + (inverse_free_ - inverse_centred_) * row_means(X);
  }
  Matrix S_inverse(const Matrix& W) const {
    return map(W, [](double s) { return 1 / s; });
  }

  // f(S) X, with f acting on the eigenvalues
  Matrix map(const Matrix& X, const std::function<double(double)>& f) const {
    const auto by = [&](const Spectrum& S, const Matrix& part) {
      return spectral_product(S.vectors, S.values.unaryExpr(f), part);
    };
    if (V_.size() == 0) return by(outside_, X);
    const Matrix inside = product(X, V_);
    return by(outside_, X - product(inside, V_.transpose())) +
           product(by(inside_, inside), V_.transpose());
  }

  double inverse_centred_, inverse_free_;  // eigenvalues of A^-1
  Matrix V_;                               // empty: all is outside
  Spectrum outside_, inside_;              // of S
};
using Side = PenaltyModel::Side;

struct CoclusPoint {
  Matrix W, P, Q;  // Q = W - P
  Vector b;
  KeptDirections kept{};
  double F = 0, gap = 0;    // gap relative to F
  Side side = Side::tasks;  // of the majorant that goes further down
};

class Descent {
 public:
  Descent(const LinearProblem& problem, const CoclusParameters& parameters,
          const LinearSettings& settings, const ProgressCallback& progress, Index parts)
      : problem_(problem), parameters_(parameters), settings_(settings), progress_(progress) {
    last_.parts = parts;
  }

  bool stopped = false;  // within a convex problem

  // Whether to go on, and what to say of it.
  bool report(const Progress& now) {
    last_ = now;
    stopped = stopped || (progress_ && !progress_(now));
    return !stopped;
  }

  // The optimum when `k` directions of Q are free, k = 0 or all of them.
  CoclusPoint end(Index k) {
    CoclusParameters convex = parameters_;
    convex.clusters = k;
    PenaltyModel penalty(convex, leading(Matrix::Zero(problem_.T(), problem_.d()), k), Side::tasks,
                         problem_.T());
    const LinearFit fit =
        minimise(problem_, penalty, rough(std::max(1e-2, settings_.gap_tolerance)), {}, poll());
    return at(fit.W, penalty.P(fit.W), fit.b);
  }

  CoclusPoint at(Matrix W, Matrix P, Vector b) const {
    const auto [k, lambda1, lambda2, ridge, seed] = parameters_;
    CoclusPoint point{.W = std::move(W), .P = std::move(P), .Q = {}, .b = std::move(b)};
    point.Q = point.W - point.P;
    point.kept = leading(point.Q, k);
    const auto& [U, V] = point.kept;
    const Matrix rest = point.Q - product(U, product(U.transpose(), point.Q));
    point.F = task_losses(problem_, point.W, point.b, settings_.threads).sum() +
              lambda1 * (point.P - row_means(point.P)).squaredNorm() +
              lambda2 * rest.squaredNorm() +
              ridge / 2 * (point.P.squaredNorm() + point.Q.squaredNorm());

    const DualPoint dual = dual_point(problem_, point.W, point.b, settings_.threads);
    const Matrix mean = row_means(dual.Z);
    const double hU = product(U.transpose(), dual.Z).squaredNorm();
    const double hV = product(dual.Z, V).squaredNorm();
    const double h = std::max(hU, hV);
    const double bound = dual.losses - (dual.Z - mean).squaredNorm() / (4 * lambda1 + 2 * ridge) -
                         mean.squaredNorm() / (2 * ridge) -
                         (dual.Z.squaredNorm() - h) / (4 * lambda2 + 2 * ridge) - h / (2 * ridge);
    point.gap = relative(std::max(0.0, point.F - bound), point.F);
    point.side = hU >= hV ? Side::tasks : Side::features;
    return point;
  }

  LinearProof prove(const CoclusPoint& point) const {
    return prove_linear(
        problem_,
        [&](const Matrix& Z) {
          return prove_penalty(point.P, point.Q, weight_error(problem_, point.W), Z);
        },
        point.W, point.b, settings_.gap_tolerance, settings_.threads);
  }

  // To where the tangent model is lower, if F falls by a tenth of that at least, or part of the way. Majorants would turn the directions
  // by rho / lambda2 only. Else majorise, minimise: the convex problem is solved to a tenth of the gap, so that each step takes nine
  // tenths of what it can take.
  CoclusPoint step(const CoclusPoint& point) {
    const double gap = std::max(point.gap, settings_.gap_tolerance / 2);
    if (!is_convex()) {
      LinearSettings few = rough(gap / 10);
      few.max_steps = std::min<Index>(few.max_steps, 4);  // the model is soon out of date
      PenaltyModel model(parameters_, point.kept, Side::both, problem_.T());
      const LinearFit fit = minimise(problem_, model, few, {.W = point.W, .b = point.b}, poll());
      const Matrix P = model.P(fit.W);
      for (double share = 1; share > 0.1 && !stopped; share /= 2) {
        const Matrix W = point.W + share * (fit.W - point.W);
        CoclusPoint next = at(W, point.P + share * (P - point.P),
                              best_biases(problem_, W, fit.b, settings_.threads));
        const double fall = point.F - next.F;
        if (fall > 0 && fall >= 0.1 * share * (point.F - fit.primal)) return next;
      }
    }
    PenaltyModel majorant(parameters_, point.kept, point.side, problem_.T());
    const LinearFit fit =
        minimise(problem_, majorant, rough(gap / 10), {.W = point.W, .b = point.b}, poll());
    return at(fit.W, majorant.P(fit.W), fit.b);
  }

  // A step from `point` led to `next`. The point that Anderson's acceleration sees from such steps is taken if it is lower.
  CoclusPoint beyond(const CoclusPoint& point, CoclusPoint next, Anderson& anderson) const {
    const Index d = problem_.d();
    const auto joined = [d](const CoclusPoint& x) {
      Matrix both(x.W.rows(), 2 * d);
      both << x.W, x.P;
      return both;
    };
    const Matrix far = anderson.next(joined(point), joined(next)), W = far.leftCols(d);
    const CoclusPoint faster =
        at(W, far.rightCols(d), best_biases(problem_, W, next.b, settings_.threads));
    return faster.F < next.F ? faster : next;
  }

 private:
  bool is_convex() const {
    return parameters_.clusters == 0 ||
           parameters_.clusters >= std::min(problem_.T(), problem_.d());
  }

  LinearSettings rough(double gap_tolerance) const {
    LinearSettings settings = settings_;
    settings.gap_tolerance = gap_tolerance;
    settings.bounded = false;
    settings.max_steps =
        std::min<Index>(settings.max_steps, 30);  // more are taken by rounding only
    return settings;
  }

  // The penalty at (P, Q), and the conjugate of the majorant that goes further down, with their rounding. Both conjugates are squares of
  // norms, at most ||Z||^2 / rho. Q is off by Q_off.
  PenaltyProof prove_penalty(const Matrix& P, const Matrix& Q, double Q_off,
                             const Matrix& Z) const {
    constexpr double u = unit_roundoff;
    const auto [k, lambda1, lambda2, ridge, seed] = parameters_;
    const Index T = Q.rows(), d = Q.cols(), all = std::min(T, d);
    const double sums = static_cast<double>(T * d + 8) * u;
    const double means = static_cast<double>(2 * T + 8) * u;  // of A and its means, per ||A||
    PenaltyProof proof;
    const auto add = [](Rounded& to, double factor, double squares, double off, double rounding) {
      to.value += factor * squares;
      to.error += factor * (change_of_square(squares, off) + rounding * squares);
    };
    const double P_size = P.squaredNorm(), Q_size = Q.squaredNorm(), Z_size = Z.squaredNorm();
    const Matrix Z_mean = row_means(Z);
    add(proof.value, lambda1, (P - row_means(P)).squaredNorm(), means * std::sqrt(P_size), sums);
    add(proof.value, ridge / 2, P_size, 0, sums);
    add(proof.value, ridge / 2, Q_size, u * std::sqrt(Q_size), sums);
    add(proof.conjugate, 1 / (4 * lambda1 + 2 * ridge), (Z - Z_mean).squaredNorm(),
        means * std::sqrt(Z_size), sums);
    add(proof.conjugate, 1 / (2 * ridge), Z_mean.squaredNorm(), means * std::sqrt(Z_size), sums);

    Rounded inside{k > 0 ? Z_size : 0, 0};  // h
    double outside = 0, outside_off = 0;    // sum_{i>k} sigma_i(Q)^2
    if (k == 0) outside = Q_size;
    if (k > 0 && k < all) {
      const Svd svd = svd_of(Q);
      const double off =
          error_of_singular_values(T, d, std::sqrt(Q_size)) + u * std::sqrt(Q_size) + Q_off;
      const Rounded by_tasks = along_leading(svd.U, svd.sigma, off, k, Z);
      const Rounded by_features = along_leading(svd.V, svd.sigma, off, k, Z.transpose());
      inside = {std::max(by_tasks.value, by_features.value),
                std::max(by_tasks.error, by_features.error)};
      outside = svd.sigma.tail(all - k).squaredNorm();
      outside_off = std::sqrt(static_cast<double>(all - k)) * off;
    } else if (k == 0) {
      outside_off = u * std::sqrt(Q_size);
    }
    add(proof.value, lambda2, outside, outside_off, sums);
    const double rest = 1 / (4 * lambda2 + 2 * ridge), free = 1 / (2 * ridge);
    proof.conjugate.value += rest * std::max(0.0, Z_size - inside.value) + free * inside.value;
    proof.conjugate.error += (free - rest) * inside.error + sums * free * Z_size;
    proof.conjugate.error += 8 * u * proof.conjugate.value;
    proof.value.error += 8 * u * proof.value.value;
    proof.reach = 1 / ridge;
    proof.W_reach = lambda2 + ridge / 2;
    return proof;
  }

  // Of a convex problem, which has nothing new to tell.
  ProgressCallback poll() {
    return [this](const Progress&) { return report(last_); };
  }

  const LinearProblem& problem_;
  const CoclusParameters& parameters_;
  const LinearSettings& settings_;
  const ProgressCallback& progress_;
  Progress last_{.primal = std::numeric_limits<double>::infinity()};
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

// Where a descent ended.
struct Landing {
  CoclusPoint point;
  Status status = Status::converged;
  Index steps = 0;
};

Landing descend(Descent& descent, CoclusPoint now, const LinearSettings& settings, Index part,
                Index parts) {
  Status status = Status::converged;
  Index step = 0;
  Anderson anderson(5);
  for (int misled = 0;; ++step) {
    if (!descent.report({.outer_step = step,
                         .primal = now.F,
                         .dual = -std::numeric_limits<double>::infinity(),
                         .gap = now.gap,
                         .part = part,
                         .parts = parts}))
      return {std::move(now), Status::stopped, step};
    if (now.gap <= settings.gap_tolerance) {
      const LinearProof proof = descent.prove(now);
      const double target = settings.gap_tolerance * proof.primal;
      if (proof.shows(target)) break;
      status = Status::stalled;
      if (++misled > 3 || !(proof.error < target)) break;
    }
    if (step == settings.max_steps) return {std::move(now), Status::step_limit, step};
    CoclusPoint next = descent.step(now);
    if (!(next.F < now.F))  // rounding
      return {std::move(now), descent.stopped ? Status::stopped : Status::stalled, step};
    now = descent.beyond(now, std::move(next), anderson);
    status = Status::converged;
  }
  return {std::move(now), status, step};
}

void state_proof(const LinearProof& proof, double tolerance, LinearFit& fit) {
  fit.primal = proof.primal;
  fit.gap = relative(proof.gap(), proof.primal);
  fit.bound = relative(proof.error, proof.primal);
  fit.coarseness = proof.coarseness;
  fit.task_objective = proof.task_objective;
  if (fit.status != Status::stopped && proof.shows(tolerance * proof.primal))
    fit.status = Status::converged;
  else if (fit.status == Status::stalled && proof.coarse())
    fit.status = Status::precision;
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
  const bool given = start.W.size() > 0;
  const Index all = std::min(problem.T(), problem.d());
  const bool convex = parameters.clusters == 0 || parameters.clusters >= all;
  const Index descents = given || convex ? 1 : 2;
  Descent descent(problem, parameters, settings, progress, descents);

  LinearFit fit;
  CoclusPoint best;
  double lowest = std::numeric_limits<double>::infinity();
  fit.claim = Claim::stationary;
  fit.status = Status::converged;
  for (Index part = 0; part < descents && fit.status != Status::stopped; ++part) {
    const Matrix P = given && start.shared.size() == 0 ? row_means(start.W) : start.shared;
    Landing end =
        descend(descent, given ? descent.at(start.W, P, start.b) : descent.end(part == 0 ? 0 : all),
                settings, part, descents);
    fit.steps += end.steps;
    if (end.point.F < lowest) {
      lowest = end.point.F;
      best = std::move(end.point);
      fit.status = end.status;
    } else if (end.status == Status::stopped) {
      fit.status = end.status;
    }
  }
  state_proof(descent.prove(best), settings.gap_tolerance, fit);
  fit.W = std::move(best.W);
  fit.b = std::move(best.b);
  fit.shared = std::move(best.P);
  fit.clusters =
      groups_of(co_clusters(fit.W - fit.shared, parameters.clusters, parameters.seed).task);
  return fit;
}

}  // namespace coterie
