#include "coterie/baseline/verify_linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "coterie/mtmkl/verify_sums.hpp"

namespace coterie {

namespace {

using Numbers = std::vector<double>;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double product(const Matrix& A, Index i, const Matrix& B, Index j) {
  double sum = 0;
  for (Index k = 0; k < A.cols(); ++k) sum += A(i, k) * B(j, k);
  return sum;
}

double squares(const Matrix& A) {
  double sum = 0;
  for (Index i = 0; i < A.rows(); ++i) sum += product(A, i, A, i);
  return sum;
}

double distance(const Matrix& A, Index i, Index j) {
  double sum = 0;
  for (Index k = 0; k < A.cols(); ++k) sum += std::pow(A(i, k) - A(j, k), 2);
  return std::sqrt(sum);
}

// A = sum_i sigma_i u_i v_i', descending: pairs of rows are turned until all are orthogonal; then they are the sigma_i v_i.
struct Singular {
  Numbers sigma;  // as many as A has rows
  Matrix u, v;    // a row each; v_i = 0 where sigma_i is
};

Singular singular(Matrix A) {
  const Index T = A.rows();
  Matrix turns = Matrix::Identity(T, T);
  const auto turn = [](Matrix& B, Index p, Index q, double cosine, double sine) {
    for (Index k = 0; k < B.cols(); ++k) {
      const double x = B(p, k), y = B(q, k);
      B(p, k) = cosine * x - sine * y;
      B(q, k) = sine * x + cosine * y;
    }
  };
  const double rounding = 1e-32 * squares(A);
  bool turned = true;
  for (int sweep = 0; turned && sweep < 100; ++sweep) {
    turned = false;
    for (Index p = 0; p < T; ++p)
      for (Index q = p + 1; q < T; ++q) {
        const double a = product(A, p, A, p), b = product(A, q, A, q), c = product(A, p, A, q);
        if (std::abs(c) <= 1e-15 * std::sqrt(a * b) || std::min(a, b) <= rounding) continue;
        turned = true;
        const double zeta = (b - a) / (2 * c);
        const double tangent = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double cosine = 1 / std::sqrt(1 + tangent * tangent);
        turn(A, p, q, cosine, cosine * tangent);
        turn(turns, p, q, cosine, cosine * tangent);
      }
  }
  std::vector<Index> order;
  for (Index i = 0; i < T; ++i) order.push_back(i);
  std::ranges::stable_sort(order, std::greater<>(), [&](Index i) { return product(A, i, A, i); });
  Singular out{{}, Matrix(T, T), Matrix::Zero(T, A.cols())};
  for (Index i = 0; i < T; ++i) {
    const Index from = order[at(i)];
    out.sigma.push_back(std::sqrt(product(A, from, A, from)));
    out.u.row(i) = turns.row(from);
    if (out.sigma.back() > 0) out.v.row(i) = A.row(from) / out.sigma.back();
  }
  return out;
}

Numbers singular_values(const Matrix& A) { return singular(A).sigma; }

// The problem that the model states, from raw data, and what it says is the answer.
struct Stated {
  std::vector<Matrix> x;   // [task] samples x features
  std::vector<Vector> y;   // [task]
  std::vector<Numbers> c;  // [task], weights of the samples
  Matrix W;                // T x d
  Matrix shared;           // T x d, or empty
};

// ---- Features: those of the data, or those that stand for kernels, docs/methods.md (12) --------------------------------------------

double mean_kernel(const Model& model, ConstVectorRef x, ConstVectorRef z) {
  double sum = 0;
  for (std::size_t m = 0; m < model.kernels.size(); ++m)
    sum += kernel_value(model.kernels[m], x, z) /
           (static_cast<double>(model.kernels.size()) * model.divisors[static_cast<Index>(m)]);
  return sum;
}

// The pivots are the model's support vectors, ordered by row; they were chosen one by one, always that of which most was left.
struct Map {
  std::vector<Index> order;  // pivot of every feature
  Matrix phi;                // at the pivots, in the order of rows
};

Map map_of(const Model& model) {
  const Matrix& P = model.support_vectors;
  Map map{{}, Matrix::Zero(P.rows(), P.rows())};
  Numbers left;
  for (Index i = 0; i < P.rows(); ++i) left.push_back(mean_kernel(model, P.row(i), P.row(i)));
  for (Index r = 0; r < P.rows(); ++r) {
    const Index p = std::max_element(left.begin(), left.end()) - left.begin();
    const double root = std::sqrt(left[at(p)]);
    for (Index i = 0; i < P.rows(); ++i) {
      if (std::ranges::count(map.order, i) > 0) continue;
      double value = mean_kernel(model, P.row(i), P.row(p));
      for (Index l = 0; l < r; ++l) value -= map.phi(i, l) * map.phi(p, l);
      map.phi(i, r) = i == p ? root : value / root;
      left[at(i)] = std::max(0.0, left[at(i)] - map.phi(i, r) * map.phi(i, r));
    }
    left[at(p)] = -1;
    map.order.push_back(p);
  }
  return map;
}

Vector mapped(const Model& model, const Map& map, ConstVectorRef x) {
  Vector phi(std::ssize(map.order));
  for (Index r = 0; r < phi.size(); ++r) {
    const Index p = map.order[at(r)];
    phi[r] = mean_kernel(model, x, model.support_vectors.row(p));
    for (Index l = 0; l < r; ++l) phi[r] -= phi[l] * map.phi(p, l);
    phi[r] /= map.phi(p, r);
  }
  return phi;
}

Stated state(const Model& model, const Dataset& data, const Matrix& X, Verification& check,
             const std::function<void()>& one_done) {
  const Index T = std::ssize(model.tasks);
  const bool is_mapped = model.settings.map != "none";
  Stated stated;
  Map map;
  Matrix features = X;
  if (is_mapped) {
    for (std::size_t k = 0; k < model.training_row.size(); ++k)
      if (!(X.row(model.training_row[k]) == model.support_vectors.row(static_cast<Index>(k))))
        check.findings.emplace_back("a pivot differs from its row of the data");
    map = map_of(model);
    const Index rank = parse_map(model.settings.map).rank, found = std::ssize(map.order);
    if (found > rank)
      check.findings.push_back(
          fmt::format("the map has {} pivots, more than the rank {} of the settings", found, rank));
    features.resize(X.rows(), std::ssize(map.order));
    std::vector<bool> used(at(X.rows()), false);
    for (const Task& task : data.tasks)
      for (const Index row : task.rows) used[at(row)] = true;
    double trace = 0, left = 0;
    for (Index i = 0; i < X.rows(); ++i) {
      if (!used[at(i)]) continue;
      features.row(i) = mapped(model, map, X.row(i));
      const double own = mean_kernel(model, X.row(i), X.row(i));
      trace += own;
      left += std::max(0.0, own - product(features, i, features, i));
    }
    if (found < rank && left > 2e-6 * trace)
      check.findings.push_back(fmt::format(
          "the map leaves {:.2g} of the kernels, more than 1e-6, though it has fewer pivots than "
          "its rank allows",
          left / trace));
  }
  const Index d = features.cols();
  stated.W.resize(T, d);
  for (Index t = 0; t < T; ++t) {
    const TaskModel& task = model.tasks[at(t)];
    const Task& samples = data.tasks[at(t)];
    if (is_mapped) {  // w = sum of coefficients times phi at the pivots
      stated.W.row(t).setZero();
      for (std::size_t k = 0; k < task.support.size(); ++k)
        for (Index r = 0; r < d; ++r)
          stated.W(t, r) += task.alpha[static_cast<Index>(k)] * task.y[static_cast<Index>(k)] *
                            map.phi(task.support[k], r);
    } else {
      if (task.w.size() != d)
        throw InputError(fmt::format("Task '{}' of the model has {} weights for {} features.",
                                     task.name, task.w.size(), d));
      stated.W.row(t) = task.w;
    }
    if (task.shared.size() == d) {
      if (stated.shared.rows() == 0) stated.shared = Matrix::Zero(T, d);
      stated.shared.row(t) = task.shared;
    }
    double positive = 0;
    for (const double y : samples.y) positive += y > 0;
    const double n = static_cast<double>(samples.size());
    Matrix x(samples.size(), d);
    Numbers c;
    for (Index i = 0; i < samples.size(); ++i) {
      one_done();
      x.row(i) = features.row(samples.rows[at(i)]);
      const double side = samples.y[i] > 0 ? positive : n - positive;
      c.push_back(model.settings.class_weight == "balanced" ? 1 / (2 * side) : 1 / n);
    }
    stated.x.push_back(std::move(x));
    stated.y.push_back(samples.y);
    stated.c.push_back(std::move(c));
  }
  return stated;
}

// ---- Losses ------------------------------------------------------------------------------------------------------------------------

struct LossAt {
  double value, pull;
};

LossAt loss_at(const std::string& loss, double m) {
  if (loss == "logistic") return {m < -30 ? -m : std::log1p(std::exp(-m)), 1 / (1 + std::exp(m))};
  const double left = loss == "square" ? 1 - m : std::max(0.0, 1 - m);
  return {left * left / 2, left};
}

double conjugate_of_loss(const std::string& loss, double s) {
  if (loss != "logistic") return s * s / 2 - s;
  return (s > 0 ? s * std::log(s) : 0) + (s < 1 ? (1 - s) * std::log(1 - s) : 0);
}

struct Losses {
  double primal = 0;
  double dual = 0;  // - sum c phi*(-s), with balanced pulls s
  Matrix Z;         // T x d
};

Losses losses_of(const Model& model, const Stated& stated, Verification& check) {
  const std::string& loss = model.settings.loss;
  const Index T = stated.W.rows(), d = stated.W.cols();
  Losses all;
  all.Z = Matrix::Zero(T, d);
  for (Index t = 0; t < T; ++t) {
    const TaskModel& task = model.tasks[at(t)];
    const Matrix& x = stated.x[at(t)];
    const Vector& y = stated.y[at(t)];
    const Numbers& c = stated.c[at(t)];
    Numbers s;
    double primal = 0, positive = 0, negative = 0, weight = 0;
    for (Index i = 0; i < x.rows(); ++i) {
      const LossAt here = loss_at(loss, y[i] * (product(x, i, stated.W, t) + task.bias));
      primal += c[at(i)] * here.value;
      s.push_back(here.pull);
      (y[i] > 0 ? positive : negative) += c[at(i)] * here.pull;
      weight += c[at(i)];
    }
    for (Index i = 0; i < x.rows(); ++i) {
      if (loss == "square")
        s[at(i)] -= y[i] * (positive - negative) / weight;
      else if (y[i] > 0 && positive > negative)
        s[at(i)] *= negative / positive;
      else if (y[i] < 0 && negative > positive)
        s[at(i)] *= positive / negative;
      all.dual -= c[at(i)] * conjugate_of_loss(loss, s[at(i)]);
      for (Index k = 0; k < d; ++k) all.Z(t, k) += c[at(i)] * s[at(i)] * y[i] * x(i, k);
    }
    all.primal += primal;
    if (!(std::abs(primal - task.objective) <= 1e-7 * std::abs(primal) + 1e-14))
      check.findings.push_back(
          fmt::format("the loss of task '{}' is {:.10g}, not {:.10g} as stated", task.name, primal,
                      task.objective));
  }
  return all;
}

// ---- Penalties: R(W), and R*(Z) or a bound of it from above ------------------------------------------------------------------------

struct Charge {
  double penalty = 0, conjugate = 0;
};

// W less the mean of its rows, and the mean in a row of its own.
Matrix mean_of(const Matrix& W) {
  Matrix mean = Matrix::Zero(1, W.cols());
  for (Index t = 0; t < W.rows(); ++t)
    for (Index k = 0; k < W.cols(); ++k) mean(0, k) += W(t, k) / static_cast<double>(W.rows());
  return mean;
}

Matrix less_mean(Matrix W) {
  const Matrix mean = mean_of(W);
  for (Index t = 0; t < W.rows(); ++t)
    for (Index k = 0; k < W.cols(); ++k) W(t, k) -= mean(0, k);
  return W;
}

// docs/methods.md (6). Singular values in all directions, or in all but the constant one.
Charge charge_cmtl(const Parameters& p, const Matrix& W, const Matrix& Z) {
  const bool centred = p.at("centred") != 0;
  const double T = static_cast<double>(W.rows());
  const double alpha = 1 / p.at("within"), beta = 1 / p.at("between");
  const double free = std::min(p.at("clusters"), T) - (centred ? 1 : 0);
  Numbers sigma = singular_values(centred ? less_mean(W) : W);
  Numbers zeta = singular_values(centred ? less_mean(Z) : Z);
  if (centred) {
    sigma.pop_back();
    zeta.pop_back();
  }
  const double directions = static_cast<double>(sigma.size());
  const double budget = (directions - free) * alpha + free * beta;
  Charge charge;
  if (centred) {
    charge.penalty = p.at("mean") * T * squares(mean_of(W));
    charge.conjugate = T * squares(mean_of(Z)) / (4 * p.at("mean"));
  }
  if (!sigma.empty()) {
    // Sigma has eigenvalues l = clip(kappa sigma, alpha, beta) of sum budget: kappa by halving
    const auto weight = [&](double s, double kappa) { return std::clamp(kappa * s, alpha, beta); };
    double low = 0, high = beta / std::max(1e-200, 1e-16 * sigma.front());
    for (int k = 0; k < 300; ++k) {
      const double middle = (low + high) / 2;
      double sum = 0;
      for (const double s : sigma) sum += weight(s, middle);
      (sum <= budget ? low : high) = middle;
    }
    for (const double s : sigma) charge.penalty += s * s / weight(s, low);
    // max of sum l z^2 over the box: the least of its bounds  price budget + sum max(alpha, beta)(z^2 - price)
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i <= zeta.size(); ++i) {
      const double price = i < zeta.size() ? zeta[i] * zeta[i] : 0;
      double bound = price * budget;
      for (const double z : zeta)
        bound += std::max(alpha * (z * z - price), beta * (z * z - price));
      least = std::min(least, bound);
    }
    charge.conjugate += least / 4;
  }
  return {charge.penalty * p.at("lambda"), charge.conjugate / p.at("lambda")};
}

// (7), for the groups that the model states.
Charge charge_whom(const Parameters& p, const Groups& groups, const Matrix& W, const Matrix& Z) {
  Charge charge;
  for (const std::vector<Index>& group : groups) {
    Matrix W_g(std::ssize(group), W.cols()), Z_g(std::ssize(group), W.cols());
    for (Index k = 0; k < W_g.rows(); ++k) {
      W_g.row(k) = W.row(group[at(k)]);
      Z_g.row(k) = Z.row(group[at(k)]);
    }
    double trace = 0;
    for (const double sigma : singular_values(W_g)) trace += sigma;
    charge.penalty += p.at("lambda") * trace * trace;
    charge.conjugate += std::pow(singular_values(Z_g).front(), 2) / (4 * p.at("lambda"));
  }
  return charge;
}

// argmin_x 1/2 ||x - z||^2 + kappa sum_{s<t} |x_s - x_t|, (5): in descending order of z, x is the best descending fit to
// z_i - kappa (T + 1 - 2 i), which is  min_{a <= i} max_{b >= i}  of the mean over a .. b.
Numbers fused(Numbers z, double kappa) {
  const std::size_t T = z.size();
  std::sort(z.rbegin(), z.rend());
  if (kappa * static_cast<double>(T) >= z.front() - z.back()) {  // all are one, whatever kappa is
    double mean = 0;
    for (const double value : z) mean += value / static_cast<double>(T);
    return Numbers(T, mean);
  }
  Numbers sum(T + 1, 0), x(T);
  for (std::size_t i = 0; i < T; ++i)
    sum[i + 1] = sum[i] + z[i] - kappa * (static_cast<double>(T) - 1 - 2 * static_cast<double>(i));
  for (std::size_t i = 0; i < T; ++i) {
    x[i] = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a <= i; ++a) {
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t b = i; b < T; ++b)
        largest = std::max(largest, (sum[b + 1] - sum[a]) / static_cast<double>(b + 1 - a));
      x[i] = std::min(x[i], largest);
    }
  }
  return x;
}

