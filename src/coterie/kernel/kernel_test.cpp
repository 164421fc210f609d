#include "coterie/kernel/kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "coterie/math/message_of.hpp"
#include "coterie/math/random.hpp"

namespace coterie {
namespace {

const BaseKernel* base(std::string_view name) {
  const BaseKernel* const found = find_base_kernel(name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> result;
  for (const Kernel& kernel : parse_kernels(text)) result.push_back(to_string(kernel));
  return result;
}

std::string parse_error(std::string_view text) {
  return message_of([&] { parse_kernels(text); });
}

std::vector<Index> columns_of(const std::string& block, const std::vector<std::string>& features) {
  std::vector<Kernel> kernels = parse_kernels("linear@" + block);
  resolve_columns(kernels, features);
  return kernels.at(0).columns;
}

using Names = std::vector<std::string>;

TEST(ParseKernels, ReadsEachKind) {
  EXPECT_EQ(parse_kernels("linear"), std::vector<Kernel>({{.base = base("linear")}}));
  EXPECT_EQ(parse_kernels("poly:3"), std::vector<Kernel>({{.base = base("poly"), .parameter = 3}}));
  EXPECT_EQ(parse_kernels("poly:2:0.5"),
            std::vector<Kernel>({{.base = base("poly"), .parameter = 2, .offset = 0.5}}));
  EXPECT_EQ(parse_kernels("gauss:1.5,2"),
            std::vector<Kernel>({{.base = base("gauss"), .parameter = 1.5},
                                 {.base = base("gauss"), .parameter = 2}}));
  EXPECT_EQ(parse_kernels("laplace:1e-3"),
            std::vector<Kernel>({{.base = base("laplace"), .parameter = 1e-3}}));
  EXPECT_EQ(parse_kernels("cauchy:2,4"),
            std::vector<Kernel>({{.base = base("cauchy"), .parameter = 2},
                                 {.base = base("cauchy"), .parameter = 4}}));
  EXPECT_EQ(parse_kernels("chi2:raw"), std::vector<Kernel>({{.base = base("chi2"), .raw = true}}));
  EXPECT_EQ(parse_kernels("precomputed:a.csv"),
            std::vector<Kernel>({{.base = base("precomputed"), .file = "a.csv"}}));
  EXPECT_EQ(parse_kernels("gauss:1,2:raw@f1-f8+f12"),
            std::vector<Kernel>(
                {{.base = base("gauss"), .parameter = 1, .raw = true, .block = "f1-f8+f12"},
                 {.base = base("gauss"), .parameter = 2, .raw = true, .block = "f1-f8+f12"}}));
  EXPECT_EQ(
      parse_kernels("poly:2:1:raw"),
      std::vector<Kernel>({{.base = base("poly"), .parameter = 2, .offset = 1, .raw = true}}));
}

TEST(ParseKernels, PaperStandsForTenKernels) {
  const Names paper = {"linear",  "poly:2",   "gauss:1",  "gauss:2",  "gauss:4",
                       "gauss:8", "gauss:16", "gauss:32", "gauss:64", "gauss:128"};
  EXPECT_EQ(names("paper"), paper);
  EXPECT_EQ(names("linear poly:2 gauss:1,2,4,8,16,32,64,128"), paper);
  Names more = paper;
  more.insert(more.begin(), "chi2");
  more.push_back("gauss:3");
  EXPECT_EQ(names("chi2 paper gauss:3"), more);
  EXPECT_EQ(names("paper:raw@a").at(9), "gauss:128:raw@a");
}

TEST(ParseKernels, SeparatesWords) {
  const Names expected = {"linear", "poly:2", "gauss:1", "gauss:2", "gauss:4"};
  for (const char* text :
       {"linear poly:2 gauss:1,2,4", "linear,poly:2,gauss:1,2,4", "linear;poly:2;gauss:1,2,4",
        " \tlinear,  poly:2 ;\n gauss:1,2,4;", "linear, poly:2, gauss:1,2,4"})
    EXPECT_EQ(names(text), expected) << text;
  // In a block, a comma before a letter ends the kernel as anywhere else.
  EXPECT_EQ(names("gauss:1@f1-f8,linear"), Names({"gauss:1@f1-f8", "linear"}));
}

TEST(ParseKernels, LetsAFileRunToTheNextSpace) {
  EXPECT_EQ(names("linear,precomputed:/a/b-c,d:e@f.csv;chi2"),
            Names({"linear", "precomputed:/a/b-c,d:e@f.csv", "chi2"}));
  const std::vector<Kernel> raw = parse_kernels("precomputed:C:/a.csv:raw chi2");
  EXPECT_EQ(raw.at(0).file, "C:/a.csv");
  EXPECT_TRUE(raw.at(0).raw);
  EXPECT_EQ(raw.size(), 2u);
}

TEST(ParseKernels, GivesBackItsOwnNames) {
  const char* const words[] = {"linear",
                               "linear:raw",
                               "linear@a-b+c",
                               "poly:2",
                               "poly:3:0.1:raw@x",
                               "gauss:0.1",
                               "gauss:1e-09",
                               "laplace:2.5",
                               "laplace:1e+20",
                               "chi2",
                               "chi2:raw@f1",
                               "precomputed:a/b.csv",
                               "precomputed:k:raw",
                               "cauchy:0.5@x"};
  for (const char* word : words) {
    ASSERT_EQ(names(word), Names({word}));
    const Kernel kernel = parse_kernels(word).at(0);
    EXPECT_EQ(parse_kernels(to_string(kernel)).at(0), kernel) << word;
  }
  EXPECT_EQ(names("poly:2:0"), Names({"poly:2"}));
  EXPECT_EQ(names("poly:2:-0"), Names({"poly:2"}));

  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const Kernel kernel = {.base = base(i % 2 ? "gauss" : "laplace"),
                           .parameter = std::exp(random.uniform(-200, 200))};
    EXPECT_EQ(parse_kernels(to_string(kernel)).at(0), kernel) << to_string(kernel);
  }
}

TEST(ParseKernels, RejectsBadWords) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"quartic", "kernel 'quartic': there is no kernel 'quartic'. "},
      {"linear Gauss:1",
       "kernel 'Gauss:1': there is no kernel 'Gauss'; did you mean gauss? Kernels "},
      {"gauss:1, 2",
       "kernel '2': there is no kernel '2'; lists of widths have no blanks in them, as in "
       "gauss:1,2. Kernels "},
      {":raw",
       "kernel ':raw': it belongs to a kernel, without a blank between, as in linear:raw. "},
      {"linear @f1",
       "kernel '@f1': it belongs to a kernel, without a blank between, as in linear@f1. "},
      {"rbf:1", "kernel 'rbf:1': there is no kernel 'rbf'; did you mean gauss? Kernels "},
      {"raw", "kernel 'raw': there is no kernel 'raw'. "},
      {"linear,", "kernel 'linear,': there is no kernel 'linear,'. "},
      {"linear:2", "kernel 'linear:2': 'linear' takes no parameter, but '2' follows it. "},
      {"chi2:", "kernel 'chi2:': 'chi2' takes no parameter, but '' follows it. "},
      {"linear:raw:raw",
       "kernel 'linear:raw:raw': 'linear' takes no parameter, but 'raw' follows it. "},
      {"paper:3", "kernel 'paper:3': 'paper' takes no parameter, but '3' follows it. "},
      {"poly", "kernel 'poly': 'poly' needs a degree, such as poly:2. "},
      {"poly:raw", "kernel 'poly:raw': 'poly' needs a degree, such as poly:2. "},
      {"poly:2:1:3",
       "kernel 'poly:2:1:3': 'poly' takes a degree and at most one offset, such as poly:2:1. "},
      {"poly:0", "kernel 'poly:0': the degree '0' is not a whole number from 1 to 1000. "},
      {"poly:-1", "kernel 'poly:-1': the degree '-1' is not a whole number from 1 to 1000. "},
      {"poly:2.5", "kernel 'poly:2.5': the degree '2.5' is not a whole number from 1 to 1000. "},
      {"poly:x", "kernel 'poly:x': the degree 'x' is not a whole number from 1 to 1000. "},
      {"poly:", "kernel 'poly:': the degree '' is not a whole number from 1 to 1000. "},
      {"poly:1e9", "kernel 'poly:1e9': the degree '1e9' is not a whole number from 1 to 1000. "},
      {"poly:nan", "kernel 'poly:nan': the degree 'nan' is not a whole number from 1 to 1000. "},
      {"poly:2:-1", "kernel 'poly:2:-1': the offset '-1' is not a number of at least 0. "},
      {"poly:2:inf", "kernel 'poly:2:inf': the offset 'inf' is not a number of at least 0. "},
      {"poly:2:", "kernel 'poly:2:': the offset '' is not a number of at least 0. "},
      {"gauss", "kernel 'gauss': 'gauss' needs one list of widths, such as gauss:1,2,4. "},
      {"laplace:1:2",
       "kernel 'laplace:1:2': 'laplace' needs one list of widths, such as laplace:1,2,4. "},
      {"gauss:0",
       "kernel 'gauss:0': the width '0' is not a positive number (from 1e-100 to 1e+100). "},
      {"gauss:1,-2", "kernel 'gauss:1,-2': the width '-2' is not a positive number"},
      {"gauss:nan", "kernel 'gauss:nan': the width 'nan' is not a positive number"},
      {"laplace:inf", "kernel 'laplace:inf': the width 'inf' is not a positive number"},
      {"gauss:1e999", "kernel 'gauss:1e999': the width '1e999' is not a positive number"},
      {"gauss:1e-200", "kernel 'gauss:1e-200': the width '1e-200' is not a positive number"},
      {"gauss:1,,2", "kernel 'gauss:1,,2': the width '' is not a positive number"},
      {"gauss:1,", "kernel 'gauss:1,': the width '' is not a positive number"},
      {"gauss:2x", "kernel 'gauss:2x': the width '2x' is not a positive number"},
      {"linear@", "kernel 'linear@': no columns follow '@'. "},
      {"precomputed", "kernel 'precomputed': no file follows; write precomputed:FILE. "},
      {"precomputed:", "kernel 'precomputed:': no file follows 'precomputed:'. "},
      {"precomputed::raw", "kernel 'precomputed::raw': no file follows 'precomputed:'. "},
      {"", "the list of kernels is empty. "},
      {" ; ", "the list of kernels is empty. "},
  };
  for (const Case& c : cases) {
    const std::string error = parse_error(c.text);
    EXPECT_TRUE(error.starts_with(c.message)) << error;
    EXPECT_NE(error.find("Kernels are linear, poly:degree[:offset], gauss:width,..., "
                         "laplace:width,..., chi2, cauchy:width,..., precomputed:FILE and paper;"),
              std::string::npos)
        << error;
  }
}

