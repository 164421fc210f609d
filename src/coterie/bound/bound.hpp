// What a fitted model is guaranteed on new data: the corrected bound on its pooled error, and all that goes into it. docs/bound.md.
//
//   error(f) <= margin error of f at rho + (2/rho) complexity + 3 sqrt(sum_rows k^2 / N^2) sqrt(log(2/delta) / 2)                  (4)
//
// The model lies in the class (1) of its own R (the largest ||w_t||^2), gamma (the spread of its weights) and bias. All three, and the
// margin, were read off the data; delta is shared out over a list of classes for that (18). Rows that several tasks share count as what
// they are, one draw: tasks then fall into rounds in which no row occurs twice (17).
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "coterie/bound/signs.hpp"
#include "coterie/model/model.hpp"

namespace coterie {

// rho of the bound: a number > 0, or the best of a list of them.
struct Margin {
  std::optional<double> value = {};
  bool operator==(const Margin&) const = default;
};
std::string text_of(const Margin& margin);
bool read_text(std::string_view text, Margin& margin);

struct BoundSettings {
  double delta = 0.05;
  Margin margin = {};
  Index samples = 1000;
  Index seed = 1;
  double tolerance = 1e-4;
  bool operator==(const BoundSettings&) const = default;
};

template <typename S, typename F>
requires std::same_as<std::remove_const_t<S>, BoundSettings>
void visit_fields(S& s, F&& f) {
  f("delta", s.delta, "how likely the bound may be to fail", "a number between 0 and 1");
  f("margin", s.margin, "margin that scores of the training rows are compared with",
    "a number > 0, or 'best': the best of a list, which is paid for");
  f("samples", s.samples, "draws of random signs for the Monte-Carlo figures",
    "a whole number from 2 to 10000000");
  f("seed", s.seed, "seed of the random signs", "a whole number >= 0");
  f("tolerance", s.tolerance, "how exactly the largest value over a draw is found (relative gap)",
    "a number between 0 and 1");
}
// Throws SettingError for a value that breaks its rule.
void validate(const BoundSettings& settings);

struct Estimate {
  double value = 0;
  double standard_error = 0;  // 0 for what is not estimated
};

// Complexities of one class, for the model's R and without its bias.
struct Complexity {
  double closed = 0;     // (13)
  Estimate data = {};    // (14)
  Estimate monte_carlo;  // (7), by upper values of every draw
  double gap = 0;        // mean relative gap between upper and lower values
};

// A bound on the pooled error by one of the complexities, at the margin where it is smallest.
struct Guarantee {
  double margin = 0;
  double margin_error = 0;  // of the training samples
  double complexity = 0;    // with bias and all that was paid: 2/margin times it is in the bound
  double deviation = 0;
  double bound = 0;          // the sum; above 1 it says nothing
  double low = 0, high = 1;  // two-sided interval, within 0 and 1
};

struct Bound {
  Index samples = 0, rows = 0, tasks = 0, kernels = 0;  // samples: N, over all tasks
  Index rounds = 0;                                     // of tasks that share no row
  double R = 0;                                         // the largest of norms
  double gamma = 0;
  double largest_bias = 0;
  Vector norms;  // ||w_t||^2
  double training_error = 0;
  double bias_complexity = 0;               // what biases of that size add to every complexity
  double published = 0;                     // complexity (3)
  Complexity complexity, common, separate;  // of the class of the model, and its extremes
  Guarantee by_published, by_closed, by_data, by_monte_carlo;
  std::vector<std::string> notes;  // what a reader should know, in sentences
};

// The bound of a model from the data that it was trained on. Throws InputError for models that it is not about and for other data, and
// Stopped when progress says false. `precomputed` holds the matrices of precomputed kernels.
Bound bound_of(const Model& model, const Dataset& data, const BoundSettings& settings = {},
               const PrecomputedMatrices& precomputed = {}, int threads = 0,
               const DrawProgress& progress = {});

}  // namespace coterie
