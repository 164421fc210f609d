// Long tables of results, and what is said of them.
#include "coterie/io/results.hpp"

#include <cmath>

#include "coterie/io/memory_file.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_results(Bytes bytes) {
  detail::MemoryFile file;
  file.append(bytes);
  const std::optional<std::string> none, block = "block", run = "run";
  for (const auto& [by_block, by_run] : {std::pair{none, none}, {block, none}, {block, run}})
    accepts([&, &by_block = by_block, &by_run = by_run] {
      for (const ResultBlock& results :
           read_results(file.path(), {.block = by_block, .repetition = by_run})) {
        require(results.scores.size() == results.datasets.size(), "every data set has its scores");
        for (const Matrix& scores : results.scores) {
          require(scores.rows() == std::ssize(results.methods), "every method has a score");
          require(scores.size() > 0 && scores.allFinite(), "scores are finite");
        }
        if (results.methods.size() > 50) continue;  // time
        const Comparison comparison = compare_methods(results, results.methods.back(), 0.05);
        const double k = static_cast<double>(results.methods.size());
        require(std::abs(comparison.average_ranks.mean() - (k + 1) / 2) < 1e-9,
                "ranks share out 1 to k");
        require(comparison.friedman.corrected.chi_square_p >= 0 &&
                    comparison.friedman.corrected.chi_square_p <= 1 &&
                    comparison.friedman.corrected.F_p >= 0 &&
                    comparison.friedman.corrected.F_p <= 1,
                "p-values lie in [0, 1]");
        for (const AgainstControl& other : comparison.holm)
          require(other.holm.p >= 0 && other.holm.p <= 1 && std::isfinite(other.z),
                  "Holm's p-values lie in [0, 1]");
        for (const Wilcoxon& test : comparison.wilcoxon)
          require(test.p >= 0 && test.p <= 1, "Wilcoxon's p-values lie in [0, 1]");
      }
    });
}

const Target results_target("results", fuzz_results);

}  // namespace
}  // namespace coterie::fuzz