// (9). The shared part U of the model is one way to split W; no other is cheaper, or the gap would tell.
Charge charge_flexclus(const Parameters& p, const Matrix& W, const Matrix& U, const Matrix& Z) {
  const double lambda1 = p.at("lambda1"), lambda2 = p.at("lambda2"), lambda3 = p.at("lambda3");
  Charge charge;
  for (Index k = 0; k < W.cols(); ++k) {
    Numbers z;
    for (Index t = 0; t < W.rows(); ++t) {
      z.push_back(Z(t, k) / (2 * lambda2));
      charge.penalty += lambda2 * U(t, k) * U(t, k) + lambda3 * std::pow(W(t, k) - U(t, k), 2);
      for (Index s = 0; s < t; ++s) charge.penalty += lambda1 * std::abs(U(s, k) - U(t, k));
    }
    for (const double x : fused(z, lambda1 / (2 * lambda2))) charge.conjugate += lambda2 * x * x;
  }
  charge.conjugate += squares(Z) / (4 * lambda3);
  return charge;
}

// (11), with the pair duals of the model.
Charge charge_metag(const Parameters& p, const Matrix& W, const Matrix& Z, const Matrix& nu,
                    Verification& check) {
  const Index T = W.rows();
  if (nu.rows() != T * (T - 1) / 2 || (T > 1 && nu.cols() != W.cols()))
    throw InputError("The model does not hold one pair dual for every pair of tasks.");
  const double last = p.at("lambda") / std::pow(p.at("ratio"), p.at("levels") - 1);
  const double lambda = std::min(p.at("lambda"), last), ridge = p.at("ridge");
  Charge charge;
  Matrix rest = Z;
  Index pair = 0;
  for (Index s = 0; s < T; ++s)
    for (Index t = s + 1; t < T; ++t, ++pair) {
      charge.penalty += lambda * distance(W, s, t);
      for (Index k = 0; k < W.cols(); ++k) {
        rest(s, k) -= nu(pair, k);
        rest(t, k) += nu(pair, k);
      }
      note_infeasible(check, std::max(0.0, std::sqrt(product(nu, pair, nu, pair)) / lambda - 1),
                      1e-9, "a pair dual leaves its ball");
    }
  charge.penalty += ridge / 2 * squares(W);
  charge.conjugate = squares(rest) / (2 * ridge);
  return charge;
}

