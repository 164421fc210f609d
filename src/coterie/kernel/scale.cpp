#include "coterie/kernel/scale.hpp"

#include <algorithm>

#include "coterie/kernel/pairwise.hpp"

namespace coterie {

// As (1/n^2) sum_{i<j} (K_ii + K_jj - 2 K_ij): no term is negative, so nothing cancels when K is nearly constant.
double variance(const Matrix& K) {
  const Index n = K.rows();
  if (n == 0) return 0;
  const Vector diagonal = K.diagonal();
  double sum = 0;
  for (Index i = 0; i < n; ++i) {
    double row = 0;
    for (Index j = i + 1; j < n; ++j) row += diagonal[i] + diagonal[j] - 2 * K(i, j);
    sum += row;
  }
  return sum / (static_cast<double>(n) * static_cast<double>(n));
}

double tail(const Matrix& K, Index h) {
  const Index n = K.rows();
  if (h >= n) return 0;
  const Vector means = row_sums(K) / static_cast<double>(n);
  double mean = 0;
  for (const double value : means) mean += value;
  mean /= static_cast<double>(n);

  Matrix centred(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = i; j < n; ++j) centred(i, j) = K(i, j) - means[i] - means[j] + mean;
  const Vector spectrum = eigenvalues(std::move(centred));
  double sum = 0;
  for (Index k = 0; k < n - h; ++k) sum += std::max(0.0, spectrum[k]);
  return sum / static_cast<double>(n);
}

}  // namespace coterie
