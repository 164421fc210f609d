#include "coterie/kernel/pairwise.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/lanes.hpp"

extern "C" {
// Not there, and null, when another BLAS is linked: then its threads are its own affair.
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) int openblas_get_num_threads();
void dsyev_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
            double* work, const int* lwork, int* info, std::size_t, std::size_t);
}

namespace coterie {
namespace {

// OpenBLAS keeps its number of threads in one place for the whole process, hence so do we.
std::mutex blas_mutex;
int blas_users = 0;
int blas_threads = 1;

// Differences of smaller numbers do not overflow.
constexpr double kFar = 1e307;

int narrow(Index n) {
  assert(n <= std::numeric_limits<int>::max());
  return static_cast<int>(n);
}

int leading(const Matrix& A) { return std::max(1, narrow(A.cols())); }

Vector column_means(const Matrix& X) {
  Vector mean = Vector::Zero(X.cols());
  for (Index i = 0; i < X.rows(); ++i) mean += X.row(i).transpose();
  return mean / static_cast<double>(std::max<Index>(1, X.rows()));
}

// Sums in the order of the elements; Eigen's sum() depends on the alignment of the data.
double ordered_sum(const Vector& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum;
}

double direct_squared_distance(const double* x, const double* z, Index size) {
  double sum = 0;
  for (Index k = 0; k < size; ++k) sum += (x[k] - z[k]) * (x[k] - z[k]);
  return sum;
}

double squared_distance(double norm_x, double norm_z, double product, const double* x,
                        const double* z, Index size) {
  const double norms = norm_x + norm_z;
  const double distance = norms - 2 * product;
  return distance > kCancelled * norms ? distance : direct_squared_distance(x, z, size);
}

constexpr Index kDecayed = 64;

// Eight points side by side, dimension after dimension, against four others at a time: each of the 32 sums runs over the
// dimensions in order, so nothing else decides its bits.
constexpr std::size_t kWide = 2 * kLanes;
constexpr std::size_t kHigh = 4;
void panel_products(const std::array<const double*, kHigh>& x, const double* panel, Index d,
                    double* out, Index stride) {
  const double* const x0 = x[0];
  const double* const x1 = x[1];
  const double* const x2 = x[2];
  const double* const x3 = x[3];
  Lanes a0{}, b0{}, a1{}, b1{}, a2{}, b2{}, a3{}, b3{};
  for (Index k = 0; k < d; ++k, panel += kWide) {
    const Lanes a = load(panel);
    const Lanes b = load(panel + kLanes);
    a0 += x0[k] * a;
    b0 += x0[k] * b;
    a1 += x1[k] * a;
    b1 += x1[k] * b;
    a2 += x2[k] * a;
    b2 += x2[k] * b;
    a3 += x3[k] * a;
    b3 += x3[k] * b;
  }
  store(out, a0);
  store(out + kLanes, b0);
  store(out + stride, a1);
  store(out + stride + kLanes, b1);
  store(out + 2 * stride, a2);
  store(out + 2 * stride + kLanes, b2);
  store(out + 3 * stride, a3);
  store(out + 3 * stride + kLanes, b3);
}

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  const std::scoped_lock lock(blas_mutex);
  if (blas_users++ == 0 && openblas_set_num_threads && openblas_get_num_threads) {
    blas_threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
}

SingleThreadedBlas::~SingleThreadedBlas() {
  const std::scoped_lock lock(blas_mutex);
  if (--blas_users == 0 && openblas_set_num_threads) openblas_set_num_threads(blas_threads);
}

Matrix inner_products(const Matrix& A, const Matrix& B) {
  Matrix G(A.rows(), B.rows());
  if (G.size() > 0)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, narrow(A.rows()), narrow(B.rows()),
                narrow(A.cols()), 1, A.data(), leading(A), B.data(), leading(B), 0, G.data(),
                leading(G));
  return G;
}

void inner_products(const Matrix& X, std::span<const Index> rows, std::span<const Index> columns,
                    double* out, Index stride) {
  const Index d = X.cols();
  const auto panel = std::make_unique_for_overwrite<double[]>(kWide * static_cast<std::size_t>(d));
  std::array<double, kHigh * kWide> rest;
  for (std::size_t left = 0; left < columns.size(); left += kWide) {
    const std::size_t wide = std::min(kWide, columns.size() - left);
    for (std::size_t l = 0; l < kWide; ++l) {
      const double* point = X.row(columns[left + std::min(l, wide - 1)]).data();
      for (Index k = 0; k < d; ++k) panel[static_cast<std::size_t>(k) * kWide + l] = point[k];
    }
    for (std::size_t top = 0; top < rows.size(); top += kHigh) {
      const std::size_t high = std::min(kHigh, rows.size() - top);
      std::array<const double*, kHigh> x;
      for (std::size_t r = 0; r < kHigh; ++r)
        x[r] = X.row(rows[top + std::min(r, high - 1)]).data();
      double* to = out + static_cast<Index>(top) * stride + static_cast<Index>(left);
      if (high == kHigh && wide == kWide) {
        panel_products(x, panel.get(), d, to, stride);
        continue;
      }
      panel_products(x, panel.get(), d, rest.data(), kWide);
      for (std::size_t r = 0; r < high; ++r)
        std::copy_n(rest.data() + r * kWide, wide, to + static_cast<Index>(r) * stride);
    }
  }
}

Vector squared_norms(const Matrix& X) {
  Vector norms(X.rows());
  for (Index i = 0; i < X.rows(); ++i) inner_products(X, {&i, 1}, {&i, 1}, &norms[i], 1);
  return norms;
}

bool centre_if_far(Matrix& X) {
  const Vector mean = column_means(X);
  Matrix centred = X.rowwise() - mean.transpose();
  const double spread =
      ordered_sum(squared_norms(centred)) / static_cast<double>(std::max<Index>(1, X.rows()));
  // What overflows on the way is no better around its mean.
  if (!std::isfinite(spread) || ordered_sum(mean.cwiseAbs2()) <= spread) return false;
  X = std::move(centred);
  return true;
}

void squared_distances(const Matrix& X, Index i, std::span<const Index> columns, double own,
                       const double* norms, double* products) {
  const Index count = std::ssize(columns);
  double cancelled = 0;
  for (Index l = 0; l < count; ++l) {
    const double both = own + norms[l];
    const double distance = both - 2 * products[l];
    products[l] = distance;
    cancelled += distance > kCancelled * both ? 0.0 : 1.0;
  }
  if (cancelled == 0) return;
  for (Index l = 0; l < count; ++l)
    if (!(products[l] > kCancelled * (own + norms[l])))
      products[l] = direct_squared_distance(
          X.row(i).data(), X.row(columns[static_cast<std::size_t>(l)]).data(), X.cols());
}

Matrix squared_distances(Matrix A, Matrix B) {
  const Vector mean = column_means(B);
  const auto can_move = [](const Matrix& X) { return (X.array().abs() < kFar).all(); };
  if (mean.allFinite() && can_move(A) && can_move(B)) {
    A.rowwise() -= mean.transpose();
    B.rowwise() -= mean.transpose();
  }
  const Vector a = squared_norms(A);
  const Vector b = squared_norms(B);
  Matrix D = inner_products(A, B);
  for (Index i = 0; i < D.rows(); ++i)
    for (Index j = 0; j < D.cols(); ++j)
      D(i, j) = squared_distance(a[i], b[j], D(i, j), A.data() + i * A.cols(),
                                 B.data() + j * B.cols(), A.cols());
  return D;
}

// Over the columns outside and the points inside, where the numbers of many pairs lie side by side.
Matrix absolute_distances(const Matrix& A, const Matrix& B) {
  const Matrix columns = B.transpose();
  Matrix D = Matrix::Zero(A.rows(), B.rows());
  for (Index i = 0; i < A.rows(); ++i)
    for (Index k = 0; k < A.cols(); ++k)
      D.row(i).array() += (columns.row(k).array() - A(i, k)).abs();
  return D;
}

Vector row_sums(const Matrix& X) {
  Vector sums = Vector::Zero(X.rows());
  for (Index i = 0; i < X.rows(); ++i)
    for (Index k = 0; k < X.cols(); ++k) sums[i] += X(i, k);
  return sums;
}

// exp(-x) for 0 <= x <= 1/4: Taylor's series to the eleventh power, whose remainder is below 2^-53 there.
Lanes small_decay(Lanes x) {
  constexpr std::array<double, 12> c = {1.0,         -1.0,          1.0 / 2,       -1.0 / 6,
                                        1.0 / 24,    -1.0 / 120,    1.0 / 720,     -1.0 / 5040,
                                        1.0 / 40320, -1.0 / 362880, 1.0 / 3628800, -1.0 / 39916800};
  Lanes sum = broadcast(c[11]);
  for (std::size_t k = 11; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

// Eigen's vectorised exp and the scalar one differ in the last bit, and the series differs from both: a block of fixed size is
// vectorised throughout, and it is the value alone that decides between series and exp.
void decay_block(const double* x, double rate, double* out) {
  using Buffer = Eigen::Array<double, kDecayed, 1>;
  Buffer y;
  Lanes largest{};
  for (Index k = 0; k < kDecayed; k += kLanes) {
    const Lanes v = rate * load(x + k);
    store(y.data() + k, v);
    largest = v > largest ? v : largest;
  }
  double most = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    most = std::max(most, static_cast<double>(largest[lane]));
  Buffer series;
  for (Index k = 0; k < kDecayed; k += kLanes)
    store(series.data() + k, small_decay(load(y.data() + k)));
  Eigen::Map<Buffer> result(out);
  if (most <= 0.25)
    result = series;
  else
    result = (y <= 0.25).select(series, (-y).exp());
}

void decay(const double* x, Index count, double rate, double* out) {
  Index begin = 0;
  for (; begin + kDecayed <= count; begin += kDecayed) decay_block(x + begin, rate, out + begin);
  if (begin == count) return;
  std::array<double, kDecayed> rest{};
  std::copy(x + begin, x + count, rest.begin());
  decay_block(rest.data(), rate, rest.data());
  std::copy_n(rest.begin(), count - begin, out + begin);
}

void raise(Eigen::Ref<Vector> x, Index degree) {
  assert(degree >= 1);
  // x^(2q) = (x^2)^q, until the degree is odd; only what remains needs a second vector.
  for (; degree % 2 == 0; degree /= 2) x.array() *= x.array();
  if (degree == 1) return;
  Vector power = x;
  for (degree /= 2; degree > 0; degree /= 2) {
    power.array() *= power.array();
    if (degree % 2 == 1) x.array() *= power.array();
  }
}

Vector eigenvalues(Matrix K) {
  const int n = narrow(K.rows());
  Vector values(n);
  if (n == 0) return values;
  // LAPACK's lower triangle by columns is our upper triangle by rows.
  int info = 0;
  int size = -1;
  double best = 0;
  dsyev_("N", "L", &n, K.data(), &n, values.data(), &best, &size, &info, 1, 1);
  size = static_cast<int>(best);
  Vector work(size);
  dsyev_("N", "L", &n, K.data(), &n, values.data(), work.data(), &size, &info, 1, 1);
  if (info != 0)
    throw std::runtime_error("LAPACK dsyev did not find the eigenvalues of a kernel matrix");
  return values;
}

}  // namespace coterie
