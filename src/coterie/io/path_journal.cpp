#include "coterie/io/path_journal.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "coterie/io/numbers.hpp"

namespace coterie {

namespace {

constexpr Index record_point = 1, record_resample = 2;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double huge = 1e200;      // more than any sum of a fit
constexpr double slack = 1 + 1e-6;  // of rounding, in what is bounded

// The next fit starts from these numbers: they must be such as a fit can end with.
PathPoint decode_point(NumberReader& in, const PathShape& shape) {
  PathPoint point;
  Fit& fit = point.fit;
  point.lambda = in.between(0, infinite, "lambda");
  point.train_accuracy = in.share_or_none("an accuracy");
  point.held_out_accuracy = in.share_or_none("an accuracy");
  fit.primal = in.between(-huge, huge, "the objective");
  fit.dual = in.between(-infinite, huge, "the dual value");
  fit.gap = in.between(-huge, infinite, "the gap");
  fit.bound = in.between(0, huge, "the bound of the gap");
  fit.outer_steps = in.count("the number of steps");
  fit.svm_solves = in.count("the number of solved SVMs");
  fit.theta_iterations = in.count("the number of steps");
  fit.status =
      static_cast<Status>(in.whole(0, static_cast<Index>(Status::precision), "the status"));
  const Index T = std::ssize(shape.C);
  in.expect(T, "the number of tasks");
  in.expect(shape.kernels, "the number of kernels");
  fit.theta = in.matrix(T, shape.kernels, 0, slack, "a kernel weight");
  for (const Vector& C : shape.C) {
    in.expect(C.size(), "the number of samples");
    Vector& alpha = fit.alpha.emplace_back(in.vector(C.size(), 0, huge, "a dual variable"));
    if ((alpha.array() > slack * C.array()).any()) in.fail("a dual variable is larger than C");
  }
  fit.bias = in.vector(T, -huge, huge, "a bias");
  fit.task_objective = in.vector(T, -huge, huge, "the objective of a task");
  const Index edges = std::ssize(shape.graph);
  const bool paired = point.lambda > 0 && std::isfinite(point.lambda);
  const Index pairs = paired && keeps_pair_duals(edges, shape.kernels) ? edges : 0;
  in.expect(pairs, "the number of pairs");
  fit.nu = in.matrix(pairs, shape.kernels, -huge, huge, "a dual variable of a pair");
  for (Index e = 0; e < pairs; ++e)
    if (fit.nu.row(e).norm() >
        slack * point.lambda * shape.graph[static_cast<std::size_t>(e)].weight)
      in.fail("a dual variable of a pair is larger than lambda times its weight");
  fit.groups = in.groups(T);
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
  out.add(fit.bound);
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

KnownPath decode_path(const Journal& journal, const PathShape& shape) {
  KnownPath known;
  read_journal(journal, [&](std::size_t, const std::string& record) {
    NumberReader in(record);
    if (in.whole(record_point, record_resample, "the kind of record") == record_point) {
      PathPoint point = decode_point(in, shape);
      in.expect_end();
      known.points[point.lambda] = std::move(point);
      return;
    }
    const Index resample = in.count("the number of a resample");
    in.expect(shape.ladder, "the number of points of a resample");
    ResampledPath path;
    for (Index k = 0; k < shape.ladder; ++k) path.push_back(in.groups(std::ssize(shape.C)));
    in.expect_end();
    known.resamples[resample] = std::move(path);
  });
  return known;
}

}  // namespace coterie
