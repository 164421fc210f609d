#include "coterie/mtmkl/few_kernels.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "coterie/math/dense.hpp"

namespace coterie {

namespace {

constexpr Index kJoining = 8;  // kernels of a task at a time

// Marks the kernels of smallest r that are not in the set, those below `level`.
void join_smallest(const Vector& r, double level, std::vector<bool>& chosen) {
  std::vector<Index> order;
  for (Index m = 0; m < r.size(); ++m)
    if (!chosen[static_cast<std::size_t>(m)] && r[m] < level) order.push_back(m);
  const Index count = std::min(kJoining, std::ssize(order));
  std::ranges::partial_sort(order, order.begin() + count, {}, [&](Index m) { return r[m]; });
  for (Index k = 0; k < count; ++k)
    chosen[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])] = true;
}

// The set at first: all that has weight worth the name, and what every task would like best. A fit begins with equal weights, which are
// no reason to look at a kernel.
std::vector<bool> first_set(const RootedModel& model, const Matrix& theta) {
  const double least = 2 / static_cast<double>(theta.cols());
  std::vector<bool> chosen(static_cast<std::size_t>(theta.cols()));
  for (Index m = 0; m < theta.cols(); ++m)
    chosen[static_cast<std::size_t>(m)] = theta.col(m).maxCoeff() >= least;
  for (Index t = 0; t < model.fixed; ++t)  // weights that stay
    for (Index m = 0; m < theta.cols(); ++m)
      if (theta(t, m) != 0) chosen[static_cast<std::size_t>(m)] = true;
  for (Index t = model.fixed; t < theta.rows(); ++t) {
    const Vector r = model.c.row(t).transpose() + model.times_B(t, theta.row(t).transpose());
    join_smallest(r, std::numeric_limits<double>::infinity(), chosen);
  }
  return chosen;
}

// Where the step begins: the weights of the set, of the size that they must have in all.
Matrix start_on(const Matrix& theta, const std::vector<Index>& kernels, Index fixed) {
  Matrix start = theta(Eigen::all, kernels);
  for (Index t = fixed; t < start.rows(); ++t) {
    const double sum = start.row(t).sum();
    if (sum > 0)
      start.row(t) /= sum;
    else
      start.row(t).setConstant(1 / static_cast<double>(kernels.size()));
  }
  return start;
}

std::vector<Index> places_of(const std::vector<bool>& chosen) {
  std::vector<Index> places;
  for (std::size_t m = 0; m < chosen.size(); ++m)
    if (chosen[m]) places.push_back(static_cast<Index>(m));
  return places;
}

// Rows over the set as rows over all kernels.
Matrix spread(const Matrix& some, const std::vector<Index>& kernels, Index M) {
  Matrix all = Matrix::Zero(some.rows(), M);
  for (std::size_t k = 0; k < kernels.size(); ++k)
    all.col(kernels[k]) = some.col(static_cast<Index>(k));
  return all;
}

// The gradient of the model at theta with its pair duals, points x M.
Matrix gradient_at(const RootedModel& model, const Matrix& theta, const Matrix& nu) {
  Matrix r = model.c;
  for (Index t = model.fixed; t < theta.rows(); ++t)
    r.row(t) += model.times_B(t, theta.row(t).transpose()).transpose();
  for (std::size_t i = 0; i < model.graph.size(); ++i) {
    r.row(model.graph[i].t) += nu.row(static_cast<Index>(i));
    r.row(model.graph[i].s) -= nu.row(static_cast<Index>(i));
  }
  return r;
}

ThetaResult solve_on(const RootedModel& model, const std::vector<Index>& kernels, ThetaState& state,
                     const ThetaSettings& settings) {
  const Index M = model.c.cols();
  const Matrix c = model.c(Eigen::all, kernels);
  std::vector<Matrix> B(static_cast<std::size_t>(c.rows()));
  for (Index t = model.fixed; t < c.rows(); ++t)
    B[static_cast<std::size_t>(t)] = model.B(t, kernels);
  ThetaState some;
  some.theta = start_on(state.theta, kernels, model.fixed);
  some.rho = state.rho;
  some.eps = state.eps;
  ThetaResult out =
      solve_theta({c, B, model.graph, model.kappa, model.weights, model.fixed}, some, settings);
  out.theta = spread(out.theta, kernels, M);
  out.nu = spread(out.nu, kernels, M);
  state.theta = spread(some.theta, kernels, M);
  state.rho = some.rho;
  state.eps = some.eps;
  return out;
}

}  // namespace

Vector RootedModel::times_B(Index point, const Vector& x) const {
  Vector y = mu * x;
  for (const Eigen::MatrixXd* R : roots[static_cast<std::size_t>(point)])
    y += times(R->transpose(), times(*R, x));
  return y;
}

Matrix RootedModel::B(Index point, const std::vector<Index>& kernels) const {
  const Index size = std::ssize(kernels);
  Matrix out = mu * Matrix::Identity(size, size);
  for (const Eigen::MatrixXd* R : roots[static_cast<std::size_t>(point)]) {
    const Eigen::MatrixXd some = (*R)(Eigen::all, kernels);
    out += product(some.transpose(), some);
  }
  return out;
}

ThetaResult solve_on_few_kernels(const RootedModel& model, ThetaState& state,
                                 const ThetaSettings& settings) {
  // The set has half of the gap, the other half is for kernels outside. While these would gain much, the set need not be solved closely.
  constexpr double first = 100, share_of_gain = 0.1;
  const double half = 0.5 * settings.gap_tolerance;
  ThetaSettings how = settings;
  how.gap_tolerance = first * half;
  std::vector<bool> chosen = first_set(model, state.theta);
  Index iterations = 0;
  for (;;) {
    const std::vector<Index> kernels = places_of(chosen);
    ThetaResult out = solve_on(model, kernels, state, how);
    out.iterations = iterations += out.iterations;
    const Matrix r = gradient_at(model, out.theta, out.nu);
    double gain = 0;
    std::vector<bool> more = chosen;
    for (Index t = model.fixed; t < r.rows(); ++t) {
      const double level = r(t, kernels).minCoeff();
      gain += level - r.row(t).minCoeff();
      join_smallest(r.row(t).transpose(), level, more);
    }
    out.gap += gain;
    const bool close = how.gap_tolerance <= half;
    if (out.gap <= settings.gap_tolerance ||
        (close && gain <= std::max(half, 0.1 * settings.enough)) ||
        (settings.keep_going && !settings.keep_going()))
      return out;
    if (gain > half) chosen = std::move(more);
    how.gap_tolerance = std::clamp(share_of_gain * gain, half, how.gap_tolerance);
  }
}

}  // namespace coterie
