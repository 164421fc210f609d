// What surrounds the solver: settings, predictions, and the checker, which must notice every false proof.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "coterie/math/message_of.hpp"
#include "coterie/math/random.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify.hpp"

namespace coterie {
namespace {

KernelExpansion& expansion(Model& model, std::size_t t) {
  return std::get<KernelExpansion>(model.tasks[t].function);
}

constexpr double infinity = std::numeric_limits<double>::infinity();
const std::string of_lambda =
    "a number >= 0, 'inf' (one kernel for all tasks), or a share of lambda_max such as '0.1max'.";

TEST(Settings, EveryValueThatBreaksItsRuleIsNamedWithIt) {
  const auto with = [](const std::function<void(Settings&)>& change) {
    Settings settings;
    change(settings);
    return message_of([&] { validate(settings); });
  };
  EXPECT_EQ(with([](Settings& s) { s.C = 0; }), "`C` is '0'; it must be a number > 0.");
  EXPECT_EQ(with([](Settings& s) { s.norm = 0.5; }),
            "`norm` is '0.5'; it must be a number >= 1, or inf.");
  EXPECT_EQ(with([](Settings& s) { s.tolerance = -1; }),
            "`tolerance` is '-1'; it must be a number > 0.");
  EXPECT_EQ(with([](Settings& s) { s.max_steps = 0; }),
            "`max_steps` is '0'; it must be a whole number >= 1.");
  EXPECT_EQ(with([](Settings& s) { s.lambda = -1; }), "`lambda` is '-1'; it must be " + of_lambda);
  EXPECT_EQ(with([](Settings& s) { s.lambda = Lambda::share(infinity); }),
            "`lambda` is 'infmax'; it must be " + of_lambda);
  EXPECT_EQ(with([](Settings& s) { s.kernels = {}; }),
            "`kernels` is ''; it must be a list such as 'linear poly:2 gauss:1,2,4@f1-f8', or "
            "'paper'.");
  EXPECT_EQ(with([](Settings& s) { s.normalise = Normalisation::tail(0); }),
            "`normalise` is 'tail:0'; it must be 'cosine', 'variance', 'tail:h' with h >= 1, or "
            "'none'.");
  EXPECT_EQ(with([](Settings& s) { s.map = Mapping::kernels(0); }),
            "`map` is 'kernels:0'; it must be 'none', or 'kernels[:rank]' with a whole rank >= 1, "
            "300 unless given.");
  EXPECT_EQ(with([](Settings&) {}), "no error");
}

// Reads one field of settings, as the program does.
void read_setting(Settings& settings, std::string_view field, std::string_view text) {
  visit_fields(settings,
               [&](std::string_view name, auto& value, std::string_view, std::string_view rule) {
                 if (name == field) read_field(name, text, rule, value);
               });
}

TEST(Settings, TextThatBreaksARuleIsNamedWithIt) {
  const auto message = [](std::string_view field, std::string_view text) {
    Settings settings;
    return message_of([&] { read_setting(settings, field, text); });
  };
  EXPECT_EQ(message("C", "two"), "`C` is 'two'; it must be a number > 0.");
  EXPECT_EQ(message("C", "nan"), "`C` is 'nan'; it must be a number > 0.");
  EXPECT_EQ(message("scale", "big"),
            "`scale` is 'big'; it must be 'none', 'standard' or 'minmax'.");
  EXPECT_EQ(message("class-weight", "x"),
            "`class_weight` is 'x'; it must be 'none' or 'balanced'.");
  EXPECT_EQ(message("solver", "magic"),
            "`solver` is 'magic'; it must be 'newton', or 'published' (the paper's, which does not "
            "converge).");
  EXPECT_EQ(message("max-steps", "2.5"), "`max_steps` is '2.5'; it must be a whole number >= 1.");
  EXPECT_EQ(message("loss", "hinge"),
            "`loss` is 'hinge'; it must be 'squared-hinge', 'logistic' or 'square'.");
  for (const char* const bad : {"-1", "x", "0.1mx", "nan", "", "1e999", "-0.1max", "infmax"})
    EXPECT_EQ(message("lambda", bad),
              "`lambda` is '" + std::string(bad) + "'; it must be " + of_lambda);
  for (const char* const bad : {"", "tail", "tail:", "tail:0", "tail:2.5", "Cosine"})
    EXPECT_EQ(message("normalise", bad),
              "`normalise` is '" + std::string(bad) +
                  "'; it must be 'cosine', 'variance', 'tail:h' with h >= 1, or 'none'.");
  for (const char* const bad : {"", "kernels:", "kernels:x", "kernels:0", "kernels:-1", "mapped"})
    EXPECT_EQ(message("map", bad),
              "`map` is '" + std::string(bad) +
                  "'; it must be 'none', or 'kernels[:rank]' with a whole rank >= 1, 300 unless "
                  "given.");
  EXPECT_NE(message("kernels", "quartic").find("there is no kernel 'quartic'"), std::string::npos);
  EXPECT_NE(message("method", "magic").find("'magic'"), std::string::npos);
}

TEST(Settings, AnErrorKnowsFieldValueAndRule) {
  Settings settings;
  try {
    read_setting(settings, "class-weight", "x");
    ADD_FAILURE() << "no error";
  } catch (const SettingError& error) {
    EXPECT_EQ(error.field, "class_weight");
    EXPECT_EQ(error.value, "x");
    EXPECT_EQ(error.rule, "'none' or 'balanced'");
  }
  settings.norm = 0.5;
  try {
    validate(settings);
    ADD_FAILURE() << "no error";
  } catch (const SettingError& error) {
    EXPECT_EQ(error.field, "norm");
    EXPECT_EQ(error.value, "0.5");
    EXPECT_EQ(error.rule, "a number >= 1, or inf");
  }
}

// Settings whose fields are read from the text of those given; a field without text stays as it is.
Settings through_text(const Settings& settings) {
  Settings copy;
  visit_fields(settings,
               [&](std::string_view name, const auto& value, std::string_view, std::string_view) {
                 if (!text_of(value).empty()) read_setting(copy, name, text_of(value));
               });
  return copy;
}

TEST(Settings, TextGivesEveryValueBack) {
  const auto expect_back = [](auto Settings::*member, const auto& values) {
    for (const auto& value : values) {
      Settings settings;
      settings.*member = value;
      EXPECT_EQ(through_text(settings), settings) << text_of(settings.*member);
    }
  };
  for (const auto number : {&Settings::C, &Settings::norm, &Settings::tolerance})
    expect_back(number, std::vector<double>{0.1, 1.0 / 3, 1e-300, 1e22, infinity});
  expect_back(&Settings::lambda,
              std::vector<Lambda>{0, 0.1, 1.0 / 3, 1e-300, 1e22, Lambda::infinite(),
                                  Lambda::share(0), Lambda::share(1.0 / 3), Lambda::share(1)});
  expect_back(&Settings::kernels,
              std::vector<Kernels>{paper_kernels(),
                                   linear(),
                                   gauss({1.0 / 3, 2}).on("f1-f8").raw(),
                                   {poly(2, 0.5), precomputed("a.csv"), chi2()}});
  expect_back(&Settings::normalise,
              std::vector{Normalisation::cosine(), Normalisation::variance(),
                          Normalisation::tail(1), Normalisation::tail(8), Normalisation::none()});
  expect_back(&Settings::scale, std::vector<std::optional<Scale>>{std::nullopt, Scale::none,
                                                                  Scale::standard, Scale::minmax});
  expect_back(&Settings::class_weight, std::vector{ClassWeight::none, ClassWeight::balanced});
  expect_back(&Settings::solver, std::vector{Solver::newton, Solver::published});
  expect_back(&Settings::max_steps, std::vector<Index>{1, 1'000'000'000'000});
  expect_back(&Settings::method, std::vector<MethodRef>(methods().begin(), methods().end()));
  expect_back(
      &Settings::parameters,
      std::vector<Parameters>{{}, {{"lambda", 1.0 / 3}}, {{"clusters", 3}, {"lambda", 1e-300}}});
  expect_back(&Settings::loss, std::vector{Loss::squared_hinge, Loss::logistic, Loss::square});
  expect_back(&Settings::map,
              std::vector{Mapping::none(), Mapping::kernels(), Mapping::kernels(20)});
}

TEST(Settings, LambdaIsANumberOrAShareOfItsLargest) {
  EXPECT_EQ(Lambda("2.5"), Lambda(2.5));
  EXPECT_FALSE(Lambda("2.5").relative);
  EXPECT_EQ(Lambda("inf"), Lambda::infinite());
  EXPECT_TRUE(std::isinf(Lambda("inf").value));
  EXPECT_TRUE(Lambda("0.1max").relative);
  EXPECT_EQ(Lambda("0.1max"), Lambda::share(0.1));
  EXPECT_EQ(Lambda("max"), Lambda::share(1));
  EXPECT_THROW(Lambda("much"), SettingError);
}

TEST(Train, RejectsACostForAnUnknownTask) {
  const RandomProblem problem = random_problem(1, Oddity::none);
  Extras extras;
  extras.task_C = {{"nobody", 2}};
  EXPECT_NE(
      message_of([&] { prepare(problem.data, problem.settings, extras, 1); }).find("'nobody'"),
      std::string::npos);
  extras.task_C = {{"t1", -2}};
  EXPECT_NE(message_of([&] {
              prepare(problem.data, problem.settings, extras, 1);
            }).find("C must be a number > 0"),
            std::string::npos);
}

TEST(Train, CostsOfTasksAndClassesAreHonoured) {
  RandomProblem problem = random_problem(2, Oddity::none);
  problem.settings.class_weight = ClassWeight::balanced;
  problem.settings.C = 3;
  Extras extras;
  extras.task_C = {{"t1", 7}};
  const Prepared prepared = prepare(problem.data, problem.settings, extras, 1);
  for (std::size_t t = 0; t < prepared.set.y.size(); ++t) {
    const double C = t == 0 ? 7 : 3;
    const double n = static_cast<double>(prepared.set.y[t].size());
    double positive = 0;
    double negative = 0;
    for (Index i = 0; i < prepared.set.y[t].size(); ++i)
      (prepared.set.y[t][i] > 0 ? positive : negative) += prepared.set.C[t][i];
    EXPECT_NEAR(positive, C * n / 2, 1e-9 * C * n);  // both classes weigh the same
    EXPECT_NEAR(negative, C * n / 2, 1e-9 * C * n);
  }
}

// On its own training samples a model gives the decision values of the dual solution, from kernel_value and plain loops.
TEST(Predict, DecisionValuesFollowTheirDefinition) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    RandomProblem problem = random_problem(seed, Oddity::none);
    problem.settings.scale = seed % 2 ? Scale::standard : Scale::minmax;
    problem.settings.kernels = "gauss:1 gauss:0.5@f1-f2 linear:raw";
    problem.settings.normalise = seed % 3 ? Normalisation::cosine() : Normalisation::variance();
    const Prepared prepared = prepare(problem.data, problem.settings, {}, 1);
    const Fitted fitted = fit_prepared(prepared, problem.settings, 1);
    const Model model = make_model(prepared, problem.settings, fitted, "");
    for (std::size_t t = 0; t < model.tasks.size(); ++t) {
      const TaskModel& task = model.tasks[t];
      const Vector f =
          decision_values(model, static_cast<Index>(t),
                          problem.data.X.topRows(std::min<Index>(20, problem.data.X.rows())));
      for (Index i = 0; i < f.size(); ++i) {
        const Vector x = prepared.set.data.X.row(i);  // scaled
        double expected = task.bias;
        for (std::size_t m = 0; m < model.kernels.size(); ++m)
          for (std::size_t k = 0; k < task.expansion().support.size(); ++k)
            expected +=
                task.expansion().theta[static_cast<Index>(m)] /
                model.divisors[static_cast<Index>(m)] *
                task.expansion().alpha[static_cast<Index>(k)] *
                task.expansion().y[static_cast<Index>(k)] *
                kernel_value(model.kernels[m], x,
                             model.support_vectors.row(task.expansion().support[k]).transpose());
        EXPECT_NEAR(f[i], expected, 1e-9 * (1 + std::abs(expected)));
      }
    }
  }
}

