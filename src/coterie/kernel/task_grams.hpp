// The Gram matrices of one task, kept as few matrices. docs/maths.md (15).
//
//   K^m_ij = (R_ij)^power_m / divisor_m,     R the root of kernel m
//
// Gaussians whose widths are halves of each other are powers of the widest (4, 16, ..), poly:2 is the square of linear: the ten
// kernels of the paper have two roots, and a pair of samples takes 16 bytes instead of 80. The powers are a few multiplications,
// made when they are needed; that is less than the time to read them from memory.
//
// The values of roots come from a source: matrices in memory, or features from which what is asked for is computed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "coterie/kernel/exact_kernels.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

struct KernelTerm {
  Index root = 0;
  Index power = 1;
  double divisor = 1;
  double roundings = 0;  // |K_ij - truth| <= roundings * unit rounding * sqrt(K_ii K_jj)
  bool operator==(const KernelTerm&) const = default;
};

// Values of the roots for pairs of samples.
class RootSource {
 public:
  RootSource() = default;
  RootSource(const RootSource&) = delete;
  RootSource& operator=(const RootSource&) = delete;
  virtual ~RootSource() = default;

  // out[root][k * stride + l] = R(rows[k], columns[l]) for every root whose `out` is not null.
  virtual void values(std::span<const Index> rows, std::span<const Index> columns,
                      double* const* out, Index stride) const = 0;
  // out[root][k] = R(rows[k], rows[k]) for every root.
  virtual void diagonals(std::span<const Index> rows, double* const* out) const = 0;
  // Row i of a root over all samples of the source, or null where it is not stored.
  virtual const double* stored_row(Index /*root*/, Index /*i*/) const { return nullptr; }
  virtual double bytes() const = 0;  // that are stored
  virtual double work() const = 0;   // multiplications, about, to compute the values of one pair
};

// The kernels as they come from the values of their roots, in an order in which each power is made from the one before.
class KernelPowers {
 public:
  explicit KernelPowers(std::vector<KernelTerm> terms);

  Index M() const { return std::ssize(terms_); }
  Index roots() const { return std::ssize(chains_); }
  const KernelTerm& term(Index m) const { return terms_[static_cast<std::size_t>(m)]; }

  // What mix needs of weights: which kernels, and the roots they come from.
  struct Recipe {
    std::vector<double> weight;  // divided by the divisor, in the order of the chains
    std::vector<Index> length;   // links of every chain that are needed
    bool needs(Index root) const { return length[static_cast<std::size_t>(root)] > 0; }
  };
  Recipe recipe(ConstVectorRef theta) const;

  // out_j = sum_m theta_m K^m_j  for `count` pairs, their roots at values[root][0 .. count). Roots that the recipe does not need
  // may be null. The bits of an entry depend on its values alone.
  void mix(const Recipe& recipe, const double* const* values, Index count, double* out) const;

  // out_m = sum_j K^m_j beta_j.
  void products(const double* const* values, const double* beta, Index count, double* out) const;

 private:
  struct Link {
    Index kernel;
    Index exponent;     // what the value before it in the chain is raised to
    bool from_root;     // or the root itself
    std::size_t place;  // of its weight in a recipe
  };
  std::vector<KernelTerm> terms_;
  std::vector<std::vector<Link>> chains_;  // [root], powers ascending
};

class TaskGrams {
 public:
  TaskGrams() = default;
  // Every kernel its own matrix, n x n and symmetric.
  explicit TaskGrams(std::vector<Matrix> matrices);
  // Sample i of the task is samples[i] of the source.
  TaskGrams(std::shared_ptr<const RootSource> source, std::shared_ptr<const KernelPowers> powers,
            std::vector<Index> samples);

  // The same roots under other divisors.
  TaskGrams(const TaskGrams& other, std::shared_ptr<const KernelPowers> powers) : TaskGrams(other) {
    powers_ = std::move(powers);
  }

  // The kernels from their definition, without the divisors: sample i of the task is row rows[i] there. Without it the values of the roots
  // are the definition.
  void define_by(std::shared_ptr<const ExactKernels> exact, std::vector<Index> rows) {
    exact_ = std::move(exact);
    exact_rows_ = std::move(rows);
  }
  const std::shared_ptr<const ExactKernels>& exact() const { return exact_; }

  // The definition and what else is known of `whole`, of which this has some samples.
  void inherit(const TaskGrams& whole, std::span<const Index> samples);

