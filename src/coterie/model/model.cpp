#include "coterie/model/model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "coterie/model/first_stage.hpp"

namespace coterie {

namespace {

// Eigen's == asks for equal sizes; here different sizes are different values.
template <typename A>
bool same(const A& a, const A& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && a == b;
}

}  // namespace

bool KernelExpansion::operator==(const KernelExpansion& o) const {
  return support == o.support && sample == o.sample && same(theta, o.theta) &&
         same(alpha, o.alpha) && same(y, o.y);
}

bool LinearWeights::operator==(const LinearWeights& o) const { return same(w, o.w); }

bool TaskModel::operator==(const TaskModel& o) const {
  return TaskId::operator==(o) &&
         std::tie(n, C, bias, objective, function, calibration) ==
             std::tie(o.n, o.C, o.bias, o.objective, o.function, o.calibration) &&
         same(shared, o.shared);
}

const KernelExpansion& TaskModel::expansion() const {
  static const KernelExpansion none;
  const KernelExpansion* const own = std::get_if<KernelExpansion>(&function);
  return own != nullptr ? *own : none;
}

const Vector& TaskModel::w() const {
  static const Vector none;
  const LinearWeights* const own = std::get_if<LinearWeights>(&function);
  return own != nullptr ? own->w : none;
}

KernelExpansion expansion_of(Vector theta, const Vector& alpha, const Task& task,
                             const std::vector<Index>& place) {
  KernelExpansion out;
  out.theta = std::move(theta);
  for (Index i = 0; i < task.size(); ++i) {
    if (!(alpha[i] > 0)) continue;
    out.sample.push_back(i);
    out.support.push_back(place[static_cast<std::size_t>(task.rows[static_cast<std::size_t>(i)])]);
  }
  out.alpha = alpha(out.sample);
  out.y = task.y(out.sample);
  return out;
}

bool Certificate::operator==(const Certificate& o) const {
  return std::tie(primal, dual, gap, bound, scale_floor, lambda, lambda_max, complete, graph, claim,
                  status, outer_steps) == std::tie(o.primal, o.dual, o.gap, o.bound, o.scale_floor,
                                                   o.lambda, o.lambda_max, o.complete, o.graph,
                                                   o.claim, o.status, o.outer_steps) &&
         same(nu, o.nu);
}

std::vector<std::string> Model::features_of_data() const {
  const Index scores = first_stage ? first_stage->columns() : 0;
  return {features.begin(), features.end() - scores};
}

bool Model::operator==(const Model& o) const {
  const bool staged = first_stage != nullptr;
  if (staged != (o.first_stage != nullptr) || (staged && !(*first_stage == *o.first_stage)))
    return false;
  return std::tie(settings, features, scaling, kernels, casting, classes, columns, training_row,
                  training_rows, tasks, groups_, certificate_, fingerprint, extensions) ==
             std::tie(o.settings, o.features, o.scaling, o.kernels, o.casting, o.classes, o.columns,
                      o.training_row, o.training_rows, o.tasks, o.groups_, o.certificate_,
                      o.fingerprint, o.extensions) &&
         same(divisors, o.divisors) && same(support_vectors, o.support_vectors) && same(map, o.map);
}

bool is_calibrated(const TaskModel& task) {
  return task.calibration.kind != Calibration::Kind::none;
}

bool is_calibrated(const Model& model) {
  return !model.tasks.empty() && std::ranges::all_of(model.tasks, [](const TaskModel& task) {
    return is_calibrated(task);
  });
}

bool has_calibration(const Model& model) {
  return std::ranges::any_of(model.tasks,
                             [](const TaskModel& task) { return is_calibrated(task); });
}

TaskGraph edges_of(const Extension& extension) {
  if (!extension.certificate.complete) return extension.certificate.graph;
  TaskGraph edges;
  for (Index s = extension.base_tasks; s < extension.base_tasks + extension.tasks; ++s)
    for (Index t = 0; t < s; ++t) edges.push_back({t, s, 1});
  return edges;
}

Model base_of(const Model& model) {
  Model base = model;
  if (model.extensions.empty()) return base;
  const Index tasks = model.extensions.front().base_tasks;
  base.tasks.resize(static_cast<std::size_t>(tasks));
  for (std::vector<Index>& group : base.groups())
    std::erase_if(group, [tasks](Index t) { return t >= tasks; });
  std::erase_if(base.groups(), [](const std::vector<Index>& group) { return group.empty(); });
  for (const Extension& extension : model.extensions) base.training_rows -= extension.rows;
  const Index vectors =
      std::ranges::lower_bound(base.training_row, base.training_rows) - base.training_row.begin();
  base.training_row.resize(static_cast<std::size_t>(vectors));
  base.support_vectors.conservativeResize(vectors, Eigen::NoChange);
  base.extensions.clear();
  return base;
}

}  // namespace coterie
