#include "coterie/model/verify_linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "coterie/model/verify_sums.hpp"

namespace coterie {

namespace {

using Real = long double;
using Numbers = std::vector<Real>;
using Table = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double u = std::numeric_limits<double>::epsilon() / 2;
constexpr double u_long = static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }
double small(Real x) { return static_cast<double>(x); }

Real product(const Table& A, Index i, const Table& B, Index j) {
  Real sum = 0;
  for (Index k = 0; k < A.cols(); ++k) sum += A(i, k) * B(j, k);
  return sum;
}

Real squares(const Table& A) {
  Real sum = 0;
  for (Index i = 0; i < A.rows(); ++i) sum += product(A, i, A, i);
  return sum;
}

double length(const Table& A) { return small(std::sqrt(squares(A))); }

// How far the square of a norm, now `value`, may change when what it is of moves by `distance` in terms of that norm.
double moved(Real value, double distance) {
  return 2 * std::sqrt(std::max(0.0, small(value))) * distance + distance * distance;
}

// What singular values may be off by: every turn below rounds the rows that it turns.
double error_of_singular_values(const Table& A) {
  return (100 * static_cast<double>(A.rows() + 4) + static_cast<double>(A.cols())) * u_long *
         length(A);
}

// A = sum_i sigma_i u_i v_i', descending: pairs of rows are turned until all are orthogonal; then they are the sigma_i v_i.
struct Singular {
  Numbers sigma;  // as many as A has rows
  Table u, v;     // a row each; v_i = 0 where sigma_i is nothing but rounding
};

Singular singular(Table A) {
  const Index T = A.rows();
  Table turns = Table::Identity(T, T);
  const auto turn = [](Table& B, Index p, Index q, Real cosine, Real sine) {
    for (Index k = 0; k < B.cols(); ++k) {
      const Real x = B(p, k), y = B(q, k);
      B(p, k) = cosine * x - sine * y;
      B(q, k) = sine * x + cosine * y;
    }
  };
  const Real rounding = 1e-40L * squares(A);
  bool turned = true;
  for (int sweep = 0; turned && sweep < 100; ++sweep) {
    turned = false;
    for (Index p = 0; p < T; ++p)
      for (Index q = p + 1; q < T; ++q) {
        const Real a = product(A, p, A, p), b = product(A, q, A, q), c = product(A, p, A, q);
        if (std::abs(c) <= 1e-18L * std::sqrt(a * b) || std::min(a, b) <= rounding) continue;
        turned = true;
        const Real zeta = (b - a) / (2 * c);
        const Real tangent = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const Real cosine = 1 / std::sqrt(1 + tangent * tangent);
        turn(A, p, q, cosine, cosine * tangent);
        turn(turns, p, q, cosine, cosine * tangent);
      }
  }
  std::vector<Index> order;
  for (Index i = 0; i < T; ++i) order.push_back(i);
  std::ranges::stable_sort(order, std::greater<>(), [&](Index i) { return product(A, i, A, i); });
  Singular out{{}, Table(T, T), Table::Zero(T, A.cols())};
  const double noise = error_of_singular_values(A);
  for (Index i = 0; i < T; ++i) {
    const Index from = order[at(i)];
    out.sigma.push_back(std::sqrt(product(A, from, A, from)));
    out.u.row(i) = turns.row(from);
    if (out.sigma.back() > noise) out.v.row(i) = A.row(from) / out.sigma.back();
  }
  return out;
}

// As many as A has rows, of which those beyond its columns are 0.
Numbers singular_values(const Table& A) {
  if (A.rows() <= A.cols()) return singular(A).sigma;
  Numbers sigma = singular(A.transpose()).sigma;
  sigma.resize(at(A.rows()), 0);
  return sigma;
}

// The problem that the model states, from raw data, and what it says is the answer.
struct Stated {
  const Dataset* data = nullptr;
  const Matrix* plain = nullptr;  // scaled features, or
  Table mapped;                   // those that stand for kernels, a row for each of the data
  std::vector<double>
      feature_error;  // per row, length of what its features may be off by; empty: none
  Table W;            // T x d
  std::vector<double> weight_error;    // per task, length
  Table shared;                        // T x d, or empty
  std::vector<std::vector<double>> c;  // [task], weights of the samples

