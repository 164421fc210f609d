#include "ours.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference.hpp"

namespace coterie::bench {

MtmklProblem problem_of(const Prepared& prepared, double lambda) {
  return joint_problem(prepared, prepared.set.C, lambda, 1);
}

void set_C(Prepared& prepared, double C) {
  prepared.set.task_C.setConstant(C);
  for (Vector& one : prepared.set.C) one.setConstant(C);
}

double lambda_max_of(const Prepared& prepared) {
  return lambda_max(problem_of(prepared, infinite), timed_fit(prepared, infinite).fit);
}

Matrix mixed(const Prepared& prepared, Index t, ConstVectorRef theta) {
  return prepared.grams.tasks[static_cast<std::size_t>(t)].mixed(theta);
}

double gram_bytes(const Prepared& prepared) {
  double bytes = 0;
  for (const TaskGrams& grams : prepared.grams.tasks)
    bytes += 8.0 * static_cast<double>(grams.powers().roots()) * static_cast<double>(grams.n()) *
             static_cast<double>(grams.n());
  return bytes;
}

std::string gram_storage() {
  return "per task a matrix of doubles for each root of kernels: two for the paper's ten";
}

TimedFit timed_fit(const Prepared& prepared, double lambda, int threads,
                   const ProgressCallback& progress, const WarmStart& start, Workspace* workspace) {
  const MtmklProblem problem = problem_of(prepared, lambda);
  TimedFit out;
  const Watch watch;
  out.fit = fit(problem, {.gap_tolerance = gap_tolerance, .threads = threads}, progress, start,
                workspace);
  out.seconds = watch.seconds();
  return out;
}

double libsvm_pass(const Prepared& prepared, const Fit& fit) {
  double seconds = 0;
  for (std::size_t t = 0; t < prepared.set.y.size(); ++t) {
    const Index row = static_cast<Index>(t);
    seconds += libsvm_on_matrix(mixed(prepared, row, fit.theta.row(row).transpose()),
                                prepared.set.y[t], prepared.set.C[t][0], libsvm_epsilon)
                   .seconds;
  }
  return seconds;
}

TimedSvm timed_svm(const Matrix& K, const Vector& y, double C, double tolerance) {
  const TaskGrams base({K});
  const Vector p = Vector::Ones(y.size());
  const Vector bounds = Vector::Constant(y.size(), C);
  const Watch watch;
  const SvmResult svm =
      train_svm(base, Vector::Ones(1), y, p, bounds, {.gap_tolerance = tolerance});
  const double seconds = watch.seconds();
  return {relative_gap(K, y, C, svm.alpha.cwiseProduct(y)), seconds};
}

double relative_gap(const Matrix& K, const Vector& y, double C, const Vector& beta) {
  const Vector p = Vector::Ones(y.size());
  const Vector bounds = Vector::Constant(y.size(), C);
  const Vector K_beta = K * beta;
  const Vector e = K_beta - y;
  const double b = best_bias(e, {y, p, bounds});
  const double half = 0.5 * beta.dot(K_beta);
  const double dual = beta.dot(y) - half;
  const double primal = half + C * (-y.array() * (e.array() + b)).max(0.0).sum();
  return (primal - dual) / std::max(1.0, std::abs(dual));
}

ProgressCallback PhaseClock::callback() {
  whole_ = Watch();
  return [this](const Progress& progress) {
    charge();
    current_ = progress.phase;
    running_ = true;
    return whole_.seconds() < limit_;
  };
}

void PhaseClock::finish() {
  charge();
  running_ = false;
}

void PhaseClock::charge() {
  if (running_) total_[current_] += watch_.seconds();
  watch_ = Watch();
}

}  // namespace coterie::bench