// (10) with P the shared part of the model, and its measure of how far (P, Q) is from a stationary point (coclus.hpp): two majorants
// touch the objective there; `conjugate` is that of the one which goes further down.
struct Stationary {
  Charge charge;
  bool tied = false;  // the leading directions of Q are not the only choice
};

Stationary charge_coclus(const Parameters& p, const Matrix& W, const Matrix& P, const Matrix& Z) {
  const double lambda1 = p.at("lambda1"), lambda2 = p.at("lambda2"), ridge = p.at("ridge");
  const double T = static_cast<double>(W.rows());
  Matrix Q = W;
  for (Index t = 0; t < W.rows(); ++t)
    for (Index k = 0; k < W.cols(); ++k) Q(t, k) -= P(t, k);
  const Singular own = singular(Q);
  const Index all = std::min(W.rows(), W.cols());
  const Index kept = std::min(static_cast<Index>(p.at("clusters")), all);
  Stationary out;
  out.charge.penalty = lambda1 * squares(less_mean(P)) + ridge / 2 * (squares(P) + squares(Q));
  for (Index i = kept; i < all; ++i) out.charge.penalty += lambda2 * std::pow(own.sigma[at(i)], 2);

  double by_tasks = 0, by_features = 0;  // ||U'Z||^2, ||Z V||^2
  for (Index i = 0; i < kept; ++i) {
    for (Index k = 0; k < W.cols(); ++k) {
      double along = 0;
      for (Index t = 0; t < W.rows(); ++t) along += own.u(i, t) * Z(t, k);
      by_tasks += along * along;
    }
    for (Index t = 0; t < W.rows(); ++t) by_features += std::pow(product(own.v, i, Z, t), 2);
  }
  const double inside = kept == all ? squares(Z) : std::max(by_tasks, by_features);
  const double mean = T * squares(mean_of(Z));
  out.charge.conjugate = squares(less_mean(Z)) / (4 * lambda1 + 2 * ridge) + mean / (2 * ridge) +
                         (squares(Z) - inside) / (4 * lambda2 + 2 * ridge) + inside / (2 * ridge);
  out.tied =
      kept < all && own.sigma[at(kept - 1)] - own.sigma[at(kept)] <= 1e-6 * own.sigma.front();
  return out;
}