  // The same kernels with values between samples of different parts `across` times as large, 0 <= across <= 1: still positive
  // semidefinite, with the diagonal that they had. Sample i is of part[i]; across = 1 changes nothing.
  TaskGrams parted(std::vector<Index> part, double across) const;
  bool is_parted() const { return !part_.empty(); }
  // What the values between samples i and j are multiplied by.
  double between(Index i, Index j) const {
    return part_.empty() || part_[static_cast<std::size_t>(i)] == part_[static_cast<std::size_t>(j)]
               ? 1
               : across_;
  }
  // Multiplies values[k] by that between samples i and columns[k].
  void part_values(Index i, std::span<const Index> columns, double* values) const {
    if (part_.empty()) return;
    for (std::size_t k = 0; k < columns.size(); ++k) values[k] *= between(i, columns[k]);
  }
  // And values[j] of all samples j.
  void part_row(Index i, double* values) const {
    if (part_.empty()) return;
    for (Index j = 0; j < n(); ++j) values[j] *= between(i, j);
  }
  // Of a value of kernel m, as in its term.
  double roundings(Index m) const { return powers_->term(m).roundings + (part_.empty() ? 0 : 1); }

  // How far each kernel is from positive semidefinite, beyond rounding: precomputed ones may be a little.
  void set_indefinite(Vector amounts) { indefinite_ = std::move(amounts); }
  double indefinite(Index m) const {
    return indefinite_.size() > 0 ? indefinite_[m] / powers_->term(m).divisor : 0;
  }
  const std::vector<Index>& exact_rows() const { return exact_rows_; }

  Index n() const { return std::ssize(samples_); }
  Index M() const { return powers_ ? powers_->M() : 0; }
  const KernelPowers& powers() const { return *powers_; }
  const RootSource& source() const { return *source_; }
  const std::vector<Index>& samples() const { return samples_; }
  std::shared_ptr<const RootSource> shared_source() const { return source_; }
  std::shared_ptr<const KernelPowers> shared_powers() const { return powers_; }

  // out[root][k * stride + l] = R(rows[k], columns[l]), samples of the task, where `out` is not null.
  void root_values(std::span<const Index> rows, std::span<const Index> columns, double* const* out,
                   Index stride) const;
  void root_diagonals(std::span<const Index> rows, double* const* out) const;
  // Row i of a root over all samples of the task where it is stored like that, else null.
  const double* stored_row(Index root, Index i) const {
    return in_order_ ? source_->stored_row(root, i) : nullptr;
  }
  // The largest |K^m_ij| of every kernel: by Cauchy and Schwarz one of the diagonal. NaN where one of these is.
  Vector largest_values() const;
  // The whole matrix of one kernel.
  Matrix kernel(Index m) const;
  // sum_m theta_m K^m, the whole matrix.
  Matrix mixed(ConstVectorRef theta) const;

 private:
  std::vector<Index> places(std::span<const Index> samples) const;  // in the source
  void find_largest_roots();

  std::shared_ptr<const RootSource> source_;
  std::shared_ptr<const KernelPowers> powers_;
  std::vector<Index> samples_;
  bool in_order_ = false;              // sample i of the task is sample i of the source
  std::vector<double> largest_roots_;  // [root], of the diagonal
  std::shared_ptr<const ExactKernels> exact_;
  std::vector<Index> exact_rows_;
  Vector indefinite_;
  std::vector<Index> part_;  // of the samples; empty: all are of one
  double across_ = 1;
};

// Some samples of a task, in any order, perhaps repeated: what is stored is copied, what is computed when asked for stays so.
TaskGrams slice(const TaskGrams& whole, std::span<const Index> samples);

// Decision values without bias, sum_j K(theta)_ij beta_j, at some samples i of a task, with beta over some others j.
Vector cross_decisions(const TaskGrams& whole, std::span<const Index> rows,
                       std::span<const Index> columns, ConstVectorRef theta, ConstVectorRef beta);

// Roots in memory, each a symmetric matrix.
class StoredRoots : public RootSource {
 public:
  explicit StoredRoots(std::vector<Matrix> roots) : roots_(std::move(roots)) {}
  void values(std::span<const Index> rows, std::span<const Index> columns, double* const* out,
              Index stride) const override;
  void diagonals(std::span<const Index> rows, double* const* out) const override;
  const double* stored_row(Index root, Index i) const override {
    return roots_[static_cast<std::size_t>(root)].row(i).data();
  }
  double bytes() const override;
  double work() const override { return 0; }

 private:
  std::vector<Matrix> roots_;
};

}  // namespace coterie
