#include "coterie/model/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "coterie/baseline/plain.hpp"
#include "coterie/kernel/gram.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/model/first_stage.hpp"
#include "coterie/svm/svm.hpp"

namespace coterie {

namespace {

constexpr double number = sizeof(double);
// Measured: tests/memory_test.py holds them against what programs take, from both sides.
constexpr double program = 21e6;    // the program, its libraries and small change
constexpr double per_thread = 3e6;  // tiles of kernel values, stacks
constexpr double per_task =
    8e3;  // its name, lists and small vectors, each with what an allocator adds
constexpr double states_of_task = 4;  // products and curvatures of the points that a fit compares
constexpr double matrices_of_newton = 2;  // that of the free support vectors, and its factor
// As read, support vectors of the model, and those on their way into the file.
constexpr double copies_of_data = 3;
constexpr double copies_of_model = 3;  // as read, with the new tasks, and on its way into the file
constexpr double numbers_of_support = 4;  // its place twice, alpha, y
// Of functions that look at a pool: as fitted, in the model and on their way into the file.
constexpr double numbers_of_pooled = 2 * numbers_of_support + 1;
constexpr double copies_of_stage = 2;   // models of a first stage, and one on its way in or out
constexpr double copies_of_pairs = 5;   // duals of the pairs in the solver and the model
constexpr double numbers_of_pair = 16;  // their ends, weights, lengths and curvatures

}  // namespace

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.3g} MB", bytes / 1e6);
  return fmt::format("{:.3g} KB", bytes / 1e3);
}

std::string room_text(const MemoryPlan& plan, double budget) {
  return fmt::format(
      "the kernel values of all samples would take {}; within {} there is room for {} of them. "
      "Those that are used most are kept, others are computed when they are needed.",
      bytes_text(plan.all), bytes_text(budget), bytes_text(plan.kernels));
}

namespace {

// What the plans are made from.
struct Needs {
  const Dataset& data;
  const std::vector<Kernel>& kernels;
  double largest_C = 1;
  double edges = 0;
  double others = 0;          // bytes, beside data and fit
  std::string divisors = {};  // the normalisation that needs whole matrices; empty: none does
};

// Without a budget.
MemoryPlan needs_of(const Needs& needs, int threads) {
  const Dataset& data = needs.data;
  const double roots = static_cast<double>(count_roots(needs.kernels, needs.largest_C));
  const double M = static_cast<double>(needs.kernels.size());
  const double workers = thread_count(threads);
  MemoryPlan plan;
  double largest = 0;
  for (const Task& task : data.tasks) {
    const double n = static_cast<double>(task.size());
    largest = std::max(largest, n);
    plan.all += number * n * n * (roots + 2);
    plan.fixed += per_task + number * states_of_task * (n * (M + 8) + M * M);
    plan.least += number * n * std::min(n, static_cast<double>(MixedGram::kLeastRows) + roots + 16);
  }
  const double rows = static_cast<double>(data.X.rows());
  const double free = std::min(largest, static_cast<double>(kMostFree));
  plan.pairs = number * needs.edges * (copies_of_pairs * M + numbers_of_pair);
  plan.fixed += program + needs.others + plan.pairs + workers * per_thread +
                workers * number * (matrices_of_newton * free * free + free * (M + 1)) +
                number * copies_of_data * static_cast<double>(data.X.size());
  // Every block of columns has its own copies of the data.
  std::map<std::vector<Index>, double> copies;
  double precomputed = 0;
  for (const Kernel& kernel : needs.kernels) {
    if (kernel.is_precomputed()) {
      precomputed += number * rows * rows;
      continue;
    }
    double& count = copies[kernel.columns];
    count = std::max(count, copies_of_columns(kernel));
  }
  for (const auto& [columns, count] : copies)
    plan.fixed += number * rows * count *
                  static_cast<double>(columns.empty() ? data.X.cols() : std::ssize(columns));
  plan.fixed += precomputed;
  if (precomputed > 0) plan.least = std::max(plan.least, number * 3 * largest * largest);
  // Divisors need whole matrices for a moment, one kernel of one task at a time; their eigenvalues a second copy.
  const bool divided = !needs.divisors.empty();
  if (divided) plan.least = std::max(plan.least, number * workers * 3 * largest * largest);
  return plan;
}

// What a plan leaves of the budget.
double left_of(const MemoryPlan& plan, double budget, const std::string& divisors) {
  const double left = budget - plan.fixed - plan.least;
  if (left < 0)
    throw InputError(fmt::format(
        "the fit may need {} of memory even if it keeps as little as it can ({} for the program, "
        "data, pairs of tasks and work space of threads, {} for kernel values), and may use {}. "
        "Raise `memory`, or use fewer threads, rows, tasks or kernels{}.",
        bytes_text(1.01 * (plan.fixed + plan.least)), bytes_text(plan.fixed),
        bytes_text(plan.least), bytes_text(budget),
        divisors.empty()
            ? ""
            : fmt::format(" (`normalise` {} needs whole matrices of a task)", divisors)));
  return left;
}

double samples_of(const Dataset& data) {
  double samples = 0;
  for (const Task& task : data.tasks) samples += static_cast<double>(task.size());
  return samples;
}

// Support vectors of the functions of a model: every sample, where each task has a function of the pool of all in each of them.
double most_support(const Dataset& data, const Method& method) {
  return samples_of(data) * (method.pools ? static_cast<double>(data.tasks.size()) : 1);
}

// Of a fit of the settings' method, beside what else is there.
MemoryPlan needs_of_fit(const Dataset& data, const Settings& settings, const Extras& extras,
                        int threads, double others) {
  const Method& method = *settings.method;
  const Dataset pool = method.pools ? pool_tasks(data) : Dataset();
  const Dataset& seen = method.pools ? pool : data;
  const std::vector<Kernel> kernels = kernels_for(settings, seen);
  const double tasks = static_cast<double>(seen.tasks.size());
  Needs needs{seen, kernels, largest_cost(sample_costs(seen, settings, extras))};
  needs.edges =
      extras.complete ? tasks * (tasks - 1) / 2 : static_cast<double>(extras.graph.size());
  needs.others =
      others + (method.pools ? number * numbers_of_pooled * most_support(data, method) : 0);
  if (settings.normalise.divides()) needs.divisors = to_string(settings.normalise);
  return needs_of(needs, threads);
}

// A model of a first stage that is kept: every row may be a support vector.
double stage_bytes(const Settings& settings, const Dataset& data) {
  return number * (static_cast<double>(data.X.size()) +
                   numbers_of_support * most_support(data, *settings.method));
}

}  // namespace

