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

// Calls row(i, begin, count) for the pairs (i, i+1) .. (i, n-1), which begin at `begin`.
template <typename Row>
void for_each_row_of_pairs(Index n, const Row& row) {
  Index begin = 0;
  for (Index i = 0; i + 1 < n; ++i) {
    const Index count = n - 1 - i;
    row(i, begin, count);
    begin += count;
  }
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

Matrix inner_products(const Matrix& X) {
  Matrix G(X.rows(), X.rows());
  if (G.size() > 0)
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, narrow(X.rows()), narrow(X.cols()), 1,
                X.data(), leading(X), 0, G.data(), leading(G));
  return G;
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

Pairs squared_distances(const Matrix& X, const Matrix* products) {
  const Index n = X.rows();
  const Vector mean = column_means(X);
  const Matrix centred = X.rowwise() - mean.transpose();
  const double spread =
      ordered_sum(squared_norms(centred)) / static_cast<double>(std::max<Index>(1, n));
  const bool far = !(ordered_sum(mean.cwiseAbs2()) <= spread);

  const bool reuse = products != nullptr && !far;
  const Matrix own = reuse ? Matrix() : inner_products(centred);
  const Matrix& G = reuse ? *products : own;
  const Vector norms = G.diagonal();
  Pairs pairs(n * (n - 1) / 2);
  for_each_row_of_pairs(n, [&](Index i, Index begin, Index count) {
    const double* x = X.data() + i * X.cols();
    for (Index k = 0; k < count; ++k) {
      const Index j = i + 1 + k;
      const double* z = X.data() + j * X.cols();
      pairs[begin + k] = squared_distance(norms[i], norms[j], G(i, j), x, z, X.cols());
    }
  });
  return pairs;
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

Pairs absolute_distances(const Matrix& X) {
  const Matrix columns = X.transpose();
  Pairs pairs = Pairs::Zero(X.rows() * (X.rows() - 1) / 2);
  for_each_row_of_pairs(X.rows(), [&](Index i, Index begin, Index count) {
    for (Index k = 0; k < X.cols(); ++k)
      pairs.segment(begin, count).array() +=
          (columns.row(k).tail(count).array() - X(i, k)).abs().transpose();
  });
  return pairs;
}

Matrix absolute_distances(const Matrix& A, const Matrix& B) {
  const Matrix columns = B.transpose();
  Matrix D = Matrix::Zero(A.rows(), B.rows());
  for (Index i = 0; i < A.rows(); ++i)
    for (Index k = 0; k < A.cols(); ++k)
      D.row(i).array() += (columns.row(k).array() - A(i, k)).abs();
  return D;
}

Pairs chi2_similarities(const Matrix& X) {
  const Matrix columns = X.transpose();
  Pairs pairs = Pairs::Zero(X.rows() * (X.rows() - 1) / 2);
  for_each_row_of_pairs(X.rows(), [&](Index i, Index begin, Index count) {
    for (Index k = 0; k < X.cols(); ++k) {
      const double x = X(i, k);
      if (x == 0) continue;  // 0 / 0 when both are 0
      const Eigen::Map<const Eigen::ArrayXd> z(columns.row(k).data() + i + 1, count);
      pairs.segment(begin, count).array() += 2 * x * z / (z + x);
    }
  });
  return pairs;
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

void decay(Eigen::Ref<Vector> x, double rate) {
  // Eigen's vectorised exp and the scalar one differ in the last bit. A buffer of fixed size is vectorised throughout, so
  // that no element meets the scalar one.
  constexpr Index width = 64;
  using Buffer = Eigen::Array<double, width, 1>;
  Buffer buffer = Buffer::Zero();
  for (Index begin = 0; begin < x.size(); begin += width) {
    const Index count = std::min(width, x.size() - begin);
    for (Index k = 0; k < count; ++k) buffer[k] = -rate * x[begin + k];
    const Buffer values = buffer.exp();
    for (Index k = 0; k < count; ++k) x[begin + k] = values[k];
  }
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

Matrix symmetric_matrix(const Pairs& pairs, const Vector& diagonal) {
  const Index n = diagonal.size();
  Matrix K(n, n);
  K.diagonal() = diagonal;
  for_each_row_of_pairs(n, [&](Index i, Index begin, Index count) {
    K.row(i).tail(count) = pairs.segment(begin, count).transpose();
  });
  mirror(K);
  return K;
}

void mirror(Matrix& K) {
  constexpr Index tile = 32;  // two tiles of 8 KiB stay in the nearest cache
  const Index n = K.rows();
  for (Index i0 = 0; i0 < n; i0 += tile)
    for (Index j0 = i0; j0 < n; j0 += tile)
      for (Index i = i0; i < std::min(n, i0 + tile); ++i)
        for (Index j = std::max(i + 1, j0); j < std::min(n, j0 + tile); ++j) K(j, i) = K(i, j);
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