  Real x(Index row, Index k) const { return plain != nullptr ? (*plain)(row, k) : mapped(row, k); }
  double all_weight_error() const {
    double sum = 0;
    for (const double e : weight_error) sum += e * e;
    return std::sqrt(sum);
  }
};

// ---- Features: those of the data, or those that stand for kernels, docs/methods.md (17) --------------------------------------------

Real mean_kernel(const Model& model, const ExactKernels& exact, Index i, Index j) {
  Numbers values(model.kernels.size());
  exact.values(i, j, values.data());
  Real sum = 0;
  for (std::size_t m = 0; m < values.size(); ++m)
    sum += values[m] / (static_cast<Real>(values.size()) * model.divisors[static_cast<Index>(m)]);
  return sum;
}

// A bound of |mean_kernel - truth|, relative to the roots of the values of both rows with themselves.
double error_of_mean_kernel(const ExactKernels& exact) {
  double roundings = 0;
  for (Index m = 0; m < exact.M(); ++m) roundings = std::max(roundings, 2 * exact.roundings(m));
  return (roundings + static_cast<double>(exact.M()) + 8) * u_long;
}

// The features of the pivots, a matrix of which every row has one number more than some other: in that order it is a lower triangle L,
// and the features of any row are L^-1 of its kernel values with the pivots.
struct Map {
  std::vector<Index> order;  // pivot of every feature
  Table L;                   // in that order
  Numbers size;              // root of the kernel of every pivot with itself, in that order
  double amplified =
      0;  // length of |L^-1| size: what errors of kernel values, relative to the sizes, become in features
};

// The root of the kernels at the pivots: L L' may be off by so much of the sizes of both.
constexpr double kMapMargin = 1e-10;

Map map_of(const Model& model, const ExactKernels& exact, Verification& check) {
  const Matrix& phi = model.map;
  const Index rank = model.support_vectors.rows();
  if (rank > 0 && phi.size() == 0)
    throw InputError(
        "The model does not hold the map of its features, as models of older versions; it cannot "
        "be checked. Train it anew.");
  Map map;
  map.order.assign(at(rank), -1);
  for (Index i = 0; i < rank; ++i) {
    Index last = rank - 1;
    while (last >= 0 && phi(i, last) == 0) --last;
    if (last < 0 || map.order[at(last)] >= 0 || !(phi(i, last) > 0))
      throw InputError("The map of the model is no lower triangle, in no order of its pivots.");
    map.order[at(last)] = i;
  }
  map.L = Table::Zero(rank, rank);
  Table inverse = Table::Zero(rank, rank);
  Real squares = 0;
  double apart = 0;
  for (Index r = 0; r < rank; ++r) {
    const Index row = model.training_row[at(map.order[at(r)])];
    for (Index l = 0; l <= r; ++l) map.L(r, l) = phi(map.order[at(r)], l);
    map.size.push_back(std::sqrt(mean_kernel(model, exact, row, row)));
    for (Index l = 0; l <= r; ++l) {
      const Index other = model.training_row[at(map.order[at(l)])];
      const Real off = product(map.L, r, map.L, l) - mean_kernel(model, exact, row, other);
      apart = std::max(apart, small(std::abs(off) / (map.size.back() * map.size[at(l)])));
    }
    Real amplified = 0;
    for (Index l = 0; l <= r; ++l) {
      Real sum = l == r ? 1 : 0;
      for (Index k = l; k < r; ++k) sum -= map.L(r, k) * inverse(k, l);
      inverse(r, l) = sum / map.L(r, r);
      amplified += std::abs(inverse(r, l)) * map.size[at(l)];
    }
    squares += amplified * amplified;
  }
  map.amplified = 1.01 * small(std::sqrt(squares));
  note_infeasible(check, apart, kMapMargin, "the map is not the root of the kernels at its pivots");
  return map;
}

// Fills in the features, W and what both may be off by, docs/methods.md (24).
void state_mapped(const Model& model, const Dataset& data, const Matrix& X,
                  const ExactKernels& exact, Stated& stated, Verification& check) {
  for (std::size_t k = 0; k < model.training_row.size(); ++k)
    if (!(X.row(model.training_row[k]) == model.support_vectors.row(static_cast<Index>(k))))
      check.findings.emplace_back("a pivot differs from its row of the data");
  const Map map = map_of(model, exact, check);
  const Index rank = model.settings.map.rank, found = std::ssize(map.order);
  if (found > rank)
    check.findings.push_back(
        fmt::format("the map has {} pivots, more than the rank {} of the settings", found, rank));
  std::vector<bool> used(at(X.rows()), false);
  for (const Task& task : data.tasks)
    for (const Index row : task.rows) used[at(row)] = true;
  stated.mapped = Table::Zero(X.rows(), found);
  stated.feature_error.assign(at(X.rows()), 0);
  const double of_value = error_of_mean_kernel(exact);
  Real trace = 0, left = 0;
  for (Index i = 0; i < X.rows(); ++i) {
    if (!used[at(i)]) continue;
    for (Index r = 0; r < found; ++r) {
      Real value = mean_kernel(model, exact, i, model.training_row[at(map.order[at(r)])]);
      for (Index l = 0; l < r; ++l) value -= stated.mapped(i, l) * map.L(r, l);
      stated.mapped(i, r) = value / map.L(r, r);
    }
    const Real own = mean_kernel(model, exact, i, i),
               reached = product(stated.mapped, i, stated.mapped, i);
    trace += own;
    left += std::max<Real>(0, own - reached);
    stated.feature_error[at(i)] =
        map.amplified * (of_value * small(std::sqrt(own)) +
                         static_cast<double>(found + 4) * u_long * small(std::sqrt(reached)));
  }
  if (found < rank && left > 2e-6L * trace)
    check.findings.push_back(fmt::format(
        "the map leaves {:.2g} of the kernels, more than 1e-6, though it has fewer pivots than "
        "its rank allows",
        small(left / trace)));
  // w = sum of coefficients times the features of the pivots.
  std::vector<Index> place(at(found));
  for (Index r = 0; r < found; ++r) place[at(map.order[at(r)])] = r;
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const KernelExpansion& f = model.tasks[t].expansion();
    const Index row = static_cast<Index>(t);
    double size = 0;
    for (std::size_t k = 0; k < f.support.size(); ++k) {
      const Index p = place[at(f.support[k])];
      const Real coefficient =
          static_cast<Real>(f.alpha[static_cast<Index>(k)]) * f.y[static_cast<Index>(k)];
      for (Index r = 0; r <= p; ++r) stated.W(row, r) += coefficient * map.L(p, r);
      size += small(std::abs(coefficient) * std::sqrt(product(map.L, p, map.L, p)));
    }
    stated.weight_error[t] = static_cast<double>(found + 4) * u_long * size;
  }
  check.taken.emplace_back("which rows are the pivots of the map");
}

Stated state(const Model& model, const Dataset& data, const Matrix& X,
             const std::optional<ExactKernels>& exact, Verification& check,
             const std::function<void()>& one_done) {
  const Index T = std::ssize(model.tasks);
  const bool is_mapped = model.settings.map.mapped;
  const Index d = is_mapped ? model.support_vectors.rows() : X.cols();
  Stated stated;
  stated.data = &data;
  stated.W = Table::Zero(T, d);
  stated.weight_error.assign(at(T), 0);
  if (is_mapped)
    state_mapped(model, data, X, *exact, stated, check);
  else
    stated.plain = &X;
  for (Index t = 0; t < T; ++t) {
    const TaskModel& task = model.tasks[at(t)];
    const Task& samples = data.tasks[at(t)];
    if (!is_mapped) {
      if (task.w().size() != d)
        throw InputError(fmt::format("Task '{}' of the model has {} weights for {} features.",
                                     task.name, task.w().size(), d));
      stated.W.row(t) = task.w().cast<Real>();
    }
    if (task.shared.size() == d) {
      if (stated.shared.rows() == 0) stated.shared = Table::Zero(T, d);
      stated.shared.row(t) = task.shared.cast<Real>();
    }
    // The weights of samples are the doubles that this gives: they are part of the problem.
    double positive = 0;
    for (const double y : samples.y) positive += y > 0;
    const double n = static_cast<double>(samples.size());
    stated.c.emplace_back();
    for (Index i = 0; i < samples.size(); ++i) {
      one_done();
      const double side = samples.y[i] > 0 ? positive : n - positive;
      const double weight =
          model.settings.class_weight == ClassWeight::balanced ? n / (2 * side) : 1;
      stated.c.back().push_back(weight / n);
    }
  }
  return stated;
}

