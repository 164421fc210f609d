#include "exact_gap.hpp"

#include <boost/multiprecision/float128.hpp>
#include <cmath>
#include <vector>

#include "coterie/kernel/base/list.hpp"

namespace coterie {

namespace {

using Real = boost::multiprecision::float128;

// The definition of the kernels, with 113 bits.
Real value(const Kernel& kernel, const Matrix& X, Index i, Index j) {
  const bool divided = !kernel.raw && !kernel.base->is_one_at_equal_points;
  if (divided && i == j) return 1;
  const auto plain = [&](Index k, Index l) {
    return BaseKernels::value<Real>(kernel, X.row(k).data(), X.row(l).data(), X.cols());
  };
  Real quotient = plain(i, j);
  if (divided) quotient /= sqrt(plain(i, i) * plain(j, j));
  return power_of(quotient, kernel.base->power(kernel));
}

// min over D of c'theta.
Real least(const std::vector<Real>& c, double p) {
  Real low = c.front();
  for (const Real& v : c) low = v < low ? v : low;
  if (p == 1) return low;
  if (low >= 0) return 0;
  Real sum = 0;
  if (std::isinf(p)) {
    for (const Real& v : c)
      if (v < 0) sum += v;
    return sum;
  }
  const Real q = Real(p) / (Real(p) - 1);
  for (const Real& v : c)
    if (v < 0) sum += pow(v / low, q);
  return low * pow(sum, 1 / q);
}

}  // namespace

double exact_gap(const Model& model, const Dataset& data) {
  Matrix X = data.X;
  if (model.scaling.kind != Scaling::Kind::none)
    for (Index i = 0; i < X.rows(); ++i)
      for (Index j = 0; j < X.cols(); ++j)
        X(i, j) = (X(i, j) - model.scaling.shift[j]) * model.scaling.factor[j];
  Scaling means;
  means.smooth = model.scaling.smooth;
  means.neighbours = model.scaling.neighbours;
  X = apply_scaling(means, X);
  const std::size_t T = model.tasks.size();
  const std::size_t M = model.kernels.size();
  Real primal = 0;
  Real dual = 0;
  std::vector<std::vector<Real>> c(T, std::vector<Real>(M, 0));
  for (std::size_t t = 0; t < T; ++t) {
    const TaskModel& task = model.tasks[t];
    const Task& samples = data.tasks[t];
    const Index n = samples.size();
    Index positive = 0;
    for (Index i = 0; i < n; ++i) positive += samples.y[i] > 0;
    std::vector<Real> alpha(static_cast<std::size_t>(n), 0);
    Real balance = 0;
    std::vector<std::size_t> largest(2, alpha.size());  // of either class
    for (std::size_t k = 0; k < task.expansion().sample.size(); ++k) {
      const std::size_t i = static_cast<std::size_t>(task.expansion().sample[k]);
      alpha[i] = task.expansion().alpha[static_cast<Index>(k)];
      const bool up = samples.y[static_cast<Index>(i)] > 0;
      balance += up ? alpha[i] : -alpha[i];
      if (largest[up] == alpha.size() || alpha[i] > alpha[largest[up]]) largest[up] = i;
    }
    // Feasible to the last bit: the heavier side gives up the rest.
    const std::vector<Real> given = alpha;
    if (balance != 0) alpha[largest[balance > 0]] -= abs(balance);
    std::vector<Real> S(M, 0);
    for (Index i = 0; i < n; ++i) {
      Real f = task.bias;
      for (std::size_t m = 0; m < M; ++m) {
        Real K_given = 0;
        Real K_balanced = 0;
        for (Index j = 0; j < n; ++j) {
          const std::size_t l = static_cast<std::size_t>(j);
          if (given[l] == 0 && alpha[l] == 0) continue;
          const Real K = value(model.kernels[m], X, samples.rows[static_cast<std::size_t>(i)],
                               samples.rows[l]) /
                         Real(model.divisors[static_cast<Index>(m)]) * samples.y[j];
          K_given += K * given[l];
          K_balanced += K * alpha[l];
        }
        const Real weight = task.theta()[static_cast<Index>(m)];
        f += weight * K_given;
        primal += weight * given[static_cast<std::size_t>(i)] * samples.y[i] * K_given / 2;
        S[m] += alpha[static_cast<std::size_t>(i)] * samples.y[i] * K_balanced;
      }
      double bound = task.C;
      if (model.settings.class_weight == ClassWeight::balanced)
        bound *= static_cast<double>(n) /
                 (2 * static_cast<double>(samples.y[i] > 0 ? positive : n - positive));
      const Real loss = 1 - samples.y[i] * f;
      if (loss > 0) primal += bound * loss;
      dual += alpha[static_cast<std::size_t>(i)];
    }
    for (std::size_t m = 0; m < M; ++m) c[t][m] = -S[m] / 2;
  }
  const double lambda = model.certificate().lambda;
  TaskGraph graph = model.certificate().complete ? complete_graph(std::ssize(model.tasks))
                                                 : model.certificate().graph;
  std::vector<std::size_t> part(T);
  for (std::size_t t = 0; t < T; ++t) part[t] = t;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::size_t t = static_cast<std::size_t>(graph[i].t);
    const std::size_t s = static_cast<std::size_t>(graph[i].s);
    if (std::isinf(lambda) && graph[i].weight > 0) {
      const std::size_t from = part[s];
      for (std::size_t& number : part)
        if (number == from) number = part[t];
    }
    if (!(lambda > 0) || std::isinf(lambda)) continue;
    const Real kappa = Real(lambda) * graph[i].weight;
    Real distance = 0;
    Real length = 0;
    for (std::size_t m = 0; m < M; ++m) {
      const Index k = static_cast<Index>(m);
      const Real d = Real(model.tasks[t].theta()[k]) - model.tasks[s].theta()[k];
      distance += d * d;
      length += Real(model.certificate().nu(static_cast<Index>(i), k)) *
                model.certificate().nu(static_cast<Index>(i), k);
    }
    primal += kappa * sqrt(distance);
    length = sqrt(length);
    const Real shrink = length > kappa ? kappa / length : Real(1);
    for (std::size_t m = 0; m < M; ++m) {
      const Real nu = shrink * model.certificate().nu(static_cast<Index>(i), static_cast<Index>(m));
      c[t][m] += nu;
      c[s][m] -= nu;
    }
  }
  for (std::size_t t = 0; t < T; ++t) {
    if (part[t] != t) continue;
    std::vector<Real> sum(M, 0);
    for (std::size_t s = 0; s < T; ++s)
      for (std::size_t m = 0; m < M; ++m)
        if (part[s] == t) sum[m] += c[s][m];
    dual += least(sum, model.settings.norm);
  }
  return static_cast<double>((primal - dual) / primal);
}

}  // namespace coterie