TEST(Kernels, PutTogetherAreThoseOfTheText) {
  EXPECT_EQ((Kernels{linear(), gauss({1, 2, 4}).on("f1-f8")}), Kernels("linear gauss:1,2,4@f1-f8"));
  EXPECT_EQ((Kernels{poly(2), poly(3, 0.5).raw(), laplace({0.5, 8}), chi2().on("f1+f3"),
                     precomputed("k.csv")}),
            Kernels("poly:2 poly:3:0.5:raw laplace:0.5,8 chi2@f1+f3 precomputed:k.csv"));
  EXPECT_EQ((Kernels{linear(), "cauchy:1,2"}), Kernels("linear cauchy:1 cauchy:2"));
  EXPECT_EQ((Kernels{linear(), chi2()}.on("f2").raw()), Kernels("linear:raw@f2 chi2:raw@f2"));
  EXPECT_EQ(paper_kernels(), Kernels("paper"));
  EXPECT_EQ((Kernels{paper_kernels(), chi2()}), Kernels("paper chi2"));
  EXPECT_EQ(Kernels{linear()}, linear());
  EXPECT_TRUE(Kernels().list().empty());
  EXPECT_NE(linear(), linear().raw());
}

TEST(Kernels, TextGivesThemBack) {
  for (const char* const text :
       {"linear", "paper", "linear gauss:1,2,4@f1-f8", "gauss:1,2:raw@f1 gauss:4",
        "gauss:1,2 laplace:1,2 gauss:4", "cauchy:1,2@f1", "poly:2 poly:3:0.5:raw@x chi2",
        "gauss:1e-09,0.1", "precomputed:a,b.csv precomputed:k:raw linear"}) {
    EXPECT_EQ(to_string(Kernels(text)), text);
    EXPECT_EQ(Kernels(to_string(Kernels(text))), Kernels(text)) << text;
  }
  EXPECT_EQ(to_string(Kernels("linear poly:2 gauss:1,2,4,8,16,32,64,128")), "paper");
  EXPECT_EQ(to_string(Kernels("gauss:1 gauss:2;linear, gauss:4")), "gauss:1,2 linear gauss:4");
  EXPECT_EQ(to_string(Kernels("linear@a,;chi2")), "linear@a,;chi2");
  EXPECT_EQ(to_string(Kernels()), "");

  // Of any kernels in any order.
  const char* const words[] = {"linear",      "linear@a-b+c", "poly:2",     "poly:2:1:raw",
                               "gauss:1",     "gauss:0.3",    "gauss:1@a",  "gauss:2@a",
                               "gauss:2:raw", "laplace:1",    "laplace:64", "chi2",
                               "chi2:raw",    "precomputed:k"};
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> order(std::begin(words), std::end(words));
    random.shuffle(order);
    order.resize(1 + static_cast<std::size_t>(random.below(std::ssize(order))));
    std::string text;
    for (const std::string& word : order) text.append(word).append(" ");
    EXPECT_EQ(Kernels(to_string(Kernels(text))), Kernels(text)) << text;
  }
}

