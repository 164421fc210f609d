// Roots of kernels computed from the features of samples, for whatever pairs are asked for. docs/maths.md (6)-(10), (15).
// Private to this room.
//
// Per block of columns one product of matrices serves the inner products and the squared distances,
//
//   |x - z|^2 = |x|^2 + |z|^2 - 2 x'z,
//
// taken around the mean of the data where the origin is so far away that the difference would cancel; pairs for which it still
// cancels are computed directly, so that the distance of two equal points is exactly 0.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coterie/kernel/kernel.hpp"
#include "coterie/kernel/task_grams.hpp"

namespace coterie {

// The fewest roots for a list of kernels: of poly linear with its offset, of gauss and laplace the largest width of a chain, of others
// themselves. A chain of Gaussians loses a factor 4 of the unit rounding at every halving of the width, and alphas of up
// to largest_C carry the loss into the objective: so a chain is seven halvings (1 to 128) at most, fewer for large C.
struct RootPlan {
  std::vector<Kernel> roots;
  std::vector<KernelTerm> terms;  // one per kernel
};
RootPlan plan_roots(const std::vector<Kernel>& kernels, double largest_C);

class FeatureRoots : public RootSource {
 public:
  // Over the rows of X. Precomputed matrices must outlive it; X is copied per block of columns.
  FeatureRoots(const Matrix& X, std::vector<Kernel> roots,
               const std::map<std::string, Matrix>& precomputed);

  void values(std::span<const Index> rows, std::span<const Index> columns, double* const* out,
              Index stride) const override;
  void diagonals(std::span<const Index> rows, double* const* out) const override;
  double bytes() const override;
  double work() const override;

  // k(x,x) of every row before it is divided by anything, for one root.
  const Vector& diagonal(Index root) const {
    return parts_[static_cast<std::size_t>(root)].diagonal;
  }

 private:
  // Samples as the kernels of one block of columns see them.
  struct Block {
    std::vector<Index> columns;
    Matrix X;
    Matrix centred;                  // empty when the inner products of X serve for distances too
    Vector norms;                    // squared, of the points that distances are computed from
    std::vector<std::size_t> roots;  // that look at it
  };
  struct Part {  // what a root needs besides
    Kernel kernel;
    std::size_t block = 0;
    Vector diagonal;
    Vector scale;                    // 1 / sqrt(diagonal), or 1
    const Matrix* matrix = nullptr;  // precomputed
  };
  struct Tile;       // some rows by some columns
  class SharedSums;  // inner products and squared distances of one block

  std::size_t block_of(const Matrix& X, const std::vector<Index>& columns);
  static void prepare_distances(Block& block);
  void block_values(std::size_t block, std::span<const Index> rows, std::span<const Index> columns,
                    double* const* out, Index stride) const;
  void shared_values(SharedSums& sums, const std::vector<std::size_t>& wanted,
                     const Tile& tile) const;
  void pair_values(std::size_t wanted, const Tile& tile) const;
  void row_values(std::size_t wanted, const Tile& tile, std::size_t k, const double* sums) const;
  void normalise(const Part& part, Index i, std::span<const Index> columns, const double* scales,
                 const double* sums, double* out) const;

  std::vector<Block> blocks_;
  std::vector<Part> parts_;
};

}  // namespace coterie
