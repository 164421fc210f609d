#include "coterie/svm/mixed_gram.hpp"

#include <algorithm>
#include <numeric>

#include "coterie/math/lanes.hpp"

namespace coterie {

MixedGram::MixedGram(const TaskGrams& base, double bytes)
    : base_(base),
      bytes_(bytes),
      inside_(static_cast<std::size_t>(base.n()), false),
      diagonals_(static_cast<std::size_t>(base.powers().roots())),
      roots_(diagonals_.size()),
      values_(roots_.size()) {}

double MixedGram::work_of_task() const {
  const double n = static_cast<double>(base_.n());
  return base_.n() > 0 ? base_.source().work() * n * n / 2 : 0;
}

void MixedGram::add(std::span<const Index> joining) {
  std::vector<Index> all(samples_.size());
  std::iota(all.begin(), all.end(), Index{0});
  change(all, joining);
}

void MixedGram::change(std::span<const Index> kept, std::span<const Index> joining) {
  if (joining.empty() && std::ssize(kept) == size()) return;
  const Index old = capacity_;
  Index stay = std::ssize(kept);  // of which the roots are at hand
  std::vector<Index> samples;
  for (const Index k : kept) samples.push_back(samples_[static_cast<std::size_t>(k)]);
  samples.insert(samples.end(), joining.begin(), joining.end());
  for (const Index i : samples_) inside_[static_cast<std::size_t>(i)] = false;
  for (const Index i : samples) inside_[static_cast<std::size_t>(i)] = true;
  samples_ = std::move(samples);

  capacity_ = padded(size());
  const auto bytes_of = [&](Index rows, std::size_t matrices) {
    return 8.0 * static_cast<double>(rows) * static_cast<double>(capacity_) *
           static_cast<double>(matrices);
  };
  const bool had_roots = roots_kept_ && !whole_ && old > 0;
  whole_ = is_stored() && size() == base_.n() && std::is_sorted(samples_.begin(), samples_.end());
  // One root more: while the set changes there are two of one.
  roots_kept_ = bytes_of(capacity_, (whole_ ? 0 : roots_.size() + 1) + 1) <= bytes_;
  slots_ =
      roots_kept_
          ? size()
          : std::min(size(), std::max(kLeastRows, static_cast<Index>(bytes_ / bytes_of(1, 1))));
  if (!roots_kept_ || !had_roots) stay = 0;
  for (std::unique_ptr<double[]>& root : roots_) {
    if (!roots_kept_ || whole_) root.reset();
    if (whole_) continue;
    auto block = std::make_unique_for_overwrite<double[]>(
        static_cast<std::size_t>(capacity_ * (roots_kept_ ? capacity_ : 1)));
    for (Index k = 0; k < stay; ++k) {
      const double* from = root.get() + kept[static_cast<std::size_t>(k)] * old;
      double* to = block.get() + k * capacity_;
      for (Index l = 0; l < stay; ++l) to[l] = from[kept[static_cast<std::size_t>(l)]];
    }
    root = std::move(block);
  }
  std::vector<double*> diagonals;
  for (std::vector<double>& root : diagonals_) {
    root.resize(samples_.size());
    diagonals.push_back(root.data());
  }
  base_.root_diagonals(samples_, diagonals.data());
  if (roots_kept_ && !whole_) fetch(stay);
  forget_rows();
}

// In strips of rows from the first column to the diagonal; what is beyond is the mirror image.
void MixedGram::fetch(Index begin) {
  constexpr Index strip = 64;
  const std::span<const Index> all(samples_);
  std::vector<double*> out(roots_.size());
  for (Index top = begin; top < size(); top += strip) {
    const Index end = std::min(size(), top + strip);
    work(static_cast<double>((end - top) * end) * (base_.source().work() + 20));
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
  if (weights_.size() == theta.size() && weights_ == theta) return;
  weights_ = theta;
  recipe_ = base_.powers().recipe(theta);
  forget_rows();
}

void MixedGram::lend(std::unique_ptr<MixedRows> rows) {
  rows_ = std::move(rows);
  forget_rows();
}

void MixedGram::forget_rows() {
  if (rows_) rows_->reset(size(), capacity_, slots_);
}

const double* MixedGram::row(Index k) {
  if (!rows_) lend(std::make_unique<MixedRows>());
  const auto [out, filled] = rows_->find(k);
  if (filled) return out;
  work(static_cast<double>(size()) * (base_.source().work() + 20));
  if (roots_kept_ || whole_) {
    for (std::size_t r = 0; r < roots_.size(); ++r) values_[r] = root_row(r, k);
  } else {
    std::vector<double*> into(roots_.size(), nullptr);
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      if (recipe_.needs(static_cast<Index>(r))) into[r] = roots_[r].get();
      values_[r] = into[r];
    }
    base_.root_values({&samples_[static_cast<std::size_t>(k)], 1}, samples_, into.data(),
                      capacity_);
  }
  base_.powers().mix(recipe_, values_.data(), size(), out);
  base_.part_values(samples_[static_cast<std::size_t>(k)], samples_, out);
  std::fill(out + size(), out + padded(size()), 0.0);
  return out;
}

Vector MixedGram::diagonal() const {
  std::vector<const double*> values;
  for (const std::vector<double>& root : diagonals_) values.push_back(root.data());
  Vector out(size());
  base_.powers().mix(recipe_, values.data(), size(), out.data());
  return out;
}

// Rows of `columns` values of every root that are worked on together: at most 64, and at most 2 MB.
std::size_t MixedGram::rows_of_tile(std::size_t columns) const {
  const std::size_t row = sizeof(double) * roots_.size() * std::max<std::size_t>(1, columns);
  return std::clamp<std::size_t>((std::size_t{2} << 20) / row, 1, 64);
}

void MixedGram::products(std::span<const Index> wanted, std::span<const Index> support,
                         const double* beta, Matrix& out) {
  const bool at_hand = roots_kept_ || whole_;
  const std::size_t count = support.size();
  const std::size_t tile = rows_of_tile(count);  // fetched together where the roots are not at hand
  std::vector<double> coefficients(count);
  std::vector<Index> members(count);
  for (std::size_t j = 0; j < count; ++j) {
    coefficients[j] = beta[support[j]];
    members[j] = samples_[static_cast<std::size_t>(support[j])];
  }
  const auto rows =
      std::make_unique_for_overwrite<double[]>(roots_.size() * (at_hand ? 1 : tile) * count);
  std::vector<double*> into(roots_.size());
  std::vector<Index> fetched;
  out.resize(std::ssize(wanted), base_.M());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    work(static_cast<double>(count) * (base_.source().work() + 20));
    if (!at_hand && k % tile == 0) {
      fetched.clear();
      for (const Index i : wanted.subspan(k, std::min(tile, wanted.size() - k)))
        fetched.push_back(samples_[static_cast<std::size_t>(i)]);
      for (std::size_t r = 0; r < roots_.size(); ++r) into[r] = rows.get() + r * tile * count;
      base_.root_values(fetched, members, into.data(), static_cast<Index>(count));
    }
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      if (at_hand) {
        const double* from = root_row(r, wanted[k]);
        double* to = rows.get() + r * count;
        for (std::size_t j = 0; j < count; ++j) to[j] = from[support[j]];
        values_[r] = to;
      } else {
        values_[r] = into[r] + (k % tile) * count;
      }
    }
    if (base_.is_parted()) {
      for (std::size_t j = 0; j < count; ++j) coefficients[j] = beta[support[j]];
      base_.part_values(samples_[static_cast<std::size_t>(wanted[k])], members,
                        coefficients.data());
    }
    base_.powers().products(values_.data(), coefficients.data(), static_cast<Index>(count),
                            out.row(static_cast<Index>(k)).data());
  }
}