MemoryPlan plan_memory(const Dataset& data, const Settings& given, const Extras& extras,
                       int threads, double budget) {
  const Settings settings = in_full(given);
  const std::vector<std::string> blocks = score_blocks(settings.kernels.list(), data.features);
  double kept = 0;
  double scores = 0;
  for (const std::string& block : blocks) {
    kept += stage_bytes(first_stage_settings(block, settings), data);
    scores += number * static_cast<double>(data.X.rows()) *
              (block == "others" ? static_cast<double>(data.tasks.size()) : 1);
  }
  const double stage = copies_of_stage * (kept + scores);
  MemoryPlan plan = needs_of_fit(data, settings, extras, threads, stage + copies_of_data * scores);
  MemoryPlan first;  // what most is needed for while scores are learnt
  for (const std::string& block : blocks) {
    const double rows_outside_part = number * static_cast<double>(data.X.size());
    const MemoryPlan of_block = needs_of_fit(data, first_stage_settings(block, settings), {},
                                             threads, stage + rows_outside_part);
    if (of_block.fixed + of_block.least > first.fixed + first.least) first = of_block;
  }
  const std::string divisors = settings.normalise.divides() ? to_string(settings.normalise) : "";
  if (first.fixed + first.least > plan.fixed + plan.least) left_of(first, budget, "");
  plan.kernels = left_of(plan, budget, divisors);
  if (!blocks.empty()) plan.first_stage = left_of(first, budget, "");
  return plan;
}

MemoryPlan plan_extension(const Model& model, const Dataset& data, const ExtendSettings& settings,
                          int threads, double budget) {
  Settings cost = model.settings;
  cost.C = settings.C.value_or(cost.C);
  const double tasks = static_cast<double>(data.tasks.size());
  const double old = static_cast<double>(model.tasks.size());
  Needs needs{data, model.kernels, largest_cost(sample_costs(data, cost, {}))};
  needs.edges = settings.links ? static_cast<double>(settings.links->size())
                               : tasks * (old + (tasks - 1) / 2);
  double numbers =
      static_cast<double>(model.support_vectors.size() + model.certificate().nu.size());
  for (const TaskModel& task : model.tasks)
    numbers += numbers_of_support * static_cast<double>(task.expansion().support.size());
  for (const Extension& added : model.extensions)
    numbers += static_cast<double>(added.certificate.nu.size());
  needs.others = number * copies_of_model * numbers;
  MemoryPlan plan = needs_of(needs, threads);
  plan.kernels = left_of(plan, budget, needs.divisors);
  return plan;
}

}  // namespace coterie