TEST(Kernels, RejectWhatNoTextSays) {
  const auto starts = [](const auto& call, const std::string& text) {
    const std::string error = message_of(call);
    EXPECT_TRUE(error.starts_with(text)) << error;
  };
  const std::string other = "': as text this means other kernels. ";
  for (const char* const block : {"petal length", "f1;f2", "f1,f2", " f1", "f1\n"})
    starts([&] { linear().on(block); }, std::string("kernel 'linear@") + block + other);
  for (const char* const file : {"my matrix.csv", "a;b", "k:raw", "k.csv\t"})
    starts([&] { precomputed(file); }, std::string("kernel 'precomputed:") + file + other);
  starts([] { precomputed(""); }, "kernel 'precomputed:': no file follows 'precomputed:'. ");
  starts([] { precomputed("k").on("f1"); }, "kernel 'precomputed:k@f1" + other);
  starts([] { gauss({1, 0}); }, "kernel 'gauss:0': the width '0' is not a positive number");
  starts([] { laplace({NAN}); }, "kernel 'laplace:nan': the width 'nan' is not a positive number");
  starts([] { poly(0); }, "kernel 'poly:0': the degree '0' is not a whole number");
  starts([] { poly(2, -1); }, "kernel 'poly:2:-1': the offset '-1' is not a number of at least 0");
  starts([] { return Kernels{linear(), chi2(), linear()}; }, "kernel 'linear' is listed twice");
}

