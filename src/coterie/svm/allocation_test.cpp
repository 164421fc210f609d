// The two-variable steps of the SVM, and those of fusion, ask for no memory: this program compiles its sources with EIGEN_RUNTIME_NO_MALLOC, and new and delete of
// its own see the rest. CONTRIBUTING.md says which loops do ask.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "coterie/math/fusion.hpp"
#include "coterie/math/no_allocation.hpp"
#include "coterie/math/random.hpp"
#include "coterie/svm/svm.hpp"

#ifndef EIGEN_RUNTIME_NO_MALLOC
#error "compile this with EIGEN_RUNTIME_NO_MALLOC"
#endif

namespace {

void* checked(std::size_t bytes) {
  if (!Eigen::internal::is_malloc_allowed()) {
    std::fputs("memory was asked for inside a loop that promises not to\n", stderr);
    std::abort();
  }
  if (void* const place = std::malloc(bytes > 0 ? bytes : 1)) return place;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return checked(bytes); }
void* operator new[](std::size_t bytes) { return checked(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return checked(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return checked(bytes); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete[](void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t) noexcept { std::free(place); }

namespace coterie {
namespace {

TEST(Allocation, IsSeenWhereItIsForbidden) {
  const auto by_eigen = [] {
    const NoAllocation here;
    const Vector x = Vector::Zero(100);
    return x.sum();
  };
  const auto by_standard_library = [] {
    const NoAllocation here;
    const std::vector<double> x(100);
    return x[0];
  };
  EXPECT_DEATH(by_eigen(), "is_malloc_allowed");
  EXPECT_DEATH(by_standard_library(), "memory was asked for");
}

TEST(Allocation, StepsOfFusionNeedNone) {
  Random random(6);
  Matrix Z(12, 40);
  for (double& z : Z.reshaped()) z = random.normal();
  EXPECT_GE(fuse_vectors(Z, 0.3, 1e-9).iterations, 10);
}

TEST(Allocation, TwoVariableStepsNeedNone) {
  constexpr Index n = 150;
  Random random(5);
  Matrix X(n, 3);
  Vector y(n);
  for (Index i = 0; i < n; ++i) {
    y[i] = i % 2 == 0 ? 1 : -1;
    for (Index j = 0; j < 3; ++j) X(i, j) = random.normal() + 0.3 * y[i];
  }
  Matrix K(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) K(i, j) = std::exp(-(X.row(i) - X.row(j)).squaredNorm());
  const TaskGrams base({K});
  const Vector ones = Vector::Ones(n);
  const Vector C = Vector::Constant(n, 10);
  for (const Index size : {n - 1, n}) {  // all of a task is used in place
    std::vector<Index> some;
    for (Index i = 0; i < size; ++i) some.push_back(i);
    MixedGram gram(base);
    gram.add(some);
    gram.lend(std::make_unique<MixedRows>());  // as tasks do
    gram.set_weights(Vector::Ones(1));
    const SvmResult result =
        solve_svm(gram, {y.head(size), ones.head(size), C.head(size)}, Vector::Zero(size), {});
    EXPECT_TRUE(result.converged);
    EXPECT_GT(result.steps, 50);
  }
}

}  // namespace
}  // namespace coterie
