#include "coterie/page/page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "coterie/page/views.hpp"

namespace coterie {
namespace {

using page::Json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What stands in the block of data.
std::string block_of(const std::string& text) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find("</script>", from) - from);
}
Json data_of(const std::string& text) { return Json::parse(block_of(text)); }

// Tasks in two halves, which part at the middle of the path; then every task is alone, one after the other.
struct MadeUp {
  Dataset data;
  LambdaPath path;
  MergeTree tree;
  Settings settings;
  std::vector<std::string> kernels = {};

  MadeUp(Index tasks, Index points) {
    for (Index t = 0; t < tasks; ++t) {
      Task task;
      task.name = "task " + std::to_string(t);
      data.tasks.push_back(task);
    }
    path.lambda_max = 8;
    for (int m = 0; m < 10; ++m) kernels.push_back("gauss:" + std::to_string(m + 1));
    for (Index k = 0; k < points; ++k) {
      PathPoint point;
      point.lambda = k == 0 ? kInfinity : k + 1 == points ? 0 : 8 * std::pow(0.99, k);
      point.train_accuracy = 0.9;
      point.held_out_accuracy = k == points / 3 ? 0.8 : 0.7;
      Fit& fit = point.fit;
      fit.alpha.resize(static_cast<std::size_t>(tasks));
      fit.primal = 100;
      fit.dual = 99.9;
      fit.gap = 1e-3;
      const Index alone = std::max<Index>(0, tasks * (2 * k - points) / points);
      std::vector<std::vector<Index>> halves(2);
      for (Index t = 0; t < tasks; ++t) {
        if (t < alone)
          fit.groups.push_back({t});
        else
          halves[2 * k < points ? 0 : static_cast<std::size_t>(t % 2)].push_back(t);
      }
      for (const std::vector<Index>& half : halves)
        if (!half.empty()) fit.groups.push_back(half);
      fit.theta = Matrix::Zero(tasks, 10);
      double weight = 0.123456789;
      for (const std::vector<Index>& group : fit.groups) {
        for (const Index t : group) fit.theta.row(t).head(2) << weight, 1 - weight;
        weight = weight > 0.9 ? weight / 10 : weight + 0.0123456789;
      }
      path.points.push_back(std::move(point));
    }
    tree = merge_tree(path);
  }
  Json page(std::optional<std::size_t> chosen = {}) const {
    return data_of(as_page(PathPage{.title = "made up",
                                    .data = data,
                                    .settings = settings,
                                    .kernels = kernels,
                                    .path = path,
                                    .tree = tree,
                                    .chosen = chosen,
                                    .command = "coterie train x.csv"}));
  }
};

TEST(Page, SmallPathsAreKeptWhole) {
  const MadeUp made(6, 90);
  const Json data = made.page();
  ASSERT_EQ(data["points"].size(), 90U);
  for (std::size_t k = 0; k < 90; ++k) {
    const Json& point = data["points"][k];
    const Matrix& theta = made.path.points[k].fit.theta;
    for (std::size_t t = 0; t < 6; ++t)
      for (std::size_t m = 0; m < 10; ++m)
        EXPECT_EQ(point["weights"][point["row"][t].get<std::size_t>()][m].get<double>(),
                  theta(static_cast<Index>(t), static_cast<Index>(m)));
  }
  EXPECT_EQ(data["points"][0]["lambda"], "inf");
  EXPECT_EQ(data["best"], 30);
  EXPECT_TRUE(data["notes"].empty());
}

TEST(Page, LongPathsOfManyTasksAreThinned) {
  const MadeUp made(1000, 900);
  const Json data = made.page(123);
  const std::size_t kept = data["points"].size();
  EXPECT_EQ(kept, 120U);
  EXPECT_NE(data["notes"].dump().find("120 of the 900 points"), std::string::npos);
  // The ends, the best and the chosen point are there.
  EXPECT_EQ(data["points"][0]["lambda"], "inf");
  EXPECT_EQ(data["points"][kept - 1]["lambda"], 0);
  EXPECT_EQ(data["points"][data["best"].get<std::size_t>()]["lambda"],
            made.path.points[300].lambda);
  EXPECT_EQ(data["points"][data["chosen"].get<std::size_t>()]["lambda"],
            made.path.points[123].lambda);
  for (std::size_t k = 1; k < kept; ++k)
    EXPECT_LT(page::Json(data["points"][k]["lambda"]).get<double>(),
              k == 1 ? kInfinity : data["points"][k - 1]["lambda"].get<double>());
  // Every number of groups has its own lambda, though not its point.
  std::set<Index> numbers;
  for (const PathPoint& point : made.path.points) numbers.insert(std::ssize(point.fit.groups));
  ASSERT_EQ(data["by_groups"].size(), numbers.size());
  for (const Json& entry : data["by_groups"]) {
    const PathPoint& point = made.path.points[point_with_groups(made.path, entry[0].get<Index>())];
    EXPECT_EQ(entry[1], page::number(point.lambda));
    EXPECT_LT(entry[2].get<std::size_t>(), kept);
  }
}

