#include "coterie/kernel/exact_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "coterie/kernel/base/base_kernel.hpp"

namespace coterie {

ExactKernels::ExactKernels(Matrix X, std::vector<Kernel> kernels,
                           const std::map<std::string, Matrix>& precomputed)
    : X_(std::move(X)), kernels_(std::move(kernels)) {
  norm_.resize(kernels_.size());
  for (std::size_t m = 0; m < kernels_.size(); ++m) {
    const Kernel& kernel = kernels_[m];
    const BaseKernel& base = *kernel.base;
    const bool given = kernel.is_precomputed();
    matrices_.push_back(given ? &precomputed.at(kernel.file) : nullptr);
    const auto same = std::find_if(bases_.begin(), bases_.end(), [&](const Base& other) {
      return other.quantity == base.quantity && other.columns == kernel.columns;
    });
    base_of_.push_back(static_cast<std::size_t>(same - bases_.begin()));
    if (same == bases_.end()) bases_.push_back({base.quantity, kernel.columns});
    power_.push_back(base.power(kernel));
    const Index d = kernel.columns.empty() ? X_.cols() : std::ssize(kernel.columns);
    roundings_.push_back(base.exact_roundings(kernel, static_cast<double>(d)));
    if (kernel.raw || base.is_one_at_equal_points) continue;
    for (Index i = 0; i < (given ? matrices_[m]->rows() : X_.rows()); ++i)
      norm_[m].push_back(
          std::sqrt(given ? static_cast<long double>((*matrices_[m])(i, i))
                          : base.exact_value(kernel, sum_at(bases_[base_of_[m]], i, i))));
  }
}

long double ExactKernels::sum_at(const Base& base, Index i, Index j) const {
  return base.quantity->exact_sum(X_.row(i).data(), X_.row(j).data(), X_.cols(), base.columns);
}

// Of a normalised kernel the division by the norms comes first, so that no power is too large for a number.
long double ExactKernels::from_sum(std::size_t m, long double sum, Index i, Index j) const {
  const Kernel& kernel = kernels_[m];
  long double value = 0;
  if (const Matrix* P = matrices_[m])  // the symmetric part is what is learnt with
    value = (static_cast<long double>((*P)(i, j)) + (*P)(j, i)) / 2;
  else
    value = kernel.base->exact_value(kernel, sum);
  if (!norm_[m].empty()) {
    if (i == j) return 1;
    value /= norm_[m][static_cast<std::size_t>(i)] * norm_[m][static_cast<std::size_t>(j)];
  }
  return power_[m] == 1 ? value : power_of(value, power_[m]);
}

void ExactKernels::values(Index i, Index j, long double* out) const {
  long double shared[2];
  std::vector<long double> more;
  long double* base = shared;
  if (bases_.size() > 2) {
    more.resize(bases_.size());
    base = more.data();
  }
  for (std::size_t b = 0; b < bases_.size(); ++b)
    base[b] = bases_[b].quantity ? sum_at(bases_[b], i, j) : 0;
  for (std::size_t m = 0; m < kernels_.size(); ++m) out[m] = from_sum(m, base[base_of_[m]], i, j);
}

long double ExactKernels::value(Index m, Index i, Index j) const {
  const std::size_t k = static_cast<std::size_t>(m);
  return from_sum(k, matrices_[k] ? 0 : sum_at(bases_[base_of_[k]], i, j), i, j);
}

}  // namespace coterie
