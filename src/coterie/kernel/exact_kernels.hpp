// Base kernels from their definition, docs/maths.md (6)-(10), in long double and by plain loops: what a certificate is judged by where
// doubles are too coarse, and what the checker of models uses. Nothing here is shared with the Gram matrices.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coterie/kernel/kernel.hpp"

namespace coterie {

struct Quantity;

class ExactKernels {
 public:
  // Over the rows of X (scaled), a copy of which is kept. Precomputed matrices, by the names of their files, must outlive it.
  ExactKernels(Matrix X, std::vector<Kernel> kernels,
               const std::map<std::string, Matrix>& precomputed);

  Index M() const { return std::ssize(kernels_); }

  // out[m] = k_m(x_i, x_j), divided by the norms unless raw.
  void values(Index i, Index j, long double* out) const;
  // Of one kernel alone.
  long double value(Index m, Index i, Index j) const;

  // |value - truth| <= roundings(m) * epsilon of long double * sqrt(k_m(x_i, x_i) k_m(x_j, x_j)).
  double roundings(Index m) const { return roundings_[static_cast<std::size_t>(m)]; }

 private:
  // What kernels of one quantity on the same columns share: an inner product, a distance, a sum.
  struct Base {
    const Quantity* quantity;  // null: precomputed
    std::vector<Index> columns;
  };
  long double sum_at(const Base& base, Index i, Index j) const;
  long double from_sum(std::size_t m, long double sum, Index i, Index j) const;

  Matrix X_;
  std::vector<Kernel> kernels_;
  std::vector<const Matrix*> matrices_;  // [kernel], of precomputed ones
  std::vector<Base> bases_;
  std::vector<std::size_t> base_of_;  // [kernel]
  std::vector<std::vector<long double>>
      norm_;  // [kernel][row] sqrt of the value before its power; empty where it is 1
  std::vector<Index> power_;  // [kernel]
  std::vector<double> roundings_;
};

}  // namespace coterie
