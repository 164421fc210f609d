#include "coterie/kernel/feature_roots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "coterie/kernel/base/base_kernel.hpp"
#include "coterie/kernel/pairwise.hpp"

namespace coterie {

namespace {

constexpr Index kLongestChain = 7;  // halvings of a width between two exponentials
constexpr double kLoss = 1e-8;      // that a chain may cause in the objective, relative to it

Index longest_chain(double largest_C) {
  double loss = largest_C * std::numeric_limits<double>::epsilon() / 2;
  Index halvings = 0;
  for (; halvings < kLongestChain && 4 * loss <= kLoss; ++halvings) loss *= 4;
  return halvings;
}

// Widths from the largest to the smallest; every width joins the chain of which it is the next half, or begins one.
void chain_widths(const std::vector<Kernel>& kernels, std::vector<Index> chosen, Index longest,
                  RootPlan& plan) {
  std::stable_sort(chosen.begin(), chosen.end(), [&](Index a, Index b) {
    return kernels[static_cast<std::size_t>(a)].parameter >
           kernels[static_cast<std::size_t>(b)].parameter;
  });
  while (!chosen.empty()) {
    Index m = chosen.front();
    chosen.erase(chosen.begin());
    const Index root = std::ssize(plan.roots);
    plan.roots.push_back(kernels[static_cast<std::size_t>(m)]);
    Index power = 1;
    plan.terms[static_cast<std::size_t>(m)] = {root, power, 1};
    for (Index halvings = 0; halvings < longest; ++halvings) {
      const double half = kernels[static_cast<std::size_t>(m)].parameter / 2;
      const auto next = std::find_if(chosen.begin(), chosen.end(), [&](Index other) {
        return kernels[static_cast<std::size_t>(other)].parameter == half;
      });
      if (next == chosen.end()) break;
      m = *next;
      chosen.erase(next);
      power *= kernels[static_cast<std::size_t>(m)].base->power_of_half;
      plan.terms[static_cast<std::size_t>(m)] = {root, power, 1};
    }
  }
}

Matrix rows_of(const Matrix& X, std::span<const Index> rows) {
  Matrix out(std::ssize(rows), X.cols());
  for (std::size_t k = 0; k < rows.size(); ++k)
    std::copy_n(X.row(rows[k]).data(), X.cols(), out.row(static_cast<Index>(k)).data());
  return out;
}

void gather(const Vector& from, std::span<const Index> places, double* out) {
  for (std::size_t k = 0; k < places.size(); ++k) out[k] = from[places[k]];
}

}  // namespace

RootPlan plan_roots(const std::vector<Kernel>& kernels, double largest_C) {
  RootPlan plan;
  plan.terms.resize(kernels.size());
  std::vector<bool> done(kernels.size(), false);
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    if (done[m]) continue;
    const Kernel& kernel = kernels[m];
    if (kernel.base->power_of_half > 0) {
      std::vector<Index> alike;
      for (std::size_t k = m; k < kernels.size(); ++k)
        if (kernels[k].base == kernel.base && kernels[k].columns == kernel.columns) {
          alike.push_back(static_cast<Index>(k));
          done[k] = true;
        }
      chain_widths(kernels, std::move(alike), longest_chain(largest_C), plan);
      continue;
    }
    Kernel root = kernel;
    root.block.clear();  // its columns are what counts
    if (kernel.base->root) {
      root.base = kernel.base->root;
      root.parameter = 0;
    }
    const auto same = std::find(plan.roots.begin(), plan.roots.end(), root);
    plan.terms[m] = {same - plan.roots.begin(), kernel.base->power(kernel), 1};
    if (same == plan.roots.end()) plan.roots.push_back(root);
  }
  return plan;
}

FeatureRoots::FeatureRoots(const Matrix& X, std::vector<Kernel> roots,
                           const std::map<std::string, Matrix>& precomputed) {
  for (Kernel& root : roots) {
    Part part;
    part.kernel = std::move(root);
    const Kernel& kernel = part.kernel;
    const BaseKernel& base = *kernel.base;
    if (kernel.is_precomputed()) {
      part.matrix = &precomputed.at(kernel.file);
      part.diagonal = part.matrix->diagonal();
    } else {
      part.block = block_of(X, kernel.columns);
      Block& block = blocks_[part.block];
      block.roots.push_back(parts_.size());
      if (base.is_one_at_equal_points)
        part.diagonal = Vector::Ones(X.rows());
      else
        part.diagonal = base.diagonal(block.X).array() + kernel.offset;
      if (base.quantity->from == Quantity::From::distances) prepare_distances(block);
    }
    const bool plain = kernel.raw || base.is_one_at_equal_points;
    part.scale = plain ? Vector(Vector::Ones(part.diagonal.size()))
                       : Vector(part.diagonal.cwiseSqrt().cwiseInverse());
    parts_.push_back(std::move(part));
  }
}

