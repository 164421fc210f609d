#include "coterie/kernel/gram.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "coterie/kernel/base/base_kernel.hpp"
#include "coterie/kernel/exact_kernels.hpp"
#include "coterie/kernel/pairwise.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/message_of.hpp"
#include "coterie/math/random.hpp"
#include "coterie/math/spectrum.hpp"

extern "C" {
void openblas_set_num_threads(int threads);
int openblas_get_num_threads();
}

namespace coterie {
namespace {

constexpr double kRounding = 1e-11;
constexpr char kEverything[] =
    "paper linear:raw poly:3:0.5 poly:2:1:raw poly:5 gauss:3,0.7,1.5 gauss:1,2:raw@f2-f4 "
    "linear@f1+f5 "
    "gauss:4@f1+f5 laplace:1,2,3,4 laplace:2@f3 chi2 chi2:raw@f2-f4 cauchy:1,2 cauchy:3:raw@f2-f4";

std::string numbered(std::string name, Index number) { return name.append(std::to_string(number)); }

// Non-negative features (for chi2), three tasks of which the last shares rows with both others.
Dataset make_data(std::uint64_t seed = 1, Index n = 30, Index columns = 6) {
  Random random(seed);
  Dataset data;
  data.X.resize(2 * n, columns);
  for (double& x : data.X.reshaped()) x = std::abs(random.normal());
  for (Index k = 0; k < columns; ++k) data.features.push_back(numbered("f", k + 1));
  data.tasks.resize(3);
  const Index step[] = {2, 3, 1};
  for (Index t = 0; t < 3; ++t) {
    data.tasks[t].name = numbered("t", t + 1);
    for (Index i = t; i < 2 * n; i += step[t]) data.tasks[t].rows.push_back(i);
    data.tasks[t].y = Vector::Ones(data.tasks[t].size());
  }
  random.shuffle(data.tasks[2].rows);
  return data;
}

Grams grams_of(const Dataset& data, std::string_view kernels,
               const std::string& normalisation = "cosine",
               const PrecomputedMatrices& precomputed = {}, int threads = 1) {
  const Normalisation n = normalisation_from(normalisation).value();
  return compute_grams(data, prepare_kernels(kernels, n, data.features), n, precomputed, threads);
}

std::string gram_error(const Dataset& data, std::string_view kernels,
                       const std::string& normalisation = "cosine",
                       const PrecomputedMatrices& precomputed = {}) {
  return message_of([&] { grams_of(data, kernels, normalisation, precomputed); });
}

// Slow, separate code: every entry by the definition, and what is always true of a Gram matrix.
void expect_grams(const Dataset& data, std::string_view list, const std::string& normalisation) {
  const Normalisation n = normalisation_from(normalisation).value();
  const std::vector<Kernel> kernels = prepare_kernels(list, n, data.features);
  const Grams grams = compute_grams(data, kernels, n, {}, 1);
  ASSERT_EQ(grams.tasks.size(), data.tasks.size());
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const std::vector<Index>& rows = data.tasks[t].rows;
    ASSERT_EQ(grams.tasks[t].M(), std::ssize(kernels));
    for (std::size_t m = 0; m < kernels.size(); ++m) {
      SCOPED_TRACE(to_string(kernels[m]) + " on " + data.tasks[t].name);
      const Matrix K = grams.tasks[t].kernel(static_cast<Index>(m));
      ASSERT_EQ(K.rows(), std::ssize(rows));
      ASSERT_EQ(K.cols(), std::ssize(rows));
      double worst = 0;
      for (Index i = 0; i < K.rows(); ++i)
        for (Index j = 0; j < K.cols(); ++j) {
          const double expected =
              kernel_value(kernels[m], data.X.row(rows[i]), data.X.row(rows[j]));
          worst = std::max(worst, std::abs(K(i, j) - expected) / std::max(1.0, std::abs(expected)));
        }
      EXPECT_LE(worst, kRounding);
      EXPECT_TRUE(K == K.transpose());
      if (!kernels[m].raw || kernels[m].base->is_one_at_equal_points) {
        EXPECT_TRUE((K.diagonal().array() == 1).all());
      }
      const Vector spectrum = eigenvalues(K);
      EXPECT_GE(spectrum.minCoeff(), -kRounding * spectrum.maxCoeff());
    }
  }
}

bool same_bits(const Grams& a, const Grams& b) {
  if (a.divisors != b.divisors || a.bounded != b.bounded) return false;
  for (std::size_t t = 0; t < a.tasks.size(); ++t)
    for (Index m = 0; m < a.tasks[t].M(); ++m) {
      const Matrix A = a.tasks[t].kernel(m);
      const Matrix B = b.tasks[t].kernel(m);
      if (std::memcmp(A.data(), B.data(), sizeof(double) * A.size()) != 0) return false;
    }
  return true;
}

TEST(ComputeGrams, FollowsTheDefinition) {
  expect_grams(make_data(), kEverything, "cosine");
  expect_grams(make_data(2, 40, 50), "paper laplace:10 chi2", "cosine");
  // 70 rows cross tiles and the buffer of decay; none makes every kernel raw.
  expect_grams(make_data(3, 70, 3), "paper chi2", "none");
}

TEST(ComputeGrams, StoredAndComputedValuesHaveTheSameBits) {
  const Dataset data = make_data(14, 90, 20);
  const std::vector<Kernel> kernels =
      prepare_kernels("paper poly:3:1 laplace:1,2 chi2 cauchy:2 gauss:3@f1-f4", {}, data.features);
  const Grams stored = compute_grams(data, kernels, {}, {}, 1, Storage::stored);
  const Grams computed = compute_grams(data, kernels, {}, {}, 1, Storage::on_demand);
  EXPECT_TRUE(same_bits(stored, computed));
  // In any order and company.
  const TaskGrams& task = computed.tasks[2];
  const Index R = task.powers().roots();
  const std::vector<Index> rows = {7, 0, 41};
  const std::vector<Index> columns = {41, 3, 7, 80, 12};
  for (Index r = 0; r < R; ++r) {
    std::vector<double> some(15);
    std::vector<double*> out(static_cast<std::size_t>(R), nullptr);
    out[static_cast<std::size_t>(r)] = some.data();
    task.root_values(rows, columns, out.data(), 5);
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t l = 0; l < 5; ++l)
        EXPECT_EQ(some[k * 5 + l], stored.tasks[2].stored_row(r, rows[k])[columns[l]]);
  }
}

