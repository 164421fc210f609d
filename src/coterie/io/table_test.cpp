#include "coterie/io/table.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "coterie/data/planted.hpp"
#include "coterie/io/matrix_file.hpp"
#include "coterie/io/test_files.hpp"
#include "coterie/io/text.hpp"
#include "coterie/io/write_table.hpp"
#include "coterie/math/random.hpp"

namespace coterie {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<Index>;
using Table = FilesTest;

TEST_F(Table, ReadsCsv) {
  const Samples samples =
      read_samples({write("a.csv", "f1,label,f2,task\n1,x,2.5,s\n-3e2,10,+.5,t\n0,9,4.,s\n")});
  EXPECT_EQ(samples.X, (Matrix(3, 2) << 1, 2.5, -300, 0.5, 0, 4).finished());
  EXPECT_EQ(samples.features, (Names{"f1", "f2"}));
  EXPECT_EQ(samples.labels, (Names{"9", "10", "x"}));
  EXPECT_EQ(samples.label, (Numbers{2, 1, 0}));
  EXPECT_EQ(samples.tasks, (Names{"s", "t"}));
  EXPECT_EQ(samples.task, (Numbers{0, 1, 0}));
}

TEST_F(Table, FormsOfTheSameTableAreEqual) {
  const std::string plain = "f1,label,f2\n1,x,2.5\n-3,y,0.5\n";
  const Samples samples = read_samples({write("a.csv", plain)});
  EXPECT_EQ(read_samples({write("a.tsv", "f1\tlabel\tf2\n1\tx\t2.5\n-3\ty\t0.5\n")}), samples);
  EXPECT_EQ(read_samples({write("tab.csv", "f1\tlabel\tf2\n1\tx\t2.5\n-3\ty\t0.5\n")}), samples);
  EXPECT_EQ(read_samples({write("crlf.csv", "f1,label,f2\r\n1,x,2.5\r\n-3,y,0.5\r\n")}), samples);
  EXPECT_EQ(read_samples({write("bom.csv", "\xef\xbb\xbf" + plain)}), samples);
  EXPECT_EQ(read_samples({write("open.csv", plain.substr(0, plain.size() - 1))}), samples);
  EXPECT_EQ(read_samples({write("blank.csv", plain + "\n\r\n")}), samples);
  EXPECT_EQ(
      read_samples({write("quote.csv", "\"f1\",\"label\",f2\n\"1\",\"x\", 2.5\n -3 ,y,\"0.5\"\n")}),
      samples);
  EXPECT_EQ(read_samples({write_gzip("a.csv.gz", plain)}), samples);
  EXPECT_EQ(read_samples({write_gzip("gzip_without_the_name.csv", plain)}), samples);
  const std::string members = contents(write_gzip("1.gz", plain.substr(0, 20))) +
                              contents(write_gzip("2.gz", plain.substr(20)));
  EXPECT_EQ(read_samples({write("members.csv.gz", members)}), samples);
  EXPECT_EQ(read_samples({write("a.svm", "x 1:1 2:2.5\ny 1:-3 2:0.5 # a comment\n")}), samples);
  EXPECT_EQ(read_samples({write_gzip("a.svm.gz", "# first\n\nx  1:1\t2:2.5 \r\ny 1:-3 2:+.5\n")}),
            samples);
  EXPECT_EQ(read_samples({write("svm_without_the_name", "# first\nx 1:1 2:2.5\ny 1:-3 2:0.5")}),
            samples);
}

TEST_F(Table, QuotedNamesMayHoldDelimitersAndQuotes) {
  const Samples samples =
      read_samples({write("a.csv", "\"f,1\",label\n1,\"say \"\"a, b\"\"\"\n2, b c \n")});
  EXPECT_EQ(samples.features, (Names{"f,1"}));
  EXPECT_EQ(samples.labels, (Names{"b c", "say \"a, b\""}));
}

TEST_F(Table, OptionsChooseColumns) {
  const std::string file = write("a.csv", "id,a,b,class,site\n7,1,2,x,s\n8,3,4,y,t\n");
  const Samples dropped = read_samples({file}, {.label = "class", .task = "site", .drop = {"id"}});
  EXPECT_EQ(dropped.features, (Names{"a", "b"}));
  EXPECT_EQ(dropped.tasks, (Names{"s", "t"}));
  const Samples chosen = read_samples({file}, {.label = "class", .features = {"b", "id"}});
  EXPECT_EQ(chosen.features, (Names{"b", "id"}));
  EXPECT_EQ(chosen.X, (Matrix(2, 2) << 2, 7, 4, 8).finished());
  EXPECT_TRUE(chosen.tasks.empty());
  const Samples unlabelled = read_samples({file}, {.features = {"a"}, .label_required = false});
  EXPECT_TRUE(unlabelled.label.empty());
  EXPECT_TRUE(unlabelled.labels.empty());
  EXPECT_EQ(unlabelled.X.rows(), 2);
}

TEST_F(Table, SeveralFilesAreJoinedByName) {
  const std::string a = write("a.csv", "f1,f2,label\n1,2,x\n"),
                    b = write("b.csv", "label,f2,f1\ny,4,3\n");
  const Samples samples = read_samples({a, b});
  EXPECT_EQ(samples.X, (Matrix(2, 2) << 1, 2, 3, 4).finished());
  EXPECT_EQ(samples.tasks, (Names{"a", "b"}));
  EXPECT_EQ(samples.task, (Numbers{0, 1}));
  EXPECT_EQ(read_samples({a + ":one", b + ":two"}).tasks, (Names{"one", "two"}));
  EXPECT_EQ(read_samples({a + ":one", b + ":one"}).tasks, (Names{"one"}));
  EXPECT_EQ(read_samples({a + ":one"}).tasks, (Names{"one"}));
}

TEST_F(Table, LibsvmFilesAreATaskEach) {
  const std::string a = write("a.svm", "+1 1:1 3:2\n-1\n"), b = write("b.svm", "1.0 2:5\n-1 4:1\n");
  const Samples samples = read_samples({a, b + ":second"});
  EXPECT_EQ(samples.features, (Names{"f1", "f2", "f3", "f4"}));
  EXPECT_EQ(samples.X, (Matrix(4, 4) << 1, 0, 2, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1).finished());
  EXPECT_EQ(samples.labels, (Names{"-1", "1"}));
  EXPECT_EQ(samples.label, (Numbers{1, 0, 1, 0}));
  EXPECT_EQ(samples.tasks, (Names{"a", "second"}));
  write("b.svm:second", "1 1:1\n");  // a file of that very name comes first
  EXPECT_EQ(read_samples({b + ":second"}).X.rows(), 1);
}

TEST_F(Table, LibsvmFeaturesCanBeChosen) {
  const std::string file = write("a.svm", "1 1:1 2:2 3:3\n0 3:4\n");
  EXPECT_EQ(read_samples({file}, {.drop = {"f2"}}).X, (Matrix(2, 2) << 1, 3, 0, 4).finished());
  const Samples samples =
      read_samples({file}, {.features = {"f5", "f3"}});  // as a model asks for them
  EXPECT_EQ(samples.X, (Matrix(2, 2) << 0, 3, 0, 4).finished());
  EXPECT_EQ(samples.features, (Names{"f5", "f3"}));
}

TEST_F(Table, LinesLongerThanTheBufferAndManyRows) {
  std::string text = "f1";
  for (int j = 2; j <= 100'000; ++j) text += ",f" + std::to_string(j);
  text += ",label\n";
  for (int i = 0; i < 4; ++i) {
    for (int j = 1; j <= 100'000; ++j) text += std::to_string(i * j % 1000) + ",";
    text += "x\n";
  }
  const Samples wide = read_samples({write("wide.csv", text)});
  ASSERT_EQ(wide.X.rows(), 4);
  ASSERT_EQ(wide.X.cols(), 100'000);
  for (Index i = 0; i < 4; ++i) {
    for (Index j = 0; j < 100'000; ++j)
      ASSERT_EQ(wide.X(i, j), static_cast<double>(i * (j + 1) % 1000));
  }
  text = "a,label\n";
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + (i % 2 == 0 ? ",x\n" : ",y\n");
  for (const std::string& file : {write("long.csv", text), write_gzip("long.csv.gz", text)}) {
    const Samples tall = read_samples({file});
    ASSERT_EQ(tall.X.rows(), 200'000);
    for (Index i = 0; i < 200'000; ++i) {
      ASSERT_EQ(tall.X(i, 0), static_cast<double>(i));
      ASSERT_EQ(tall.label[i], i % 2);
    }
  }
}

// Columns of labels and tasks: those that are asked for, then a model's, then the usual ones.
TEST_F(Table, RemembersTheNamesOfColumns) {
  const std::string file = write("a.csv", "f1,label,target,task,site\n1,x,y,s,t\n2,z,w,u,v\n");
  const auto columns = [&](const TableOptions& options) {
    const Samples samples = read_samples({file}, options);
    return samples.columns.label + " " + samples.columns.task;
  };
  EXPECT_EQ(columns({.features = {"f1"}}), "label task");
  EXPECT_EQ(columns({.label = "target", .task = "site", .features = {"f1"}}), "target site");
  EXPECT_EQ(columns({.trained = {"target", "site"}, .features = {"f1"}}), "target site");
  EXPECT_EQ(columns({.label = "label", .trained = {"target", "site"}, .features = {"f1"}}),
            "label site");
  EXPECT_EQ(columns({.trained = {"class", "place"}, .features = {"f1"}}), "label task");
  const std::string other = write("b.csv", "label,task,target\n1,2,x\n3,4,y\n");
  const TableOptions features{
      .trained = {"class", "place"}, .features = {"label", "task"}, .label_required = false};
  EXPECT_EQ(read_samples({other}, features).columns, ColumnNames());
  EXPECT_EQ(
      read_samples({write("a.svm", "1 1:2\n2 1:3\n")}, {.trained = {"target", "site"}}).columns,
      ColumnNames());
}

Samples awkward_samples() {
  Samples samples = plant_groups({.tasks = 3, .groups = 3, .samples = 40}).samples;
  samples.X(0, 0) = 5e-324;
  samples.X(1, 0) = -std::numeric_limits<double>::max();
  samples.X(2, 0) = 0.1 + 0.2;
  samples.X(3, 0) = 1e22;
  samples.X.col(samples.X.cols() - 1).setZero();
  return samples;
}

TEST_F(Table, CsvRoundTripsBitForBit) {
  Samples samples = awkward_samples();
  for (const char* name : {"a.csv", "a.tsv", "a.csv.gz"}) {
    write_csv(samples, path(name));
    EXPECT_EQ(read_samples({path(name)}), samples) << name;
  }
  EXPECT_EQ(contents(path("a.csv.gz")).substr(0, 2), "\x1f\x8b");
  samples.features[0] = "a \"b\", c";
  samples.tasks[1] = " t;\"";
  write_csv(samples, path("quoted.csv"));
  EXPECT_EQ(read_samples({path("quoted.csv")}), samples);
  EXPECT_EQ(file_count(), 4U);
}

TEST_F(Table, LibsvmRoundTripsBitForBit) {
  const Samples samples = awkward_samples();
  std::vector<std::string> files;
  for (std::size_t t = 0; t < samples.tasks.size(); ++t) {
    files.push_back(path(samples.tasks[t] + ".svm"));
    write_libsvm(samples, files.back(), static_cast<Index>(t));
  }
  EXPECT_EQ(read_samples(files), samples);
}

TEST_F(Table, WritersRefuseWhatCannotBeReadBack) {
  Samples samples = awkward_samples();
  EXPECT_EQ(message([&] { write_libsvm(samples, path("a.svm")); }),
            "a.svm: the data has 3 tasks, but a LIBSVM file holds one. Write a file per task.");
  samples.labels[1] = "a b";
  EXPECT_EQ(message([&] { write_libsvm(samples, path("a.svm"), 0); }),
            "a.svm: the label 'a b' cannot be written in LIBSVM format. Write CSV, or rename it.");
  samples.features[2] = "label";
  EXPECT_EQ(message([&] { write_csv(samples, path("a.csv")); }),
            "a.csv: a feature is called 'label', like the column of labels. Rename it.");
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(Table, Matrices) {
  const Matrix K = (Matrix(2, 3) << 1, 0.5, -2, 3, 1e-3, 0).finished();
  EXPECT_EQ(read_matrix(write("k.csv", "1,0.5,-2\n3,1e-3,0\n")), K);
  EXPECT_EQ(read_matrix(write("k.txt", "1\t0.5\t-2\r\n3\t1e-3\t0")), K);
  EXPECT_EQ(read_matrix(write_gzip("k.gz", "1, 0.5,\"-2\"\n3,1e-3,0\n\n")), K);
  const auto read = [&](const std::string& text) {
    return message([&] { read_matrix(write("m.csv", text)); });
  };
  EXPECT_EQ(read(""), "m.csv: the file is empty. It needs rows of numbers.");
  EXPECT_EQ(read("a,b\n1,2\n"),
            "m.csv:1:1: column 1 holds 'a', which is not a number. A matrix file has no header.");
  EXPECT_EQ(read("1,2\n1,\n"),
            "m.csv:2:3: column 2 is empty; every value must be a number. Correct it.");
  EXPECT_EQ(
      read("1,2\n1\n"),
      "m.csv:2:2: 1 field, but the first line has 2. Give every row the same number of fields.");
  EXPECT_EQ(
      read("1,2\n1,2,3\n"),
      "m.csv:2:4: 3 fields, but the first line has 2. Give every row the same number of fields.");
}

// The short way gives the same double as std::from_chars, and stops at the same place.
TEST(ReadNumber, EqualsFromChars) {
  Random random(3);
  const std::string alphabet = "0123456789.-e+,";
  Names texts = {"",
                 "-",
                 ".",
                 "-.",
                 "1.",
                 ".5",
                 "-0",
                 "0.3",
                 "1e5",
                 "1e",
                 "1.5e-3x",
                 "123456789012345",
                 "1234567890123456",
                 "9007199254740993",
                 "0.1234567890123456",
                 "000000000000000001",
                 "1..2",
                 "--1",
                 "+1"};
  for (int i = 0; i < 200'000; ++i) {
    std::string text(random.below(20), ' ');
    for (char& c : text) c = alphabet[random.below(i % 2 == 0 ? 11 : std::ssize(alphabet))];
    texts.push_back(text);
  }
  for (const std::string& text : texts) {
    double expected = 0, value = 0;
    const char* end = text.data() + text.size();
    const auto [after, problem] = std::from_chars(text.data(), end, expected);
    const char* found = detail::read_number(text.data(), end, value);
    ASSERT_EQ(found != nullptr, problem == std::errc{}) << text;
    if (found == nullptr) continue;
    ASSERT_EQ(found, after) << text;
    ASSERT_EQ(value, expected) << text;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << text;
  }
}

class SharedData : public FilesTest {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("COTERIE_DATA");
    if (folder == nullptr)
      GTEST_SKIP() << "COTERIE_DATA does not name the folder of the shared data sets";
    data_ = folder;
  }

  Samples read(const std::string& name, const TableOptions& options = {}) const {
    return read_samples({(data_ / name / "data.csv.gz").string()}, options);
  }

  static std::map<std::string, Index> counts(const Samples& samples) {
    std::map<std::string, Index> result;
    for (const Index code : samples.label) ++result[samples.labels[code]];
    return result;
  }

  std::filesystem::path data_;
};

using Counts = std::map<std::string, Index>;

TEST_F(SharedData, Vehicle) {
  const Samples samples = read("vehicle");
  EXPECT_EQ(samples.X.rows(), 846);
  EXPECT_EQ(samples.X.cols(), 18);
  EXPECT_EQ(samples.labels, (Names{"bus", "opel", "saab", "van"}));
  EXPECT_EQ(counts(samples), (Counts{{"opel", 212}, {"saab", 217}, {"bus", 218}, {"van", 199}}));
  EXPECT_EQ(cast_into_tasks(samples, Casting::one_vs_one).tasks.size(), 6U);
  EXPECT_EQ(message([&] { cast_into_tasks(samples, Casting::binary); }),
            "the data has 4 classes (bus, opel, saab, van); choose `one_vs_one` or `one_vs_rest`.");
  for (const char* name : {"v.csv", "v.tsv.gz"}) {
    write_csv(samples, path(name));
    EXPECT_EQ(read_samples({path(name)}), samples);
  }
  write_libsvm(samples, path("v.svm.gz"));
  EXPECT_EQ(read_samples({path("v.svm.gz")}), samples);
}

TEST_F(SharedData, Pen) {
  const Samples samples = read("pen");
  EXPECT_EQ(samples.X.rows(), 10992);
  EXPECT_EQ(samples.X.cols(), 16);
  EXPECT_EQ(samples.X.minCoeff(), 0);
  EXPECT_EQ(samples.X.maxCoeff(), 100);
  EXPECT_EQ(counts(samples), (Counts{{"0", 1143},
                                     {"1", 1143},
                                     {"2", 1144},
                                     {"3", 1055},
                                     {"4", 1144},
                                     {"5", 1055},
                                     {"6", 1056},
                                     {"7", 1142},
                                     {"8", 1055},
                                     {"9", 1055}}));
}

TEST_F(SharedData, Letter) {
  const Samples samples =
      read("letter", {.drop = {"id", "next_id", "word_id", "position", "fold"}});
  EXPECT_EQ(samples.X.rows(), 52152);
  EXPECT_EQ(samples.X.cols(), 128);
  const Counts count = counts(samples);
  EXPECT_EQ(count.size(), 26U);
  EXPECT_EQ(count.at("a"), 4034);
  EXPECT_EQ(count.at("j"), 189);
  EXPECT_EQ(count.at("z"), 1094);
  EXPECT_EQ(cast_into_tasks(samples, Casting::one_vs_one).tasks.size(), 325U);
}

TEST_F(SharedData, Landmine) {
  const Samples samples = read("landmine");
  EXPECT_EQ(samples.X.rows(), 14820);
  EXPECT_EQ(samples.X.cols(), 9);
  EXPECT_EQ(counts(samples), (Counts{{"0", 13916}, {"1", 904}}));
  const Dataset data = cast_into_tasks(samples, Casting::binary);
  ASSERT_EQ(data.tasks.size(), 29U);
  check_dataset(data);
  EXPECT_EQ(data.tasks[0].size(), 690);
  EXPECT_EQ((data.tasks[0].y.array() > 0).count(), 40);
  EXPECT_EQ(data.tasks[28].size(), 449);
  EXPECT_EQ((data.tasks[28].y.array() > 0).count(), 42);
}

}  // namespace
}  // namespace coterie
