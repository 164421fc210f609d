// Plans of studies.
#include "coterie/experiment/plan.hpp"

#include <algorithm>
#include <cmath>

#include "coterie/experiment/experiment.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

void check_plan(const Plan& plan) {
  require(!plan.datasets.empty() && !plan.methods.empty(), "a plan has data sets and methods");
  require(plan.repetitions >= 1, "a plan has repetitions");
  for (const DatasetPlan& dataset : plan.datasets) {
    require(!dataset.name.empty() && !dataset.files.empty(), "a data set has a name and files");
    require(!dataset.shares.empty(), "a data set has shares");
    for (const double share : dataset.shares) require(share > 0 && share < 1, "a share is a share");
    require(dataset.divide > 0 && std::isfinite(dataset.divide), "features can be divided");
  }
  for (const MethodPlan& method : plan.methods) {
    require(!method.name.empty() && !method.settings.empty(), "a method has a name and settings");
    for (const std::string& name : method.datasets)
      require(plan.quick ||
                  std::ranges::find(plan.datasets, name, &DatasetPlan::name) != plan.datasets.end(),
              "methods name data sets of the plan");
  }
  require(
      std::ranges::find(plan.methods, control_of(plan), &MethodPlan::name) != plan.methods.end(),
      "the control is a method");
  if (plan.repetitions <= 20 && plan.datasets.size() * plan.methods.size() <= 100)
    for (const Cell& cell : cells_of(plan))
      require(!name_of(plan, cell).empty(), "every cell has a name");
}

void fuzz_plan(Bytes bytes) {
  for (const bool quick : {false, true})
    accepts([&] { check_plan(parse_plan(std::string(bytes), "plan.toml", quick)); });
}

const Target plan_target("plan", fuzz_plan);

}  // namespace
}  // namespace coterie::fuzz