// With nothing to share in its block, and with all kinds of sums there: the same bits.
TEST(ComputeGrams, AKernelAloneHasTheBitsOfOneInCompany) {
  const Dataset data = make_data(15, 70, 5);
  const std::vector<Kernel> all =
      prepare_kernels("linear gauss:2 laplace:2 chi2 cauchy:2", {}, data.features);
  for (const Storage storage : {Storage::stored, Storage::on_demand}) {
    const Grams company = compute_grams(data, all, {}, {}, 1, storage);
    for (std::size_t m = 0; m < all.size(); ++m) {
      const Grams alone = compute_grams(data, {all[m]}, {}, {}, 1, storage);
      for (std::size_t t = 0; t < data.tasks.size(); ++t)
        EXPECT_EQ(alone.tasks[t].kernel(0), company.tasks[t].kernel(static_cast<Index>(m)))
            << to_string(all[m]);
    }
  }
}

TEST(ComputeGrams, KeepsFewRoots) {
  const std::vector<std::string> features = {"a", "b"};
  const auto roots = [&](const char* list) {
    return count_roots(prepare_kernels(list, {}, features));
  };
  EXPECT_EQ(roots("paper"), 2);
  EXPECT_EQ(roots("linear linear:raw poly:2 poly:2:1 poly:3:1"), 3);
  EXPECT_EQ(roots("gauss:1,2,4 gauss:3 laplace:1,2"), 3);
  EXPECT_EQ(roots("gauss:1 gauss:2@a"), 2);
  EXPECT_EQ(roots("cauchy:1,2 linear@a linear@a+b linear@a-b"),
            4);  // the last two: the same columns
}

// Whatever C, the narrowest Gaussian of the paper carries less than a hundred-millionth into the objective.
TEST(ComputeGrams, ChainsAreAsLongAsCAllows) {
  const Dataset data = make_data(23);
  const std::vector<Index>& rows = data.tasks[0].rows;
  const std::vector<Kernel> kernels = prepare_kernels("paper", {}, data.features);
  const std::size_t narrowest = static_cast<std::size_t>(
      std::find_if(kernels.begin(), kernels.end(),
                   [](const Kernel& k) { return k.base == find_base_kernel("gauss"); }) -
      kernels.begin());
  for (const double C : {1.0, 1e3, 1e4, 1e5, 1e6, 1e12}) {
    const Grams grams = compute_grams(data, kernels, {}, {}, 1, Storage::stored, C);
    const Matrix K = grams.tasks[0].kernel(static_cast<Index>(narrowest));
    double worst = 0;
    for (Index i = 0; i < K.rows(); ++i)
      for (Index j = 0; j < K.rows(); ++j) {
        const double s = kernels[narrowest].parameter;
        const double exact =
            std::exp(-(data.X.row(rows[i]) - data.X.row(rows[j])).squaredNorm() / (2 * s * s));
        worst = std::max(worst, std::abs(K(i, j) - exact));
      }
    EXPECT_LE(worst * C, std::max(1e-8, 1e-15 * C)) << "C " << C;
  }
  EXPECT_LT(count_roots(kernels, 1e3), count_roots(kernels, 1e5));
}