TEST(Predict, VotesWithTiesBrokenByScores) {
  Model model;
  model.casting = Casting::one_vs_one;
  model.classes = {"a", "b", "c"};
  for (const auto& [negative, positive] :
       {std::pair{"a", "b"}, std::pair{"a", "c"}, std::pair{"b", "c"}}) {
    TaskModel task;
    task.negative = negative;
    task.positive = positive;
    model.tasks.push_back(task);
  }
  Matrix scores(3, 3);
  scores << -1, -1, 5,  // a beats b and c
      1, -0.5, 0.2,     // b, a, c one vote each; sums a -0.5, b 0.8, c -0.3
      1, 1, 1;          // c beats a and b
  EXPECT_EQ(vote(model, scores), (std::vector<Index>{0, 1, 2}));
  model.casting = Casting::one_vs_rest;
  for (std::size_t c = 0; c < 3; ++c) model.tasks[c].positive = model.classes[c];
  EXPECT_EQ(vote(model, scores), (std::vector<Index>{2, 0, 0}));
  model.classes.emplace_back("d");  // no task stands for it
  EXPECT_EQ(vote(model, -scores.array().abs().matrix()), (std::vector<Index>{0, 2, 0}));
}

class Checker : public ::testing::Test {
 protected:
  void SetUp() override {
    problem_ = random_problem(42, Oddity::none);
    problem_.settings.lambda = "0.2max";
    problem_.settings.C = 2;
    problem_.settings.norm = 1;
    problem_.settings.kernels = "gauss:1 gauss:3 linear";
    const Prepared prepared = prepare(problem_.data, problem_.settings, {}, 1);
    model_ =
        make_model(prepared, problem_.settings, fit_prepared(prepared, problem_.settings, 1), "");
    ASSERT_GE(model_.tasks.size(), 2U);
    ASSERT_TRUE(verify_training(model_, problem_.data).findings.empty());
  }

