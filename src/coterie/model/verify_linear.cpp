#include "coterie/model/verify_linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "coterie/model/verify_losses.hpp"
#include "coterie/model/verify_penalties.hpp"
#include "coterie/model/verify_sums.hpp"

namespace coterie {

namespace {

using namespace linear_check;

// The weights of a task as the model states them: of features, or signed coefficients of pivots.
std::vector<double> stated_weights(const Model& model, const TaskModel& task) {
  if (!model.settings.map.mapped) return {task.w().begin(), task.w().end()};
  std::vector<double> weights(at(model.support_vectors.rows()), 0);
  const KernelExpansion& f = task.expansion();
  for (std::size_t k = 0; k < f.support.size(); ++k)
    weights[at(f.support[k])] = f.alpha[static_cast<Index>(k)] * f.y[static_cast<Index>(k)];
  return weights;
}

// Those of metag are the tasks of equal weights, no fewer and no more.
void check_equal_weights(const Model& model, Verification& check) {
  std::map<std::vector<double>, Index> group_of;  // the first that has these weights
  for (std::size_t g = 0; g < model.groups().size(); ++g)
    for (const Index t : model.groups()[g]) {
      const TaskModel& task = model.tasks[at(t)];
      const Index own = static_cast<Index>(g);
      if (group_of.emplace(stated_weights(model, task), own).first->second != own)
        check.findings.push_back(fmt::format(
            "task '{}' has the weights of another group, but is not listed there", task.name));
    }
  if (!check.groups_exact) check.findings.emplace_back("the weights of a group are not equal");
}

// Those of flexclus follow from the shared part: tasks that agree in more than half of the features are joined.
void check_shared_values(const Model& model, const Stated& stated, Verification& check) {
  const Table& shared = stated.shared;
  if (shared.rows() != stated.W.rows()) return;
  std::vector<Index> label;  // of every task, that of the first task it is joined with
  for (Index t = 0; t < shared.rows(); ++t) label.push_back(t);
  for (Index s = 0; s < shared.rows(); ++s)
    for (Index t = s + 1; t < shared.rows(); ++t) {
      Index equal = 0;
      for (Index k = 0; k < shared.cols(); ++k) equal += shared(s, k) == shared(t, k);
      if (2 * equal <= shared.cols()) continue;
      const auto [first, second] = std::minmax(label[at(s)], label[at(t)]);
      std::ranges::replace(label, Index{second}, Index{first});
    }
  for (const std::vector<Index>& group : model.groups())
    for (Index t = 0; t < shared.rows(); ++t)
      if ((std::ranges::count(group, t) > 0) != (label[at(t)] == group.front()))
        check.findings.push_back(fmt::format(
            "task '{}' is not in the group that its shared part says", model.tasks[at(t)].name));
}

// Of methods with a number of clusters there are no more than that. Those of cmtl and coclus are a reading, those of whom the problem that
// was solved: nothing in the model can tell whether others would do better.
Index most_clusters(const Model& model) {
  const Parameters p = parameters_of(model.settings);
  return std::clamp(static_cast<Index>(p.at("clusters")), Index{1}, std::ssize(model.tasks));
}
void check_number_of_clusters(const Model& model, const char* what, Verification& check) {
  const Index most = most_clusters(model);
  if (std::ssize(model.groups()) > most)
    check.findings.push_back(fmt::format("there are {} groups, more than the {} of the settings",
                                         model.groups().size(), most));
  if (most > 1) check.taken.push_back(fmt::format("the clusters, {}", what));
}

// Every task is in one group.
void check_partition(const Model& model, Verification& check) {
  std::vector<int> found(model.tasks.size(), 0);
  for (const std::vector<Index>& group : model.groups())
    for (const Index t : group)
      if (t >= 0 && t < std::ssize(found)) ++found[at(t)];
  if (std::ranges::count(found, 1) != std::ssize(found))
    throw InputError("The groups of the model are not a partition of its tasks.");
  check.groups_exact = true;
  for (const std::vector<Index>& group : model.groups())
    for (const Index t : group)
      if (stated_weights(model, model.tasks[at(t)]) !=
          stated_weights(model, model.tasks[at(group.front())]))
        check.groups_exact = false;
}

// What models of versions before 4 state: no bound, and a gap that is relative to the objective, as now.
constexpr double kOldBound = 1e-7;

Model with_bound(const Model& model, Verification& check) {
  if (model.certificate().scale_floor == 0) return model;
  Model bounded = model;
  bounded.certificate().bound = kOldBound;
  bounded.certificate().scale_floor = std::numeric_limits<double>::min();  // none, but an old one
  check.taken.push_back(
      fmt::format("that the stated values round by less than {:.0e} of the objective: the model is "
                  "of a version that stated no bound",
                  kOldBound));
  return bounded;
}

// What differs between the methods: what the gap can prove, which clusters follow from the numbers, penalty and conjugate.
struct LinearCheck {
  Claim claim = Claim::optimum;
  std::function<void(const Stated&, Verification&)> clusters;
  std::function<Charge(const Stated&, const Table& Z, Verification&)> charge;
};

Verification verify_linear(const Model& given, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress,
                           const LinearCheck& own) {
  const std::function<void()> one_done = counting(data, progress);
  check_fit_to_model(given, 0, std::ssize(given.tasks), data, precomputed);
  Verification check;
  const Model model = with_bound(given, check);
  const Matrix X = scaled(model, data.X);
  check_scaling(model, data, check.findings);
  std::optional<ExactKernels> exact;
  if (model.settings.map.mapped) {
    exact.emplace(X, model.kernels, precomputed);
    check_kernels(model, &data, check);
    check_divisors(model, data, *exact, check.findings);
    for (const TaskModel& task : model.tasks)
      if (!(task.theta().array() == 1.0 / static_cast<double>(model.kernels.size())).all())
        check.findings.push_back(fmt::format("a kernel weight of task '{}' is not 1/M", task.name));
  }
  const Stated stated = state(model, data, X, exact, check, one_done);
  check_partition(model, check);
  own.clusters(stated, check);
  const Losses losses = losses_of(model, stated, check);
  const Method& method = *model.settings.method;
  if (method.has_shared && stated.shared.rows() != stated.W.rows())
    throw InputError("The model does not hold the shared part of its weights.");
  const Charge charge = own.charge(stated, losses.Z, check);
  for (const TaskModel& task : model.tasks)
    if (task.C != 1)
      check.findings.push_back(
          fmt::format("task '{}' has C = {}, and {} has no C", task.name, task.C, method.name));
  if (model.certificate().claim != own.claim)
    check.findings.push_back(fmt::format("the model claims '{}', which {} cannot give",
                                         to_string(model.certificate().claim), method.name));
  const Real primal = losses.primal.value + charge.penalty.value;
  const Real dual = losses.dual.value - charge.conjugate.value;
  const double error = losses.primal.off + losses.dual.off + charge.penalty.off +
                       charge.conjugate.off +
                       moved(charge.conjugate.value, std::sqrt(charge.reach) * losses.Z_off);
  compare(model.certificate(), model.settings.tolerance, primal, dual, error, check,
          own.claim != Claim::stationary);
  return check;
}

constexpr const char* kReading = "which are read off the weights";

}  // namespace

Verification verify_cmtl(const Model& model, const Dataset& data,
                         const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  if (p.at("within") < p.at("between"))
    throw InputError("The model has within < between, which cmtl does not allow.");
  return verify_linear(
      model, data, precomputed, progress,
      {.clusters = [&](const Stated&,
                       Verification& check) { check_number_of_clusters(model, kReading, check); },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_cmtl(p, stated, Z); }});
}