std::size_t FeatureRoots::block_of(const Matrix& X, const std::vector<Index>& columns) {
  const auto known = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& block) { return block.columns == columns; });
  const auto number = static_cast<std::size_t>(known - blocks_.begin());
  if (known == blocks_.end())
    blocks_.push_back(
        {columns, columns.empty() ? X : Matrix(X(Eigen::all, columns)), Matrix(), Vector(), {}});
  return number;
}

void FeatureRoots::prepare_distances(Block& block) {
  if (block.norms.size() > 0) return;
  block.norms = squared_norms(block.X);
  Matrix centred = block.X;
  if (!centre_if_far(centred)) return;
  block.norms = squared_norms(centred);
  block.centred = std::move(centred);
}

void FeatureRoots::values(std::span<const Index> rows, std::span<const Index> columns,
                          double* const* out, Index stride) const {
  if (rows.empty() || columns.empty()) return;
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    block_values(block, rows, columns, out, stride);
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    const Part& part = parts_[r];
    if (!out[r] || !part.matrix) continue;
    const Matrix& P = *part.matrix;
    for (std::size_t k = 0; k < rows.size(); ++k)
      for (std::size_t l = 0; l < columns.size(); ++l) {
        const Index i = rows[k];
        const Index j = columns[l];
        out[r][static_cast<Index>(k) * stride + static_cast<Index>(l)] =
            i == j && !part.kernel.raw ? 1
                                       : (P(i, j) + P(j, i)) / 2 * (part.scale[i] * part.scale[j]);
      }
  }
}

// Some hundred columns at a time: what is made from one row of products stays in the nearest cache.
namespace {
constexpr std::size_t kColumns = 256;
constexpr std::size_t kRows = 64;
}  // namespace

struct FeatureRoots::Tile {
  std::vector<std::size_t> roots;  // that are wanted
  std::span<const Index> rows = {}, columns = {};
  std::vector<double*> out = {};  // [wanted] of its first value
  Index stride = 0;
  std::unique_ptr<double[]> scales = {};  // [wanted][column]
  double* place(std::size_t wanted, std::size_t k) const {
    return out[wanted] + static_cast<Index>(k) * stride;
  }
};

// The inner products and squared distances of the points of a tile, as far as they are wanted: both from one product of matrices, unless
// distances are taken around another centre.
class FeatureRoots::SharedSums {
 public:
  SharedSums(const Block& block, bool products, bool distances)
      : block_(block), distances_(distances), far_(distances && block.centred.size() > 0) {
    const auto room = [](std::size_t size) {
      return std::make_unique_for_overwrite<double[]>(size);
    };
    if (products || (distances && !far_)) products_ = room(kRows * kColumns);
    if (distances) {
      squares_ = room(far_ ? kRows * kColumns : kColumns);
      norms_ = room(kColumns);
    }
  }

  void compute(const Tile& tile) {
    if (products_) inner_products(block_.X, tile.rows, tile.columns, products_.get(), kColumns);
    if (far_) inner_products(block_.centred, tile.rows, tile.columns, squares_.get(), kColumns);
    if (distances_) gather(block_.norms, tile.columns, norms_.get());
  }

  // Of row k of the tile; null where they are not wanted.
  const double* products(std::size_t k) const {
    return products_ ? products_.get() + k * kColumns : nullptr;
  }
  // Until the next call.
  const double* distances(const Tile& tile, std::size_t k) {
    if (!distances_) return nullptr;
    double* out = squares_.get();
    if (far_)
      out += k * kColumns;
    else
      std::copy_n(products(k), tile.columns.size(), out);
    const Index i = tile.rows[k];
    squared_distances(block_.X, i, tile.columns, block_.norms[i], norms_.get(), out);
    return out;
  }

 private:
  const Block& block_;
  bool distances_, far_;
  std::unique_ptr<double[]> products_, squares_, norms_;
};

