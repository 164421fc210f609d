#include "coterie/model/verify_features.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coterie/model/verify_sums.hpp"

namespace coterie::linear_check {

namespace {

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
}  // namespace

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

}  // namespace coterie::linear_check
