#include "coterie/bound/complexity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/bound/supremum.hpp"

namespace coterie {

namespace {

// Moments beyond this help only where exp(order) kernels are searched.
constexpr Index highest_moment = 40;

double inverse_dual(double p) { return 1 - 1 / p; }  // 1/p*

Matrix traces_of(const std::vector<TaskSums>& tasks) {
  Matrix traces(std::ssize(tasks), tasks.front().trace.size());
  for (Index t = 0; t < traces.rows(); ++t)
    traces.row(t) = tasks[static_cast<std::size_t>(t)].trace;
  return traces;
}

// Row t divided by b_t.
Matrix scaled_rows(ConstMatrixRef rows, ConstVectorRef b) {
  return b.cwiseInverse().asDiagonal() * rows;
}

}  // namespace

double published_complexity(double R, double gamma, Index M, double N) {
  return std::sqrt(std::sqrt(3.0) * gamma * R * static_cast<double>(M) / N);
}

Vector task_scales(const std::vector<TaskSums>& tasks) {
  Vector b(std::ssize(tasks));
  for (Index t = 0; t < b.size(); ++t) {
    const double largest = tasks[static_cast<std::size_t>(t)].trace.maxCoeff();
    b[t] = largest > 0 ? std::sqrt(largest) : 1;
  }
  return b;
}

// From the cumulants 2^(k-1) (k-1)! sum_t weights_t^k; all terms are positive, so that nothing cancels.
Vector chi_square_moments(ConstVectorRef weights, Index order) {
  Vector cumulant(order + 1), moment(order + 1);
  double factor = 1;
  for (Index k = 1; k <= order; ++k) {
    cumulant[k] = factor * weights.array().pow(static_cast<double>(k)).sum();
    factor *= 2 * static_cast<double>(k);
  }
  moment[0] = 1;
  for (Index r = 1; r <= order; ++r) {
    double binomial = 1;  // of r - 1 over k - 1
    moment[r] = 0;
    for (Index k = 1; k <= r; ++k) {
      moment[r] += binomial * cumulant[k] * moment[r - k];
      binomial *= static_cast<double>(r - k) / static_cast<double>(k);
    }
  }
  return moment;
}

double largest_form(ConstMatrixRef traces, const WeightSet& D) {
  const Vector sums = traces.colwise().sum();
  const double unit = sums.maxCoeff();
  if (!(unit > 0)) return 0;
  Vector total = Vector::Zero(highest_moment + 1);  // E sum_m (form m / unit)^r
  for (Index m = 0; m < traces.cols(); ++m)
    total += chi_square_moments(traces.col(m) / unit, highest_moment);
  double best = std::numeric_limits<double>::infinity();
  const double M = static_cast<double>(traces.cols()), inverse = inverse_dual(D.p());
  for (Index r = 1; r <= highest_moment; ++r) {
    const double one = 1 / static_cast<double>(r);
    // ||v||_{p*} <= M^(1/p* - 1/r) ||v||_r for r >= p*, and <= ||v||_r below.
    const double wider = std::max(0.0, inverse - one);
    best = std::min(best, std::pow(M, wider) * std::pow(total[r], one));
  }
  return unit * best;
}

double expected_scatter(const std::vector<TaskSums>& tasks, ConstVectorRef b) {
  const double T = static_cast<double>(tasks.size());
  const Matrix traces = scaled_rows(traces_of(tasks), b);
  const Matrix centred = traces.rowwise() - traces.colwise().mean();
  double sum = centred.squaredNorm();
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const double scale = b[static_cast<Index>(t)];
    sum += 2 * (1 - 1 / T) * (tasks[t].square - tasks[t].diagonal_square).sum() / (scale * scale);
  }
  return std::max(0.0, sum);
}

double closed_form(const std::vector<TaskSums>& tasks, const WeightSet& D, double gamma) {
  double apart = 0;  // no task knows of another
  for (const TaskSums& task : tasks) apart += std::sqrt(largest_form(task.trace.transpose(), D));
  if (std::isinf(gamma)) return apart;
  const Vector b = task_scales(tasks);
  const double T = static_cast<double>(tasks.size());
  const double common = largest_form(scaled_rows(traces_of(tasks), b), D);
  const double moved = gamma / std::sqrt(T) * std::sqrt(expected_scatter(tasks, b));
  return std::min(apart, std::sqrt(b.sum() * (common + moved)));
}

double data_form(ConstMatrixRef U, ConstVectorRef b, const WeightSet& D, double gamma) {
  double apart = 0;
  for (Index t = 0; t < U.rows(); ++t) apart += std::sqrt(std::max(0.0, support(D, U.row(t))));
  if (std::isinf(gamma)) return apart;
  const Matrix scaled = scaled_rows(U, b);
  const Vector sum = scaled.colwise().sum();
  const Matrix centred = scaled.rowwise() - scaled.colwise().mean();
  const double moved = gamma / std::sqrt(static_cast<double>(U.rows())) * centred.norm();
  return std::min(apart, std::sqrt(b.sum() * (support(D, sum) + moved)));
}

// Of vectors that are not negative ||a - b||^2 <= ||a||^2 + ||b||^2, and ||theta||_2 <= M^max(0, 1/2 - 1/p) in D.
double diameter(const WeightSet& D, Index M) {
  const double longest = std::pow(static_cast<double>(M), std::max(0.0, 0.5 - 1 / D.p()));
  return std::sqrt(2.0) * longest;
}

}  // namespace coterie
