#include "coterie/mtmkl/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coterie {

namespace {

constexpr double u = std::numeric_limits<double>::epsilon() / 2;
constexpr double u_long = static_cast<double>(std::numeric_limits<long double>::epsilon()) / 2;

// Roundings of a value of the mixed kernel: those of its parts, the division by the divisor, and the sum.
double roundings_of_mix(const TaskGrams& grams, ConstVectorRef theta) {
  double most = 0;
  for (Index m = 0; m < theta.size(); ++m)
    if (theta[m] > 0) most = std::max(most, grams.powers().term(m).roundings);
  return most + static_cast<double>(theta.size()) + 4;
}

// What the dual value may lose until y'alpha = 0 holds exactly: the heavier side gives up `excess` of its largest alpha, (51).
void charge_imbalance(double excess, ConstVectorRef largest, double mass, TaskProof& proof) {
  proof.alpha_error += excess;
  for (Index m = 0; m < proof.g.size(); ++m)
    proof.g_error[m] += excess * largest[m] * (mass + excess);
}

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

// min over D of c'theta.
long double smallest(const LongVector& c, double p) {
  const long double low = c.minCoeff();
  if (p == 1) return low;
  if (low >= 0) return 0;
  if (std::isinf(p)) return c.cwiseMin(0.0L).sum();
  const long double q = static_cast<long double>(p) / (static_cast<long double>(p) - 1);
  long double sum = 0;
  for (const long double v : c)
    if (v < 0) sum += std::pow(v / low, q);
  return low * std::pow(sum, 1 / q);
}

// sum theta for p = 1, ||theta||_p for others.
long double size_of(const Eigen::Ref<const Eigen::RowVectorXd>& theta, double p) {
  const LongVector x = theta.transpose().cast<long double>();
  if (p == 1) return x.sum();
  const long double largest = x.maxCoeff();
  if (std::isinf(p) || !(largest > 0)) return largest;
  long double sum = 0;
  for (const long double v : x)
    if (v > 0) sum += std::pow(v / largest, static_cast<long double>(p));
  return largest * std::pow(sum, 1 / static_cast<long double>(p));
}

// How far theta leaves D, relative to its size: what it takes to scale it back.
double violation(const Eigen::Ref<const Eigen::RowVectorXd>& theta, double p) {
  const long double size = size_of(theta, p);
  return static_cast<double>(p == 1 ? std::abs(size - 1) : std::max(0.0L, size - 1));
}

// What it costs to add to each kernel what it lacks of positive semidefinite.
void charge_indefinite(const TaskGrams& grams, ConstVectorRef theta, ConstVectorRef C,
                       ConstVectorRef alpha, TaskProof& proof) {
  for (Index m = 0; m < theta.size(); ++m) {
    const double amount = grams.indefinite(m);
    if (amount == 0) continue;
    proof.primal_error += theta[m] * amount * (0.5 * alpha.squaredNorm() + C.dot(alpha));
    proof.g_error[m] += 0.5 * amount * alpha.squaredNorm();
  }
}

double exact_excess(ConstVectorRef y, ConstVectorRef alpha) {
  long double sum = 0;
  long double all = 0;
  for (Index i = 0; i < y.size(); ++i) {
    sum += static_cast<long double>(y[i]) * alpha[i];
    all += alpha[i];
  }
  return static_cast<double>(std::abs(sum) + static_cast<double>(y.size()) * u_long * all);
}

}  // namespace

TaskProof rounded_proof(const TaskGrams& grams, const TaskSvm& svm, const TaskState& state,
                        ConstVectorRef theta) {
  const SvmResult& fit = state.svm;
  const Vector& y = svm.y();
  const Vector& C = svm.C();
  const Index n = y.size();
  const double count = static_cast<double>(n);
  const Vector largest = grams.largest_values();
  const double support = static_cast<double>(state.support.size());
  const double mass = fit.alpha.sum();
  const double k = largest.dot(theta);  // at least every K(theta)_ii
  const double mixed = roundings_of_mix(grams, theta);
  // Of the gradient, (49), and of decision values outside the set.
  const double E = u * (fit.roundings * (1 + std::sqrt(k) * fit.mass) + (mixed + 2) * k * mass + 4);
  const double E_outside = u * ((support + mixed + 4) * k * mass + 4 * (1 + std::abs(fit.bias)));

  TaskProof proof;
  double squares = 0;
  double losses = 0;
  double terms = 0;
  for (Index i = 0; i < n; ++i) {
    const double e = fit.gradient[i];
    const double beta = y[i] * fit.alpha[i];
    const double loss = -y[i] * (e + fit.bias);
    const double E_i = E + 4 * u * (std::abs(e) + std::abs(fit.bias));
    squares += beta * (e + y[i]);
    terms += std::abs(beta) * (std::abs(e) + 1);
    proof.primal_error += 0.5 * std::abs(beta) * E;
    if (loss > 0) losses += C[i] * loss;
    if (loss > -E_i) proof.primal_error += C[i] * E_i;
  }
  proof.primal = 0.5 * squares + losses + state.left_out;
  proof.primal_error += (count + 8) * u * (terms + losses) +
                        static_cast<double>(grams.n() + 8) * u * state.left_out +
                        E_outside * svm.cost_outside_within(E_outside);
  proof.alpha_sum = mass;
  proof.alpha_error = (count + 2) * u * mass;
  proof.g = state.g;
  proof.g_error.resize(proof.g.size());
  for (Index m = 0; m < proof.g.size(); ++m)
    proof.g_error[m] =
        0.5 * u * (2 * support + grams.powers().term(m).roundings + 8) * largest[m] * mass * mass;
  charge_imbalance(exact_excess(y, fit.alpha), largest, mass, proof);
  charge_indefinite(grams, theta, C, fit.alpha, proof);
  return proof;
}

