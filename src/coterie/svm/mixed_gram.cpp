#include "coterie/svm/mixed_gram.hpp"

#include <algorithm>
#include <cassert>

#include "coterie/math/lanes.hpp"

namespace coterie {

MixedGram::MixedGram(const TaskGrams& base)
    : base_(base),
      inside_(static_cast<std::size_t>(base.n()), false),
      diagonals_(static_cast<std::size_t>(base.powers().roots())),
      roots_(diagonals_.size()),
      filled_(roots_.size()),
      values_(roots_.size()) {}

void MixedGram::add(std::span<const Index> samples) {
  if (samples.empty()) return;
  std::vector<double*> ends;
  for (std::vector<double>& root : diagonals_) {
    root.resize(samples_.size() + samples.size());
    ends.push_back(root.data() + samples_.size());
  }
  base_.root_diagonals(samples, ends.data());
  for (const Index i : samples) {
    assert(!contains(i));
    inside_[static_cast<std::size_t>(i)] = true;
    samples_.push_back(i);
  }
  if (size() > capacity_) make_room(size());
  std::fill(mixed_at_.begin(), mixed_at_.end(), 0);  // their ends are missing
}

void MixedGram::make_room(Index needed) {
  const Index before = capacity_;
  const Index most = padded(base_.n());
  capacity_ = before == 0 ? padded(needed) : std::min(most, padded(needed + needed / 2));
  const std::size_t area = static_cast<std::size_t>(capacity_ * capacity_);
  for (std::size_t r = 0; r < roots_.size(); ++r) {
    std::vector<double> wider(area);
    for (Index k = 0; k < std::ssize(filled_[r]); ++k)
      std::copy_n(roots_[r].begin() + k * before, filled_[r][static_cast<std::size_t>(k)],
                  wider.begin() + k * capacity_);
    roots_[r] = std::move(wider);
    filled_[r].resize(static_cast<std::size_t>(capacity_), 0);
  }
  mixed_.assign(area, 0);
  mixed_at_.assign(static_cast<std::size_t>(capacity_), 0);
}

void MixedGram::set_weights(ConstVectorRef theta) {
  recipe_ = base_.powers().recipe(theta);
  ++weights_;
}

const double* MixedGram::root_row(Index root, Index k) {
  double* row = roots_[static_cast<std::size_t>(root)].data() + k * capacity_;
  Index& there = filled_[static_cast<std::size_t>(root)][static_cast<std::size_t>(k)];
  if (there < size()) {
    std::vector<double*> out(roots_.size(), nullptr);
    out[static_cast<std::size_t>(root)] = row + there;
    base_.root_values({&samples_[static_cast<std::size_t>(k)], 1},
                      std::span(samples_).subspan(static_cast<std::size_t>(there)), out.data(),
                      capacity_);
    there = size();
  }
  return row;
}

const double* MixedGram::row(Index k) {
  double* out = mixed_.data() + k * capacity_;
  if (mixed_at_[static_cast<std::size_t>(k)] == weights_) return out;
  for (std::size_t r = 0; r < roots_.size(); ++r)
    if (recipe_.needs(static_cast<Index>(r))) values_[r] = root_row(static_cast<Index>(r), k);
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
      values_[r] = root_row(static_cast<Index>(r), wanted[k]);
      if (dense) continue;
      for (std::size_t j = 0; j < support.size(); ++j) gathered[r][j] = values_[r][support[j]];
      values_[r] = gathered[r].data();
    }
    base_.powers().products(values_.data(), dense ? beta : coefficients.data(),
                            dense ? size() : count, out.row(static_cast<Index>(k)).data());
  }
}

MixedGram::Outside MixedGram::outside(std::span<const Index> support, const double* beta) {
  Outside result;
  for (Index i = 0; i < base_.n(); ++i)
    if (!contains(i)) result.samples.push_back(i);
  const Index count = std::ssize(result.samples);
  result.values = Vector::Zero(count);
  if (count == 0) return result;
  constexpr std::size_t tile = 16;  // rows at a time
  std::vector<std::vector<double>> rows(roots_.size());
  std::vector<double*> out(roots_.size(), nullptr);
  for (std::size_t r = 0; r < roots_.size(); ++r) {
    if (!recipe_.needs(static_cast<Index>(r))) continue;
    rows[r].resize(tile * result.samples.size());
    out[r] = rows[r].data();
  }
  Vector mixed(count);
  std::vector<Index> members;
  for (std::size_t begin = 0; begin < support.size(); begin += tile) {
    const std::span<const Index> part =
        support.subspan(begin, std::min(tile, support.size() - begin));
    members.clear();
    for (const Index k : part) members.push_back(samples_[static_cast<std::size_t>(k)]);
    base_.root_values(members, result.samples, out.data(), count);
    for (std::size_t k = 0; k < part.size(); ++k) {
      for (std::size_t r = 0; r < roots_.size(); ++r)
        values_[r] = out[r] ? out[r] + static_cast<Index>(k) * count : nullptr;
      base_.powers().mix(recipe_, values_.data(), count, mixed.data());
      result.values += beta[part[k]] * mixed;
    }
  }
  return result;
}

}  // namespace coterie
