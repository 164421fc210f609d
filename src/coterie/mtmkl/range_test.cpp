#include "coterie/mtmkl/range.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace coterie {
namespace {

template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "(no error)";
}

// One task of two samples under one kernel of this value.
std::string cost_error(double C, double value) {
  const std::vector<TaskGrams> grams = {TaskGrams({Matrix(value * Matrix::Identity(2, 2))})};
  Task task;
  task.name = "a";
  return error_of(
      [&] { check_costs(grams, {Vector::Constant(2, C)}, parse_kernels("linear:raw"), {task}); });
}

TEST(Range, CostsAndKernelValues) {
  EXPECT_EQ(cost_error(1, 1), "(no error)");
  EXPECT_EQ(cost_error(1e39, 1), "(no error)");
  EXPECT_EQ(cost_error(1e-39, 1), "(no error)");
  EXPECT_EQ(cost_error(1, 1e79), "(no error)");
  EXPECT_EQ(cost_error(1e39, 0), "(no error)");
  EXPECT_EQ(cost_error(1e300, 0),
            "task 'a' has C = 1e+300 for 2 rows, which is too large to be computed with. Use a "
            "smaller C.");
  EXPECT_EQ(cost_error(1e-300, 1),
            "task 'a' has C = 1e-300 for 2 rows, which is too small to be computed with. Use a "
            "larger C.");
  EXPECT_EQ(cost_error(1, 1e100),
            "task 'a': with C = 1 and kernel 'linear:raw', whose values reach 1e+100, the sums are "
            "too large to be computed with. Use a smaller C, or `scale` standard.");
  EXPECT_EQ(cost_error(1e-30, 1e-30),
            "task 'a': with C = 1e-30 and kernel 'linear:raw', whose values reach 1e-30, the sums "
            "are too small to be computed with. Use a larger C, or `scale` standard.");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(cost_error(nan, 1), "(no error)");
  EXPECT_NE(cost_error(1, nan), "(no error)");
}

TEST(Range, Penalties) {
  const auto error = [](double weight, double lambda) {
    return error_of([&] {
      check_penalty({{0, 1, weight}}, lambda, [](Index t) { return t == 0 ? "a" : "b"; });
    });
  };
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error(1, 1), "(no error)");
  EXPECT_EQ(error(1e-300, 0), "(no error)");
  EXPECT_EQ(error(1, infinite), "(no error)");
  EXPECT_EQ(error(1e79, 1), "(no error)");
  for (const auto& [weight, lambda] :
       {std::pair(1e300, 1.0), {1e300, 1e-300}, {1.0, 1e308}, {1e300, infinite}, {1e50, 1e50}})
    EXPECT_NE(error(weight, lambda).find("which is too large"), std::string::npos) << weight;
  EXPECT_EQ(error(1e-300, 1e9),
            "tasks 'a' and 'b' are drawn together with lambda 1000000000 times weight 1e-300, "
            "which is too small to be computed with. Weights, and lambda times weight, must be "
            "from 1e-80 to 1e+80. Change `lambda` or the file of weights; a lambda or weight of 0 "
            "draws nothing together.");
}

TEST(Range, Features) {
  Dataset data;
  data.X = Matrix::Constant(2, 1, 1e41);
  data.features = {"f"};
  data.tasks.push_back({});
  data.tasks.back().rows = {1};
  EXPECT_EQ(error_of([&] { check_features(data); }),
            "row 2, feature 'f' is 1e+41, too large to be computed with: the most is 1e+40. Use "
            "`scale` standard.");
  data.X(1, 0) = -1e40;
  EXPECT_EQ(error_of([&] { check_features(data); }), "(no error)");
}

}  // namespace
}  // namespace coterie
