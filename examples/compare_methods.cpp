// compare_methods: which methods are better over several data sets, and how sure that is.
#include <coterie/coterie.hpp>
#include <cstdio>

int main() {
  using namespace coterie;
  ResultBlock results{.methods = {"ours", "stl", "pooled"}};
  const Matrix accuracy{{0.91, 0.88, 0.80}, {0.75, 0.73, 0.74}, {0.83, 0.80, 0.79},
                        {0.97, 0.96, 0.90}, {0.66, 0.61, 0.64}, {0.88, 0.87, 0.85}};
  for (Index i = 0; i < accuracy.rows(); ++i) {
    results.datasets.push_back("set " + std::to_string(i + 1));
    results.scores.emplace_back(accuracy.row(i).transpose());  // methods x repetitions
  }
  const Comparison c = compare_methods(results, "ours", 0.05);
  std::printf("Friedman: p %.4f\n", c.friedman.corrected.chi_square_p);
  for (const AgainstControl& other : c.holm)
    std::printf("%s: average rank %.2f, %s\n", results.methods[other.method].c_str(),
                c.average_ranks[other.method], other.holm.rejected ? "differs" : "may be alike");
  const std::string picture = as_svg({{.methods = results.methods,
                                       .average_ranks = c.average_ranks,
                                       .critical_difference = c.nemenyi.critical_difference,
                                       .groups = c.nemenyi.groups}},
                                     "accuracy");
  std::printf("a picture of %zu bytes\n", picture.size());
}
