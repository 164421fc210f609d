// Gram matrices of base kernels, per task, through BLAS. docs/maths.md (6)-(14).
//
//   K^m_ij = k_m(x_i, x_j) / d_m,   one divisor d_m per kernel, the same in every task
//
// They are kept as their roots (task_grams.hpp), stored or computed when asked for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/kernel/kernel.hpp"
#include "coterie/kernel/task_grams.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

// The matrices behind `precomputed:FILE` kernels, by file name; rows and columns are the rows of Dataset::X.
using PrecomputedMatrices = std::map<std::string, Matrix>;

// How the scale of a kernel is chosen, docs/maths.md (12)-(14): one divisor per kernel, averaged over tasks.
//
//   cosine    1                                                                                        (12)
//   variance  mean over tasks of (mean of the diagonal - mean of all entries)                          (13)
//   tail:h    mean over tasks of (sum of the centred eigenvalues beyond the h largest) / n, but at least
//             0.001 of the variance: a kernel of rank h or less has no tail                            (14)
//   none      1, and every kernel is raw
struct Normalisation {
  enum class Kind { cosine, variance, tail, none };
  Kind kind = Kind::cosine;
  Index h = 0;  // of tail
  static Normalisation cosine() { return {}; }
  static Normalisation variance() { return {Kind::variance}; }
  static Normalisation tail(Index h) { return {Kind::tail, h}; }
  static Normalisation none() { return {Kind::none}; }
  // Whether divisors are learnt from the data.
  bool divides() const { return kind == Kind::variance || kind == Kind::tail; }
  bool operator==(const Normalisation&) const = default;
};
// "cosine", "variance", "tail:8", "none"; nothing for other text.
std::optional<Normalisation> normalisation_from(std::string_view text);
std::string to_string(const Normalisation& normalisation);

struct Grams {
  std::vector<Kernel> kernels;
  std::vector<TaskGrams> tasks;  // divided by the divisors
  Vector divisors;               // one per kernel, (12)-(14); all 1 for cosine and none
  std::vector<Index> bounded;    // kernels whose tail divisor was lifted to its lower bound
};

// The kernels of a list, ready for use: columns resolved against the names of the features, "@each" expanded and, when the
// normalisation is `none`, every kernel raw. "@each" leaves out columns that are constant in every task: their kernels would be too.
std::vector<Kernel> prepare_kernels(const Kernels& list, const Normalisation& normalisation,
                                    const Dataset& data);
// The same where columns of scores will stand behind those of the data: `features` has the names of all.
std::vector<Kernel> prepare_kernels(const Kernels& list, const Normalisation& normalisation,
                                    const Dataset& data, const std::vector<std::string>& features);
std::vector<Kernel> prepare_kernels(const Kernels& list, const Normalisation& normalisation,
                                    const std::vector<std::string>& features,
                                    const std::vector<bool>& left_out = {});

// Where the values of the roots are: in memory, or computed from the features whenever they are needed.
enum class Storage { stored, on_demand };

// Of how many matrices all kernels of the list are powers; large C asks for more of them (feature_roots.hpp).
Index count_roots(const std::vector<Kernel>& kernels, double largest_C = 1);

// How many copies of the columns that it looks at a kernel needs at a time: distances may need them centred, and a moment before there
// is one more. 0: precomputed.
double copies_of_columns(const Kernel& kernel);

// Gram matrices of all tasks, of kernels from prepare_kernels. Throws InputError when a kernel cannot be used on the data
// (zero vector under a normalised kernel, negative features under chi2, numbers too large, a precomputed matrix of the wrong
// size, not symmetric, or not positive semidefinite, a constant kernel under `variance` or `tail`); of several errors, always
// that of the first task. The number of threads changes no bit. With Storage::on_demand precomputed matrices must outlive the
// result.
Grams compute_grams(const Dataset& data, const std::vector<Kernel>& kernels,
                    const Normalisation& normalisation, const PrecomputedMatrices& precomputed,
                    int threads, Storage storage = Storage::stored, double largest_C = 1);

// The divisors (12)-(14) of kernels that were divided by nothing yet.
struct Divisors {
  Vector values;               // one per kernel
  std::vector<Index> bounded;  // as in Grams
};
// `whole`: of which the tasks have some samples. A kernel that is constant on these alone has no say among them, and is divided by 1.
Divisors find_divisors(const std::vector<TaskGrams>& tasks, const std::vector<Kernel>& kernels,
                       const Normalisation& normalisation, int threads,
                       const std::vector<TaskGrams>* whole = nullptr);
void divide(std::vector<TaskGrams>& tasks, ConstVectorRef divisors);

// How far a matrix may be from positive semidefinite, given its eigenvalues as they were computed: these are off by rounding.
double negative_part(ConstVectorRef spectrum);

// Kernel values between rows of A and rows of B (a.rows x b.rows), for prediction; divided by nothing but the norms.
// Not for precomputed kernels. B should be the samples of the model: distances are computed around their mean.
Matrix cross_gram(const Kernel& kernel, ConstMatrixRef A, ConstMatrixRef B);

}  // namespace coterie