// ---- Losses ------------------------------------------------------------------------------------------------------------------------

// A number and what it may be off by.
struct Known {
  Real value = 0;
  double off = 0;
};

// Loss and pull at a margin.
struct LossAt {
  Known value, pull;
};

LossAt loss_at(Loss loss, const Known& margin) {
  const Real m = margin.value;
  const double e = margin.off;
  if (loss == Loss::logistic) {
    const Real value = m < -60 ? -m : std::log1p(std::exp(-m)), pull = 1 / (1 + std::exp(m));
    // A margin that is lower by e has a pull that is larger by a factor of exp(e) at most.
    const double steepest = std::min(1.0, small(pull) * std::exp(std::min(e, 700.0)));
    return {{value, steepest * e + 32 * u_long * small(value)},
            {pull, steepest * e + 32 * u_long * small(pull)}};
  }
  const Real left = 1 - m;
  const double off = e + 2 * u_long * small(std::abs(left));
  if (loss != Loss::square && left < -off) return {};
  const Real pull = loss == Loss::square ? left : std::max<Real>(0, left);
  const double size = small(std::abs(pull));
  return {{pull * pull / 2, (size + off) * off + 2 * u_long * size * size}, {pull, off}};
}

// phi*(-s)
Known conjugate_of_loss(Loss loss, const Known& s) {
  const Real x = s.value;
  const double size = small(std::abs(x)), off = s.off;
  if (loss != Loss::logistic)
    return {x * x / 2 - x,
            (small(std::abs(x - 1)) + off) * off + 4 * u_long * (size * size + size)};
  const Real value = (x > 0 ? x * std::log(x) : 0) + (x < 1 ? (1 - x) * std::log1p(-x) : 0);
  // Within [x - off, x + off] the slope is at most the logit at its ends; where these leave (0, 1), entropies bound the change.
  const double low = size - off, high = size + off;
  double change = 0;
  if (low > 0 && high < 1) {
    change =
        off * std::max(std::abs(std::log(low / (1 - low))), std::abs(std::log(high / (1 - high))));
  } else {
    const double range = std::min(0.5, 2 * off);
    if (range > 0) change = -range * std::log(range) - (1 - range) * std::log1p(-range);
  }
  return {value, change + 16 * u_long * small(std::abs(value))};
}

struct Losses {
  Known primal;
  Known dual;        // - sum c phi*(-s), with balanced pulls s
  Table Z;           // T x d
  double Z_off = 0;  // length
};

// Pulls that balance.
void balance(Loss loss, const Vector& y, const std::vector<double>& c, std::vector<Known>& s) {
  const double rounding = (static_cast<double>(s.size()) + 8) * u_long;
  Known positive, negative;
  Real weight = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    Known& side = y[static_cast<Index>(i)] > 0 ? positive : negative;
    side.value += c[i] * s[i].value;
    side.off += c[i] * (s[i].off + rounding * small(std::abs(s[i].value)));
    weight += c[i];
  }
  const double both = positive.off + negative.off;
  const Real mean = (positive.value - negative.value) / weight;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double sign = y[static_cast<Index>(i)];
    if (loss == Loss::square) {
      s[i].off += both / small(weight) + rounding * small(std::abs(mean) + std::abs(s[i].value));
      s[i].value -= sign * mean;
      continue;
    }
    const Known& own = sign > 0 ? positive : negative;
    const Known& other = sign > 0 ? negative : positive;
    const Real factor = own.value > other.value ? other.value / own.value : 1;
    double factor_off = 0;
    if (own.value + both > other.value) {
      const double surely = small(own.value) - own.off;
      factor_off = surely > 0 ? std::min(1.0, (other.off + small(factor) * own.off) / surely) : 1;
    }
    const double size = small(s[i].value) + s[i].off;
    s[i].value *= factor;
    s[i].off = small(factor) * s[i].off + size * factor_off + 4 * u_long * small(s[i].value);
  }
}

// Of one task: its loss, and the pulls of its samples before they balance.
struct TaskLoss {
  Known primal;
  std::vector<Known> pull;
};

TaskLoss loss_of_task(const Model& model, const Stated& stated, Index t) {
  const Loss loss = model.settings.loss;
  const Index d = stated.W.cols();
  const bool inexact = !stated.feature_error.empty();
  const Task& samples = stated.data->tasks[at(t)];
  const std::vector<double>& c = stated.c[at(t)];
  const double w_size = small(std::sqrt(product(stated.W, t, stated.W, t)));
  TaskLoss out;
  for (Index i = 0; i < samples.size(); ++i) {
    const Index row = samples.rows[at(i)];
    Real f = model.tasks[at(t)].bias, size = std::abs(f), squared = 0;
    for (Index k = 0; k < d; ++k) {
      const Real x = stated.x(row, k), term = x * stated.W(t, k);
      f += term;
      size += std::abs(term);
      if (inexact) squared += x * x;
    }
    Known margin{samples.y[i] * f, (static_cast<double>(d) + 4) * u_long * small(size)};
    if (inexact)
      margin.off +=
          w_size * stated.feature_error[at(row)] +
          stated.weight_error[at(t)] * (small(std::sqrt(squared)) + stated.feature_error[at(row)]);
    const LossAt here = loss_at(loss, margin);
    out.primal.value += c[at(i)] * here.value.value;
    out.primal.off += c[at(i)] * here.value.off;
    out.pull.push_back(here.pull);
  }
  out.primal.off += (static_cast<double>(samples.size()) + 8) * u_long * small(out.primal.value);
  return out;
}