TEST(KernelPowers, FollowTheirDefinition) {
  Random random(15);
  const std::vector<KernelTerm> terms = {{0, 3, 2.0},  {1, 4, 1.0}, {0, 1, 1.0},
                                         {1, 16, 0.5}, {0, 6, 1.0}, {1, 5, 1.0}};
  const KernelPowers powers(terms);
  for (const Index count : {1, 3, 16, 17, 50}) {
    Vector a(count), b(count), beta(count), theta(6);
    for (Index k = 0; k < count; ++k) {
      a[k] = random.uniform(-1, 1);
      b[k] = random.uniform();
      beta[k] = random.normal();
    }
    theta << 0.1, 0.2, 0, 0.3, 0.15, 0.25;
    const double* values[] = {a.data(), b.data()};
    Vector mixed(count), products(6);
    powers.mix(powers.recipe(theta), values, count, mixed.data());
    powers.products(values, beta.data(), count, products.data());
    Vector expected = Vector::Zero(count);
    for (std::size_t m = 0; m < terms.size(); ++m) {
      const Vector& root = terms[m].root == 0 ? a : b;
      const Vector K =
          root.array().pow(static_cast<double>(terms[m].power)).matrix() / terms[m].divisor;
      expected += theta[static_cast<Index>(m)] * K;
      EXPECT_NEAR(products[static_cast<Index>(m)], K.dot(beta), 1e-13 * static_cast<double>(count));
    }
    EXPECT_LE((mixed - expected).cwiseAbs().maxCoeff(), 1e-14);
  }
}

TEST(ComputeGrams, UsesOneExponentialForManyWidths) {
  // A chain longer than allowed, in mixed order, with a second chain and an odd width between.
  expect_grams(make_data(4), "gauss:0.25,256,1,2,6,64,4,0.5,8,16,3,32,128,512,1024,5", "cosine");
  expect_grams(make_data(4), "laplace:0.25,256,1,2,6,64,4,0.5,8,16,3,32,128,512,1024,5", "cosine");
}

TEST(ComputeGrams, KeepsDigitsFarFromTheOrigin) {
  Dataset data = make_data(5);
  data.X.array() =
      (data.X.array() * 1024).round() / 1024 + 1e6;  // exact: distances are not disturbed
  expect_grams(data, "gauss:1,2,4", "cosine");
  expect_grams(data, "paper", "cosine");
  // Nearer, where no distance is small enough to be computed directly: the centred points must serve.
  Dataset near = make_data(5);
  near.X.array() += 500;
  expect_grams(near, "paper", "cosine");
  // One point far out: the distances of the others must not suffer.
  Dataset outlier = make_data(6);
  outlier.X.row(0).array() += 1e7;
  expect_grams(outlier, "paper", "cosine");
  expect_grams(outlier, "gauss:1,2,4", "cosine");
}

TEST(ComputeGrams, PutsEqualSamplesAtDistanceZero) {
  Dataset data = make_data(7, 30, 17);
  for (Index i = 0; i + 2 < data.X.rows(); i += 4) data.X.row(i + 2) = data.X.row(i);
  for (const char* kernel :
       {"gauss:0.001", "linear gauss:0.001", "laplace:0.001", "cauchy:0.001"}) {
    const TaskGrams task = grams_of(data, kernel).tasks[0];
    const Matrix K = task.kernel(task.M() - 1);
    for (Index i = 0; i + 1 < K.rows(); i += 2) EXPECT_EQ(K(i, i + 1), 1) << kernel;
  }
}

TEST(ComputeGrams, GivesTheSameBitsForAnyNumberOfThreads) {
  const Dataset data = make_data(8, 150, 40);
  const int before = openblas_get_num_threads();
  for (const char* normalisation : {"cosine", "variance", "tail:4"}) {
    const Grams one = grams_of(data, "paper laplace:3 chi2", normalisation, {}, 1);
    openblas_set_num_threads(2);
    EXPECT_TRUE(same_bits(one, grams_of(data, "paper laplace:3 chi2", normalisation, {}, 2)));
    EXPECT_EQ(openblas_get_num_threads(), 2);
    EXPECT_TRUE(same_bits(one, grams_of(data, "paper laplace:3 chi2", normalisation, {}, 7)));
    openblas_set_num_threads(before);
  }
}

TEST(SingleThreadedBlas, LastsUntilTheLastOneGoes) {
  openblas_set_num_threads(2);
  {
    const SingleThreadedBlas outer;
    EXPECT_EQ(openblas_get_num_threads(), 1);
    { const SingleThreadedBlas inner; }
    EXPECT_EQ(openblas_get_num_threads(), 1);
  }
  EXPECT_EQ(openblas_get_num_threads(), 2);
}

TEST(ComputeGrams, RestoresTheThreadsOfBlasAfterAnError) {
  Dataset data = make_data();
  data.X.row(4).setZero();
  openblas_set_num_threads(2);
  EXPECT_THROW(grams_of(data, "linear"), InputError);
  EXPECT_EQ(openblas_get_num_threads(), 2);
}

TEST(ComputeGrams, TreatsTasksAlone) {
  // A task's matrices are the same with other tasks around it, and permuting its rows permutes them, to rounding.
  const Dataset data = make_data(9);
  const Grams all = grams_of(data, kEverything);
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    Dataset alone = data;
    alone.tasks = {data.tasks[t]};
    const Grams single = grams_of(alone, kEverything);
    std::vector<Index>& rows = alone.tasks[0].rows;
    std::reverse(rows.begin(), rows.end());
    const Grams reversed = grams_of(alone, kEverything);
    for (Index m = 0; m < single.tasks[0].M(); ++m) {
      const Matrix K = single.tasks[0].kernel(m);
      const double size = K.cwiseAbs().maxCoeff();
      EXPECT_LE((all.tasks[t].kernel(m) - K).cwiseAbs().maxCoeff(), kRounding * size);
      EXPECT_LE((reversed.tasks[0].kernel(m).reverse() - K).cwiseAbs().maxCoeff(),
                kRounding * size);
    }
  }
}