void FeatureRoots::block_values(std::size_t block_number, std::span<const Index> rows,
                                std::span<const Index> columns, double* const* out,
                                Index stride) const {
  const Block& block = blocks_[block_number];
  Tile tile;
  std::vector<std::size_t> shared, others;  // places among the wanted
  bool products = false, distances = false;
  for (const std::size_t r : block.roots) {
    if (!out[r]) continue;
    const Quantity::From from = parts_[r].kernel.base->quantity->from;
    (from == Quantity::From::pairs ? others : shared).push_back(tile.roots.size());
    products = products || from == Quantity::From::products;
    distances = distances || from == Quantity::From::distances;
    tile.roots.push_back(r);
  }
  if (tile.roots.empty()) return;
  SharedSums sums(block, products, distances);
  tile.out.resize(tile.roots.size());
  tile.stride = stride;
  tile.scales = std::make_unique_for_overwrite<double[]>(tile.roots.size() * kColumns);
  for (std::size_t left = 0; left < columns.size(); left += kColumns)
    for (std::size_t top = 0; top < rows.size(); top += kRows) {
      tile.columns = columns.subspan(left, std::min(kColumns, columns.size() - left));
      tile.rows = rows.subspan(top, std::min(kRows, rows.size() - top));
      for (std::size_t w = 0; w < tile.roots.size(); ++w) {
        tile.out[w] =
            out[tile.roots[w]] + static_cast<Index>(top) * stride + static_cast<Index>(left);
        if (top == 0)
          gather(parts_[tile.roots[w]].scale, tile.columns, tile.scales.get() + w * kColumns);
      }
      if (!shared.empty()) shared_values(sums, shared, tile);
      for (const std::size_t w : others) pair_values(w, tile);
    }
}

void FeatureRoots::shared_values(SharedSums& sums, const std::vector<std::size_t>& wanted,
                                 const Tile& tile) const {
  sums.compute(tile);
  for (std::size_t k = 0; k < tile.rows.size(); ++k) {
    const double* const products = sums.products(k);
    const double* const distances = sums.distances(tile, k);
    for (const std::size_t w : wanted) {
      const Kernel& kernel = parts_[tile.roots[w]].kernel;
      const bool product = kernel.base->quantity->from == Quantity::From::products;
      row_values(w, tile, k, product ? products : distances);
    }
  }
}

void FeatureRoots::pair_values(std::size_t wanted, const Tile& tile) const {
  const Part& part = parts_[tile.roots[wanted]];
  const Matrix& X = blocks_[part.block].X;
  const Matrix sums =
      part.kernel.base->quantity->pairs(rows_of(X, tile.rows), rows_of(X, tile.columns));
  for (std::size_t k = 0; k < tile.rows.size(); ++k)
    row_values(wanted, tile, k, sums.row(static_cast<Index>(k)).data());
}

void FeatureRoots::row_values(std::size_t wanted, const Tile& tile, std::size_t k,
                              const double* sums) const {
  const Part& part = parts_[tile.roots[wanted]];
  if (part.kernel.base->is_one_at_equal_points)
    part.kernel.base->values(part.kernel, sums, std::ssize(tile.columns), tile.place(wanted, k));
  else
    normalise(part, tile.rows[k], tile.columns, tile.scales.get() + wanted * kColumns, sums,
              tile.place(wanted, k));
}

// (value + offset) / sqrt(k(x,x) k(z,z)), or undivided for a raw kernel.
void FeatureRoots::normalise(const Part& part, Index i, std::span<const Index> columns,
                             const double* scales, const double* sums, double* out) const {
  const double own = part.scale[i];
  const double offset = part.kernel.offset;
  // The product of the scales first: it is the same for (i, j) and (j, i).
  for (std::size_t l = 0; l < columns.size(); ++l) out[l] = (sums[l] + offset) * (own * scales[l]);
  if (part.kernel.raw) return;
  for (std::size_t l = 0; l < columns.size(); ++l) out[l] = columns[l] == i ? 1 : out[l];
}

void FeatureRoots::diagonals(std::span<const Index> rows, double* const* out) const {
  for (std::size_t r = 0; r < parts_.size(); ++r)
    for (std::size_t k = 0; k < rows.size(); ++k)
      out[r][k] = parts_[r].kernel.raw ? parts_[r].diagonal[rows[k]] : 1;
}

double FeatureRoots::work() const {
  constexpr double of_a_root = 10;  // an exponential, a norm
  double sum = of_a_root * static_cast<double>(parts_.size());
  for (const Block& block : blocks_) sum += static_cast<double>(block.X.cols());
  return sum;
}

double FeatureRoots::bytes() const {
  double numbers = 0;
  for (const Block& block : blocks_)
    numbers += static_cast<double>(block.X.size() + block.centred.size() + block.norms.size());
  for (const Part& part : parts_)
    numbers += static_cast<double>(part.diagonal.size() + part.scale.size());
  return static_cast<double>(sizeof(double)) * numbers;
}

}  // namespace coterie
