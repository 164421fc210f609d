#include "coterie/mtmkl/model.hpp"

#include <tuple>

namespace coterie {

namespace {

// Eigen's == asks for equal sizes; here different sizes are different values.
template <typename A>
bool same(const A& a, const A& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && a == b;
}

}  // namespace

bool TaskModel::operator==(const TaskModel& o) const {
  return std::tie(name, negative, positive, n, C, bias, objective, support, sample, calibration) ==
             std::tie(o.name, o.negative, o.positive, o.n, o.C, o.bias, o.objective, o.support,
                      o.sample, o.calibration) &&
         same(theta, o.theta) && same(alpha, o.alpha) && same(y, o.y);
}

bool Certificate::operator==(const Certificate& o) const {
  return std::tie(primal, dual, gap, lambda, complete, graph, status, outer_steps) ==
             std::tie(o.primal, o.dual, o.gap, o.lambda, o.complete, o.graph, o.status,
                      o.outer_steps) &&
         same(nu, o.nu);
}

bool Model::operator==(const Model& o) const {
  return std::tie(settings, features, scaling, kernels, casting, classes, training_row,
                  training_rows, tasks, groups, certificate,
                  fingerprint) == std::tie(o.settings, o.features, o.scaling, o.kernels, o.casting,
                                           o.classes, o.training_row, o.training_rows, o.tasks,
                                           o.groups, o.certificate, o.fingerprint) &&
         same(divisors, o.divisors) && same(support_vectors, o.support_vectors);
}

bool is_calibrated(const Model& model) {
  return !model.tasks.empty() && model.tasks.front().calibration.kind != Calibration::Kind::none;
}

}  // namespace coterie