  void expect_noticed(const std::function<void(Model&)>& change, const std::string& text) const {
    Model changed = model_;
    change(changed);
    const Verification check = verify_training(changed, problem_.data);
    std::string all;
    for (const std::string& finding : check.findings) all.append(finding).append("; ");
    EXPECT_NE(all.find(text), std::string::npos) << "findings: " << all;
  }

  RandomProblem problem_;
  Model model_;
};

TEST_F(Checker, NoticesEveryFalseProof) {
  expect_noticed([](Model& m) { m.certificate().primal *= 1.001; }, "the objective is");
  expect_noticed([](Model& m) { m.certificate().dual -= 0.01; }, "the dual value is");
  expect_noticed([](Model& m) { expansion(m, 0).theta[0] += 0.1; }, "do not add up to 1");
  expect_noticed([](Model& m) { m.tasks[1].bias += 0.5; }, "the objective is");
  expect_noticed([](Model& m) { expansion(m, 0).alpha *= 2; }, "leaves its box");
  expect_noticed([](Model& m) { expansion(m, 0).alpha[0] *= 0.5; },
                 "y'alpha of task 't1' is not 0");
  expect_noticed([](Model& m) { expansion(m, 0).y = -expansion(m, 0).y; }, "has another label");
  expect_noticed([](Model& m) { m.support_vectors(0, 0) += 1e-9; }, "differs from its row");
  expect_noticed([](Model& m) { m.training_row[0] += 1; }, "another row of the data");
  expect_noticed([](Model& m) { m.certificate().nu *= 100; }, "leaves its ball");
  expect_noticed([](Model& m) { m.certificate().nu.setZero(); }, "the dual value is");
  expect_noticed([](Model& m) { m.settings.tolerance = 1e-14; }, "above the tolerance");
  expect_noticed([](Model& m) { m.divisors[0] = 2; },
                 "the divisor of kernel gauss:1 is 1, not 2 as stated");
  expect_noticed([](Model& m) { m.settings.lambda = 7; }, "not 7 as the settings say");
  expect_noticed([](Model& m) { m.settings.normalise = Normalisation::variance(); },
                 "the divisor of kernel");
  expect_noticed(
      [](Model& m) {
        m.groups() = {{}};
        for (std::size_t t = 0; t < m.tasks.size(); ++t)
          m.groups()[0].push_back(static_cast<Index>(t));
        expansion(m, 1).theta = Vector::Unit(3, 2);
        expansion(m, 0).theta = Vector::Unit(3, 1);
      },
      "a group are not equal");
}

