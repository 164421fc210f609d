#include "coterie/svm/mixed_gram.hpp"

#include <algorithm>
#include <cassert>

namespace coterie {

MixedGram::MixedGram(const TaskGrams& base, ConstVectorRef theta)
    : n_(base.empty() ? 0 : base.front().rows()), rows_(static_cast<std::size_t>(n_), nullptr) {
  assert(theta.size() == std::ssize(base));
  for (Index m = 0; m < theta.size(); ++m) {
    if (theta[m] <= 0) continue;
    const Matrix& K = base[static_cast<std::size_t>(m)];
    terms_.push_back({theta[m], K.data()});
  }
}

const double* MixedGram::row(Index i) {
  const double*& known = rows_[static_cast<std::size_t>(i)];
  if (known) return known;
  if (left_in_chunk_ == 0) {
    left_in_chunk_ = std::clamp<Index>((Index{1} << 17) / n_, 1, n_);
    chunks_.push_back(
        std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(left_in_chunk_ * n_)));
  }
  double* out = chunks_.back().get() + (--left_in_chunk_) * n_;
  using Row = Eigen::Map<const Vector>;
  Eigen::Map<Vector> mixed(out, n_);
  const auto base = [&](std::size_t k) { return Row(terms_[k].values + i * n_, n_); };
  // In passes of up to four kernels: fewer trips of the partial sums through memory.
  std::size_t k = 0;
  if (terms_.empty()) mixed.setZero();
  while (k < terms_.size()) {
    const bool first = k == 0;
    const std::size_t left = terms_.size() - k;
    const auto w = [&](std::size_t j) { return terms_[k + j].weight; };
    if (left >= 4) {
      if (first)
        mixed = w(0) * base(k) + w(1) * base(k + 1) + w(2) * base(k + 2) + w(3) * base(k + 3);
      else
        mixed += w(0) * base(k) + w(1) * base(k + 1) + w(2) * base(k + 2) + w(3) * base(k + 3);
      k += 4;
    } else {
      if (first)
        mixed = w(0) * base(k);
      else
        mixed += w(0) * base(k);
      k += 1;
    }
  }
  known = out;
  return out;
}

}  // namespace coterie