TEST(ComputeGrams, TakesEmptyAndTinyTasks) {
  Dataset data = make_data();
  data.tasks[0].rows.clear();
  data.tasks[1].rows = {3};
  const Grams grams = grams_of(data, kEverything, "tail:2", {}, 2);
  EXPECT_EQ(grams.tasks[0].kernel(0).size(), 0);
  EXPECT_EQ(grams.tasks[1].kernel(0).size(), 1);
  data.tasks.clear();
  EXPECT_EQ(grams_of(data, "linear", "tail:2").divisors, Vector::Ones(1));
}

TEST(Divisors, FollowTheirDefinitions) {
  const Dataset data = make_data(10);
  const std::string list = "paper linear:raw laplace:2 chi2";
  const Grams plain = grams_of(data, list);
  const Index M = plain.divisors.size();
  EXPECT_EQ(plain.divisors, Vector::Ones(M));
  EXPECT_TRUE(plain.bounded.empty());
  for (const Index h : {0, 1, 4, 8}) {  // 0: variance
    const Grams scaled = grams_of(data, list, h == 0 ? "variance" : numbered("tail:", h));
    for (Index m = 0; m < M; ++m) {
      double variance = 0;
      double tail = 0;
      for (const TaskGrams& task : plain.tasks) {
        const Matrix K = task.kernel(m);
        const Index n = K.rows();
        const Matrix H =
            Matrix::Identity(n, n) - Matrix::Constant(n, n, 1.0 / static_cast<double>(n));
        const Matrix centred = H * K * H;
        const Vector spectrum = eigenvalues(centred);
        variance += (K.diagonal().mean() - K.mean()) / 3;
        tail += spectrum.head(n - h).sum() / static_cast<double>(n) / 3;
      }
      const bool bounded = h > 0 && tail < 1e-3 * variance;
      const double expected = h == 0 ? variance : bounded ? 1e-3 * variance : tail;
      EXPECT_NEAR(scaled.divisors[m], expected, 1e-11 * variance) << m << " " << h;
      EXPECT_EQ(std::count(scaled.bounded.begin(), scaled.bounded.end(), m), bounded ? 1 : 0);
      for (std::size_t t = 0; t < data.tasks.size(); ++t)
        EXPECT_TRUE(scaled.tasks[t].kernel(m).isApprox(
            plain.tasks[t].kernel(m) / scaled.divisors[m], 1e-15));
    }
    // Six columns: beyond six directions the linear kernels have no tail.
    if (h == 8) {
      EXPECT_EQ(std::count(scaled.bounded.begin(), scaled.bounded.end(), 0), 1);
      EXPECT_EQ(std::count(scaled.bounded.begin(), scaled.bounded.end(), 10), 1);
    }
  }
}

TEST(Divisors, RejectAConstantKernel) {
  Dataset data = make_data();
  data.X.col(1).setConstant(3);
  EXPECT_EQ(gram_error(data, "linear gauss:1@f2", "tail:4"),
            "kernel 'gauss:1@f2' is constant on the data, so `normalise` tail:4 has nothing to "
            "divide by. Remove the kernel, or use `normalise` cosine.");
  EXPECT_EQ(
      gram_error(data, "linear:raw@f2", "variance"),
      "kernel 'linear:raw@f2' is constant on the data, so `normalise` variance has nothing to "
      "divide by. Remove the kernel, or use `normalise` cosine.");
  EXPECT_EQ(gram_error(data, "linear:raw@f2"), "no error");
}

// Constant within every task is enough: no task could learn from such a column.
TEST(PrepareKernels, EachLeavesOutConstantColumns) {
  Dataset data = make_data();
  data.tasks.resize(2);
  for (Index t = 0; t < 2; ++t) {
    data.tasks[t].rows.clear();
    for (Index i = t; i < data.X.rows(); i += 2) data.tasks[t].rows.push_back(i);
    for (const Index row : data.tasks[t].rows) data.X(row, 1) = static_cast<double>(t);
  }
  const std::vector<Kernel> kernels = prepare_kernels("gauss:1@each", {}, data);
  ASSERT_EQ(std::ssize(kernels), data.X.cols() - 1);
  EXPECT_EQ(to_string(kernels[0]), "gauss:1@f1");
  EXPECT_EQ(to_string(kernels[1]), "gauss:1@f3");
  data.X(data.tasks[0].rows[0], 1) += 1;
  EXPECT_EQ(std::ssize(prepare_kernels("gauss:1@each", {}, data)), data.X.cols());
}