TaskProof careful_proof(const TaskGrams& grams, ConstVectorRef y, ConstVectorRef C,
                        ConstVectorRef theta, ConstVectorRef alpha, double bias,
                        const KeepGoing& keep_going) {
  const Index n = y.size();
  const Index M = grams.M();
  std::vector<Index> support;
  long double mass = 0;
  for (Index i = 0; i < n; ++i) {
    if (!(alpha[i] > 0)) continue;
    support.push_back(i);
    mass += alpha[i];
  }
  const ExactKernels* const exact = grams.exact().get();
  std::vector<long double> weight;
  double mixed = 0;  // roundings of a value of the mixed kernel
  std::vector<double> roundings;
  for (Index m = 0; m < M; ++m) {
    const KernelTerm& term = grams.powers().term(m);
    weight.push_back(static_cast<long double>(theta[m]) / term.divisor);
    roundings.push_back(exact ? exact->roundings(m) : static_cast<double>(term.power) + 2);
    if (theta[m] > 0) mixed = std::max(mixed, roundings.back());
  }
  std::vector<std::vector<double>> roots(static_cast<std::size_t>(grams.powers().roots()),
                                         std::vector<double>(1));
  std::vector<double*> out;
  for (std::vector<double>& root : roots) out.push_back(root.data());
  const auto values = [&](Index i, Index j, long double* K) {
    if (exact)
      return exact->values(grams.exact_rows()[static_cast<std::size_t>(i)],
                           grams.exact_rows()[static_cast<std::size_t>(j)], K);
    grams.root_values({&i, 1}, {&j, 1}, out.data(), 1);
    for (Index m = 0; m < M; ++m) {
      const KernelTerm& term = grams.powers().term(m);
      const long double root = roots[static_cast<std::size_t>(term.root)][0];
      K[m] = 1;
      for (Index power = 0; power < term.power; ++power) K[m] *= root;
    }
  };

  const Vector largest = grams.largest_values();
  const double k = largest.dot(theta) * (1 + 1e-12);
  const double all = static_cast<double>(mass);
  const double count = static_cast<double>(support.size());
  const double E = u_long * ((count + mixed + static_cast<double>(M) + 8) * k * all +
                             4 * (2 + std::abs(bias) + k * all));
  std::vector<long double> K(static_cast<std::size_t>(M)), K_beta(K.size()), S(K.size(), 0);
  long double losses = 0;
  TaskProof proof;
  for (Index i = 0; i < n; ++i) {
    ask(keep_going);
    std::fill(K_beta.begin(), K_beta.end(), 0.0L);
    for (const Index j : support) {
      values(i, j, K.data());
      for (std::size_t m = 0; m < K.size(); ++m) K_beta[m] += K[m] * (y[j] * alpha[j]);
    }
    long double f = bias;
    for (std::size_t m = 0; m < K.size(); ++m) {
      f += weight[m] * K_beta[m];
      S[m] += y[i] * alpha[i] * K_beta[m];
    }
    const long double loss = 1 - y[i] * f;
    if (loss > 0) losses += C[i] * loss;
    if (loss > -E) proof.primal_error += C[i] * E;
  }
  long double squares = 0;
  proof.g.resize(M);
  proof.g_error.resize(M);
  for (Index m = 0; m < M; ++m) {
    const std::size_t at = static_cast<std::size_t>(m);
    squares += weight[at] * S[at];
    proof.g[m] = static_cast<double>(-S[at] / (2.0L * grams.powers().term(m).divisor));
    proof.g_error[m] = 2 * u * std::abs(proof.g[m]) +
                       0.5 * u_long * (2 * count + roundings[at] + 8) * largest[m] * all * all;
  }
  proof.primal = static_cast<double>(squares / 2 + losses);
  proof.primal_error +=
      0.5 * all * E + 2 * u * proof.primal + u_long * static_cast<double>(n + M + 8) * proof.primal;
  proof.alpha_sum = all;
  proof.alpha_error = 2 * u * all;
  charge_imbalance(exact_excess(y, alpha), largest, all, proof);
  charge_indefinite(grams, theta, C, alpha, proof);
  return proof;
}

