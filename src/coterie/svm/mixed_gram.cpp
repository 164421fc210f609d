#include "coterie/svm/mixed_gram.hpp"

#include <algorithm>
#include <numeric>

#include "coterie/math/lanes.hpp"

namespace coterie {

MixedGram::MixedGram(const TaskGrams& base)
    : base_(base),
      inside_(static_cast<std::size_t>(base.n()), false),
      diagonals_(static_cast<std::size_t>(base.powers().roots())),
      roots_(diagonals_.size()),
      values_(roots_.size()) {}

void MixedGram::add(std::span<const Index> joining) {
  std::vector<Index> all(samples_.size());
  std::iota(all.begin(), all.end(), Index{0});
  change(all, joining);
}

void MixedGram::change(std::span<const Index> kept, std::span<const Index> joining) {
  if (joining.empty() && std::ssize(kept) == size()) return;
  const Index old = capacity_;
  const Index stay = std::ssize(kept);
  std::vector<Index> samples;
  for (const Index k : kept) samples.push_back(samples_[static_cast<std::size_t>(k)]);
  samples.insert(samples.end(), joining.begin(), joining.end());
  for (const Index i : samples_) inside_[static_cast<std::size_t>(i)] = false;
  for (const Index i : samples) inside_[static_cast<std::size_t>(i)] = true;
  samples_ = std::move(samples);

  capacity_ = padded(size());
  const std::size_t area = static_cast<std::size_t>(capacity_ * capacity_);
  for (std::size_t r = 0; r < roots_.size(); ++r) {
    auto block = std::make_unique_for_overwrite<double[]>(area);
    for (Index k = 0; k < stay; ++k) {
      const double* from = roots_[r].get() + kept[static_cast<std::size_t>(k)] * old;
      double* to = block.get() + k * capacity_;
      for (Index l = 0; l < stay; ++l) to[l] = from[kept[static_cast<std::size_t>(l)]];
    }
    roots_[r] = std::move(block);
  }
  std::vector<double*> diagonals;
  for (std::vector<double>& root : diagonals_) {
    root.resize(samples_.size());
    diagonals.push_back(root.data());
  }
  base_.root_diagonals(samples_, diagonals.data());
  fetch(stay);
  mixed_ = std::make_unique_for_overwrite<double[]>(area);
  mixed_at_.assign(samples_.size(), 0);
}

// In strips of rows from the first column to the diagonal; what is beyond is the mirror image.
void MixedGram::fetch(Index begin) {
  constexpr Index strip = 64;
  const std::span<const Index> all(samples_);
  std::vector<double*> out(roots_.size());
  for (Index top = begin; top < size(); top += strip) {
    const Index end = std::min(size(), top + strip);
    for (std::size_t r = 0; r < roots_.size(); ++r) out[r] = roots_[r].get() + top * capacity_;
    base_.root_values(
        all.subspan(static_cast<std::size_t>(top), static_cast<std::size_t>(end - top)),
        all.first(static_cast<std::size_t>(end)), out.data(), capacity_);
    for (double* const rows : out)
      for (Index j = 0; j < end; ++j) {
        double* const mirrored = rows + (j - top) * capacity_;  // row j
        for (Index k = std::max(top, j + 1); k < end; ++k)
          mirrored[k] = rows[(k - top) * capacity_ + j];
      }
  }
}

void MixedGram::set_weights(ConstVectorRef theta) {
  recipe_ = base_.powers().recipe(theta);
  ++weights_;
}

const double* MixedGram::row(Index k) {
  double* out = mixed_.get() + k * capacity_;
  if (mixed_at_[static_cast<std::size_t>(k)] == weights_) return out;
  for (std::size_t r = 0; r < roots_.size(); ++r) values_[r] = root_row(r, k);
  base_.powers().mix(recipe_, values_.data(), size(), out);
  std::fill(out + size(), out + padded(size()), 0.0);
  mixed_at_[static_cast<std::size_t>(k)] = weights_;
  return out;
}

Vector MixedGram::diagonal() const {
  std::vector<const double*> values;
  for (const std::vector<double>& root : diagonals_) values.push_back(root.data());
  Vector out(size());
  base_.powers().mix(recipe_, values.data(), size(), out.data());
  return out;
}

void MixedGram::products(std::span<const Index> wanted, std::span<const Index> support,
                         const double* beta, Matrix& out) {
  const Index count = std::ssize(support);
  const bool dense = 3 * count > 2 * size();
  std::vector<double> coefficients;
  std::vector<std::vector<double>> gathered(roots_.size());
  if (!dense) {
    coefficients.resize(support.size());
    for (std::size_t j = 0; j < support.size(); ++j) coefficients[j] = beta[support[j]];
    for (std::vector<double>& row : gathered) row.resize(support.size());
  }
  out.resize(std::ssize(wanted), base_.M());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      values_[r] = root_row(r, wanted[k]);
      if (dense) continue;
      for (std::size_t j = 0; j < support.size(); ++j) gathered[r][j] = values_[r][support[j]];
      values_[r] = gathered[r].data();
    }
    base_.powers().products(values_.data(), dense ? beta : coefficients.data(),
                            dense ? size() : count, out.row(static_cast<Index>(k)).data());
  }
}

Vector MixedGram::decisions(std::span<const Index> samples, std::span<const Index> support,
                            const double* beta) {
  Vector values = Vector::Zero(std::ssize(samples));
  // In tiles that stay in the second cache from the root to the sum.
  constexpr std::size_t rows = 64;
  constexpr std::size_t columns = 256;
  std::vector<Index> members;
  for (const Index k : support) members.push_back(samples_[static_cast<std::size_t>(k)]);
  const auto tiles = std::make_unique_for_overwrite<double[]>(roots_.size() * rows * columns);
  std::vector<double*> out(roots_.size(), nullptr);
  for (std::size_t r = 0; r < roots_.size(); ++r)
    if (recipe_.needs(static_cast<Index>(r))) out[r] = tiles.get() + r * rows * columns;
  std::vector<double> mixed(columns);
  for (std::size_t left = 0; left < samples.size(); left += columns) {
    const auto some = samples.subspan(left, std::min(columns, samples.size() - left));
    double* const sums = values.data() + left;
    for (std::size_t top = 0; top < support.size(); top += rows) {
      const auto few =
          std::span<const Index>(members).subspan(top, std::min(rows, support.size() - top));
      base_.root_values(few, some, out.data(), static_cast<Index>(columns));
      for (std::size_t k = 0; k < few.size(); ++k) {
        for (std::size_t r = 0; r < roots_.size(); ++r)
          values_[r] = out[r] ? out[r] + k * columns : nullptr;
        base_.powers().mix(recipe_, values_.data(), std::ssize(some), mixed.data());
        const double weight = beta[support[top + k]];
        for (std::size_t l = 0; l < some.size(); ++l) sums[l] += weight * mixed[l];
      }
    }
  }
  return values;
}

}  // namespace coterie
