#include "coterie/model/verify_penalties.hpp"

#include <algorithm>
#include <limits>

#include "coterie/model/verify_sums.hpp"

namespace coterie::linear_check {

namespace {

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
}  // namespace

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

}  // namespace coterie::linear_check
