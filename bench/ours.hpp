// Our side of the comparisons. What depends on how coterie keeps its Gram matrices is here and nowhere else in bench/.
#pragma once

#include <limits>
#include <map>
#include <string>

#include "measure.hpp"
#include "work.hpp"

namespace coterie::bench {

inline constexpr double infinite = std::numeric_limits<double>::infinity();
inline constexpr double gap_tolerance = 1e-4;  // of every fit that is timed

MtmklProblem problem_of(const Prepared& prepared, double lambda);  // with norm 1
// Another C for the same Gram matrices.
void set_C(Prepared& prepared, double C);
// By a cold fit at lambda = inf.
double lambda_max_of(const Prepared& prepared);
// The kernel of task t at weights theta.
Matrix mixed(const Prepared& prepared, Index t, ConstVectorRef theta);
// Gram matrices at the precision and in the form in which they are kept.
double gram_bytes(const Prepared& prepared);
std::string gram_storage();  // in words

// A fit to gap_tolerance; seconds are those of fit() alone.
struct TimedFit {
  Fit fit;
  double seconds = 0;
};
TimedFit timed_fit(const Prepared& prepared, double lambda, int threads = 1,
                   const ProgressCallback& progress = {}, const WarmStart& start = {},
                   Workspace* workspace = nullptr);

// Seconds of LIBSVM for the T SVMs once, cold, at the kernels of a fit, with its default stopping rule. Mixing is not counted.
double libsvm_pass(const Prepared& prepared, const Fit& fit);

// One SVM on a given kernel matrix, cold; seconds of the solver alone.
struct TimedSvm {
  double gap = 0;  // relative, of its own primal and dual value
  double seconds = 0;
};
TimedSvm timed_svm(const Matrix& K, const Vector& y, double C, double tolerance);
// (primal - dual) / max(1, |dual|) of any feasible beta on K, with the best bias.
double relative_gap(const Matrix& K, const Vector& y, double C, const Vector& beta);

// Seconds per phase of the solver, by the clock that its progress callback reads. Past the limit it stops the fit.
class PhaseClock {
 public:
  explicit PhaseClock(double limit_seconds = infinite) : limit_(limit_seconds) {}
  ProgressCallback callback();
  void finish();
  double seconds(Phase phase) { return total_[phase]; }

 private:
  void charge();
  double limit_;
  Watch whole_, watch_;
  Phase current_ = Phase::proof;
  bool running_ = false;
  std::map<Phase, double> total_;
};

}  // namespace coterie::bench