// Of all samples of the task, whose rows are read where they are stored.
Vector MixedGram::decisions_in_place(std::span<const Index> support, const double* beta) {
  Vector sums = Vector::Zero(base_.n());
  Vector mixed(base_.n());
  for (const Index k : support) {
    for (std::size_t r = 0; r < roots_.size(); ++r)
      values_[r] = base_.stored_row(static_cast<Index>(r), samples_[static_cast<std::size_t>(k)]);
    base_.powers().mix(recipe_, values_.data(), base_.n(), mixed.data());
    base_.part_row(samples_[static_cast<std::size_t>(k)], mixed.data());
    sums += beta[k] * mixed;
    work(20 * static_cast<double>(base_.n()));
  }
  return sums;
}

Vector MixedGram::decisions(std::span<const Index> samples, std::span<const Index> support,
                            const double* beta) {
  if (is_stored() && 2 * std::ssize(samples) > base_.n())
    return decisions_in_place(support, beta)(std::vector<Index>(samples.begin(), samples.end()));
  Vector values = Vector::Zero(std::ssize(samples));
  // In tiles that stay in the second cache from the root to the sum.
  constexpr std::size_t columns = 256;
  const std::size_t rows = rows_of_tile(columns);
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
      work(static_cast<double>(few.size() * some.size()) * (base_.source().work() + 20));
      base_.root_values(few, some, out.data(), static_cast<Index>(columns));
      for (std::size_t k = 0; k < few.size(); ++k) {
        for (std::size_t r = 0; r < roots_.size(); ++r)
          values_[r] = out[r] ? out[r] + k * columns : nullptr;
        base_.powers().mix(recipe_, values_.data(), std::ssize(some), mixed.data());
        base_.part_values(few[k], some, mixed.data());
        const double weight = beta[support[top + k]];
        for (std::size_t l = 0; l < some.size(); ++l) sums[l] += weight * mixed[l];
      }
    }
  }
  return values;
}

}  // namespace coterie
