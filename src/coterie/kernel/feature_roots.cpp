#include "coterie/kernel/feature_roots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/kernel/pairwise.hpp"

namespace coterie {

namespace {

using Kind = Kernel::Kind;

constexpr Index kLongestChain = 7;  // halvings of a width between two exponentials
constexpr double kLoss = 1e-8;      // that a chain may cause in the objective, relative to it

Index longest_chain(double largest_C) {
  double loss = largest_C * std::numeric_limits<double>::epsilon() / 2;
  Index halvings = 0;
  for (; halvings < kLongestChain && 4 * loss <= kLoss; ++halvings) loss *= 4;
  return halvings;
}

bool is_distance(Kind kind) { return kind == Kind::gauss || kind == Kind::laplace; }

// exp(-rate distance): half the width multiplies the rate of gauss by 4, that of laplace by 2.
double rate_of(const Kernel& kernel) {
  const double s = kernel.parameter;
  return kernel.kind == Kind::gauss ? 1 / (2 * s * s) : 1 / s;
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
      power *= kernels[static_cast<std::size_t>(m)].kind == Kind::gauss ? 4 : 2;
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
    if (is_distance(kernel.kind)) {
      std::vector<Index> alike;
      for (std::size_t k = m; k < kernels.size(); ++k)
        if (kernels[k].kind == kernel.kind && kernels[k].columns == kernel.columns) {
          alike.push_back(static_cast<Index>(k));
          done[k] = true;
        }
      chain_widths(kernels, std::move(alike), longest_chain(largest_C), plan);
      continue;
    }
    Kernel root = kernel;
    if (kernel.kind == Kind::poly) {
      root.kind = Kind::linear;
      root.parameter = 0;
    }
    const auto same = std::find_if(plan.roots.begin(), plan.roots.end(), [&](const Kernel& other) {
      return other.kind == root.kind && other.offset == root.offset && other.raw == root.raw &&
             other.columns == root.columns && other.file == root.file;
    });
    const Index power = kernel.kind == Kind::poly ? static_cast<Index>(kernel.parameter) : 1;
    plan.terms[m] = {same - plan.roots.begin(), power, 1};
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
    if (kernel.kind == Kind::precomputed) {
      part.matrix = &precomputed.at(kernel.file);
      part.diagonal = part.matrix->diagonal();
    } else {
      const auto known = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) {
        return block.columns == kernel.columns;
      });
      part.block = static_cast<std::size_t>(known - blocks_.begin());
      if (known == blocks_.end())
        blocks_.push_back({kernel.columns,
                           kernel.columns.empty() ? X : Matrix(X(Eigen::all, kernel.columns)),
                           Matrix(), Vector()});
      Block& block = blocks_[part.block];
      if (kernel.kind == Kind::linear) {
        part.diagonal = squared_norms(block.X).array() + kernel.offset;
      } else if (kernel.kind == Kind::chi2) {
        part.diagonal = row_sums(block.X);
      } else {
        part.diagonal = Vector::Ones(X.rows());
      }
      if (kernel.kind == Kind::gauss && block.norms.size() == 0) {
        block.norms = squared_norms(block.X);
        Matrix centred = block.X;
        if (centre_if_far(centred)) {
          block.norms = squared_norms(centred);
          block.centred = std::move(centred);
        }
      }
    }
    const bool plain = kernel.raw || is_distance(kernel.kind);
    part.scale = plain ? Vector(Vector::Ones(part.diagonal.size()))
                       : Vector(part.diagonal.cwiseSqrt().cwiseInverse());
    parts_.push_back(std::move(part));
  }
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
void FeatureRoots::block_values(std::size_t block_number, std::span<const Index> rows,
                                std::span<const Index> columns, double* const* out,
                                Index stride) const {
  const Block& block = blocks_[block_number];
  std::vector<std::size_t> wanted;
  bool products = false;
  bool gauss = false;
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    const Part& part = parts_[r];
    if (!out[r] || part.matrix || part.block != block_number) continue;
    wanted.push_back(r);
    products = products || part.kernel.kind == Kind::linear;
    gauss = gauss || part.kernel.kind == Kind::gauss;
  }
  if (wanted.empty()) return;
  const bool far = block.centred.size() > 0;
  constexpr std::size_t kColumns = 256;
  constexpr std::size_t kRows = 64;
  std::unique_ptr<double[]> G;
  std::unique_ptr<double[]> D;
  if (products || (gauss && !far)) G = std::make_unique_for_overwrite<double[]>(kRows * kColumns);
  if (gauss) D = std::make_unique_for_overwrite<double[]>(far ? kRows * kColumns : kColumns);
  const auto norms = std::make_unique_for_overwrite<double[]>(kColumns);
  const auto scales = std::make_unique_for_overwrite<double[]>(wanted.size() * kColumns);
  for (std::size_t left = 0; left < columns.size(); left += kColumns) {
    const auto some = columns.subspan(left, std::min(kColumns, columns.size() - left));
    const Index count = std::ssize(some);
    if (gauss) gather(block.norms, some, norms.get());
    for (std::size_t s = 0; s < wanted.size(); ++s)
      gather(parts_[wanted[s]].scale, some, scales.get() + s * kColumns);
    for (std::size_t top = 0; top < rows.size(); top += kRows) {
      const auto few = rows.subspan(top, std::min(kRows, rows.size() - top));
      if (G) inner_products(block.X, few, some, G.get(), kColumns);
      if (gauss && far) inner_products(block.centred, few, some, D.get(), kColumns);
      const auto place = [&](std::size_t root, std::size_t k) {
        return out[root] + static_cast<Index>(top + k) * stride + static_cast<Index>(left);
      };
      for (std::size_t k = 0; k < few.size(); ++k) {
        const Index i = few[k];
        const double* const g = G ? G.get() + k * kColumns : nullptr;
        double* distances = D.get();
        if (gauss) {
          if (far)
            distances += k * kColumns;
          else
            std::copy_n(g, count, distances);
          squared_distances(block.X, i, some, block.norms[i], norms.get(), distances);
        }
        for (std::size_t s = 0; s < wanted.size(); ++s) {
          const Part& part = parts_[wanted[s]];
          if (part.kernel.kind == Kind::gauss)
            decay(distances, count, rate_of(part.kernel), place(wanted[s], k));
          else if (part.kernel.kind == Kind::linear)
            normalise(part, i, some, scales.get() + s * kColumns, g, place(wanted[s], k));
        }
      }
      for (std::size_t s = 0; s < wanted.size(); ++s) {
        const std::size_t r = wanted[s];
        const Part& part = parts_[r];
        if (part.kernel.kind != Kind::laplace && part.kernel.kind != Kind::chi2) continue;
        const Matrix A = rows_of(block.X, few);
        const Matrix B = rows_of(block.X, some);
        const Matrix values =
            part.kernel.kind == Kind::laplace ? absolute_distances(A, B) : chi2_similarities(A, B);
        for (std::size_t k = 0; k < few.size(); ++k) {
          const double* from = values.row(static_cast<Index>(k)).data();
          if (part.kernel.kind == Kind::laplace)
            decay(from, count, rate_of(part.kernel), place(r, k));
          else
            normalise(part, few[k], some, scales.get() + s * kColumns, from, place(r, k));
        }
      }
    }
  }
}

// (value + offset) / sqrt(k(x,x) k(z,z)), or undivided for a raw kernel.
void FeatureRoots::normalise(const Part& part, Index i, std::span<const Index> columns,
                             const double* scales, const double* values, double* out) const {
  const double own = part.scale[i];
  const double offset = part.kernel.offset;
  // The product of the scales first: it is the same for (i, j) and (j, i).
  for (std::size_t l = 0; l < columns.size(); ++l)
    out[l] = (values[l] + offset) * (own * scales[l]);
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