// The dual value of balanced pulls s, and row t of Z. Returns how far that row may be off, as a length.
Real add_pulls(Loss loss, const Stated& stated, Index t, const std::vector<Known>& s, Losses& all) {
  const Index T = stated.W.rows(), d = stated.W.cols();
  const Task& samples = stated.data->tasks[at(t)];
  const std::vector<double>& c = stated.c[at(t)];
  const double n = static_cast<double>(samples.size());
  std::vector<double> z_off(at(d), 0);
  double from_features = 0;
  for (Index i = 0; i < samples.size(); ++i) {
    const Index row = samples.rows[at(i)];
    const Known here = conjugate_of_loss(loss, s[at(i)]);
    all.dual.value -= c[at(i)] * here.value;
    all.dual.off += c[at(i)] * (here.off + (n + static_cast<double>(T) + 8) * u_long *
                                               small(std::abs(here.value)));
    const double pull = small(std::abs(s[at(i)].value));
    const double off = s[at(i)].off + (n + 8) * u_long * pull;
    for (Index k = 0; k < d; ++k) {
      const Real x = stated.x(row, k);
      all.Z(t, k) += c[at(i)] * s[at(i)].value * samples.y[i] * x;
      z_off[at(k)] += c[at(i)] * off * small(std::abs(x));
    }
    if (!stated.feature_error.empty())
      from_features += c[at(i)] * (pull + off) * stated.feature_error[at(row)];
  }
  Real squared = 0;
  for (const double off : z_off) squared += static_cast<Real>(off) * off;
  return std::sqrt(squared) + from_features;
}

void check_loss(const Model& model, Index t, const Known& primal, Verification& check) {
  const TaskModel& task = model.tasks[at(t)];
  const Certificate& proof = model.certificate();
  const double own = primal.off + 4 * u * small(primal.value);
  if (!(std::abs(small(primal.value) - task.objective) <=
        compared_within(proof, proof.bound * proof.scale(), own)))
    check.findings.push_back(fmt::format("the loss of task '{}' is {:.10g}, not {:.10g} as stated",
                                         task.name, small(primal.value), task.objective));
}

Losses losses_of(const Model& model, const Stated& stated, Verification& check) {
  const Loss loss = model.settings.loss;
  Losses all;
  all.Z = Table::Zero(stated.W.rows(), stated.W.cols());
  Real Z_off = 0;
  for (Index t = 0; t < stated.W.rows(); ++t) {
    auto [primal, pull] = loss_of_task(model, stated, t);
    balance(loss, stated.data->tasks[at(t)].y, stated.c[at(t)], pull);
    const Real off = add_pulls(loss, stated, t, pull, all);
    Z_off += off * off;
    all.primal.value += primal.value;
    all.primal.off += primal.off;
    check_loss(model, t, primal, check);
  }
  all.Z_off = small(std::sqrt(Z_off));
  return all;
}

// ---- Penalties: R(W), and R*(Z) or a bound of it from above ------------------------------------------------------------------------

// R* is the square of a norm, or as smooth as one, with R*(E) <= reach ||E||^2: docs/methods.md (22).
struct Charge {
  Known penalty, conjugate;
  double reach = 0;
};

// W less the mean of its rows, and the mean in a row of its own.
Table mean_of(const Table& W) {
  Table mean = Table::Zero(1, W.cols());
  for (Index t = 0; t < W.rows(); ++t)
    for (Index k = 0; k < W.cols(); ++k) mean(0, k) += W(t, k) / static_cast<Real>(W.rows());
  return mean;
}

Table less_mean(Table W) {
  const Table mean = mean_of(W);
  for (Index t = 0; t < W.rows(); ++t)
    for (Index k = 0; k < W.cols(); ++k) W(t, k) -= mean(0, k);
  return W;
}

// What rows less their mean, or copies of their mean, are off by.
double error_of_means(const Table& W) {
  return 2 * static_cast<double>(W.rows() + 4) * u_long * length(W);
}

double rounding_of_squares(const Table& W) {
  return static_cast<double>(W.rows() + W.cols() + 8) * u_long;
}

// Sigma has eigenvalues l = clip(kappa sigma, alpha, beta) of sum budget: kappa by halving. Any kappa bounds the minimum from below by
// the value at its l less (budget - sum l) / kappa^2.
Known box_norm(const Numbers& sigma, Real alpha, Real beta, Real budget) {
  const double m = static_cast<double>(sigma.size());
  if (sigma.empty() || !(sigma.front() > 0)) return {};
  const auto weight = [&](Real s, Real kappa) { return std::clamp(kappa * s, alpha, beta); };
  Real low = alpha / sigma.front(), high = beta / (1e-20L * sigma.front());
  for (int k = 0; k < 300; ++k) {
    const Real middle = k < 100 ? std::sqrt(low) * std::sqrt(high) : (low + high) / 2;
    Real sum = 0;
    for (const Real s : sigma) sum += weight(s, middle);
    (sum <= budget ? low : high) = middle;
  }
  Known out;
  Real spent = 0;
  for (const Real s : sigma) {
    out.value += s * s / weight(s, low);
    spent += weight(s, low);
  }
  const Real price = 1 / (low * low);
  out.off =
      small(price * std::abs(budget - spent) + 4 * (m + 8) * u_long * (out.value + price * budget));
  return out;
}

