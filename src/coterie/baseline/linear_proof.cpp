#include "coterie/baseline/linear_proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

constexpr double kNegligible = 0.05;  // of the gap that is asked for

template <typename Real>
constexpr double roundoff = static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2;

std::size_t place(Index t) { return static_cast<std::size_t>(t); }

// Loss and pull at a margin that is off by at most e, (19).
template <typename Real>
struct LossAt {
  Real value = 0, pull = 0;
  double value_error = 0, pull_error = 0;
};

template <typename Real>
LossAt<Real> loss_at(Loss loss, Real m, double e) {
  constexpr double v = roundoff<Real>;
  LossAt<Real> out;
  if (loss == Loss::logistic) {  // exp and log1p are off by two units each at most
    const Real tail = std::exp(-std::abs(m));
    out.value = std::max<Real>(-m, 0) + std::log1p(tail);
    out.pull = m > 0 ? tail / (1 + tail) : 1 / (1 + tail);
    const double pull = static_cast<double>(out.pull);
    const double largest = e < 1 ? std::min(1.0, pull * (1 + 2 * e)) : 1;  // within e of the margin
    out.value_error = largest * e + 16 * v * static_cast<double>(out.value);
    out.pull_error = largest * e + 16 * v * pull;
    return out;
  }
  const Real left = 1 - m;
  const double off = e + 2 * v * static_cast<double>(std::abs(left));
  if (loss == Loss::squared_hinge && static_cast<double>(left) < -off) return out;
  out.pull = loss == Loss::squared_hinge ? std::max<Real>(0, left) : left;
  out.value = out.pull * out.pull / 2;
  const double size = static_cast<double>(std::abs(out.pull));
  out.pull_error = off;
  out.value_error = (size + off) * off + 2 * v * size * size;
  return out;
}

// phi*(-s) at a pull that is off by at most rho, (21).
template <typename Real>
struct ConjugateAt {
  Real value = 0;
  double error = 0;
};

template <typename Real>
ConjugateAt<Real> conjugate_at(Loss loss, Real s, double rho) {
  constexpr double v = roundoff<Real>;
  const double size = static_cast<double>(std::abs(s));
  if (loss != Loss::logistic)
    return {s * (s / 2 - 1),
            (static_cast<double>(std::abs(s - 1)) + rho) * rho + 4 * v * (size * size / 2 + size)};
  const Real one = s > 0 ? s * std::log(s) : 0;
  const Real other = s < 1 ? (1 - s) * std::log1p(-s) : 0;
  ConjugateAt<Real> out{one + other, 8 * v * static_cast<double>(-one - other)};
  // The slope is the logit. Near 0 and 1 it has no bound, but there the change is at most the entropy of the distance.
  const double rest = 1 - size;
  if (rho < size / 2 && rho < rest / 2) {
    out.error += rho * (std::abs(std::log(size / rest)) + 1.4);
  } else {
    const double far = std::min(3 * rho, 0.5);
    if (far > 0) out.error -= far * std::log(far) + (1 - far) * std::log1p(-far);
  }
  return out;
}

// Per feature, what the weights of a model may differ from w_t by.
Eigen::RowVectorXd weight_error(const LinearProblem& problem, const Matrix& W, Index t) {
  if (problem.W_error.size() == 0) return Eigen::RowVectorXd::Zero(W.cols());
  return W.row(t).cwiseAbs() * problem.W_error.transpose();
}

// What the losses of one task bring. Z and its error go to rows of their own.
struct TaskPart {
  double primal = 0, primal_error = 0;
  double dual = 0, dual_error = 0;
  double Z_error = 0;  // squared length of the error of z_t
};