TEST(Page, ManyWeightsHaveFourDecimals) {
  const MadeUp made(2000, 60);
  const Json data = made.page();
  EXPECT_EQ(data["points"].size(), 60U);
  bool rounded = false;
  for (const Json& point : data["points"])
    for (const Json& row : point["weights"]) {
      const double weight = row[0].get<double>();
      EXPECT_EQ(weight, page::rounded(weight, 4));
      rounded = true;
    }
  EXPECT_TRUE(rounded);
  EXPECT_NE(data["notes"].dump().find("four decimals"), std::string::npos);
  // Neighbours of the matrix are averaged: nine at a time.
  EXPECT_EQ(data["affinity"]["block"], 9);
  EXPECT_EQ(data["affinity"]["rows"].size(), 223U);
  const std::vector<Index> order = data["order"];
  double sum = 0;
  for (Index a = 9; a < 18; ++a)
    for (Index b = 0; b < 9; ++b)
      sum += made.tree.together(order[static_cast<std::size_t>(a)],
                                order[static_cast<std::size_t>(b)]);
  EXPECT_NEAR(data["affinity"]["rows"][1][0].get<double>(), sum / 81, 6e-5);
}

TEST(Page, TheMapKeepsDistancesInItsPlane) {
  const MadeUp made(6, 90);
  const Json map = made.page()["map"];
  const std::vector<double> first = map["axes"][0], second = map["axes"][1];
  EXPECT_NEAR(std::inner_product(first.begin(), first.end(), first.begin(), 0.0), 1, 1e-12);
  EXPECT_NEAR(std::inner_product(first.begin(), first.end(), second.begin(), 0.0), 0, 1e-12);
  // The weights lie on a line.
  EXPECT_NEAR(map["share_of_spread"][0].get<double>(), 1, 1e-9);
  EXPECT_NEAR(std::abs(first[0]), std::sqrt(0.5), 1e-9);
}

TEST(Page, CertificatesInWords) {
  Certificate proof;
  proof.primal = 12.5;
  proof.gap = 1e-5;
  proof.bound = 2e-5;
  EXPECT_EQ(page::certificate_sentence(proof),
            "Certified: the objective 12.5 is above the smallest possible by a share of at most "
            "3.0e-05, rounding errors included.");
  proof.claim = Claim::given_clusters;
  proof.status = Status::stopped;
  const std::string words = page::certificate_sentence(proof);
  EXPECT_NE(words.find("for these clusters"), std::string::npos);
  EXPECT_NE(words.find("ended short of its tolerance (status stopped)"), std::string::npos);
  proof.claim = Claim::stationary;
  EXPECT_NE(page::certificate_sentence(proof).find("the smallest there is may be lower"),
            std::string::npos);
  EXPECT_EQ(page::certificate_sentence(proof).find("Certified"), std::string::npos);
}

TEST(Page, NumbersAsJson) {
  EXPECT_EQ(page::number(kInfinity), "inf");
  EXPECT_EQ(page::number(-kInfinity), "-inf");
  EXPECT_TRUE(page::number(kNan).is_null());
  EXPECT_EQ(page::number(0.1).dump(), "0.1");
  EXPECT_EQ(page::rounded(0.123456, 4), 0.1235);
  EXPECT_TRUE(std::isinf(page::rounded(kInfinity, 4)));
}

TEST(Page, NothingEndsTheBlockOfData) {
  for (const std::string text : {"</script>", "<!--", "]]>", "a & b", "\xff\xfe",
                                 "<!--coterie-data-->", "<!--coterie-title-->"}) {
    const std::string page = page::document(text, {{"text", text}});
    EXPECT_EQ(block_of(page).find_first_of("<>&"), std::string::npos);
    const Json data = data_of(page);
    EXPECT_EQ(data["text"].get<std::string>(), text == "\xff\xfe" ? "\ufffd\ufffd" : text);
  }
}

}  // namespace
}  // namespace coterie