// There is no dual value: the gap alone is compared.
void compare_stationary(const Certificate& stated, double tolerance, double bound, bool tied,
                        Verification& check) {
  const double scale = std::max(std::abs(check.primal), 1e-9);
  check.dual = -std::numeric_limits<double>::infinity();
  check.gap = std::max(0.0, check.primal - bound) / scale;
  check.primal_difference = std::abs(check.primal - stated.primal) / scale;
  if (!(check.primal_difference <= 1e-7))
    check.findings.push_back(fmt::format("the objective is {:.10g}, not {:.10g} as stated",
                                         check.primal, stated.primal));
  if (!tied && !(std::abs(check.gap - stated.gap) <= 1e-7))
    check.findings.push_back(
        fmt::format("a step may still gain {:.3g}, not {:.3g} as stated", check.gap, stated.gap));
  if (stated.status == "converged" && !(check.gap <= tolerance * (1 + 1e-6) + 1e-9))
    check.findings.push_back(fmt::format("a step may still gain {:.3g}, above the tolerance {:.3g}",
                                         check.gap, tolerance));
}

// Every task is in one group. Those of metag have equal weights; those of flexclus follow from the shared part: tasks that agree in more
// than half of the features are joined. Those of cmtl and coclus are a reading, which nothing here can prove.
void check_clusters(const Model& model, const Matrix& W, const Matrix& shared,
                    Verification& check) {
  std::vector<int> found(model.tasks.size(), 0);
  for (const std::vector<Index>& group : model.groups)
    for (const Index t : group)
      if (t >= 0 && t < std::ssize(found)) ++found[at(t)];
  if (std::ranges::count(found, 1) != std::ssize(found))
    throw InputError("The groups of the model are not a partition of its tasks.");
  check.groups_exact = true;
  for (const std::vector<Index>& group : model.groups)
    for (const Index t : group)
      if (W.row(t) != W.row(group.front())) check.groups_exact = false;
  if (model.settings.method == "metag" && !check.groups_exact)
    check.findings.emplace_back("the weights of a group are not equal");
  if (model.settings.method != "flexclus" || shared.rows() != W.rows()) return;
  std::vector<Index> label;  // of every task, that of the first task it is joined with
  for (Index t = 0; t < W.rows(); ++t) label.push_back(t);
  for (Index s = 0; s < W.rows(); ++s)
    for (Index t = s + 1; t < W.rows(); ++t) {
      Index equal = 0;
      for (Index k = 0; k < W.cols(); ++k) equal += shared(s, k) == shared(t, k);
      if (2 * equal <= W.cols()) continue;
      const auto [first, second] = std::minmax(label[at(s)], label[at(t)]);
      std::ranges::replace(label, Index{second}, Index{first});
    }
  for (const std::vector<Index>& group : model.groups)
    for (Index t = 0; t < W.rows(); ++t)
      if ((std::ranges::count(group, t) > 0) != (label[at(t)] == group.front()))
        check.findings.push_back(fmt::format(
            "task '{}' is not in the group that its shared part says", model.tasks[at(t)].name));
}