// docs/methods.md (12). Singular values in all directions, or in all but the constant one.
Charge charge_cmtl(const Parameters& p, const Stated& stated, const Table& Z) {
  const Table& W = stated.W;
  const bool centred = p.at("centred") != 0;
  const double T = static_cast<double>(W.rows()), lambda = p.at("lambda");
  const Real alpha = 1 / static_cast<Real>(p.at("within"));
  const Real beta = 1 / static_cast<Real>(p.at("between"));
  const double free = std::min(p.at("clusters"), T) - (centred ? 1 : 0);
  const Table W_part = centred ? less_mean(W) : W, Z_part = centred ? less_mean(Z) : Z;
  Numbers sigma = singular_values(W_part), zeta = singular_values(Z_part);
  if (centred) {
    sigma.pop_back();
    zeta.pop_back();
  }
  const double directions = static_cast<double>(sigma.size()), root = std::sqrt(directions);
  const Real budget = (directions - free) * alpha + free * beta;
  Charge charge;
  if (centred) {
    const Real mean = p.at("mean");
    charge.penalty.value = mean * T * squares(mean_of(W));
    charge.penalty.off = moved(charge.penalty.value, small(std::sqrt(mean)) * error_of_means(W));
    charge.conjugate.value = T * squares(mean_of(Z)) / (4 * mean);
    charge.conjugate.off =
        moved(charge.conjugate.value, small(std::sqrt(1 / (4 * mean))) * error_of_means(Z));
    charge.reach = small(1 / (4 * mean));
  }
  if (!sigma.empty()) {
    const Known norm = box_norm(sigma, alpha, beta, budget);
    const double even = small(std::min<Real>(beta, budget / static_cast<Real>(directions)));
    charge.penalty.value += norm.value;
    charge.penalty.off +=
        norm.off + moved(norm.value, root * (error_of_singular_values(W_part) + error_of_means(W)) /
                                         std::sqrt(even) * (1 + 1e-9));
    // max of sum l z^2 over the box: the least of its bounds  price budget + sum max(alpha, beta)(z^2 - price)
    Real least = std::numeric_limits<Real>::infinity();
    for (std::size_t i = 0; i <= zeta.size(); ++i) {
      const Real price = i < zeta.size() ? zeta[i] * zeta[i] : 0;
      Real bound = price * budget;
      for (const Real z : zeta) bound += std::max(alpha * (z * z - price), beta * (z * z - price));
      least = std::min(least, bound);
    }
    charge.conjugate.value += least / 4;
    charge.conjugate.off +=
        moved(least / 4, root * (error_of_singular_values(Z_part) + error_of_means(Z)) *
                             small(std::sqrt(beta / 4))) +
        4 * (directions + 8) * u_long * directions * small(beta * zeta.front() * zeta.front());
    charge.reach = std::max(charge.reach, small(beta / 4));
  }
  charge.penalty.off += moved(charge.penalty.value,
                              std::sqrt(std::max(centred ? p.at("mean") : 0.0, p.at("within"))) *
                                  stated.all_weight_error()) +
                        (rounding_of_squares(W) + 8 * u_long) * small(charge.penalty.value);
  charge.conjugate.off += (rounding_of_squares(W) + 8 * u_long) * small(charge.conjugate.value);
  return {{charge.penalty.value * lambda, charge.penalty.off * lambda},
          {charge.conjugate.value / lambda, charge.conjugate.off / lambda},
          charge.reach / lambda};
}

// (13), for the groups that the model states.
Charge charge_whom(const Parameters& p, const Groups& groups, const Stated& stated,
                   const Table& Z) {
  const double lambda = p.at("lambda");
  Charge charge;
  for (const std::vector<Index>& group : groups) {
    const double members = static_cast<double>(group.size());
    Table W_g(std::ssize(group), Z.cols()), Z_g(std::ssize(group), Z.cols());
    double W_off = 0;
    for (Index k = 0; k < W_g.rows(); ++k) {
      W_g.row(k) = stated.W.row(group[at(k)]);
      Z_g.row(k) = Z.row(group[at(k)]);
      W_off += stated.weight_error[at(group[at(k)])];
    }
    Real trace = 0;
    for (const Real sigma : singular_values(W_g)) trace += sigma;
    const Real largest = singular_values(Z_g).front();
    const Real value = lambda * trace * trace, conjugate = largest * largest / (4 * lambda);
    charge.penalty.value += value;
    charge.penalty.off +=
        moved(value, std::sqrt(lambda) * (members * error_of_singular_values(W_g) + W_off)) +
        (members + 8) * 4 * u_long * small(value);
    charge.conjugate.value += conjugate;
    charge.conjugate.off +=
        moved(conjugate, error_of_singular_values(Z_g) / (2 * std::sqrt(lambda))) +
        8 * u_long * small(conjugate);
  }
  charge.penalty.off += rounding_of_squares(Z) * small(charge.penalty.value);
  charge.conjugate.off += rounding_of_squares(Z) * small(charge.conjugate.value);
  charge.reach = 1 / (4 * lambda);
  return charge;
}

// argmin_x 1/2 ||x - z||^2 + kappa sum_{s<t} |x_s - x_t|, (5): in descending order of z, x is the best descending fit to
// z_i - kappa (T + 1 - 2 i), which is  min_{a <= i} max_{b >= i}  of the mean over a .. b.
Numbers fused(Numbers z, Real kappa) {
  const std::size_t T = z.size();
  std::sort(z.rbegin(), z.rend());
  if (kappa * static_cast<Real>(T) >= z.front() - z.back()) {  // all are one, whatever kappa is
    Real mean = 0;
    for (const Real value : z) mean += value / static_cast<Real>(T);
    return Numbers(T, mean);
  }
  Numbers sum(T + 1, 0), x(T);
  for (std::size_t i = 0; i < T; ++i)
    sum[i + 1] = sum[i] + z[i] - kappa * (static_cast<Real>(T) - 1 - 2 * static_cast<Real>(i));
  for (std::size_t i = 0; i < T; ++i) {
    x[i] = std::numeric_limits<Real>::infinity();
    for (std::size_t a = 0; a <= i; ++a) {
      Real largest = -std::numeric_limits<Real>::infinity();
      for (std::size_t b = i; b < T; ++b)
        largest = std::max(largest, (sum[b + 1] - sum[a]) / static_cast<Real>(b + 1 - a));
      x[i] = std::min(x[i], largest);
    }
  }
  return x;
}