TEST(ParseKernels, RejectsAKernelListedTwice) {
  const std::string tail =
      " is listed twice; the weights of two equal kernels have no meaning. Remove one of them.";
  EXPECT_EQ(parse_error("linear chi2 linear"), "kernel 'linear'" + tail);
  EXPECT_EQ(parse_error("gauss:1,2,1.0"), "kernel 'gauss:1'" + tail);
  EXPECT_EQ(parse_error("paper poly:2:0"), "kernel 'poly:2'" + tail);
  EXPECT_EQ(parse_error("linear linear:raw linear@a"), "no error");
}

TEST(ResolveColumns, ReadsNamesAndRanges) {
  const Names features = {"f1", "f2", "f3", "x-y", "f2-f3", "c++", "f4"};
  using Columns = std::vector<Index>;
  EXPECT_EQ(columns_of("f2", features), Columns({1}));
  EXPECT_EQ(columns_of("f1-f3", features), Columns({0, 1, 2}));
  EXPECT_EQ(columns_of("f1-f1", features), Columns({0}));
  EXPECT_EQ(columns_of("f4+f1-f2", features), Columns({6, 0, 1}));
  EXPECT_EQ(columns_of("x-y", features), Columns({3}));        // a column as a whole
  EXPECT_EQ(columns_of("f2-f3", features), Columns({4}));      // so even if it reads as a range
  EXPECT_EQ(columns_of("f3-x-y", features), Columns({2, 3}));  // ranges to and from such columns
  EXPECT_EQ(columns_of("x-y-f2-f3", features), Columns({3, 4}));
  EXPECT_EQ(columns_of("c++", features), Columns({5}));

  std::vector<Kernel> kernels = parse_kernels("linear");
  kernels[0].columns = {3};
  resolve_columns(kernels, features);
  EXPECT_TRUE(kernels[0].columns.empty());  // no block: all columns
}