// Narrow Gaussians are made as powers of wide ones, whose roundings are all that is left of a small variance.
TEST(Divisors, AreThoseOfTheDefinitionWhereLittleVaries) {
  Dataset data = make_data();
  data.X *= 1e-4;
  const std::vector<Kernel> kernels = prepare_kernels("gauss:1,2,4,8,16,32,64,128", {}, data);
  const Grams grams = compute_grams(data, kernels, Normalisation::variance(), {}, 1);
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    long double mean = 0;
    for (const Task& task : data.tasks) {
      long double sum = 0;
      for (const Index i : task.rows)
        for (const Index j : task.rows) {
          long double squared = 0;
          for (Index k = 0; k < data.X.cols(); ++k)
            squared += std::pow(static_cast<long double>(data.X(i, k)) - data.X(j, k), 2);
          sum -= std::expm1(-squared / (2 * std::pow(std::pow(2.0L, m), 2)));
        }
      mean += sum / std::pow(static_cast<long double>(task.rows.size()), 2) / data.tasks.size();
    }
    const double expected = static_cast<double>(mean);
    EXPECT_NEAR(grams.divisors[static_cast<Index>(m)], expected, 5e-10 * expected) << m;
  }
}

TEST(Divisors, AreOneWhereOnlyTheSampleIsConstant) {
  Dataset data = make_data();
  data.tasks.resize(1);
  data.X.col(1).setConstant(3);
  data.X(data.tasks[0].rows[0], 1) = 1;
  const Normalisation variance = Normalisation::variance();
  const std::vector<Kernel> kernels = prepare_kernels("gauss:1@each", {}, data);
  const Grams grams = compute_grams(data, kernels, {}, {}, 1);
  std::vector<TaskGrams> some;
  for (const TaskGrams& task : grams.tasks)
    some.push_back(slice(task, std::vector<Index>{1, 2, 3, 4, 5}));
  const Divisors found = find_divisors(some, kernels, variance, 1, &grams.tasks);
  EXPECT_EQ(found.values[1], 1);
  EXPECT_NE(found.values[0], 1);
  EXPECT_THROW(find_divisors(some, kernels, variance, 1), InputError);
  EXPECT_THROW(find_divisors(some, kernels, variance, 1, &some), InputError);
}

TEST(Normalisation, RoundTrips) {
  for (const char* text : {"cosine", "variance", "tail:1", "tail:8", "none"})
    EXPECT_EQ(to_string(normalisation_from(text).value()), text);
  EXPECT_EQ(normalisation_from("tail:8"), Normalisation::tail(8));
  for (const char* text : {"", "tail", "tail:", "tail:0", "tail:-1", "tail:2.5", "tail:8x",
                           "Cosine", "tail:99999999999999999999"})
    EXPECT_FALSE(normalisation_from(text).has_value()) << text;
}

TEST(PrepareKernels, ResolvesAndMakesRaw) {
  const std::vector<std::string> features = {"a", "b"};
  const Normalisation none = Normalisation::none();
  const std::vector<Kernel> kernels = prepare_kernels("linear gauss:1@b", none, features);
  EXPECT_EQ(to_string(kernels[0]), "linear:raw");
  EXPECT_EQ(to_string(kernels[1]), "gauss:1:raw@b");
  EXPECT_EQ(kernels[1].columns, std::vector<Index>({1}));
  EXPECT_FALSE(prepare_kernels("linear", {}, features)[0].raw);
  EXPECT_EQ(
      message_of([&] { prepare_kernels("linear linear:raw", none, features); }),
      "kernel 'linear:raw' is listed twice; the weights of two equal kernels have no meaning. "
      "Remove one of them.");
}

TEST(ComputeGrams, RejectsZeroVectors) {
  Dataset data = make_data();
  data.X.row(4).setZero();  // in tasks t1 and t2
  const auto message = [](const std::string& kernel, const std::string& raw) {
    return "row 5 of the data (task 't1') is a zero vector, which kernel '" + kernel +
           "' cannot normalise. Use '" + raw +
           "' or `normalise` none, remove the row, or shift the data with `scale` standard.";
  };
  EXPECT_EQ(gram_error(data, "linear"), message("linear", "linear:raw"));
  EXPECT_EQ(gram_error(data, "poly:2@f2-f3"), message("poly:2@f2-f3", "poly:2:raw@f2-f3"));
  EXPECT_EQ(gram_error(data, "chi2"), message("chi2", "chi2:raw"));
  EXPECT_EQ(gram_error(data, "paper", "none"), "no error");
  EXPECT_EQ(gram_error(data, "linear:raw poly:2:1 gauss:1 laplace:1 chi2:raw"), "no error");
  // The error of the first task, whichever thread is first.
  for (int repeat = 0; repeat < 20; ++repeat)
    EXPECT_EQ(message_of([&] { grams_of(data, "linear", "cosine", {}, 3); }),
              message("linear", "linear:raw"));
}

TEST(ComputeGrams, RejectsUnusableNumbers) {
  Dataset data = make_data();
  data.X(6, 2) = -0.5;
  EXPECT_EQ(gram_error(data, "chi2"),
            "row 7 of the data (task 't1') has the feature value -0.5, but kernel 'chi2' needs "
            "values of at least 0. Use `scale` minmax, or another kernel.");
  EXPECT_EQ(gram_error(data, "chi2@f1-f2"), "no error");
  data.X *= 1e100;
  EXPECT_EQ(gram_error(data, "poly:4:raw"),
            "kernel 'poly:4:raw' is too large for a number on task 't1'. Use `scale` standard or a "
            "lower degree.");
  EXPECT_EQ(gram_error(data, "poly:4"), "no error");
  data.X *= 1e100;
  EXPECT_EQ(gram_error(data, "linear"),
            "kernel 'linear' cannot be normalised at row 1 of the data (task 't1'): k(x,x) is inf, "
            "too large a number to divide by. Use `scale` standard.");
  EXPECT_EQ(gram_error(data, "poly:2:1e300"),
            "kernel 'poly:2:1e+300' cannot be normalised at row 1 of the data (task 't1'): k(x,x) "
            "is inf, too large a number to divide by. Use a smaller offset.");
}