// (14). The shared part U of the model is one way to split W; no other is cheaper, or the gap would tell.
Charge charge_flexclus(const Parameters& p, const Stated& stated, const Table& Z) {
  const Table &W = stated.W, &U = stated.shared;
  const double T = static_cast<double>(W.rows());
  const Real lambda1 = p.at("lambda1"), lambda2 = p.at("lambda2"), lambda3 = p.at("lambda3");
  Charge charge;
  Real own = 0, shared = 0, U_off = 0;
  for (Index k = 0; k < W.cols(); ++k) {
    Numbers z;
    Real largest = 0;
    for (Index t = 0; t < W.rows(); ++t) {
      z.push_back(Z(t, k) / (2 * lambda2));
      largest = std::max(largest, std::abs(z.back()));
      charge.penalty.value += lambda2 * U(t, k) * U(t, k);
      own += lambda3 * (W(t, k) - U(t, k)) * (W(t, k) - U(t, k));
      for (Index s = 0; s < t; ++s) charge.penalty.value += lambda1 * std::abs(U(s, k) - U(t, k));
    }
    for (const Real x : fused(z, lambda1 / (2 * lambda2))) shared += lambda2 * x * x;
    // Differences of sums of T numbers, each at most three times the largest.
    const Real off = 16 * (T + 2) * (T + 2) * u_long * largest;
    U_off += T * off * off;
  }
  charge.penalty.value += own;
  const double sums = static_cast<double>(W.size()) * T * u_long;
  charge.penalty.off = moved(own, small(std::sqrt(lambda3)) * stated.all_weight_error()) +
                       (sums + rounding_of_squares(W)) * small(charge.penalty.value);
  charge.conjugate.value = shared + squares(Z) / (4 * lambda3);
  charge.conjugate.off = moved(shared, small(std::sqrt(lambda2 * U_off))) +
                         (sums + rounding_of_squares(Z)) * small(charge.conjugate.value);
  charge.reach = small(1 / (4 * lambda2) + 1 / (4 * lambda3));
  return charge;
}

// (16), with the pair duals of the model. One that leaves its ball by no more than kMargin is cut back, which costs what it moves Z by.
Charge charge_metag(const Parameters& p, const Stated& stated, const Table& Z, const Matrix& nu,
                    Verification& check) {
  const Table& W = stated.W;
  const Index T = W.rows();
  if (nu.rows() != T * (T - 1) / 2 || (T > 1 && nu.cols() != W.cols()))
    throw InputError("The model does not hold one pair dual for every pair of tasks.");
  const double last = p.at("lambda") / std::pow(p.at("ratio"), p.at("levels") - 1);
  const double lambda = std::min(p.at("lambda"), last);
  const Real ridge = p.at("ridge");
  Charge charge;
  Table rest = Z, size = Z.cwiseAbs();
  double cut = 0, W_off = 0;
  Index pair = 0;
  for (Index s = 0; s < T; ++s)
    for (Index t = s + 1; t < T; ++t, ++pair) {
      Real apart = 0, dual = 0;
      for (Index k = 0; k < W.cols(); ++k) {
        const Real x = nu(pair, k), between = W(s, k) - W(t, k);
        apart += between * between;
        dual += x * x;
        rest(s, k) -= x;
        rest(t, k) += x;
        size(s, k) += std::abs(x);
        size(t, k) += std::abs(x);
      }
      charge.penalty.value += lambda * std::sqrt(apart);
      W_off += lambda * (stated.weight_error[at(s)] + stated.weight_error[at(t)]);
      const double excess = small(std::max<Real>(0, std::sqrt(dual) - lambda));
      if (excess > 0)
        note_infeasible(check, excess / lambda, kMargin, "a pair dual leaves its ball");
      cut += std::sqrt(2) * within_margin(excess, lambda);
    }
  const Real ridge_part = ridge / 2 * squares(W);
  charge.penalty.value += ridge_part;
  charge.penalty.off =
      W_off + moved(ridge_part, small(std::sqrt(ridge / 2)) * stated.all_weight_error()) +
      (static_cast<double>(T * T) + rounding_of_squares(W)) * u_long * small(charge.penalty.value) +
      rounding_of_squares(W) * small(charge.penalty.value);
  charge.conjugate.value = squares(rest) / (2 * ridge);
  charge.conjugate.off =
      moved(charge.conjugate.value, (static_cast<double>(T + 4) * u_long * length(size) + cut) /
                                        std::sqrt(2 * small(ridge))) +
      rounding_of_squares(Z) * small(charge.conjugate.value);
  charge.reach = small(1 / (2 * ridge));
  return charge;
}

// Sum of squares of Z along the first k of the directions (rows), docs/methods.md (23); Z has the space of the directions in its rows.
// Singular values that are hardly apart leave open which directions are the first.
Known along_leading(const Table& directions, const Numbers& sigma, Index all, double off, Index k,
                    const Table& Z) {
  const double Z_size = small(squares(Z));
  Table along(all, Z.cols());
  for (Index i = 0; i < all; ++i)
    for (Index j = 0; j < Z.cols(); ++j) {
      along(i, j) = 0;
      for (Index r = 0; r < Z.rows(); ++r) along(i, j) += directions(i, r) * Z(r, j);
    }
  Known h{0, 64 * static_cast<double>(Z.rows() + Z.cols()) * u_long * Z_size};
  for (Index i = 0; i < k; ++i) h.value += product(along, i, along, i);
  const auto step = [&](Index i) { return small(sigma[at(i - 1)] - sigma[at(i)]); };  // before i
  const double apart = 1e-6 * small(sigma.front());
  Index first = k, last = k;
  if (step(k) <= apart) {
    while (first > 0 && (first == k || step(first) <= apart)) --first;
    while (last < all && (last == k || step(last) <= apart)) ++last;
  }
  for (const Index border : {first, last})
    if (border > 0 && border < all)
      h.off += Z_size * (step(border) > 2 * off ? off / (step(border) - off) : 1);
  if (first == last) return h;
  // What the k - first least and most favourable directions of the space in between would give.
  Table between = along.middleRows(first, last - first);
  if (last == all) {
    between = Z;
    for (Index i = 0; i < first; ++i)
      for (Index r = 0; r < Z.rows(); ++r)
        for (Index j = 0; j < Z.cols(); ++j) between(r, j) -= directions(i, r) * along(i, j);
  }
  Numbers lengths = singular_values(between);
  if (last == all)
    lengths.resize(at(Z.rows() - first));  // the rest are 0: no space is left for them
  Real certain = 0, most = 0, least = 0;
  for (Index i = 0; i < first; ++i) certain += product(along, i, along, i);
  for (Index i = 0; i < k - first; ++i) {
    const std::size_t end = lengths.size() - 1 - at(i);
    most += lengths[at(i)] * lengths[at(i)];
    least += lengths[end] * lengths[end];
  }
  h.off += small(std::max({Real{0}, certain + most - h.value, h.value - certain - least}));
  return h;
}