TEST(ResolveColumns, TakesNumbers) {
  const Names features = {"a b", "#3", "c;d"};
  EXPECT_EQ(columns_of("#1", features), std::vector<Index>({0}));
  EXPECT_EQ(columns_of("#1-#2", features), std::vector<Index>({0, 1}));
  EXPECT_EQ(columns_of("#3", features), std::vector<Index>({1}));  // a name before a number
  for (const char* block : {"#0", "#4", "#", "#01", "#1x", "#-1"})
    EXPECT_NE(message_of([&] { columns_of(block, features); }), "no error") << block;
}

std::vector<Kernel> expanded(const std::string& list, const Names& features,
                             const std::vector<bool>& left_out = {}) {
  return expand_each(parse_kernels(list), features, left_out);
}

TEST(ExpandEach, MakesAKernelPerColumnAndWidth) {
  const std::vector<Kernel> kernels = expanded("linear gauss:0.5,1@each", {"a", "b", "c"});
  Names found;
  for (const Kernel& kernel : kernels) found.push_back(to_string(kernel));
  EXPECT_EQ(found, Names({"linear", "gauss:0.5@a", "gauss:0.5@b", "gauss:0.5@c", "gauss:1@a",
                          "gauss:1@b", "gauss:1@c"}));
  EXPECT_EQ(expanded("poly:2:1:raw@each", {"a", "b", "c"}, {false, true, false}),
            parse_kernels("poly:2:1:raw@a poly:2:1:raw@c"));
  EXPECT_EQ(Kernels(parse_kernels("gauss:0.5,1@each")), gauss({0.5, 1}).on_each());
  EXPECT_EQ(to_string(gauss({0.5, 1}).on_each()), "gauss:0.5,1@each");
  for (const char* text : {"paper gauss:0.5,1@each", "chi2 paper gauss:256", "gauss:0.5 paper"})
    EXPECT_EQ(to_string(Kernels(text)), text);
}

// Every name leads back to the one column it was made for, whatever the columns are called.
TEST(ExpandEach, NamesReadBackAsTheirColumn) {
  const Names features = {"x", "a b", "c;d", "e,f", "g,1", "h-i", "x-h", "+", "", "j@k", "x:raw"};
  std::vector<Kernel> kernels = expanded("gauss:2@each", features);
  ASSERT_EQ(kernels.size(), features.size());
  EXPECT_EQ(to_string(kernels[0]), "gauss:2@x");
  EXPECT_EQ(to_string(kernels[1]), "gauss:2@#2");
  for (std::size_t j = 0; j < kernels.size(); ++j) {
    std::vector<Kernel> read = parse_kernels(to_string(kernels[j]));
    ASSERT_EQ(read.size(), 1u) << features[j];
    resolve_columns(read, features);
    EXPECT_EQ(read[0].columns, std::vector<Index>({static_cast<Index>(j)})) << features[j];
  }
}