// From denormal numbers to the largest: an error, or the right values. None is lost on the way, and none is NaN.
TEST(ComputeGrams, ExtremeFeaturesAreRefusedOrRight) {
  const Dataset plain = make_data();
  Index right = 0, refused = 0;
  for (const char* list :
       {"linear", "linear:raw", "poly:3", "poly:3:raw", "gauss:1", "laplace:1", "gauss:1e-100",
        "gauss:1e100", "chi2", "chi2:raw", "cauchy:1", "cauchy:1e-100", "cauchy:1e100"}) {
    const Kernel kernel = parse_kernels(list)[0];
    for (int exponent = -320; exponent <= 305; exponent += 5) {
      Dataset data = plain;
      data.X = data.X.cwiseAbs();
      for (double& value : data.X.reshaped()) value *= std::pow(10.0, exponent);
      for (const Storage storage : {Storage::stored, Storage::on_demand}) {
        try {
          const std::vector<Kernel> kernels = {kernel};
          const Grams grams = compute_grams(data, kernels, {}, {}, 1, storage);
          for (std::size_t t = 0; t < data.tasks.size(); ++t) {
            const Matrix K = grams.tasks[t].kernel(0);
            ASSERT_TRUE(K.allFinite()) << list << " 1e" << exponent;
            const std::vector<Index>& rows = data.tasks[t].rows;
            for (Index i = 0; i < K.rows(); ++i)
              for (Index j = 0; j < K.cols(); ++j) {
                const double expected =
                    kernel_value(kernel, data.X.row(rows[static_cast<std::size_t>(i)]),
                                 data.X.row(rows[static_cast<std::size_t>(j)]));
                ASSERT_NEAR(K(i, j), expected, 1e-9 * std::max(std::abs(expected), 1e-9))
                    << list << " 1e" << exponent;
              }
          }
          ++right;
        } catch (const InputError&) {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(right, 1000);
  EXPECT_GT(refused, 300);
}

TEST(ComputeGrams, SaysWhatIsTooSmall) {
  Dataset data = make_data();
  data.X = data.X.cwiseAbs();
  data.X(6, 2) = 1e-200;
  EXPECT_EQ(gram_error(data, "chi2"),
            "row 7 of the data (task 't1') has the feature value 1e-200, but kernel 'chi2' needs "
            "values that are 0 or from 1e-140 to 1e+140. Use `scale` minmax, or another kernel.");
  data.X.row(6).setConstant(1e-160);
  const std::string error = gram_error(data, "linear");
  EXPECT_EQ(error.substr(0, 95),
            "kernel 'linear' cannot be normalised at row 7 of the data (task 't1'): k(x,x) is "
            "6e-320, too sm")
      << error;
  data.X.setConstant(1e-120);
  EXPECT_EQ(gram_error(data, "linear:raw"),
            "kernel 'linear:raw' is too small for a number on task 't1'. Use `scale` standard.");
  data.X.setZero();
  EXPECT_EQ(gram_error(data, "linear:raw"), "no error");
}

TEST(Precomputed, RefusesNumbersOutOfRange) {
  const Dataset data = make_data(11);
  const Matrix P = data.X * data.X.transpose();
  const auto error = [&](const Matrix& matrix, const char* kernel) {
    return message_of([&] { grams_of(data, kernel, "cosine", {{"p", matrix}}, 1); });
  };
  EXPECT_EQ(error(P, "precomputed:p"), "no error");
  EXPECT_EQ(error(1e250 * P, "precomputed:p"), "no error");  // divided by its diagonal
  EXPECT_EQ(error(1e250 * P, "precomputed:p:raw"),
            "kernel 'precomputed:p:raw' is too large for a number on task 't1'. Multiply the "
            "matrix by a number that mends this.");
  EXPECT_EQ(error(1e-250 * P, "precomputed:p:raw"),
            "kernel 'precomputed:p:raw' is too small for a number on task 't1'. Multiply the "
            "matrix by a number that mends this.");
  const std::string tiny = error(1e-300 * P, "precomputed:p");
  EXPECT_NE(tiny.find("kernel 'precomputed:p' cannot be normalised at row 1 of the data"),
            std::string::npos)
      << tiny;
  Matrix huge = P;
  huge.row(0).tail(P.rows() - 1).setConstant(1.5e308);
  huge.col(0).tail(P.rows() - 1).setConstant(1.5e308);
  EXPECT_EQ(error(huge, "precomputed:p:raw"),
            "kernel 'precomputed:p:raw' is too large for a number on task 't1'. Multiply the "
            "matrix by a number that mends this.");
}

TEST(Precomputed, IsCutAndNormalised) {
  const Dataset data = make_data(11);
  const Matrix P = data.X * data.X.transpose();
  const Grams grams =
      grams_of(data, "linear precomputed:p linear:raw precomputed:p:raw", "cosine", {{"p", P}}, 2);
  for (const TaskGrams& task : grams.tasks) {
    std::vector<Matrix> K;
    for (Index m = 0; m < 4; ++m) K.push_back(task.kernel(m));
    EXPECT_LE((K[0] - K[1]).cwiseAbs().maxCoeff(), kRounding);
    EXPECT_LE((K[2] - K[3]).cwiseAbs().maxCoeff(), kRounding * K[2].cwiseAbs().maxCoeff());
    EXPECT_TRUE((K[1].diagonal().array() == 1).all());
    EXPECT_TRUE(K[1] == K[1].transpose());
    EXPECT_TRUE(K[3] == K[3].transpose());
  }
}

TEST(Precomputed, RejectsBadMatrices) {
  const Dataset data = make_data();  // 60 rows
  const Matrix good = Matrix::Identity(60, 60);
  const auto error = [&](const Matrix& P, const std::string& kernel = "precomputed:p") {
    return gram_error(data, kernel, "cosine", {{"p", P}});
  };
  EXPECT_EQ(error(good), "no error");
  EXPECT_EQ(error(good, "precomputed:q"),
            "kernel 'precomputed:q': the matrix of file 'q' was not read. Give the file along with "
            "the data.");
  EXPECT_EQ(error(Matrix::Identity(60, 59)),
            "kernel 'precomputed:p': the matrix is 60 x 59, but the data have 60 rows. Give a "
            "matrix of 60 x 60, in the order of the rows.");
  Matrix bad = good;
  bad(1, 3) = 1e-7;
  EXPECT_EQ(error(bad),
            "kernel 'precomputed:p': the matrix is not symmetric: row 2 column 4 is 1e-07, row 4 "
            "column 2 is 0. Give a symmetric matrix.");
  bad = good;
  bad(1, 3) = NAN;
  EXPECT_EQ(error(bad),
            "kernel 'precomputed:p': the matrix holds a value that is not a finite number. Correct "
            "the file.");
  bad = good;
  bad(0, 2) = bad(2, 0) = 2;  // eigenvalues 1 - 2 and 1 + 2; rows 1 and 3 are in t1
  EXPECT_EQ(error(bad),
            "kernel 'precomputed:p' is not positive semidefinite on task 't1': its eigenvalues run "
            "from -1 to 3. Add a multiple of the identity to the matrix, or use another kernel.");
  bad = good;
  bad(2, 2) = 0;
  EXPECT_EQ(error(bad),
            "kernel 'precomputed:p': the diagonal of row 3 (task 't1') is 0, which cannot be "
            "normalised to 1. Use 'precomputed:p:raw' or `normalise` none, or remove the row.");
  EXPECT_EQ(error(bad, "precomputed:p:raw"), "no error");
}

TEST(CrossGram, FollowsTheDefinition) {
  const Dataset data = make_data(12);
  for (const double shift : {0.0, 1e4}) {
    const Matrix A = data.X.topRows(13).array() + shift;
    Matrix B = data.X.bottomRows(21).array() + shift;
    B.row(5) = A.row(2);
    for (const Kernel& kernel : prepare_kernels(kEverything, {}, data.features)) {
      SCOPED_TRACE(to_string(kernel));
      const Matrix K = cross_gram(kernel, A, B);
      ASSERT_EQ(K.rows(), 13);
      ASSERT_EQ(K.cols(), 21);
      for (Index i = 0; i < K.rows(); ++i)
        for (Index j = 0; j < K.cols(); ++j) {
          const double expected = kernel_value(kernel, A.row(i), B.row(j));
          EXPECT_NEAR(K(i, j), expected, kRounding * std::max(1.0, std::abs(expected)));
        }
      EXPECT_EQ(cross_gram(kernel, A.topRows(0), B).size(), 0);
      EXPECT_EQ(cross_gram(kernel, A, B.topRows(0)).size(), 0);
    }
  }
}

TEST(CrossGram, RejectsWhatHasNoValue) {
  const auto error = [](const char* kernel, const Matrix& A, const Matrix& B) {
    return message_of([&] { cross_gram(parse_kernels(kernel)[0], A, B); });
  };
  const Matrix one = Matrix::Ones(2, 3);
  Matrix zero = one;
  zero.row(1).setZero();
  const std::string tail =
      " is a zero vector, which kernel 'linear' cannot normalise. Use 'linear:raw' or `normalise` "
      "none, remove the row, or shift the data with `scale` standard.";
  EXPECT_EQ(error("linear", zero, one), "row 2 of the first samples" + tail);
  EXPECT_EQ(error("linear", one, zero), "row 2 of the second samples" + tail);
  EXPECT_EQ(error("linear:raw", zero, one), "no error");
  EXPECT_EQ(
      error("chi2", one, -one),
      "row 1 of the second samples has the feature value -1, but kernel 'chi2' needs values of "
      "at least 0. Use `scale` minmax, or another kernel.");
  EXPECT_EQ(
      error("gauss:1", one, Matrix::Ones(2, 4)),
      "kernel 'gauss:1' cannot compare samples of 3 and 4 columns. Give data with the columns "
      "that the model was trained on.");
  EXPECT_EQ(
      error("precomputed:p", one, one),
      "kernel 'precomputed:p' has values only for the rows of its file, so new samples cannot "
      "be predicted. Train with kernels of the features.");
  EXPECT_EQ(
      error("poly:3:raw", 1e120 * one, one),
      "kernel 'poly:3:raw' is too large for a number on these samples. Use `scale` standard or "
      "a lower degree.");
}

TEST(Decay, DependsOnTheValueAlone) {
  Random random(13);
  Vector x(200);
  for (double& value : x) value = random.uniform(0, 50);
  Vector all = x;
  decay(x.data(), x.size(), 0.3, all.data());
  for (Index i = 0; i < x.size(); ++i) {
    double alone = 0;
    decay(&x[i], 1, 0.3, &alone);
    EXPECT_EQ(all[i], alone);
    EXPECT_NEAR(all[i], std::exp(-0.3 * x[i]), 1e-15);
  }
}

// docs/maths.md (41), against long double: data near and far from the origin, near duplicates, chains of widths.
TEST(Gram, RoundingOfValuesIsWithinItsBound) {
  Random random(11);
  double closest = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const double scale = std::pow(10, random.uniform(-3, 3));
    const double shift = trial % 2 ? 0 : 100 * random.uniform();
    Dataset data;
    data.X.resize(24, 3);
    for (Index i = 0; i < 24; ++i)
      for (Index j = 0; j < 3; ++j) data.X(i, j) = scale * (shift + std::abs(random.normal()));
    for (Index i = 1; i < 8; ++i)
      data.X.row(i) = data.X.row(0) * (1 + std::pow(10, -2.0 * static_cast<double>(i)));
    data.features = {"f1", "f2", "f3"};
    Task task{{"t", "-1", "1", ""}, {}, Vector::Ones(24)};
    for (Index i = 0; i < 24; ++i) task.rows.push_back(i);
    data.tasks = {task};
    const std::string s = fmt::format("{}", scale);
    std::string list = "linear linear:raw poly:3:1 poly:5:raw chi2";
    for (const int power : {1, 2, 4, 8, 16, 32, 64, 128})
      list += fmt::format(" gauss:{0} laplace:{0} cauchy:{0}", scale * power / 16);
    const std::vector<Kernel> kernels = prepare_kernels(list, {}, data.features);
    const Grams grams = compute_grams(data, kernels, {}, {}, 1);
    const ExactKernels exact(data.X, kernels, {});
    for (Index m = 0; m < std::ssize(kernels); ++m) {
      const Matrix K = grams.tasks[0].kernel(m);
      const double u = std::numeric_limits<double>::epsilon() / 2;
      for (Index i = 0; i < 24; ++i)
        for (Index j = 0; j < 24; ++j) {
          const double off = std::abs(static_cast<double>(K(i, j) - exact.value(m, i, j)));
          const double size =
              std::sqrt(static_cast<double>(exact.value(m, i, i) * exact.value(m, j, j)));
          const double allowed = grams.tasks[0].powers().term(m).roundings * u * size;
          EXPECT_LE(off, allowed) << to_string(kernels[static_cast<std::size_t>(m)]);
          closest = std::max(closest, off / allowed);
        }
    }
  }
  EXPECT_GT(closest, 0.01);  // the bound is not so loose that it says nothing
}

TEST(Parted, ValuesBetweenPartsAreWeaker) {
  const Dataset data = make_data(9, 60);
  const TaskGrams whole = grams_of(data, "linear poly:2 gauss:1,2,4").tasks[2];
  const Index n = whole.n();
  ASSERT_GT(n, 100);  // more than are fetched together
  std::vector<Index> part;
  for (Index i = 0; i < n; ++i) part.push_back(i * i % 5);
  const double across = 0.3;
  const TaskGrams parted = whole.parted(part, across);
  EXPECT_FALSE(whole.parted(part, 1).is_parted());
  const Vector theta = Vector::LinSpaced(5, 0.1, 0.3);
  const Matrix K = whole.mixed(theta), weaker = parted.mixed(theta);
  EXPECT_EQ(weaker.diagonal(), K.diagonal());
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      const bool same = part[static_cast<std::size_t>(i)] == part[static_cast<std::size_t>(j)];
      EXPECT_EQ(weaker(i, j), (same ? 1 : across) * K(i, j));
    }
  EXPECT_EQ(parted.largest_values(), whole.largest_values());
  EXPECT_EQ(parted.roundings(1), whole.roundings(1) + 1);

  std::vector<Index> some, rows;
  for (Index i = n - 1; i > 0; i -= 3) some.push_back(i);
  for (Index i = 0; i < n; ++i) rows.push_back(i);
  const TaskGrams sliced = slice(parted, some);
  EXPECT_TRUE(sliced.is_parted());
  EXPECT_EQ(sliced.mixed(theta), Matrix(weaker(some, some)));
  const Vector beta = Vector::LinSpaced(std::ssize(some), -1, 1);
  const Vector f = cross_decisions(parted, rows, some, theta, beta);
  EXPECT_LE((f - weaker(rows, some) * beta).cwiseAbs().maxCoeff(), 1e-12);
}

}  // namespace
}  // namespace coterie