Proof join_proofs(const std::vector<TaskProof>& tasks, const std::vector<Index>& unit,
                  const Matrix& theta, const Ties& ties, const Matrix& nu) {
  const Index U = theta.rows();
  const Index M = theta.cols();
  const Index A = ties.anchors.rows();
  // Pair duals may be far larger than what is left of their sums.
  LongMatrix c = LongMatrix::Zero(U, M);
  Matrix c_error = Matrix::Zero(U, M);
  Vector pulls = Vector::Zero(U);  // sum of the lengths of pair duals, and their number
  Vector degree = pulls;
  Vector ties_of = pulls;  // sum of kappa
  Proof proof;
  long double primal = 0;
  long double dual = 0;  // anchored edges may add large numbers that cancel
  double primal_error = 0;
  double dual_error = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {  // in task order, whatever the threads
    primal += tasks[t].primal;
    primal_error += tasks[t].primal_error;
    dual += tasks[t].alpha_sum;
    dual_error += tasks[t].alpha_error;
    c.row(unit[t]) += tasks[t].g.cast<long double>().transpose();
    c_error.row(unit[t]) += tasks[t].g_error;
  }
  double penalty = 0;
  double reach = 0;  // of weights: |x|_2 for x in D
  const double p = ties.weights.p();
  reach = std::isinf(p) ? std::sqrt(static_cast<double>(M))
          : p <= 2      ? 1
                        : std::pow(static_cast<double>(M), 0.5 - 1 / p);
  for (Index i = 0; i < ties.kappa.size(); ++i) {
    const Edge& edge = ties.graph[static_cast<std::size_t>(i)];
    const auto nu_i = nu.row(i);
    const bool anchored = edge.t < A;
    double squared = 0;
    long double along = 0;
    const double* a = anchored ? ties.anchors.row(edge.t).data() : theta.row(edge.t - A).data();
    const double* b = theta.row(edge.s - A).data();
    for (Index m = 0; m < M; ++m) {
      squared += (a[m] - b[m]) * (a[m] - b[m]);
      if (anchored) along += static_cast<long double>(nu_i[m]) * a[m];
    }
    penalty += ties.kappa[i] * std::sqrt(squared);
    const double length = nu_i.norm();
    const double excess = length * (1 + static_cast<double>(M + 4) * u) - ties.kappa[i];
    if (excess > 0) dual_error += 2 * reach * excess;
    c.row(edge.s - A) -= nu_i.cast<long double>();
    pulls[edge.s - A] += length;
    degree[edge.s - A] += 1;
    ties_of[edge.s - A] += ties.kappa[i];
    if (anchored) {
      dual += along;
      dual_error += static_cast<double>(M + 2) * u_long * length * reach;
      continue;
    }
    c.row(edge.t - A) += nu_i.cast<long double>();
    pulls[edge.t - A] += length;
    degree[edge.t - A] += 1;
    ties_of[edge.t - A] += ties.kappa[i];
  }
  primal += penalty;
  // Scaled back into D, weights change the SVM's part of the primal value by as much, and the penalty by as much of their ties, (50).
  double outside = 0;
  for (Index i = 0; i < U; ++i) {
    const double excess = violation(theta.row(i), p) + 64 * u_long;
    outside = std::max(outside, 2 * excess);
    primal_error += 2 * excess * reach * ties_of[i];
  }
  primal_error += static_cast<double>(M + 8 + ties.kappa.size()) * u * penalty +
                  outside * static_cast<double>(primal);
  for (Index i = 0; i < U; ++i) {
    const LongVector middle = c.row(i).transpose();
    const double sums = (degree[i] + static_cast<double>(tasks.size()) + 2) * u_long;
    const LongVector off =
        (c_error.row(i).transpose().array() + sums * pulls[i]).matrix().cast<long double>() +
        static_cast<long double>(sums) * middle.cwiseAbs();
    const auto least = [&](const LongVector& x) {
      return ties.fixed ? x.dot(theta.row(i).transpose().cast<long double>()) : smallest(x, p);
    };
    const long double value = least(middle);
    dual += value;
    dual_error +=
        static_cast<double>(std::max(value - least(middle - off), least(middle + off) - value) +
                            static_cast<long double>(M + 64) * u_long * std::abs(value));
  }
  proof.primal = static_cast<double>(primal);
  proof.dual = static_cast<double>(dual);
  proof.error = primal_error + dual_error + 4 * u * (std::abs(proof.primal) + std::abs(proof.dual));
  return proof;
}

void put_inside(Matrix& theta, const WeightSet& weights) {
  const double p = weights.p();
  for (Index i = 0; i < theta.rows(); ++i)
    if (violation(theta.row(i), p) > u)
      theta.row(i) /= static_cast<double>(size_of(theta.row(i), p));
}

void pull_inside(Matrix& nu, const Vector& kappa) {
  const double shrink = 1 - static_cast<double>(nu.cols() + 8) * u;
  for (Index i = 0; i < nu.rows(); ++i) {
    const double norm = nu.row(i).stableNorm();
    if (norm > shrink * kappa[i]) nu.row(i) *= shrink * (kappa[i] / norm);
  }
}

}  // namespace coterie
