// Gram matrices of base kernels, per task, through BLAS. docs/maths.md (20)-(27).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/kernel/kernel.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

// K^1 .. K^M of one task, each n x n and symmetric.
using TaskGrams = std::vector<Matrix>;

// The matrices behind `precomputed:FILE` kernels, by file name; rows and columns are the rows of Dataset::X.
using PrecomputedMatrices = std::map<std::string, Matrix>;

// How the scale of a kernel is chosen, docs/maths.md (25)-(27): one divisor per kernel, averaged over tasks.
struct Normalisation {
  enum class Kind { cosine, variance, tail, none };
  Kind kind = Kind::cosine;
  Index h = 0;  // of tail
  bool operator==(const Normalisation&) const = default;
};
Normalisation parse_normalisation(const std::string& text);  // "cosine", "variance", "tail:8", "none"
std::string to_string(const Normalisation& normalisation);

struct Grams {
  std::vector<TaskGrams> tasks;       // divided by the divisors already
  Vector divisors;                    // one per kernel, (25)-(27); all 1 for cosine and none
  std::vector<Index> bounded;         // kernels whose tail divisor was lifted to its lower bound
};

// The kernels of a list, ready for use: columns resolved against the names of the features and, when the normalisation is
// `none`, every kernel raw.
std::vector<Kernel> prepare_kernels(std::string_view text, const Normalisation& normalisation,
                                    const std::vector<std::string>& features);

// Gram matrices of all tasks, of kernels from prepare_kernels. Throws InputError when a kernel cannot be used on the data (zero vector under a
// normalised kernel, negative features under chi2, a precomputed matrix of the wrong size, not symmetric, or not positive semidefinite).
Grams compute_grams(const Dataset& data, const std::vector<Kernel>& kernels, const Normalisation& normalisation,
                    const PrecomputedMatrices& precomputed, int threads);

// Kernel values between rows of A and rows of B (a.rows x b.rows), for prediction; divided by nothing but the norms.
// Not for precomputed kernels.
Matrix cross_gram(const Kernel& kernel, ConstMatrixRef A, ConstMatrixRef B);

}  // namespace coterie
