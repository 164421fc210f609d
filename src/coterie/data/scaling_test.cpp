#include "coterie/data/scaling.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "coterie/math/message_of.hpp"
#include "coterie/math/random.hpp"

namespace coterie {
namespace {

Matrix random_matrix(Index rows, Index columns) {
  Random random(5);
  Matrix X(rows, columns);
  for (double& value : X.reshaped()) value = 3 + 10 * random.normal();
  return X;
}

std::vector<Index> first_rows(Index count) {
  std::vector<Index> rows(count);
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

TEST(Scaling, NamesRoundTrip) {
  using enum Scaling::Kind;
  for (const Scaling::Kind kind : {none, standard, minmax}) {
    EXPECT_EQ(scaling_kind_from(to_string(kind)), kind);
  }
  EXPECT_FALSE(scaling_kind_from("robust"));
}

TEST(Scaling, StandardHasMeanZeroAndDeviationOneOnTheTrainingRows) {
  const Matrix X = random_matrix(50, 3);
  const Scaling scaling = learn_scaling(Scaling::Kind::standard, X, first_rows(30));
  const Matrix Z = apply_scaling(scaling, X).topRows(30);
  EXPECT_LE(Z.colwise().mean().norm(), 1e-14);
  const Vector square = Z.colwise().squaredNorm() / 30;
  EXPECT_LE((square - Vector::Ones(3)).norm(), 1e-13);
}

TEST(Scaling, MinmaxFillsTheUnitIntervalOnTheTrainingRows) {
  const Matrix X = random_matrix(50, 3);
  const Scaling scaling = learn_scaling(Scaling::Kind::minmax, X, first_rows(30));
  const Matrix Z = apply_scaling(scaling, X).topRows(30);
  EXPECT_LE(Z.colwise().minCoeff().norm(), 0);
  EXPECT_LE((Z.colwise().maxCoeff().transpose() - Vector::Ones(3)).norm(), 1e-15);
}

TEST(Scaling, OtherRowsDoNotMatter) {
  Matrix X = random_matrix(50, 3);
  const Scaling before = learn_scaling(Scaling::Kind::standard, X, first_rows(30));
  X.bottomRows(20) *= 1e6;
  EXPECT_EQ(learn_scaling(Scaling::Kind::standard, X, first_rows(30)), before);
}

TEST(Scaling, DatasetUsesTheUnionOfItsRows) {
  Dataset data;
  data.X = random_matrix(6, 2);
  data.tasks = {{{"s", "0", "1", "s"}, {4, 1}, {}}, {{"t", "0", "1", "t"}, {1, 2}, {}}};
  EXPECT_EQ(rows_used(data), (std::vector<Index>{1, 2, 4}));
  EXPECT_EQ(learn_scaling(Scaling::Kind::minmax, data),
            learn_scaling(Scaling::Kind::minmax, data.X, {1, 2, 4}));
}

TEST(Scaling, ConstantColumnBecomesZero) {
  const Matrix X = Matrix::Constant(3, 1, 0.1);  // the mean of three 0.1 is not 0.1
  for (const Scaling::Kind kind : {Scaling::Kind::standard, Scaling::Kind::minmax}) {
    const Scaling scaling = learn_scaling(kind, X, first_rows(3));
    EXPECT_EQ(scaling.factor[0], 1);
    EXPECT_EQ(apply_scaling(scaling, X), Matrix::Zero(3, 1));
  }
}

TEST(Scaling, NoneChangesNothing) {
  const Matrix X = random_matrix(5, 2);
  EXPECT_EQ(apply_scaling(learn_scaling(Scaling::Kind::none, X, first_rows(5)), X), X);
}

// Squares of these leave the numbers, but the deviation does not: the scaled values are those of the same rows in another unit.
TEST(Scaling, StandardOfExtremesIsThatOfOtherUnits) {
  const Matrix X = random_matrix(9, 3);
  const Matrix expected =
      apply_scaling(learn_scaling(Scaling::Kind::standard, X, first_rows(9)), X);
  for (const double unit : {1e-300, 1e-200, 1e-160, 1e160, 1e200, 1e300}) {
    const Matrix Y = unit * X;
    const Matrix scaled =
        apply_scaling(learn_scaling(Scaling::Kind::standard, Y, first_rows(9)), Y);
    EXPECT_LE((scaled - expected).cwiseAbs().maxCoeff(), 1e-12) << unit;
  }
}

TEST(Scaling, ErrorsSayWhatToDo) {
  Matrix X(2, 1);
  X << -1e308, 1e308;
  EXPECT_EQ(
      message_of([&] { learn_scaling(Scaling::Kind::minmax, X, first_rows(2)); }),
      "feature number 1 runs from -1e+308 to 1e+308, which cannot be scaled in double precision. "
      "Leave the feature out, or give it in another unit.");
  EXPECT_EQ(message_of([&] { learn_scaling(Scaling::Kind::standard, X, {}); }),
            "scaling cannot be learnt from no rows.");
  const Matrix Y = random_matrix(4, 2);
  const Scaling scaling = learn_scaling(Scaling::Kind::standard, Y, first_rows(4));
  EXPECT_EQ(message_of([&] { apply_scaling(scaling, X); }),
            "the scaling was learnt for 2 features, but the data has 1.");
}

// Column 1 is column 0 with some noise, column 2 its opposite; 3 is constant, 4 alone.
Matrix related_columns() {
  Random random(9);
  Matrix X(40, 5);
  for (Index i = 0; i < 40; ++i) {
    const double x = random.normal();
    X.row(i) << x, 2 * x + 0.1 * random.normal() + 7, -x, 5, random.normal();
  }
  return X;
}

TEST(Scaling, SmoothFeaturesAreMeansOfThoseThatRiseTogether) {
  const Matrix X = related_columns();
  const Scaling scaling = learn_scaling(Scaling::Kind::none, X, first_rows(40), 0, 2);
  const auto neighbour = [&](Index j) {
    EXPECT_EQ(scaling.neighbours[static_cast<std::size_t>(2 * j)], j);
    return scaling.neighbours[static_cast<std::size_t>(2 * j + 1)];
  };
  EXPECT_EQ(neighbour(0), 1);
  EXPECT_EQ(neighbour(1), 0);
  EXPECT_EQ(neighbour(3), 3);  // nothing rises with a constant
  const Matrix Z = apply_scaling(scaling, X);
  EXPECT_EQ(Z.col(0), (X.col(0) + X.col(1)) / 2);
  EXPECT_EQ(Z.col(3), X.col(3));
  // By the definition: no other column has a larger correlation.
  const Matrix S = apply_scaling(learn_scaling(Scaling::Kind::standard, X, first_rows(40)), X);
  const Matrix R = S.transpose() * S / 40;
  for (const Index j : {2, 4}) {
    Matrix::Index nearest = 0;
    Vector others = R.col(j);
    others[j] = 0;
    EXPECT_EQ(neighbour(j), others.maxCoeff(&nearest) > 0 ? nearest : j);
  }
}

TEST(Scaling, SmoothFeaturesDoNotDependOnUnitsRowsOrColumnsBehind) {
  const Matrix X = related_columns();
  const Scaling scaling = learn_scaling(Scaling::Kind::standard, X, first_rows(30), 0, 3);
  Matrix Y = X.colwise().reverse();
  Y.col(0) *= 1e200;
  Y.col(1) *= 1e-200;
  std::vector<Index> last = first_rows(40);
  last.erase(last.begin(), last.begin() + 10);
  EXPECT_EQ(learn_scaling(Scaling::Kind::standard, Y, last, 0, 3).neighbours, scaling.neighbours);
  // Scores stand behind the features, and have a scale.
  const Scaling kept = learn_scaling(Scaling::Kind::standard, X, first_rows(30), 2, 2);
  EXPECT_EQ(apply_scaling(kept, X).rightCols(2), X.rightCols(2));
  EXPECT_EQ(kept.neighbours.size(), 6);
}

TEST(Scaling, MeansOfMoreFeaturesThanRiseTogetherCountTheFeatureItself) {
  const Matrix X = related_columns().leftCols(2);
  const Scaling scaling = learn_scaling(Scaling::Kind::none, X, first_rows(40), 0, 4);
  EXPECT_EQ(scaling.neighbours, (std::vector<Index>{0, 1, 0, 0, 1, 0, 1, 1}));
  EXPECT_LE((apply_scaling(scaling, X).col(0) - (3 * X.col(0) + X.col(1)) / 4).norm(), 1e-14);
}

TEST(Scaling, EqualCorrelationsKeepTheOrderOfTheColumns) {
  Matrix X = random_matrix(30, 1).replicate(1, 4);
  X.col(2) *= 3;  // other rounding
  const Scaling scaling = learn_scaling(Scaling::Kind::none, X, first_rows(30), 0, 3);
  EXPECT_EQ(scaling.neighbours, (std::vector<Index>{0, 1, 2, 1, 0, 2, 2, 0, 1, 3, 0, 1}));
}

TEST(Scaling, MeansTooLargeForANumberAreRefused) {
  Scaling scaling;
  scaling.smooth = 2;
  scaling.neighbours = {0, 1, 1, 0};
  const Matrix X{{1.5e308, 1.5e308}, {1, 2}};
  try {
    apply_scaling(scaling, X);
    FAIL() << "not refused";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("the mean of feature 1"), std::string::npos);
  }
  EXPECT_EQ(apply_scaling(scaling, X.bottomRows(1)), (Matrix{{1.5, 1.5}}));
}

}  // namespace
}  // namespace coterie
