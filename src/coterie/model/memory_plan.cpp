#include "coterie/model/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "coterie/kernel/gram.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/svm/svm.hpp"

namespace coterie {

namespace {

constexpr double number = sizeof(double);
constexpr double program = 32e6;      // the program, its libraries and small change
constexpr double per_thread = 4e6;    // tiles of kernel values, stacks
constexpr double states_of_task = 4;  // products and curvatures of the points that a fit compares
constexpr double matrices_of_newton = 3;
// As read, support vectors of the model, and those on their way into the file.
constexpr double copies_of_data = 3;
constexpr double copies_of_pairs = 6;   // duals of the pairs in the solver and the model
constexpr double numbers_of_pair = 12;  // their ends, weights, lengths and curvatures

}  // namespace

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.3g} MB", bytes / 1e6);
  return fmt::format("{:.3g} KB", bytes / 1e3);
}

MemoryPlan plan_memory(const Dataset& data, const Settings& settings, const Extras& extras,
                       int threads, double budget) {
  const Normalisation normalisation = settings.normalise;
  const std::vector<Kernel> kernels =
      prepare_kernels(settings.kernels, normalisation, data.features);
  const double roots =
      static_cast<double>(count_roots(kernels, largest_cost(sample_costs(data, settings, extras))));
  const double tasks = static_cast<double>(data.tasks.size());
  const double edges =
      extras.complete ? tasks * (tasks - 1) / 2 : static_cast<double>(extras.graph.size());
  const double M = static_cast<double>(kernels.size());
  const double workers = thread_count(threads);
  MemoryPlan plan;
  double largest = 0;
  for (const Task& task : data.tasks) {
    const double n = static_cast<double>(task.size());
    largest = std::max(largest, n);
    plan.all += number * n * n * (roots + 2);
    plan.fixed += number * states_of_task * (n * (M + 8) + M * M);
    plan.least += number * n * std::min(n, static_cast<double>(MixedGram::kLeastRows) + roots + 16);
  }
  const double rows = static_cast<double>(data.X.rows());
  const double free = std::min(largest, static_cast<double>(kMostFree));
  plan.fixed += program + workers * (per_thread + number * matrices_of_newton * free * free) +
                number * copies_of_data * static_cast<double>(data.X.size()) +
                number * edges * (copies_of_pairs * M + numbers_of_pair);
  // Every block of columns has its own copy of the data; distances may need it centred, and a moment ago there was one more.
  std::map<std::vector<Index>, double> copies;
  double precomputed = 0;
  for (const Kernel& kernel : kernels) {
    if (kernel.kind == Kernel::Kind::precomputed) {
      precomputed += number * rows * rows;
      continue;
    }
    double& count = copies[kernel.columns];
    count = std::max(count, kernel.kind == Kernel::Kind::gauss ? 3.0 : 1.0);
  }
  for (const auto& [columns, count] : copies)
    plan.fixed += number * rows * count *
                  static_cast<double>(columns.empty() ? data.X.cols() : std::ssize(columns));
  plan.fixed += precomputed;
  if (precomputed > 0) plan.least = std::max(plan.least, number * 3 * largest * largest);
  // Divisors need whole matrices for a moment, one kernel of one task at a time; their eigenvalues a second copy.
  const bool divided = normalisation.divides();
  if (divided) plan.least = std::max(plan.least, number * workers * 3 * largest * largest);
  plan.kernels = budget - plan.fixed - plan.least;
  if (plan.kernels < 0)
    throw InputError(fmt::format(
        "the fit may need {} of memory even if it keeps as little as it can ({} for the program, "
        "data, pairs of tasks and work space of threads, {} for kernel values), and may use {}. "
        "Raise `memory`, or use fewer threads, rows, tasks or kernels{}.",
        bytes_text(1.01 * (plan.fixed + plan.least)), bytes_text(plan.fixed),
        bytes_text(plan.least), bytes_text(budget),
        divided ? fmt::format(" (`normalise` {} needs whole matrices of a task)",
                              to_string(settings.normalise))
                : ""));
  return plan;
}

}  // namespace coterie