// Pulls that balance, (20): from the heavier side, or for the square loss from all.
template <typename Real>
void balance(const LinearProblem& problem, Index t, std::vector<Real>& s,
             std::vector<double>& rho) {
  constexpr double v = roundoff<Real>;
  const Vector& y = problem.y[place(t)];
  const Vector& c = problem.c[place(t)];
  const double n = static_cast<double>(y.size());
  Real sum[2] = {0, 0};
  double size[2] = {0, 0}, off[2] = {0, 0}, all = 0;
  for (Index i = 0; i < y.size(); ++i) {
    const int side = y[i] > 0;
    sum[side] += c[i] * s[place(i)];
    size[side] += c[i] * static_cast<double>(std::abs(s[place(i)]));
    off[side] += c[i] * rho[place(i)];
    all += c[i];
  }
  for (const int side : {0, 1}) off[side] += (n + 4) * v * size[side];
  if (problem.loss == Loss::square) {
    Real total = 0;
    for (Index i = 0; i < y.size(); ++i) total += c[i];
    const Real mean = (sum[1] - sum[0]) / total;
    const double mean_error =
        (off[0] + off[1]) / all + (n + 4) * v * static_cast<double>(std::abs(mean));
    for (Index i = 0; i < y.size(); ++i) {
      rho[place(i)] +=
          mean_error + 2 * v * static_cast<double>(std::abs(s[place(i)]) + std::abs(mean));
      s[place(i)] -= mean * y[i];
    }
    return;
  }
  for (const int side : {0, 1}) {
    const Real own = sum[side], other = sum[1 - side];
    const Real factor = own > other ? other / own : 1;
    const double f = static_cast<double>(factor), weight = static_cast<double>(own);
    double f_error = 0;
    if (weight - static_cast<double>(other) > -(off[0] + off[1]))
      f_error =
          weight > 2 * off[side] ? std::min(1.0, 2 * (off[1 - side] + f * off[side]) / weight) : 1;
    for (Index i = 0; i < y.size(); ++i) {
      if ((y[i] > 0) != (side == 1)) continue;
      const double pull = static_cast<double>(s[place(i)]);
      rho[place(i)] = f * rho[place(i)] + (pull + rho[place(i)]) * f_error + 3 * v * f * pull;
      s[place(i)] *= factor;
    }
  }
}

template <typename Real>
TaskPart prove_task(const LinearProblem& problem, Index t, const Matrix& W, double b, Matrix& Z) {
  using Row = Eigen::Matrix<Real, 1, Eigen::Dynamic>;
  constexpr double v = roundoff<Real>;
  const Matrix& X = problem.X[place(t)];
  const Vector& y = problem.y[place(t)];
  const Vector& c = problem.c[place(t)];
  const double n = static_cast<double>(y.size()), d = static_cast<double>(X.cols());
  const Row w = W.row(t).template cast<Real>();
  const Eigen::RowVectorXd w_size = W.row(t).cwiseAbs(), w_off = weight_error(problem, W, t);
  const double w_length = w_size.norm() + w_off.norm();
  const Vector x_off =
      problem.X_error.empty() ? Vector(Vector::Zero(y.size())) : problem.X_error[place(t)];
  std::vector<Real> s(place(y.size()));
  std::vector<double> rho(s.size());
  TaskPart part;
  Real primal = 0, dual = 0;
  for (Index i = 0; i < y.size(); ++i) {
    const Real m = y[i] * (X.row(i).template cast<Real>().dot(w) + b);
    const double e = (d + 4) * v * (X.row(i).cwiseAbs().dot(w_size) + std::abs(b)) +  // (18)
                     X.row(i).cwiseAbs().dot(w_off) + x_off[i] * w_length;            // (24)
    const LossAt<Real> here = loss_at<Real>(problem.loss, m, e);
    primal += c[i] * here.value;
    part.primal_error += c[i] * here.value_error;
    s[place(i)] = here.pull;
    rho[place(i)] = here.pull_error;
  }
  part.primal = static_cast<double>(primal);
  part.primal_error += ((n + 4) * v + unit_roundoff) * part.primal;

  balance(problem, t, s, rho);
  Row z = Row::Zero(X.cols());
  Eigen::RowVectorXd z_error = Eigen::RowVectorXd::Zero(X.cols());
  double terms = 0, from_features = 0;
  for (Index i = 0; i < y.size(); ++i) {
    const ConjugateAt<Real> here = conjugate_at<Real>(problem.loss, s[place(i)], rho[place(i)]);
    dual -= c[i] * here.value;
    terms += c[i] * static_cast<double>(std::abs(here.value));
    part.dual_error += c[i] * here.error;
    const double pull = static_cast<double>(std::abs(s[place(i)]));
    z += (c[i] * s[place(i)] * y[i]) * X.row(i).template cast<Real>();
    z_error += (c[i] * (rho[place(i)] + (n + 4) * v * pull)) * X.row(i).cwiseAbs();
    from_features += c[i] * (pull + rho[place(i)]) * x_off[i];
  }
  part.dual = static_cast<double>(dual);
  part.dual_error += (n + 4) * v * terms + unit_roundoff * std::abs(part.dual);
  Z.row(t) = z.template cast<double>();
  part.Z_error =
      std::pow((z_error + unit_roundoff * Z.row(t).cwiseAbs()).norm() + from_features, 2);
  return part;
}