// (15) with P the shared part of the model, and its measure of how far (P, Q) is from a stationary point (coclus.hpp): two majorants
// touch the objective there; `conjugate` is that of the one which goes further down.
Charge charge_coclus(const Parameters& p, const Stated& stated, const Table& Z) {
  const Table &W = stated.W, &P = stated.shared;
  const Real lambda1 = p.at("lambda1"), lambda2 = p.at("lambda2"), ridge = p.at("ridge");
  const double W_off = stated.all_weight_error();
  Table Q = W;
  for (Index t = 0; t < W.rows(); ++t)
    for (Index k = 0; k < W.cols(); ++k) Q(t, k) -= P(t, k);
  const Index all = std::min(W.rows(), W.cols());
  const Index kept = std::min(static_cast<Index>(p.at("clusters")), all);
  Charge charge;
  const auto add = [&](Known& to, Real factor, Real value, double off) {
    to.value += factor * value;
    to.off +=
        small(factor) * (moved(value, off) + (rounding_of_squares(W) + 8 * u_long) * small(value));
  };
  add(charge.penalty, lambda1, squares(less_mean(P)), error_of_means(P));
  add(charge.penalty, ridge / 2, squares(P), 0);
  add(charge.penalty, ridge / 2, squares(Q), W_off + u_long * length(Q));
  const Real mean = static_cast<Real>(W.rows()) * squares(mean_of(Z));
  add(charge.conjugate, 1 / (4 * lambda1 + 2 * ridge), squares(less_mean(Z)), error_of_means(Z));
  add(charge.conjugate, 1 / (2 * ridge), mean, error_of_means(Z));

  const Real all_of_Z = squares(Z);
  Known inside{kept == all ? all_of_Z : 0, 0};
  if (kept < all) {
    const Singular own = singular(Q);
    const double off = error_of_singular_values(Q) + u_long * length(Q) + W_off;
    Real outside = 0;
    for (Index i = kept; i < all; ++i) outside += own.sigma[at(i)] * own.sigma[at(i)];
    add(charge.penalty, lambda2, outside, std::sqrt(static_cast<double>(all)) * off);
    if (kept > 0) {
      const Known by_tasks = along_leading(own.u, own.sigma, all, off, kept, Z);
      const Known by_features = along_leading(own.v, own.sigma, all, off, kept, Z.transpose());
      inside = {std::max(by_tasks.value, by_features.value),
                std::max(by_tasks.off, by_features.off)};
    }
  }
  const Real rest = 1 / (4 * lambda2 + 2 * ridge), free = 1 / (2 * ridge);
  charge.conjugate.value += rest * std::max<Real>(0, all_of_Z - inside.value) + free * inside.value;
  charge.conjugate.off += small(free - rest) * inside.off +
                          (rounding_of_squares(Z) + 8 * u_long) * small(free * all_of_Z);
  charge.reach = small(1 / ridge);
  return charge;
}

// The weights of a task as the model states them: of features, or signed coefficients of pivots.
std::vector<double> stated_weights(const Model& model, const TaskModel& task) {
  if (!model.settings.map.mapped) return {task.w().begin(), task.w().end()};
  std::vector<double> weights(at(model.support_vectors.rows()), 0);
  const KernelExpansion& f = task.expansion();
  for (std::size_t k = 0; k < f.support.size(); ++k)
    weights[at(f.support[k])] = f.alpha[static_cast<Index>(k)] * f.y[static_cast<Index>(k)];
  return weights;
}

// Those of metag are the tasks of equal weights, no fewer and no more.
void check_equal_weights(const Model& model, Verification& check) {
  std::map<std::vector<double>, Index> group_of;  // the first that has these weights
  for (std::size_t g = 0; g < model.groups().size(); ++g)
    for (const Index t : model.groups()[g]) {
      const TaskModel& task = model.tasks[at(t)];
      const Index own = static_cast<Index>(g);
      if (group_of.emplace(stated_weights(model, task), own).first->second != own)
        check.findings.push_back(fmt::format(
            "task '{}' has the weights of another group, but is not listed there", task.name));
    }
  if (!check.groups_exact) check.findings.emplace_back("the weights of a group are not equal");
}

// Those of flexclus follow from the shared part: tasks that agree in more than half of the features are joined.
void check_shared_values(const Model& model, const Stated& stated, Verification& check) {
  const Table& shared = stated.shared;
  if (shared.rows() != stated.W.rows()) return;
  std::vector<Index> label;  // of every task, that of the first task it is joined with
  for (Index t = 0; t < shared.rows(); ++t) label.push_back(t);
  for (Index s = 0; s < shared.rows(); ++s)
    for (Index t = s + 1; t < shared.rows(); ++t) {
      Index equal = 0;
      for (Index k = 0; k < shared.cols(); ++k) equal += shared(s, k) == shared(t, k);
      if (2 * equal <= shared.cols()) continue;
      const auto [first, second] = std::minmax(label[at(s)], label[at(t)]);
      std::ranges::replace(label, Index{second}, Index{first});
    }
  for (const std::vector<Index>& group : model.groups())
    for (Index t = 0; t < shared.rows(); ++t)
      if ((std::ranges::count(group, t) > 0) != (label[at(t)] == group.front()))
        check.findings.push_back(fmt::format(
            "task '{}' is not in the group that its shared part says", model.tasks[at(t)].name));
}

