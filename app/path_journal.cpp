#include "path_journal.hpp"

#include <utility>

#include "numbers.hpp"

namespace coterie::app {
namespace {

constexpr Index record_point = 1, record_resample = 2;

PathPoint decode_point(NumberReader& in) {
  PathPoint point;
  Fit& fit = point.fit;
  point.lambda = in.number();
  point.train_accuracy = in.number();
  point.held_out_accuracy = in.number();
  fit.primal = in.number();
  fit.dual = in.number();
  fit.gap = in.number();
  fit.outer_steps = in.whole();
  fit.svm_solves = in.whole();
  fit.theta_iterations = in.whole();
  fit.status = static_cast<Status>(in.whole());
  const Index T = in.whole();
  const Index M = in.whole();
  fit.theta = in.matrix(T, M);
  for (Index t = 0; t < T; ++t) {
    const Index n = in.whole();
    fit.alpha.push_back(in.vector(n));
  }
  fit.bias = in.vector(T);
  fit.task_objective = in.vector(T);
  const Index edges = in.whole();
  fit.nu = in.matrix(edges, M);
  fit.groups = in.groups();
  return point;
}

}  // namespace

std::string encode(const PathPoint& point) {
  const Fit& fit = point.fit;
  Numbers out;
  out.add(record_point);
  out.add(point.lambda);
  out.add(point.train_accuracy);
  out.add(point.held_out_accuracy);
  out.add(fit.primal);
  out.add(fit.dual);
  out.add(fit.gap);
  out.add(fit.outer_steps);
  out.add(fit.svm_solves);
  out.add(fit.theta_iterations);
  out.add(static_cast<Index>(fit.status));
  out.add(fit.theta.rows());
  out.add(fit.theta.cols());
  out.add(fit.theta.data(), fit.theta.size());
  for (const Vector& alpha : fit.alpha) {
    out.add(alpha.size());
    out.add(alpha.data(), alpha.size());
  }
  out.add(fit.bias.data(), fit.bias.size());
  out.add(fit.task_objective.data(), fit.task_objective.size());
  out.add(fit.nu.rows());
  out.add(fit.nu.data(), fit.nu.size());
  out.add(fit.groups);
  return out.bytes();
}

std::string encode(Index resample, const ResampledPath& path) {
  Numbers out;
  out.add(record_resample);
  out.add(resample);
  out.add(std::ssize(path));
  for (const Groups& groups : path) out.add(groups);
  return out.bytes();
}

KnownPath decode_path(const std::vector<std::string>& records) {
  KnownPath known;
  for (const std::string& record : records) {
    NumberReader in(record);
    if (in.whole() == record_point) {
      PathPoint point = decode_point(in);
      known.points[point.lambda] = std::move(point);
      continue;
    }
    ResampledPath& path = known.resamples[in.whole()];
    for (Index k = in.whole(); k > 0; --k) path.push_back(in.groups());
  }
  return known;
}

}  // namespace coterie::app
