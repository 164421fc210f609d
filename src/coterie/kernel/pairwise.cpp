#include "coterie/kernel/pairwise.hpp"

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <mutex>

extern "C" {
void openblas_set_num_threads(int threads);
int openblas_get_num_threads();
void dsyev_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
            double* work, const int* lwork, int* info, std::size_t, std::size_t);
}

namespace coterie {
namespace {

// OpenBLAS keeps its number of threads in one place for the whole process, hence so do we.
std::mutex blas_mutex;
int blas_users = 0;
int blas_threads = 1;

// Below this part of |x|^2 + |z|^2 the difference |x|^2 + |z|^2 - 2 x'z has lost too many digits (about ten remain).
constexpr double kCancelled = 1e-6;

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

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  const std::scoped_lock lock(blas_mutex);
  if (blas_users++ == 0) {
    blas_threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
}

SingleThreadedBlas::~SingleThreadedBlas() {
  const std::scoped_lock lock(blas_mutex);
  if (--blas_users == 0) openblas_set_num_threads(blas_threads);
}

Matrix inner_products(const Matrix& A, const Matrix& B) {
  Matrix G(A.rows(), B.rows());
  if (G.size() > 0)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, narrow(A.rows()), narrow(B.rows()),
                narrow(A.cols()), 1, A.data(), leading(A), B.data(), leading(B), 0, G.data(),
                leading(G));
  return G;
}

Vector squared_norms(const Matrix& X) {
  Vector norms(X.rows());
  for (Index i = 0; i < X.rows(); ++i)
    norms[i] = cblas_ddot(narrow(X.cols()), X.data() + i * X.cols(), 1, X.data() + i * X.cols(), 1);
  return norms;
}

bool centre_if_far(Matrix& X) {
  const Vector mean = column_means(X);
  Matrix centred = X.rowwise() - mean.transpose();
  const double spread =
      ordered_sum(squared_norms(centred)) / static_cast<double>(std::max<Index>(1, X.rows()));
  if (ordered_sum(mean.cwiseAbs2()) <= spread) return false;
  X = std::move(centred);
  return true;
}

Matrix squared_distances_from(Matrix products, const Vector& norms, const Matrix& X,
                              std::span<const Index> rows, std::span<const Index> columns) {
  Vector right(std::ssize(columns));
  for (Index l = 0; l < right.size(); ++l) right[l] = norms[columns[static_cast<std::size_t>(l)]];
  for (Index k = 0; k < products.rows(); ++k) {
    double* row = products.row(k).data();
    const Index i = rows[static_cast<std::size_t>(k)];
    const double own = norms[i];
    const double* other = right.data();
    Index cancelled = 0;
    for (Index l = 0; l < right.size(); ++l) {
      const double both = own + other[l];
      const double distance = both - 2 * row[l];
      row[l] = distance;
      cancelled += distance > kCancelled * both ? 0 : 1;
    }
    for (Index l = 0; cancelled > 0 && l < right.size(); ++l) {
      if (row[l] > kCancelled * (own + other[l])) continue;
      row[l] = direct_squared_distance(
          X.row(i).data(), X.row(columns[static_cast<std::size_t>(l)]).data(), X.cols());
      --cancelled;
    }
  }
  return products;
}

Matrix squared_distances(Matrix A, Matrix B) {
  const Vector mean = column_means(B);
  A.rowwise() -= mean.transpose();
  B.rowwise() -= mean.transpose();
  const Vector a = squared_norms(A);
  const Vector b = squared_norms(B);
  Matrix D = inner_products(A, B);
  for (Index i = 0; i < D.rows(); ++i)
    for (Index j = 0; j < D.cols(); ++j)
      D(i, j) = squared_distance(a[i], b[j], D(i, j), A.data() + i * A.cols(),
                                 B.data() + j * B.cols(), A.cols());
  return D;
}

// The next four run over the columns outside and the points inside, where the numbers of many pairs lie side by side.

Matrix absolute_distances(const Matrix& A, const Matrix& B) {
  const Matrix columns = B.transpose();
  Matrix D = Matrix::Zero(A.rows(), B.rows());
  for (Index i = 0; i < A.rows(); ++i)
    for (Index k = 0; k < A.cols(); ++k)
      D.row(i).array() += (columns.row(k).array() - A(i, k)).abs();
  return D;
}

Matrix chi2_similarities(const Matrix& A, const Matrix& B) {
  const Matrix columns = B.transpose();
  Matrix S = Matrix::Zero(A.rows(), B.rows());
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index k = 0; k < A.cols(); ++k) {
      const double x = A(i, k);
      if (x == 0) continue;
      S.row(i).array() += 2 * x * columns.row(k).array() / (columns.row(k).array() + x);
    }
  }
  return S;
}

Vector row_sums(const Matrix& X) {
  Vector sums = Vector::Zero(X.rows());
  for (Index i = 0; i < X.rows(); ++i)
    for (Index k = 0; k < X.cols(); ++k) sums[i] += X(i, k);
  return sums;
}

void decay(const double* x, Index count, double rate, double* out) {
  // Eigen's vectorised exp and the scalar one differ in the last bit. A buffer of fixed size is vectorised throughout, so
  // that no element meets the scalar one.
  constexpr Index width = 64;
  using Buffer = Eigen::Array<double, width, 1>;
  using Values = Eigen::Map<const Buffer>;
  Index begin = 0;
  for (; begin + width <= count; begin += width)
    Eigen::Map<Buffer>(out + begin) = (-rate * Values(x + begin)).exp();
  if (begin == count) return;
  Buffer buffer = Buffer::Zero();
  for (Index k = 0; begin + k < count; ++k) buffer[k] = -rate * x[begin + k];
  const Buffer values = buffer.exp();
  for (Index k = 0; begin + k < count; ++k) out[begin + k] = values[k];
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