TEST(CheckerOfPreparation, AgreesOnScalingAndDivisorsAndNoticesFalseOnes) {
  for (const Normalisation normalise : {Normalisation::variance(), Normalisation::tail(2)}) {
    for (const Scale scale : {Scale::standard, Scale::minmax}) {
      RandomProblem problem = random_problem(43, Oddity::none);
      problem.settings.kernels = "gauss:1 gauss:3 linear";
      problem.settings.normalise = normalise;
      problem.settings.scale = scale;
      problem.settings.lambda = "0.1max";
      const Prepared prepared = prepare(problem.data, problem.settings, {}, 1);
      Model model =
          make_model(prepared, problem.settings, fit_prepared(prepared, problem.settings, 1), "");
      for (const std::string& finding : verify_training(model, problem.data).findings)
        ADD_FAILURE() << finding;
      model.scaling.shift[0] += 0.01;
      EXPECT_NE(
          verify_training(model, problem.data).findings.at(0).find("the scaling of feature 'f1'"),
          std::string::npos);
    }
  }
}

// Features are averaged with those that the data says, under every scaling, and predictions follow.
TEST(CheckerOfPreparation, AgreesOnSmoothFeaturesAndNoticesFalseNeighbours) {
  for (const Scale scale : {Scale::none, Scale::standard}) {
    RandomProblem problem = random_problem(43, Oddity::none);
    const Index d = problem.data.X.cols();
    ASSERT_GE(d, 3);
    problem.settings.kernels = "gauss:1 gauss:3 linear";
    problem.settings.scale = scale;
    problem.settings.smooth = 2;
    problem.settings.lambda = "0.1max";
    const Prepared prepared = prepare(problem.data, problem.settings, {}, 1);
    Model model =
        make_model(prepared, problem.settings, fit_prepared(prepared, problem.settings, 1), "");
    for (const std::string& finding : verify_training(model, problem.data).findings)
      ADD_FAILURE() << finding;
    EXPECT_EQ(prepared.set.data.X, apply_scaling(model.scaling, problem.data.X));
    const auto finding_of = [&](std::vector<Index> neighbours) {
      Model forged = model;
      forged.scaling.neighbours = std::move(neighbours);
      const std::vector<std::string> findings = verify_training(forged, problem.data).findings;
      return findings.empty() ? "" : findings.front();
    };
    // Every other choice for the first feature is noticed: a farther one, itself instead of one, one instead of itself.
    for (Index other = 0; other < d; ++other) {
      std::vector<Index> neighbours = model.scaling.neighbours;
      if (other == neighbours[1]) continue;
      neighbours[1] = other;
      EXPECT_NE(finding_of(neighbours).find("that 'f1' is averaged with"), std::string::npos)
          << other;
    }
    std::vector<Index> swapped = model.scaling.neighbours;
    std::swap(swapped[0], swapped[1]);
    EXPECT_EQ(finding_of(swapped).empty(), swapped == model.scaling.neighbours);
    model.settings.smooth = 1;
    EXPECT_NE(verify_training(model, problem.data).findings.at(0).find("the mean of 2 features"),
              std::string::npos);
  }
}

TEST_F(Checker, RejectsOtherData) {
  Dataset fewer = problem_.data;
  fewer.tasks.pop_back();
  EXPECT_NE(
      message_of([&] { verify_training(model_, fewer); }).find("verify needs the training data"),
      std::string::npos);
  Dataset renamed = problem_.data;
  renamed.features[0] = "other";
  EXPECT_NE(message_of([&] { verify_training(model_, renamed); }).find("features of the data"),
            std::string::npos);
  Dataset moved = problem_.data;
  moved.X.array() += 0.25;
  EXPECT_FALSE(verify_training(model_, moved).findings.empty());
}

}  // namespace
}  // namespace coterie