// Of methods with a number of clusters there are no more than that. Those of cmtl and coclus are a reading, those of whom the problem that
// was solved: nothing in the model can tell whether others would do better.
Index most_clusters(const Model& model) {
  const Parameters p = parameters_of(model.settings);
  return std::clamp(static_cast<Index>(p.at("clusters")), Index{1}, std::ssize(model.tasks));
}
void check_number_of_clusters(const Model& model, const char* what, Verification& check) {
  const Index most = most_clusters(model);
  if (std::ssize(model.groups()) > most)
    check.findings.push_back(fmt::format("there are {} groups, more than the {} of the settings",
                                         model.groups().size(), most));
  if (most > 1) check.taken.push_back(fmt::format("the clusters, {}", what));
}

// Every task is in one group.
void check_partition(const Model& model, Verification& check) {
  std::vector<int> found(model.tasks.size(), 0);
  for (const std::vector<Index>& group : model.groups())
    for (const Index t : group)
      if (t >= 0 && t < std::ssize(found)) ++found[at(t)];
  if (std::ranges::count(found, 1) != std::ssize(found))
    throw InputError("The groups of the model are not a partition of its tasks.");
  check.groups_exact = true;
  for (const std::vector<Index>& group : model.groups())
    for (const Index t : group)
      if (stated_weights(model, model.tasks[at(t)]) !=
          stated_weights(model, model.tasks[at(group.front())]))
        check.groups_exact = false;
}

// What models of versions before 4 state: no bound, and a gap that is relative to the objective, as now.
constexpr double kOldBound = 1e-7;

Model with_bound(const Model& model, Verification& check) {
  if (model.certificate().scale_floor == 0) return model;
  Model bounded = model;
  bounded.certificate().bound = kOldBound;
  bounded.certificate().scale_floor = std::numeric_limits<double>::min();  // none, but an old one
  check.taken.push_back(
      fmt::format("that the stated values round by less than {:.0e} of the objective: the model is "
                  "of a version that stated no bound",
                  kOldBound));
  return bounded;
}

// What differs between the methods: what the gap can prove, which clusters follow from the numbers, penalty and conjugate.
struct LinearCheck {
  Claim claim = Claim::optimum;
  std::function<void(const Stated&, Verification&)> clusters;
  std::function<Charge(const Stated&, const Table& Z, Verification&)> charge;
};

Verification verify_linear(const Model& given, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress,
                           const LinearCheck& own) {
  const std::function<void()> one_done = counting(data, progress);
  check_fit_to_model(given, 0, std::ssize(given.tasks), data, precomputed);
  Verification check;
  const Model model = with_bound(given, check);
  const Matrix X = scaled(model, data.X);
  check_scaling(model, data, check.findings);
  std::optional<ExactKernels> exact;
  if (model.settings.map.mapped) {
    exact.emplace(X, model.kernels, precomputed);
    check_kernels(model, &data, check);
    check_divisors(model, data, *exact, check.findings);
    for (const TaskModel& task : model.tasks)
      if (!(task.theta().array() == 1.0 / static_cast<double>(model.kernels.size())).all())
        check.findings.push_back(fmt::format("a kernel weight of task '{}' is not 1/M", task.name));
  }
  const Stated stated = state(model, data, X, exact, check, one_done);
  check_partition(model, check);
  own.clusters(stated, check);
  const Losses losses = losses_of(model, stated, check);
  const Method& method = *model.settings.method;
  if (method.has_shared && stated.shared.rows() != stated.W.rows())
    throw InputError("The model does not hold the shared part of its weights.");
  const Charge charge = own.charge(stated, losses.Z, check);
  for (const TaskModel& task : model.tasks)
    if (task.C != 1)
      check.findings.push_back(
          fmt::format("task '{}' has C = {}, and {} has no C", task.name, task.C, method.name));
  if (model.certificate().claim != own.claim)
    check.findings.push_back(fmt::format("the model claims '{}', which {} cannot give",
                                         to_string(model.certificate().claim), method.name));
  const Real primal = losses.primal.value + charge.penalty.value;
  const Real dual = losses.dual.value - charge.conjugate.value;
  const double error = losses.primal.off + losses.dual.off + charge.penalty.off +
                       charge.conjugate.off +
                       moved(charge.conjugate.value, std::sqrt(charge.reach) * losses.Z_off);
  compare(model.certificate(), model.settings.tolerance, primal, dual, error, check,
          own.claim != Claim::stationary);
  return check;
}

constexpr const char* kReading = "which are read off the weights";

}  // namespace

Verification verify_cmtl(const Model& model, const Dataset& data,
                         const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  if (p.at("within") < p.at("between"))
    throw InputError("The model has within < between, which cmtl does not allow.");
  return verify_linear(
      model, data, precomputed, progress,
      {.clusters = [&](const Stated&,
                       Verification& check) { check_number_of_clusters(model, kReading, check); },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_cmtl(p, stated, Z); }});
}

Verification verify_whom(const Model& model, const Dataset& data,
                         const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.claim = most_clusters(model) > 1 ? Claim::given_clusters : Claim::optimum,
       .clusters =
           [&](const Stated&, Verification& check) {
             check_number_of_clusters(model, "for which the weights are optimal", check);
           },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_whom(p, model.groups(), stated, Z); }});
}

Verification verify_flexclus(const Model& model, const Dataset& data,
                             const PrecomputedMatrices& precomputed,
                             const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.clusters = [&](const Stated& stated,
                       Verification& check) { check_shared_values(model, stated, check); },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_flexclus(p, stated, Z); }});
}

Verification verify_coclus(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.claim = Claim::stationary,
       .clusters = [&](const Stated&,
                       Verification& check) { check_number_of_clusters(model, kReading, check); },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_coclus(p, stated, Z); }});
}

Verification verify_metag(const Model& model, const Dataset& data,
                          const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.clusters = [&](const Stated&, Verification& check) { check_equal_weights(model, check); },
       .charge =
           [&](const Stated& stated, const Table& Z, Verification& check) {
             return charge_metag(p, stated, Z, model.certificate().nu, check);
           }});
}

}  // namespace coterie