Verification verify_whom(const Model& model, const Dataset& data,
                         const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.claim = most_clusters(model) > 1 ? Claim::given_clusters : Claim::optimum,
       .clusters =
           [&](const Stated&, Verification& check) {
             check_number_of_clusters(model, "for which the weights are optimal", check);
           },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_whom(p, model.groups(), stated, Z); }});
}

Verification verify_flexclus(const Model& model, const Dataset& data,
                             const PrecomputedMatrices& precomputed,
                             const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.clusters = [&](const Stated& stated,
                       Verification& check) { check_shared_values(model, stated, check); },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_flexclus(p, stated, Z); }});
}

Verification verify_coclus(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.claim = Claim::stationary,
       .clusters = [&](const Stated&,
                       Verification& check) { check_number_of_clusters(model, kReading, check); },
       .charge = [&](const Stated& stated, const Table& Z,
                     Verification&) { return charge_coclus(p, stated, Z); }});
}

Verification verify_metag(const Model& model, const Dataset& data,
                          const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const Parameters p = parameters_of(model.settings);
  return verify_linear(
      model, data, precomputed, progress,
      {.clusters = [&](const Stated&, Verification& check) { check_equal_weights(model, check); },
       .charge =
           [&](const Stated& stated, const Table& Z, Verification& check) {
             return charge_metag(p, stated, Z, model.certificate().nu, check);
           }});
}

}  // namespace coterie
