// What a model of a linear method states: features of the data or those that stand for kernels, docs/methods.md (17), and weights.
#pragma once

#include <functional>
#include <optional>

#include "coterie/kernel/exact_kernels.hpp"
#include "coterie/model/verify.hpp"
#include "coterie/model/verify_tables.hpp"

namespace coterie::linear_check {

// The problem that the model states, from raw data, and what it says is the answer.
struct Stated {
  const Dataset* data = nullptr;
  const Matrix* plain = nullptr;  // scaled features, or
  Table mapped;                   // those that stand for kernels, a row for each of the data
  std::vector<double>
      feature_error;  // per row, length of what its features may be off by; empty: none
  Table W;            // T x d
  std::vector<double> weight_error;    // per task, length
  Table shared;                        // T x d, or empty
  std::vector<std::vector<double>> c;  // [task], weights of the samples

  Real x(Index row, Index k) const { return plain != nullptr ? (*plain)(row, k) : mapped(row, k); }
  double all_weight_error() const {
    double sum = 0;
    for (const double e : weight_error) sum += e * e;
    return std::sqrt(sum);
  }
};
// X is scaled; `exact` are its kernels, where features stand for them.
Stated state(const Model& model, const Dataset& data, const Matrix& X,
             const std::optional<ExactKernels>& exact, Verification& check,
             const std::function<void()>& one_done);

}  // namespace coterie::linear_check
