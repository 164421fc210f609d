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
    if (theta[m] > 0) most = std::max(most, grams.roundings(m));
  return most + static_cast<double>(theta.size()) + 4;
}

// What y'alpha lacks of 0, and who gives it up: the largest alpha of the heavier side, and where rounding hides which side that is, of either.
struct Imbalance {
  double excess = 0;
  std::vector<Index> givers;
};

Imbalance imbalance_of(ConstVectorRef y, ConstVectorRef alpha) {
  long double sum = 0;
  long double all = 0;
  Index largest[2] = {-1, -1};
  for (Index i = 0; i < y.size(); ++i) {
    sum += static_cast<long double>(y[i]) * alpha[i];
    all += alpha[i];
    Index& side = largest[y[i] > 0];
    if (alpha[i] > 0 && (side < 0 || alpha[i] > alpha[side])) side = i;
  }
  const double rounding = static_cast<double>(y.size()) * u_long * static_cast<double>(all);
  Imbalance out{static_cast<double>(std::abs(sum)) + rounding, {}};
  for (const bool positive : {false, true})
    if (largest[positive] >= 0 && (positive ? sum : -sum) >= -rounding)
      out.givers.push_back(largest[positive]);
  return out;
}

// What the dual value may lose until y'alpha = 0 holds exactly, (45). `pulls` are |(K^m beta)_i| at the samples that give, rounding included.
void charge_imbalance(double excess, ConstVectorRef pulls, ConstVectorRef largest,
                      TaskProof& proof) {
  proof.alpha_error += excess;
  proof.g_error += excess * (pulls + 0.5 * excess * largest);
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

// Kernel values in long double, from the definitions where these are at hand, else from the roots.
struct CarefulKernels {
  CarefulKernels(const TaskGrams& base, ConstVectorRef theta)
      : grams(base),
        exact(base.exact().get()),
        roots(static_cast<std::size_t>(base.powers().roots()), 0.0) {
    for (Index m = 0; m < grams.M(); ++m) {
      const KernelTerm& term = grams.powers().term(m);
      weight.push_back(static_cast<long double>(theta[m]) / term.divisor);
      roundings.push_back((exact ? exact->roundings(m) : static_cast<double>(term.power) + 2) +
                          (grams.is_parted() ? 1 : 0));
      if (theta[m] > 0) mixed = std::max(mixed, roundings.back());
    }
    for (double& root : roots) out.push_back(&root);
  }
  CarefulKernels(const CarefulKernels&) = delete;  // `out` points into it
  CarefulKernels& operator=(const CarefulKernels&) = delete;

  // K[m] = K^m(i, j), before its divisor.
  void values(Index i, Index j, long double* K) {
    defined_values(i, j, K);
    for (Index m = 0; m < grams.M(); ++m) K[m] *= grams.between(i, j);
  }

  // The same of samples of one part.
  void defined_values(Index i, Index j, long double* K) {
    if (exact)
      return exact->values(grams.exact_rows()[static_cast<std::size_t>(i)],
                           grams.exact_rows()[static_cast<std::size_t>(j)], K);
    grams.root_values({&i, 1}, {&j, 1}, out.data(), 1);
    for (Index m = 0; m < grams.M(); ++m) {
      const KernelTerm& term = grams.powers().term(m);
      const long double root = roots[static_cast<std::size_t>(term.root)];
      K[m] = 1;
      for (Index power = 0; power < term.power; ++power) K[m] *= root;
    }
  }

  const TaskGrams& grams;
  const ExactKernels* exact;
  std::vector<long double> weight;  // [m] theta_m / divisor_m
  std::vector<double> roundings;    // [m] of a value
  double mixed = 0;                 // of a value of the mixed kernel
  std::vector<double> roots;        // work space
  std::vector<double*> out;
};

// g_m = -S_m / (2 divisor_m), where S_m = beta'K^m beta before its divisor. Returns sum_m theta_m S_m / divisor_m.
long double set_gradient(const TaskGrams& grams, const CarefulKernels& kernels,
                         const std::vector<long double>& S, double support, ConstVectorRef largest,
                         double mass, TaskProof& proof) {
  long double squares = 0;
  proof.g.resize(std::ssize(S));
  proof.g_error.resize(std::ssize(S));
  for (Index m = 0; m < std::ssize(S); ++m) {
    const std::size_t at = static_cast<std::size_t>(m);
    squares += kernels.weight[at] * S[at];
    proof.g[m] = static_cast<double>(-S[at] / (2.0L * grams.powers().term(m).divisor));
    proof.g_error[m] =
        2 * u * std::abs(proof.g[m]) +
        0.5 * u_long * (2 * support + kernels.roundings[at] + 8) * largest[m] * mass * mass;
  }
  return squares;
}

// The whole from its parts: sums in long double, and what rounding may do to each.
class Joint {
 public:
  Joint(const Matrix& theta, const Ties& ties, Index tasks)
      : theta_(theta),
        ties_(ties),
        tasks_(tasks),
        A_(ties.anchors.rows()),
        M_(theta.cols()),
        p_(ties.weights.p()),
        reach_(std::isinf(p_) ? std::sqrt(static_cast<double>(M_))
               : p_ <= 2      ? 1
                              : std::pow(static_cast<double>(M_), 0.5 - 1 / p_)),
        c_(LongMatrix::Zero(theta.rows(), M_)),
        c_error_(Matrix::Zero(theta.rows(), M_)),
        pulls_(Vector::Zero(theta.rows())),
        degree_(pulls_) {}

  void add_task(const TaskProof& task, Index unit) {
    primal_ += task.primal;
    primal_error_ += task.primal_error;
    dual_ += task.alpha_sum;
    dual_error_ += task.alpha_error;
    c_.row(unit) += task.g.cast<long double>().transpose();
    c_error_.row(unit) += task.g_error;
  }

  void add_tie(Index i, const Eigen::Ref<const Eigen::RowVectorXd>& nu) {
    const Edge& edge = ties_.graph[static_cast<std::size_t>(i)];
    const bool anchored = edge.t < A_;
    const double* a = anchored ? ties_.anchors.row(edge.t).data() : theta_.row(edge.t - A_).data();
    const double* b = theta_.row(edge.s - A_).data();
    double squared = 0;
    long double along = 0;
    for (Index m = 0; m < M_; ++m) {
      squared += (a[m] - b[m]) * (a[m] - b[m]);
      if (anchored) along += static_cast<long double>(nu[m]) * a[m];
    }
    penalty_ += ties_.kappa[i] * std::sqrt(squared);
    const double length = nu.norm();
    const double excess = length * (1 + static_cast<double>(M_ + 4) * u) - ties_.kappa[i];
    if (excess > 0) dual_error_ += 2 * reach_ * excess;
    c_.row(edge.s - A_) -= nu.cast<long double>();
    add_end(edge.s - A_, length);
    if (anchored) {
      anchored_ += ties_.kappa[i];
      dual_ += along;
      dual_error_ += static_cast<double>(M_ + 2) * u_long * length * reach_;
      return;
    }
    c_.row(edge.t - A_) += nu.cast<long double>();
    add_end(edge.t - A_, length);
  }

  // All weights are scaled back into D by one factor: that changes the primal value by as much, and what anchors pull by as much of their
  // kappa, (44).
  void add_penalty() {
    primal_ += penalty_;
    double outside = 0;
    for (Index i = 0; i < theta_.rows(); ++i)
      outside = std::max(outside, 2 * (violation(theta_.row(i), p_) + 64 * u_long));
    primal_error_ += static_cast<double>(M_ + 8 + ties_.kappa.size()) * u * penalty_ +
                     outside * (static_cast<double>(primal_) + reach_ * anchored_);
  }

  // The smallest c'theta over D of a unit.
  void add_unit(Index i) {
    const LongVector middle = c_.row(i).transpose();
    const double sums = (degree_[i] + static_cast<double>(tasks_) + 2) * u_long;
    const LongVector off =
        (c_error_.row(i).transpose().array() + sums * pulls_[i]).matrix().cast<long double>() +
        static_cast<long double>(sums) * middle.cwiseAbs();
    const auto least = [&](const LongVector& x) {
      return ties_.fixed ? x.dot(theta_.row(i).transpose().cast<long double>()) : smallest(x, p_);
    };
    const long double value = least(middle);
    dual_ += value;
    dual_error_ +=
        static_cast<double>(std::max(value - least(middle - off), least(middle + off) - value) +
                            static_cast<long double>(M_ + 64) * u_long * std::abs(value));
  }

  Proof proof() const {
    Proof out;
    out.primal = static_cast<double>(primal_);
    out.dual = static_cast<double>(dual_);
    out.error = primal_error_ + dual_error_ + 4 * u * (std::abs(out.primal) + std::abs(out.dual));
    return out;
  }

 private:
  void add_end(Index unit, double length) {
    pulls_[unit] += length;
    degree_[unit] += 1;
  }

  const Matrix& theta_;
  const Ties& ties_;
  Index tasks_, A_, M_;
  double p_;
  double reach_;  // of weights: |x|_2 for x in D
  LongMatrix c_;  // pair duals may be far larger than what is left of their sums
  Matrix c_error_;
  Vector pulls_, degree_;  // sum of the lengths of pair duals, and their number
  double anchored_ = 0;    // sum of the kappa of ties to anchors
  long double primal_ = 0;
  long double dual_ = 0;  // anchored edges may add large numbers that cancel
  double primal_error_ = 0, dual_error_ = 0;
  double penalty_ = 0;
};

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
  // Of the gradient, (43), and of decision values outside the set.
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
    proof.g_error[m] = 0.5 * u * (2 * support + grams.roundings(m) + 8) * largest[m] * mass * mass;
  const Imbalance imbalance = imbalance_of(y, fit.alpha);
  Vector pulls = Vector::Zero(proof.g.size());
  for (std::size_t at = 0; at < state.support.size(); ++at)
    if (std::ranges::count(imbalance.givers, state.support[at]) > 0)
      pulls = pulls.cwiseMax(state.K_beta.row(static_cast<Index>(at)).transpose().cwiseAbs());
  for (Index m = 0; m < proof.g.size(); ++m)
    pulls[m] += u * (support + grams.roundings(m) + 8) * largest[m] * mass;
  charge_imbalance(imbalance.excess, pulls, largest, proof);
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
  CarefulKernels kernels(grams, theta);
  const Vector largest = grams.largest_values();
  const double k = largest.dot(theta) * (1 + 1e-12);
  const double all = static_cast<double>(mass);
  const double count = static_cast<double>(support.size());
  const double E = u_long * ((count + kernels.mixed + static_cast<double>(M) + 8) * k * all +
                             4 * (2 + std::abs(bias) + k * all));
  std::vector<long double> K(static_cast<std::size_t>(M)), K_beta(K.size()), S(K.size(), 0);
  const Imbalance imbalance = imbalance_of(y, alpha);
  Vector pulls = Vector::Zero(M);
  long double losses = 0;
  TaskProof proof;
  for (Index i = 0; i < n; ++i) {
    ask(keep_going);
    std::fill(K_beta.begin(), K_beta.end(), 0.0L);
    for (const Index j : support) {
      kernels.values(i, j, K.data());
      for (std::size_t m = 0; m < K.size(); ++m) K_beta[m] += K[m] * (y[j] * alpha[j]);
    }
    long double f = bias;
    for (std::size_t m = 0; m < K.size(); ++m) {
      f += kernels.weight[m] * K_beta[m];
      S[m] += y[i] * alpha[i] * K_beta[m];
    }
    if (std::ranges::count(imbalance.givers, i) > 0)
      for (Index m = 0; m < M; ++m)
        pulls[m] =
            std::max(pulls[m], static_cast<double>(std::abs(K_beta[static_cast<std::size_t>(m)])) /
                                   grams.powers().term(m).divisor);
    const long double loss = 1 - y[i] * f;
    if (loss > 0) losses += C[i] * loss;
    if (loss > -E) proof.primal_error += C[i] * E;
  }
  const long double squares = set_gradient(grams, kernels, S, count, largest, all, proof);
  proof.primal = static_cast<double>(squares / 2 + losses);
  proof.primal_error +=
      0.5 * all * E + 2 * u * proof.primal + u_long * static_cast<double>(n + M + 8) * proof.primal;
  proof.alpha_sum = all;
  proof.alpha_error = 2 * u * all;
  for (Index m = 0; m < M; ++m)
    pulls[m] +=
        4 * u * pulls[m] +
        u_long * (count + kernels.roundings[static_cast<std::size_t>(m)] + 8) * largest[m] * all;
  charge_imbalance(imbalance.excess, pulls, largest, proof);
  charge_indefinite(grams, theta, C, alpha, proof);
  return proof;
}

Proof join_proofs(const std::vector<TaskProof>& tasks, const std::vector<Index>& unit,
                  const Matrix& theta, const Ties& ties, const Matrix& nu) {
  Joint joint(theta, ties, std::ssize(tasks));
  for (std::size_t t = 0; t < tasks.size(); ++t)  // in task order, whatever the threads
    joint.add_task(tasks[t], unit[t]);
  for (Index i = 0; i < ties.kappa.size(); ++i) joint.add_tie(i, nu.row(i));
  joint.add_penalty();
  for (Index i = 0; i < theta.rows(); ++i) joint.add_unit(i);
  return joint.proof();
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