TEST(ExpandEach, RejectsClashes) {
  const auto error = [](const std::string& list, const Names& features,
                        const std::vector<bool>& left_out = {}) {
    return message_of([&] { expanded(list, features, left_out); });
  };
  EXPECT_EQ(error("linear@each", {"a", "each"}),
            "kernel 'linear@each' can be read in two ways, because a column is called 'each'. "
            "Rename the column, or write '@each-each' for it alone.");
  EXPECT_EQ(columns_of("each-each", {"a", "each"}), std::vector<Index>({1}));
  EXPECT_EQ(error("gauss:1@b gauss:1@each", {"a", "b"}),
            "kernel 'gauss:1@b' is listed twice; the weights of two equal kernels have no meaning. "
            "Remove one of them.");
  EXPECT_EQ(error("linear@each", {"a"}, {true}),
            "kernel 'linear@each' has no column: all are constant in the data.");
  EXPECT_EQ(error("linear@each", {"#2", "a b"}),
            "'@each': column number 2 has no name of its own: 'a b' cannot be written in a list of "
            "kernels, and another column is called '#2'. Rename one of them.");
}

TEST(ResolveColumns, ScoresAreBlocksOfTheirOwn) {
  std::vector<Kernel> kernels =
      parse_kernels("linear gauss:1@others linear:raw@pooled poly:2@b+others gauss:2@a");
  EXPECT_EQ(score_blocks(kernels, {"a", "b"}), (std::vector<std::string>{"pooled", "others"}));
  resolve_columns(kernels, {"a", "b", "@pooled", "@others:x", "@others:y:z"});
  EXPECT_EQ(kernels[0].columns, (std::vector<Index>{0, 1}));  // of the data alone
  EXPECT_EQ(kernels[1].columns, (std::vector<Index>{3, 4}));
  EXPECT_EQ(kernels[2].columns, (std::vector<Index>{2}));
  EXPECT_EQ(kernels[3].columns, (std::vector<Index>{1, 3, 4}));
  EXPECT_EQ(kernels[4].columns, (std::vector<Index>{0}));
  // A column of that name hides the block.
  EXPECT_TRUE(score_blocks({kernels[2]}, {"a", "pooled"}).empty());
  resolve_columns(kernels, {"a", "b", "others", "pooled"});
  EXPECT_TRUE(kernels[0].columns.empty());
  EXPECT_EQ(kernels[1].columns, (std::vector<Index>{2}));
}

TEST(ResolveColumns, RejectsBadBlocks) {
  const Names few = {"a", "b", "c"};
  const auto error = [](const std::string& block, const Names& features) {
    return message_of([&] { columns_of(block, features); });
  };
  EXPECT_EQ(error("a-d", few),
            "kernel 'linear@a-d': 'a-d' is neither a column nor a range first-last of columns. The "
            "columns are a, b, c.");
  EXPECT_EQ(error("a+", few),
            "kernel 'linear@a+': '' is neither a column nor a range first-last of columns. The "
            "columns are a, b, c.");
  EXPECT_EQ(error("a:raw", few),
            "kernel 'linear@a:raw': 'a:raw' is neither a column nor a range first-last of columns. "
            "The columns are a, b, c. Write ':raw' before '@'.");
  EXPECT_EQ(error("z", {"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"}),
            "kernel 'linear@z': 'z' is neither a column nor a range first-last of columns. The 8 "
            "columns are f1, f2, f3, f4, f5, ..., f8.");
  EXPECT_EQ(error("z", {}),
            "kernel 'linear@z': 'z' is neither a column nor a range first-last of columns. The "
            "data have no named columns.");
  EXPECT_EQ(error("c-a", few),
            "kernel 'linear@c-a': the range 'c-a' runs backwards; its first column is number 3 in "
            "the data, its last number 1. Swap the two.");
  EXPECT_EQ(error("a-b+b", few),
            "kernel 'linear@a-b+b': column 'b' is listed twice. Name each column once.");
  EXPECT_EQ(
      error("a-b-c", {"a", "a-b", "b-c", "c"}),
      "kernel 'linear@a-b-c': the range 'a-b-c' can be read in two ways, because column names "
      "contain '-'. List its columns one by one, joined by '+'.");
}