template <typename Real>
LinearProof prove_in(const LinearProblem& problem, const PenaltyAt& penalty, const Matrix& W,
                     const Vector& b, int threads) {
  const Index T = problem.T();
  Matrix Z(T, problem.d());
  std::vector<TaskPart> parts(place(T));
  parallel_for(T, threads,
               [&](Index t) { parts[place(t)] = prove_task<Real>(problem, t, W, b[t], Z); });
  LinearProof proof;
  proof.task_objective.resize(T);
  double losses = 0, dual = 0, terms = 0, Z_error = 0;
  for (Index t = 0; t < T; ++t) {  // in task order, whatever the threads
    const TaskPart& part = parts[place(t)];
    proof.task_objective[t] = part.primal;
    losses += part.primal;
    dual += part.dual;
    terms += part.primal + std::abs(part.dual);
    proof.error += part.primal_error + part.dual_error;
    Z_error += part.Z_error;
  }
  const PenaltyProof charge = penalty(Z);
  proof.primal = losses + charge.value.value;
  proof.dual = dual - charge.conjugate.value;
  const double W_off = weight_error(problem, W);
  proof.error += charge.value.error + charge.conjugate.error +
                 change_of_square(charge.value.value, std::sqrt(charge.W_reach) * W_off) +
                 charge.W_slope * W_off +
                 change_of_square(charge.conjugate.value, std::sqrt(charge.reach * Z_error)) +
                 static_cast<double>(T + 4) * unit_roundoff *
                     (terms + charge.value.value + std::abs(charge.conjugate.value));
  return proof;
}

}  // namespace

double weight_error(const LinearProblem& problem, const Matrix& W) {
  double squares = 0;
  for (Index t = 0; t < W.rows(); ++t) squares += weight_error(problem, W, t).squaredNorm();
  return std::sqrt(squares);
}

double relative(double amount, double primal) {
  if (primal > 0) return amount / primal;
  return amount == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), amount);
}

double error_of_singular_values(Index rows, Index columns, double norm) {
  return 4 * static_cast<double>(rows + columns + 4) * unit_roundoff * norm;
}

LinearProof prove_linear(const LinearProblem& problem, const PenaltyAt& penalty, const Matrix& W,
                         const Vector& b, double gap_tolerance, int threads) {
  LinearProof proof = prove_in<double>(problem, penalty, W, b, threads);
  if (proof.error <= kNegligible * gap_tolerance * proof.primal) return proof;
  const double coarseness = relative(proof.error, proof.primal);
  proof = prove_in<long double>(problem, penalty, W, b, threads);
  proof.coarseness = coarseness;
  return proof;
}

}  // namespace coterie
