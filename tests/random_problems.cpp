// Fits random problems of all kinds, verifies every model, and says what was found:
//
//   ./run problems [COUNT] [--first SEED] [--kind plain|wild|both] [--exact COUNT] [--seconds LIMIT]
//
// Exit code 1 when a problem does not converge, does not verify, takes too long, or claims what a recomputation with 113 bits refutes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "coterie/math/parallel.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify.hpp"
#include "exact_gap.hpp"

namespace {

using namespace coterie;

struct Options {
  Index count = 1000;
  Index first = 0;
  Index exact = 0;  // of every how many problems one is recomputed: so many in all
  std::string kind = "both";
  double seconds = 1;
  bool verbose = false;
};

struct Outcome {
  std::string status = "error";
  Index steps = 0;
  double seconds = 0;
  double gap = 0, bound = 0;
  double disagreement = 0;  // of stated and verified gap
  double excess =
      -1;  // of what the true gap differs from the stated one over the bound; -1: not computed
  double one_rounding = -1;  // what the last bit of alpha moves the true gap by; -1: not computed
  std::vector<std::string> findings;
  std::string error;
};

// What the gap would still be if doubles held the optimum as well as they can: by how much it moves when the last bit of every alpha between
// its bounds is another one, half of the trials farther than this.
double move_by_one_rounding(const Model& model, const Dataset& data) {
  const double gap = exact_gap(model, data);
  std::mt19937_64 random(1);
  std::vector<double> moves;
  for (int trial = 0; trial < 9; ++trial) {
    Model moved = model;
    for (TaskModel& task : moved.tasks) {
      Vector& alpha = std::get<KernelExpansion>(task.function).alpha;
      const double largest = alpha.size() > 0 ? alpha.maxCoeff() : 0;
      for (double& a : alpha)
        if (a < largest) a = std::nextafter(a, random() % 2 == 0 ? 0 : largest);
    }
    moves.push_back(std::abs(exact_gap(moved, data) - gap));
  }
  std::nth_element(moves.begin(), moves.begin() + 4, moves.end());
  return moves[4];
}

Outcome run(const RandomProblem& problem, bool exact) {
  Outcome out;
  const auto start = std::chrono::steady_clock::now();
  try {
    const Prepared prepared = prepare(problem.data, problem.settings, problem.extras, 1);
    const Fitted fitted = fit_prepared(prepared, problem.settings, 1);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Model model = make_model(prepared, problem.settings, fitted, "none");
    out.status = to_string(fitted.fit.status);
    out.steps = fitted.fit.outer_steps;
    out.gap = model.certificate().gap;
    out.bound = model.certificate().bound;
    const Verification check = verify_training(model, problem.data, problem.extras.precomputed);
    out.disagreement = std::abs(check.gap - out.gap);
    out.findings = check.findings;
    if (fitted.fit.status == Status::precision)
      out.one_rounding = move_by_one_rounding(model, problem.data);
    if (exact) out.excess = std::abs(exact_gap(model, problem.data) - out.gap) - out.bound;
  } catch (const InputError& error) {
    out.error = error.what();
    // A kernel that is constant on few samples has no variance to divide by: an answer too.
    if (out.error.find("is constant on the data") != std::string::npos ||
        out.error.find("is a zero vector") != std::string::npos)
      out.status = "refused input";
  }
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int k = 1; k < count; ++k) {
    const std::string word = arguments[k];
    const auto next = [&] { return std::string(k + 1 < count ? arguments[++k] : ""); };
    if (word == "--first")
      options.first = std::atol(next().c_str());
    else if (word == "--kind")
      options.kind = next();
    else if (word == "--exact")
      options.exact = std::atol(next().c_str());
    else if (word == "--seconds")
      options.seconds = std::atof(next().c_str());
    else if (word == "--verbose")
      options.verbose = true;
    else
      options.count = std::atol(word.c_str());
  }
  std::map<std::string, Index> statuses;
  Outcome most_steps, slowest, worst;
  double largest_bound = 0;
  double excess = -1;
  Index recomputed = 0;
  Index findings = 0, late = 0, refuted = 0;
  double seconds = 0;
  std::string most_steps_of, slowest_of, worst_of;
  std::vector<Index> steps;  // of those that converged
  std::mutex one_at_a_time;
  const Index every = options.exact > 0 ? std::max<Index>(1, options.count / options.exact) : 0;
  parallel_for(options.count, 0, [&](Index k) {
    const std::uint64_t seed = static_cast<std::uint64_t>(options.first + k);
    const bool wild = options.kind == "wild" || (options.kind == "both" && seed % 2 == 1);
    const RandomProblem problem =
        wild ? wild_problem(seed)
             : random_problem(
                   seed, static_cast<Oddity>(seed / 2 % static_cast<std::uint64_t>(Oddity::count)));
    const Outcome out = run(problem, every > 0 && k % every == 0);
    const std::lock_guard lock(one_at_a_time);
    ++statuses[out.status];
    seconds += out.seconds;
    if (out.steps > most_steps.steps) {
      most_steps = out;
      most_steps_of = problem.description;
    }
    if (out.seconds > slowest.seconds) {
      slowest = out;
      slowest_of = problem.description;
    }
    if (out.disagreement > worst.disagreement) {
      worst = out;
      worst_of = problem.description;
    }
    if (out.status == "converged") {
      largest_bound = std::max(largest_bound, out.bound);
      steps.push_back(out.steps);
    }
    if (out.excess > -1) {
      ++recomputed;
      excess = std::max(excess, out.excess);
    }
    const bool wrong = out.status != "converged" && out.status != "refused input";
    findings += out.findings.empty() ? 0 : 1;
    late += out.seconds > options.seconds ? 1 : 0;
    refuted += out.excess > 0 ? 1 : 0;
    if (wrong || !out.findings.empty() || out.seconds > options.seconds || out.excess > 0 ||
        options.verbose)
      fmt::print(
          "{}: {}, gap {:.2e} bound {:.1e}, {} steps, {:.2f} s{}{}{}{}\n", problem.description,
          out.status, out.gap, out.bound, out.steps, out.seconds,
          out.one_rounding >= 0
              ? fmt::format(", the last bit of alpha moves the gap by {:.1e}", out.one_rounding)
              : "",
          out.excess > 0 ? fmt::format(", true gap beyond the bound by {:.2e}", out.excess) : "",
          out.findings.empty() ? "" : ", finding: " + out.findings.front(),
          out.error.empty() ? "" : ", " + out.error);
  });
  fmt::print("{} problems, {:.1f} s of fitting\n", options.count, seconds);
  for (const auto& [status, number] : statuses) fmt::print("  {}: {}\n", status, number);
  fmt::print("  with a finding of verify: {}\n  slower than {} s: {}\n", findings, options.seconds,
             late);
  const auto middle = steps.begin() + std::ssize(steps) / 2;
  std::nth_element(steps.begin(), middle, steps.end());
  if (!steps.empty()) fmt::print("  median of steps: {}\n", *middle);
  fmt::print("  most steps: {} ({})\n", most_steps.steps, most_steps_of);
  fmt::print("  slowest: {:.3f} s ({})\n", slowest.seconds, slowest_of);
  fmt::print("  stated and verified relative gap differ by at most {:.2e} ({})\n",
             worst.disagreement, worst_of);
  fmt::print("  largest bound of a converged one: {:.2e}\n", largest_bound);
  if (recomputed > 0)
    fmt::print(
        "  recomputed with 113 bits: {}; true gap farther from the stated one than its bound: {}; "
        "largest excess {:.2e}\n",
        recomputed, refuted, excess);
  Index wrong = findings + late + refuted;
  for (const auto& [status, number] : statuses)
    if (status != "converged" && status != "refused input") wrong += number;
  return wrong > 0 ? 1 : 0;
}
