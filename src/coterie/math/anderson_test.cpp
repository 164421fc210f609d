#include "coterie/math/anderson.hpp"

#include <gtest/gtest.h>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

// Of an affine map in d dimensions the fixed point is reached after d + 1 images, when nothing is forgotten.
TEST(Anderson, SolvesAnAffineMapInAsManyStepsAsItHasDimensions) {
  Random random(1);
  const Index d = 4;
  Vector rate(d), fixed(d);
  for (Index i = 0; i < d; ++i) rate[i] = 0.99 - 0.3 * static_cast<double>(i);
  for (double& v : fixed) v = random.normal();
  const auto image = [&](const Matrix& v) {
    return Matrix(fixed + rate.cwiseProduct(v.col(0) - fixed));
  };
  Anderson anderson(10);
  Matrix v = Matrix::Zero(d, 1);
  for (Index k = 0; k <= d; ++k) v = anderson.next(v, image(v));
  EXPECT_LE((v.col(0) - fixed).norm(), 1e-6);

  anderson.forget();  // then the next point is the plain image
  const Matrix start = Matrix::Ones(d, 1);
  EXPECT_TRUE(anderson.next(start, image(start)) == image(start));
}

TEST(Anderson, ForgetsTheOldestAndStaysAtAFixedPoint) {
  Anderson anderson(2);
  Matrix v = Matrix::Constant(3, 2, 5);
  for (int k = 0; k < 60; ++k) {
    Matrix image = v;
    for (Index i = 0; i < image.size(); ++i)
      image.reshaped()[i] *= 0.9 - 0.1 * static_cast<double>(i);
    v = anderson.next(v, image);
    ASSERT_TRUE(v.allFinite());
  }
  EXPECT_LE(v.norm(), 1e-8);
  const Matrix rest = Matrix::Zero(3, 2);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(anderson.next(rest, rest).norm(), 0);
}

}  // namespace
}  // namespace coterie