// Of sums over features, whose rounding is far below the margin: relative to the objective.
void compare_linear(const Certificate& stated, double tolerance, Verification& check) {
  constexpr double margin = 1e-7;
  const double scale = std::max(1e-9, std::abs(check.primal));
  check.gap = (check.primal - check.dual) / scale;
  check.bound = margin;
  check.primal_difference = std::abs(check.primal - stated.primal) / scale;
  check.dual_difference = std::abs(check.dual - stated.dual) / scale;
  if (!(check.primal_difference <= margin))
    check.findings.push_back(fmt::format("the objective is {:.10g}, not {:.10g} as stated",
                                         check.primal, stated.primal));
  if (!(check.dual_difference <= margin))
    check.findings.push_back(
        fmt::format("the dual value is {:.10g}, not {:.10g} as stated", check.dual, stated.dual));
  if (!(std::abs(check.gap - stated.gap) <= 3 * margin))
    check.findings.push_back(
        fmt::format("the relative gap is {:.3g}, not {:.3g} as stated", check.gap, stated.gap));
  if (check.gap < -margin)
    check.findings.push_back(fmt::format("the dual value {:.10g} is above the objective {:.10g}",
                                         check.dual, check.primal));
  if (stated.status == "converged" && !(check.gap <= tolerance * (1 + 1e-6) + 1e-9))
    check.findings.push_back(fmt::format("the relative gap is {:.3g}, above the tolerance {:.3g}",
                                         check.gap, tolerance));
}

}  // namespace

