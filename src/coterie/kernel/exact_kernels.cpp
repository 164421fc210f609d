#include "coterie/kernel/exact_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coterie {

namespace {

using Kind = Kernel::Kind;

bool is_distance(Kind kind) { return kind == Kind::gauss || kind == Kind::laplace; }

long double power(long double x, int exponent) {
  long double result = 1;
  for (; exponent > 0; exponent /= 2, x *= x)
    if (exponent % 2 == 1) result *= x;
  return result;
}

// Sums of d terms, one rounding for each and a few more; a power multiplies them, and so does the division by two norms. The exponent of
// a distance has a relative error, and x exp(-x) is below 1.
double roundings_of(const Kernel& kernel, Index columns) {
  const double sum = static_cast<double>(columns) + 8;
  if (kernel.kind == Kind::precomputed) return 8;
  if (is_distance(kernel.kind)) return sum;
  const double degree = kernel.kind == Kind::poly ? kernel.parameter : 1;
  return (kernel.raw ? 1 : 2) * sum * degree;
}

}  // namespace

ExactKernels::ExactKernels(Matrix X, std::vector<Kernel> kernels,
                           const std::map<std::string, Matrix>& precomputed)
    : X_(std::move(X)), kernels_(std::move(kernels)) {
  norm_.resize(kernels_.size());
  for (std::size_t m = 0; m < kernels_.size(); ++m) {
    const Kernel& kernel = kernels_[m];
    const bool given = kernel.kind == Kind::precomputed;
    matrices_.push_back(given ? &precomputed.at(kernel.file) : nullptr);
    const Kind kind = kernel.kind == Kind::poly ? Kind::linear : kernel.kind;
    const auto same = std::find_if(bases_.begin(), bases_.end(), [&](const Base& base) {
      return base.kind == kind && base.columns == kernel.columns;
    });
    base_of_.push_back(static_cast<std::size_t>(same - bases_.begin()));
    if (same == bases_.end()) bases_.push_back({kind, kernel.columns});
    roundings_.push_back(
        roundings_of(kernel, kernel.columns.empty() ? X_.cols() : std::ssize(kernel.columns)));
    if (kernel.raw || is_distance(kernel.kind)) continue;
    for (Index i = 0; i < (given ? matrices_[m]->rows() : X_.rows()); ++i)
      norm_[m].push_back(std::sqrt(given ? static_cast<long double>((*matrices_[m])(i, i))
                                         : base_value(bases_[base_of_[m]], i, i) + kernel.offset));
  }
}

long double ExactKernels::base_value(const Base& base, Index i, Index j) const {
  const double* x = X_.row(i).data();
  const double* z = X_.row(j).data();
  const Index count = base.columns.empty() ? X_.cols() : std::ssize(base.columns);
  long double sum = 0;
  for (Index k = 0; k < count; ++k) {
    const Index column = base.columns.empty() ? k : base.columns[static_cast<std::size_t>(k)];
    const long double a = x[column];
    const long double b = z[column];
    switch (base.kind) {
      case Kind::gauss:
        sum += (a - b) * (a - b);
        break;
      case Kind::laplace:
        sum += std::abs(a - b);
        break;
      case Kind::chi2:
        if (a + b > 0) sum += 2 * a * b / (a + b);
        break;
      default:
        sum += a * b;
    }
  }
  return sum;
}

// From the base value; of a normalised kernel that is divided by the norms first, so that no power is too large for a number.
long double ExactKernels::from_base(std::size_t m, long double base, Index i, Index j) const {
  const Kernel& kernel = kernels_[m];
  const long double s = kernel.parameter;
  switch (kernel.kind) {
    case Kind::gauss:
      return std::exp(-base / (2 * s * s));
    case Kind::laplace:
      return std::exp(-base / s);
    case Kind::precomputed: {  // the symmetric part is what is learnt with
      const Matrix& P = *matrices_[m];
      base = (static_cast<long double>(P(i, j)) + P(j, i)) / 2;
      break;
    }
    default:
      base += kernel.offset;
  }
  if (!kernel.raw) {
    if (i == j) return 1;
    base /= norm_[m][static_cast<std::size_t>(i)] * norm_[m][static_cast<std::size_t>(j)];
  }
  return kernel.kind == Kind::poly ? power(base, static_cast<int>(kernel.parameter)) : base;
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
    base[b] = bases_[b].kind == Kind::precomputed ? 0 : base_value(bases_[b], i, j);
  for (std::size_t m = 0; m < kernels_.size(); ++m) out[m] = from_base(m, base[base_of_[m]], i, j);
}

long double ExactKernels::value(Index m, Index i, Index j) const {
  const std::size_t k = static_cast<std::size_t>(m);
  return from_base(k, matrices_[k] ? 0 : base_value(bases_[base_of_[k]], i, j), i, j);
}

}  // namespace coterie