double value(std::string_view word, const std::vector<double>& x, const std::vector<double>& z) {
  return kernel_value(parse_kernels(word).at(0), Eigen::Map<const Vector>(x.data(), std::ssize(x)),
                      Eigen::Map<const Vector>(z.data(), std::ssize(z)));
}

TEST(KernelValue, FollowsTheDefinition) {
  const std::vector<double> x = {3, 4};
  const std::vector<double> z = {1, 0};
  const double rounding = 1e-15;
  // x'z = 3, |x| = 5, |z| = 1, |x - z|^2 = 4 + 16, |x - z|_1 = 2 + 4
  EXPECT_NEAR(value("linear:raw", x, z), 3, rounding);
  EXPECT_NEAR(value("linear", x, z), 3.0 / 5, rounding);
  EXPECT_NEAR(value("poly:2:raw", x, z), 9, rounding);
  EXPECT_NEAR(value("poly:2", x, z), 9.0 / 25, rounding);
  EXPECT_NEAR(value("poly:3:1:raw", x, z), 64, 64 * rounding);
  EXPECT_NEAR(value("poly:1:2", x, z), 5 / std::sqrt(27.0 * 3), rounding);
  EXPECT_NEAR(value("gauss:2", x, z), std::exp(-20.0 / 8), rounding);
  EXPECT_NEAR(value("gauss:2:raw", x, z), std::exp(-20.0 / 8), rounding);
  EXPECT_NEAR(value("laplace:3", x, z), std::exp(-6.0 / 3), rounding);
  EXPECT_NEAR(value("cauchy:2", x, z), 1 / (1 + 20.0 / 4), rounding);
  // chi2: 2*3*1/4 + 0; k(x,x) = 3 + 4, k(z,z) = 1
  EXPECT_NEAR(value("chi2:raw", x, z), 1.5, rounding);
  EXPECT_NEAR(value("chi2", x, z), 1.5 / std::sqrt(7), rounding);
  EXPECT_NEAR(value("chi2:raw", {0, 1}, {0, 1}), 1, rounding);  // 0 / 0 counts as 0

  std::vector<Kernel> block = parse_kernels("linear:raw@b");
  resolve_columns(block, {"a", "b", "c"});
  EXPECT_EQ(kernel_value(block[0], Eigen::Vector3d(1, 2, 3), Eigen::Vector3d(4, 5, 6)), 10);
}

// The power comes last, so that neither 25^1000 nor its inverse is ever formed.
TEST(KernelValue, HighPowersOfNormalisedValuesStayNumbers) {
  const Kernel kernel = parse_kernels("poly:1000")[0];
  const Kernel linear = parse_kernels("linear")[0];
  Vector x(2), z(2);
  x << 3, 4;
  z << 3.01, 4;
  for (const double unit : {1e-100, 1e-3, 1.0, 1e100}) {
    EXPECT_NEAR(kernel_value(kernel, unit * x, unit * x), 1, 1e-12);
    const double expected = std::pow(kernel_value(linear, x, z), 1000);
    EXPECT_NEAR(kernel_value(kernel, unit * x, unit * z), expected, 1e-12);
  }
}

TEST(KernelValue, RejectsWhatHasNoValue) {
  EXPECT_EQ(message_of([] {
              value("linear", {0, 0}, {1, 2});
            }),
            "kernel 'linear' cannot be normalised at a zero vector. Make the kernel raw (':raw'), "
            "or use `normalise` none or `scale` standard.");
  EXPECT_EQ(value("linear:raw", {0, 0}, {1, 2}), 0);
  EXPECT_EQ(value("poly:2:1", {0, 0}, {0, 0}), 1);
  EXPECT_EQ(message_of([] {
              value("chi2", {1, -2}, {1, 2});
            }),
            "kernel 'chi2' needs features of at least 0, but one is -2. Use `scale` minmax, or "
            "another kernel.");
  EXPECT_EQ(message_of([] { value("precomputed:a.csv", {1}, {1}); }),
            "kernel 'precomputed:a.csv' has values only for the rows of its file, not for other "
            "points. Use kernels of the features.");
}

}  // namespace
}  // namespace coterie