Verification verify_linear(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const std::function<void()> one_done = counting(data, progress);
  check_fit_to_model(model, 0, std::ssize(model.tasks), data, precomputed);
  const std::string& method = model.settings.method;
  const Parameters p = parameters_of(model.settings);
  if (method == "cmtl" && p.at("within") < p.at("between"))
    throw InputError("The model has within < between, which cmtl does not allow.");
  Verification check;
  const Matrix X = scaled(model, data.X);
  check_scaling(model, data, check.findings);
  if (model.settings.map != "none")
    check_divisors(model, data, ExactKernels(X, model.kernels, precomputed), check.findings);
  if (model.settings.map != "none")
    for (const TaskModel& task : model.tasks)
      if (!(task.theta.array() == 1.0 / static_cast<double>(model.kernels.size())).all())
        check.findings.push_back(fmt::format("a kernel weight of task '{}' is not 1/M", task.name));
  check.taken.emplace_back("that sums over features round by less than 1e-7 of the objective");
  const Stated stated = state(model, data, X, check, one_done);
  check_clusters(model, stated.W, stated.shared, check);
  const Losses losses = losses_of(model, stated, check);

  const bool has_shared = method == "flexclus" || method == "coclus";
  if (has_shared && stated.shared.rows() != stated.W.rows())
    throw InputError("The model does not hold the shared part of its weights.");
  Charge charge;
  Claim claim = Claim::optimum;
  bool tied = false;
  if (method == "cmtl") charge = charge_cmtl(p, stated.W, losses.Z);
  if (method == "flexclus") charge = charge_flexclus(p, stated.W, stated.shared, losses.Z);
  if (method == "metag") charge = charge_metag(p, stated.W, losses.Z, model.certificate.nu, check);
  if (method == "whom") {
    const Index allowed = std::min(static_cast<Index>(p.at("clusters")), std::ssize(model.tasks));
    if (allowed > 1) claim = Claim::given_clusters;
    charge = charge_whom(p, model.groups, stated.W, losses.Z);
    if (std::ssize(model.groups) > allowed)
      check.findings.push_back(fmt::format("there are {} groups, more than the {} of the settings",
                                           model.groups.size(), allowed));
  }
  if (method == "coclus") {
    claim = Claim::stationary;
    const Stationary at_rest = charge_coclus(p, stated.W, stated.shared, losses.Z);
    charge = at_rest.charge;
    tied = at_rest.tied;
  }
  if (model.certificate.claim != claim)
    check.findings.push_back(fmt::format("the model claims '{}', which is not what {} can prove",
                                         to_string(model.certificate.claim), method));
  check.primal = losses.primal + charge.penalty;
  check.dual = losses.dual - charge.conjugate;
  if (claim == Claim::stationary)
    compare_stationary(model.certificate, model.settings.tolerance, check.dual, tied, check);
  else
    compare_linear(model.certificate, model.settings.tolerance, check);
  return check;
}

}  // namespace coterie
