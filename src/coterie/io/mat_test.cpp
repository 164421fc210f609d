// MATLAB files: what is read, what is written, and every message.
#include <matio.h>

#include <functional>
#include <memory>
#include <optional>

#include "coterie/data/planted.hpp"
#include "coterie/io/table.hpp"
#include "coterie/io/test_files.hpp"
#include "coterie/io/write_table.hpp"
#include "coterie/math/random.hpp"

namespace coterie {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<Index>;
using Values = std::vector<double>;

// A variable for libmatio, column by column.
template <typename T>
matvar_t* array(const char* name, matio_classes kind, matio_types type,
                std::vector<std::size_t> shape, std::vector<T> values, int flags = 0) {
  return Mat_VarCreate(name, kind, type, static_cast<int>(shape.size()), shape.data(),
                       values.data(), flags);
}

matvar_t* doubles(const char* name, std::size_t rows, std::size_t columns, Values values) {
  return array(name, MAT_C_DOUBLE, MAT_T_DOUBLE, {rows, columns}, std::move(values));
}

matvar_t* text(const char* name, const std::string& value) {
  return array(name, MAT_C_CHAR, MAT_T_UINT8, {1, value.size()},
               std::vector<char>(value.begin(), value.end()));
}

matvar_t* cell(const char* name, const std::vector<matvar_t*>& parts) {
  std::vector<std::size_t> shape = {1, parts.size()};
  matvar_t* out = Mat_VarCreate(name, MAT_C_CELL, MAT_T_CELL, 2, shape.data(), nullptr, 0);
  for (std::size_t k = 0; k < parts.size(); ++k) Mat_VarSetCell(out, static_cast<int>(k), parts[k]);
  return out;
}

matvar_t* sparse(const char* name) {  // [0 0; 3 0; 0 -1]
  std::vector<mat_uint32_t> rows = {1, 2}, columns = {0, 1, 2};
  Values values = {3, -1};
  mat_sparse_t data{2, rows.data(), 2, columns.data(), 3, 2, values.data()};
  std::vector<std::size_t> shape = {3, 2};
  return Mat_VarCreate(name, MAT_C_SPARSE, MAT_T_DOUBLE, 2, shape.data(), &data, 0);
}

class Mat : public FilesTest {
 protected:
  std::string save(const std::vector<matvar_t*>& variables, mat_ft version = MAT_FT_MAT5,
                   matio_compression compression = MAT_COMPRESSION_NONE) const {
    mat_t* file = Mat_CreateVer(path("a.mat").c_str(), nullptr, version);
    for (matvar_t* variable : variables) {
      EXPECT_EQ(Mat_VarWrite(file, variable, compression), 0);
      Mat_VarFree(variable);
    }
    Mat_Close(file);
    return path("a.mat");
  }
  std::string error(const std::vector<matvar_t*>& variables,
                    const TableOptions& options = {}) const {
    const std::string file = save(variables);
    return message([&] { read_samples({file}, options); });
  }
  std::string broken(const std::string& bytes) const {
    return message([&] { read_samples({write("a.mat", bytes)}); });
  }
};

struct Version {
  mat_ft version;
  matio_compression compression;
};
const Version versions[] = {{MAT_FT_MAT5, MAT_COMPRESSION_NONE},
                            {MAT_FT_MAT5, MAT_COMPRESSION_ZLIB},
                            {MAT_FT_MAT73, MAT_COMPRESSION_NONE},
                            {MAT_FT_MAT73, MAT_COMPRESSION_ZLIB}};

TEST_F(Mat, ReadsCellsOfTasks) {
  for (const auto& [version, compression] : versions) {
    for (const char* x : {"X", "x", "feature", "Data"}) {
      const Samples samples = read_samples(
          {save({cell(x, {doubles(nullptr, 2, 2, {1, 2, 3, 4}), doubles(nullptr, 1, 2, {5, 6})}),
                 cell("Y", {doubles(nullptr, 1, 2, {-1, 1}), doubles(nullptr, 1, 1, {1})})},
                version, compression)});
      EXPECT_EQ(samples.X, (Matrix(3, 2) << 1, 3, 2, 4, 5, 6).finished());
      EXPECT_EQ(samples.labels, (Names{"-1", "1"}));
      EXPECT_EQ(samples.label, (Numbers{0, 1, 1}));
      EXPECT_EQ(samples.tasks, (Names{"1", "2"}));
      EXPECT_EQ(samples.task, (Numbers{0, 0, 1}));
      EXPECT_EQ(samples.features, (Names{"f1", "f2"}));
    }
  }
}

TEST_F(Mat, ReadsAMatrixWithVectors) {
  for (const auto& [version, compression] : versions) {
    const Samples samples =
        read_samples({save({doubles("x", 2, 2, {1, 2, 3, 4}), doubles("LABEL", 2, 1, {0.5, 2}),
                            doubles("Task", 1, 2, {9, 8})},
                           version, compression)});
    EXPECT_EQ(samples.X, (Matrix(2, 2) << 1, 3, 2, 4).finished());
    EXPECT_EQ(samples.labels, (Names{"0.5", "2"}));
    EXPECT_EQ(samples.tasks, (Names{"9", "8"}));
  }
}

TEST_F(Mat, ReadsSparseMatricesAndEveryClass) {
  for (const auto& [version, compression] : versions) {
    const auto labels = [] { return doubles("Y", 3, 1, {0, 1, 1}); };
    EXPECT_EQ(read_samples({save({sparse("X"), labels()}, version, compression)}).X,
              (Matrix(3, 2) << 0, 0, 3, 0, 0, -1).finished());
    const Matrix expected = (Matrix(3, 1) << 0, 1, 100).finished();
    const auto check = [&](matvar_t* X) {
      EXPECT_EQ(read_samples({save({X, labels()}, version, compression)}).X, expected);
    };
    check(array<float>("X", MAT_C_SINGLE, MAT_T_SINGLE, {3, 1}, {0, 1, 100}));
    check(array<mat_int8_t>("X", MAT_C_INT8, MAT_T_INT8, {3, 1}, {0, 1, 100}));
    check(array<mat_uint8_t>("X", MAT_C_UINT8, MAT_T_UINT8, {3, 1}, {0, 1, 100}));
    check(array<mat_int16_t>("X", MAT_C_INT16, MAT_T_INT16, {3, 1}, {0, 1, 100}));
    check(array<mat_uint16_t>("X", MAT_C_UINT16, MAT_T_UINT16, {3, 1}, {0, 1, 100}));
    check(array<mat_int32_t>("X", MAT_C_INT32, MAT_T_INT32, {3, 1}, {0, 1, 100}));
    check(array<mat_uint32_t>("X", MAT_C_UINT32, MAT_T_UINT32, {3, 1}, {0, 1, 100}));
    check(array<mat_int64_t>("X", MAT_C_INT64, MAT_T_INT64, {3, 1}, {0, 1, 100}));
    check(array<mat_uint64_t>("X", MAT_C_UINT64, MAT_T_UINT64, {3, 1}, {0, 1, 100}));
    const Samples logical = read_samples(
        {save({doubles("X", 2, 1, {1, 2}),
               array<mat_uint8_t>("Y", MAT_C_UINT8, MAT_T_UINT8, {2, 1}, {1, 0}, MAT_F_LOGICAL)},
              version, compression)});
    EXPECT_EQ(logical.labels, (Names{"0", "1"}));
  }
}

TEST_F(Mat, ReadsLogicalSparseMatricesAsMatlabWritesThem) {
  const auto words = [](const std::vector<std::uint32_t>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size());
  };
  // [0 1; 0 1]: the values have type 9, double, but are two bytes.
  const std::string X = words({14, 88, 6, 8, 0x0205, 2,  5, 8, 2, 2, 0x00010001, 'X',
                               5,  8,  0, 1, 5,      12, 0, 0, 2, 0, 0x00020009, 0x0101});
  const std::string header = contents(save({})).substr(0, 128);
  const Samples samples = read_samples({write("a.mat", header + X)}, {.label_required = false});
  EXPECT_EQ(samples.X, (Matrix(2, 2) << 0, 1, 0, 1).finished());
}

TEST_F(Mat, ReadsTexts) {
  for (const auto& [version, compression] : versions) {
    const Samples samples = read_samples({save(
        {doubles("X", 2, 1, {1, 2}), cell("Y", {text(nullptr, "yes"), text(nullptr, "no")}),
         array<char>("task", MAT_C_CHAR, MAT_T_UINT8, {2, 3}, {'a', 'b', 'b', ' ', 'c', ' '})},
        version, compression)});
    EXPECT_EQ(samples.labels, (Names{"no", "yes"}));
    EXPECT_EQ(samples.tasks, (Names{"abc", "b"}));
  }
}

TEST_F(Mat, OptionsChooseVariablesAndColumns) {
  const auto file = [&] {
    return save({doubles("X", 2, 2, {1, 2, 3, 4}), doubles("y", 2, 1, {0, 1}),
                 doubles("other", 2, 1, {5, 6}), doubles("site", 2, 1, {7, 8})});
  };
  const Samples samples =
      read_samples({file()}, {.label = "other", .task = "site", .drop = {"f1"}});
  EXPECT_EQ(samples.labels, (Names{"5", "6"}));
  EXPECT_EQ(samples.tasks, (Names{"7", "8"}));
  EXPECT_EQ(samples.X, (Matrix(2, 1) << 3, 4).finished());
  const Samples unlabelled =
      read_samples({save({doubles("X", 1, 1, {1})})}, {.label_required = false});
  EXPECT_TRUE(unlabelled.label.empty());
}

TEST_F(Mat, SeveralFilesAreTasks) {
  save({doubles("X", 1, 1, {1}), doubles("Y", 1, 1, {0})});
  std::filesystem::rename(path("a.mat"), path("b.mat"));
  save({cell("X", {doubles(nullptr, 1, 1, {2})}), cell("Y", {doubles(nullptr, 1, 1, {1})})});
  const Samples samples = read_samples({path("a.mat"), path("b.mat")});
  EXPECT_EQ(samples.tasks, (Names{"a:1", "b"}));
  EXPECT_EQ(samples.X, (Matrix(2, 1) << 2, 1).finished());
  EXPECT_EQ(read_samples({path("b.mat") + ":mine"}).tasks, (Names{"mine"}));
  EXPECT_EQ(message([&] { read_samples({path("a.mat") + ":mine"}); }),
            "a.mat: task 'mine' is given for the file, but the file names tasks too. Leave out one "
            "of them.");
}

TEST_F(Mat, RoundTripsBitForBit) {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    Samples samples = plant_groups({.tasks = 1 + round % 4,
                                    .groups = 1,
                                    .samples = 8,
                                    .size_spread = 0.7,
                                    .seed = static_cast<std::uint64_t>(round)})
                          .samples;
    for (double& value : samples.X.reshaped()) value *= std::exp(50 * random.normal());
    samples.X(0, 0) = -0.0;
    samples.X(1, 0) = 5e-324;
    if (round % 3 == 1) samples.labels = {"01", "h\xc3\xa4 \xf0\x9f\x98\x80"};
    if (round % 3 == 2) samples.labels = {"0.1", "1e+300"};
    if (round % 5 == 0) samples.features[0] = "\xc2\xb5m, \"wide\"";
    if (round % 4 == 0) {
      samples.task.clear();
      samples.tasks.clear();
    }
    if (round == 7) {
      samples.label.clear();
      samples.labels.clear();
    }
    write_mat(samples, path("r.mat"));
    const Samples back = read_samples({path("r.mat")}, {.label_required = round != 7});
    EXPECT_EQ(back, samples) << round;
    EXPECT_EQ(std::memcmp(back.X.data(), samples.X.data(),
                          sizeof(double) * static_cast<std::size_t>(samples.X.size())),
              0);
    const std::string bytes = contents(path("r.mat"));
    write_mat(samples, path("r.mat"));
    EXPECT_EQ(contents(path("r.mat")), bytes);
  }
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(Mat, MessagesOfVariables) {
  const auto Y = [] { return doubles("Y", 2, 1, {0, 1}); };
  const auto X = [] { return doubles("X", 2, 1, {3, 4}); };
  EXPECT_EQ(error({doubles("A", 2, 3, Values(6)), Y()}),
            "a.mat: no variable is called X, feature, features or data; the file holds A (2 x 3 "
            "double), Y (2 x 1 double). Rename "
            "the one with the features.");
  EXPECT_EQ(error({X()}),
            "a.mat: no variable is called Y, label, labels, target or targets; the file holds X (2 "
            "x 1 double). Rename the one "
            "with the labels, or choose it with `label`.");
  EXPECT_EQ(error({X(), doubles("feature", 2, 1, {3, 4}), Y()}),
            "a.mat: several variables could be the features: X, feature. Leave one of them in the "
            "file, or rename the others. The "
            "file holds X (2 x 1 double), feature (2 x 1 double), Y (2 x 1 double).");
  EXPECT_EQ(error({X(), Y(), doubles("label", 2, 1, {3, 4})}),
            "a.mat: several variables could be the labels: Y, label. Choose one with `label`. The "
            "file holds X (2 x 1 double), Y (2 "
            "x 1 double), label (2 x 1 double).");
  EXPECT_EQ(error({X(), Y()}, {.label = "q"}),
            "a.mat: no variable is called 'q', which `label` asks for; the file holds X (2 x 1 "
            "double), Y (2 x 1 double).");
  EXPECT_EQ(error({X(), Y()}, {.task = "site"}),
            "a.mat: no variable is called 'site', which `task` asks for; the file holds X (2 x 1 "
            "double), Y (2 x 1 double).");
  EXPECT_EQ(error({X(), Y()}, {.drop = {"q"}}),
            "a.mat: no column is called 'q', which `drop` asks for; the columns are f1.");
  EXPECT_EQ(error({text("X", "abc"), Y()}),
            "a.mat: X is a 1 x 3 char array, where a matrix of numbers should be.");
  EXPECT_EQ(error({array<double>("X", MAT_C_DOUBLE, MAT_T_DOUBLE, {2, 1, 2}, Values(4)), Y()}),
            "a.mat: X is a 2 x 1 x 2 double array, where a matrix of two dimensions should be.");
  EXPECT_EQ(error({doubles("X", 0, 3, {}), Y()}),
            "a.mat: X is empty (0 x 3 double). Every task needs rows and features.");
  EXPECT_EQ(error({doubles("X", 2, 2, {1, 2, std::nan(""), 4}), Y()}),
            "a.mat: X(1,2) holds nan; every value must be a finite number. Correct it.");
  EXPECT_EQ(error({X(), doubles("Y", 3, 1, {1, 2, 3})}),
            "a.mat: Y (3 x 1 double) does not fit the rows of X, which needs 2.");
  EXPECT_EQ(error({X(), doubles("Y", 2, 2, Values(4))}),
            "a.mat: Y (2 x 2 double) does not fit the rows of X, which needs 2.");
  EXPECT_EQ(error({X(), cell("Y", {text(nullptr, "a"), X()})}),
            "a.mat: Y{2} is a 2 x 1 double array, where a text or a number should be.");
  EXPECT_EQ(
      error({X(), cell("Y", {text(nullptr, "a"), text(nullptr, "\x01")})}),
      "a.mat: entry 2 of Y holds '\\x01', which has a control character. Give a text in UTF-8.");
  EXPECT_EQ(error({X(), Y(), cell("feature_names", {text(nullptr, "a"), text(nullptr, "b")})}),
            "a.mat: feature_names (1 x 2 cell) does not fit the columns of X, which needs 1.");
  Values real = {1, 2}, imaginary = {3, 4};
  mat_complex_split_t parts{real.data(), imaginary.data()};
  std::vector<std::size_t> shape = {2, 1};
  EXPECT_EQ(
      error({Mat_VarCreate("X", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, shape.data(), &parts, MAT_F_COMPLEX),
             Y()}),
      "a.mat: X is complex; only real numbers can be used. Take its real part.");
}

TEST_F(Mat, MessagesOfCells) {
  const auto one = [] { return doubles(nullptr, 1, 1, {3}); };
  EXPECT_EQ(error({cell("X", {one(), one()}), cell("Y", {one()})}),
            "a.mat: X is a 1 x 2 cell array but Y is a 1 x 1 cell array. Give Y a cell for each "
            "cell of X.");
  EXPECT_EQ(error({cell("X", {one()}), doubles("Y", 1, 1, {1})}),
            "a.mat: X is a 1 x 1 cell array but Y is a 1 x 1 double array. Give Y a cell for each "
            "cell of X.");
  EXPECT_EQ(error({cell("X", {one(), doubles(nullptr, 1, 2, {1, 2})}), cell("Y", {one(), one()})}),
            "a.mat: X{2} has 2 columns, but X{1} has 1. All tasks need the same features.");
  EXPECT_EQ(error({cell("X", {one(), doubles(nullptr, 0, 1, {})}), cell("Y", {one(), one()})}),
            "a.mat: X{2} is empty (0 x 1 double). Every task needs rows and features.");
  EXPECT_EQ(error({cell("X", {one(), one()}), cell("Y", {one(), doubles(nullptr, 2, 1, {1, 2})})}),
            "a.mat: Y{2} (2 x 1 double) does not fit the rows of X{2}, which needs 1.");
  EXPECT_EQ(error({cell("X", {one()}), cell("Y", {one()})}, {.task = "site"}),
            "a.mat: X has a cell for each task, so `task` site has no use. Leave it out.");
  EXPECT_EQ(error({cell("X", {one(), one()}), cell("Y", {one(), one()}),
                   cell("task_names", {text(nullptr, "a"), text(nullptr, "a")})}),
            "a.mat: task_names has 'a' twice. Rename one of them.");
}

TEST_F(Mat, MessagesOfBrokenFiles) {
  EXPECT_EQ(broken(""), "a.mat: the file is empty. Give a MATLAB file.");
  const std::string no_mat =
      "a.mat: this is no MATLAB file of version 5 or 7.3. Save it in MATLAB with -v7, or check the "
      "name.";
  EXPECT_EQ(broken("f1,label\n1,x\n"), no_mat);
  EXPECT_EQ(broken(std::string(500, 'x')), no_mat);
  EXPECT_EQ(message([&] { read_samples({path("none.mat")}); }),
            "none.mat: there is no such file. Check the name and the folder.");
  EXPECT_EQ(message([&] { read_samples({write_gzip("a.mat.gz", "x")}); }).substr(0, 10),
            "a.mat.gz: ");
  const std::string header = contents(save({}));
  EXPECT_EQ(broken(header.substr(0, 128)), "a.mat: holds no variables. Save X and Y into it.");
  const auto good = [&](matio_compression compression) {
    return contents(save({doubles("X", 2, 2, {1, 2, 3, 4}), doubles("Y", 2, 1, {0, 1})},
                         MAT_FT_MAT5, compression));
  };
  std::string bytes = good(MAT_COMPRESSION_NONE);
  EXPECT_EQ(broken(bytes.substr(0, bytes.size() - 8)),
            "a.mat: the file is damaged or unusual: it ends too early. Get a new copy, or save it "
            "with -v7.");
  std::string huge = bytes;  // 2^30 x 2^30 values
  const std::size_t shape = huge.find(std::string("\x05\0\0\0\x08\0\0\0\x02\0\0\0\x02", 13));
  ASSERT_NE(shape, std::string::npos);
  huge.replace(shape + 8, 8, std::string("\0\0\0\x40\0\0\0\x40", 8));
  EXPECT_EQ(
      broken(huge),
      "a.mat: the file is damaged or unusual: in variable 'X', 1073741824 x 1073741824 values are "
      "promised, but there are 4. Get a new copy, or save it with -v7.");
  std::string function = huge;  // of which libmatio would make room for every one
  function[shape - 8] = 16;
  EXPECT_EQ(
      broken(function),
      "a.mat: the file is damaged or unusual: in variable 'X', 1073741824 x 1073741824 arrays are "
      "promised, but it ends before. Get a new copy, or save it with -v7.");
  std::string opaque = bytes;  // whose name is longer than the file
  opaque[shape - 8] = 17;
  opaque.replace(shape, 8, std::string("\x01\0\0\0\0\0\0\x40", 8));
  EXPECT_EQ(broken(opaque),
            "a.mat: the file is damaged or unusual: it ends too early. Get a new copy, or save it "
            "with -v7.");
  const std::string packed = good(MAT_COMPRESSION_ZLIB);
  EXPECT_EQ(broken(packed.substr(0, packed.size() - 8)),
            "a.mat: the file ends too early. It was cut off; get a whole copy.");
  std::string flipped = packed;
  flipped[160] = static_cast<char>(flipped[160] ^ 4);
  EXPECT_EQ(
      broken(flipped),
      "a.mat: the file is damaged: a compressed variable cannot be inflated. Get a new copy.");
  std::string version = bytes;
  version[125] = 9;
  EXPECT_EQ(broken(version),
            "a.mat: has version 9 of the MATLAB format, which is not known. Save it with -v7.");
  std::string cut =
      contents(save({doubles("X", 2, 2, {1, 2, 3, 4}), doubles("Y", 2, 1, {0, 1})}, MAT_FT_MAT73));
  EXPECT_EQ(
      broken(cut.substr(0, cut.size() / 2)),
      "a.mat: the MATLAB 7.3 file cannot be read; it is damaged or unusual. Save it with -v7.");
}

TEST_F(Mat, ASparseMatrixThatIsTooLargeWhenDense) {
  std::vector<mat_uint32_t> columns = {0, 0};
  mat_sparse_t data{0, nullptr, 0, columns.data(), 2, 0, nullptr};
  std::vector<std::size_t> shape = {2'000'000'000, 1};
  const std::string file =
      save({Mat_VarCreate("X", MAT_C_SPARSE, MAT_T_DOUBLE, 2, shape.data(), &data, 0)});
  EXPECT_EQ(message([&] { read_samples({file}, {.label_required = false}); }),
            "a.mat: X has 2000000000 x 1 entries, too many for a dense matrix from this file "
            "(1.21e+06 at most). "
            "Leave out columns that are all zero, or divide it.");
}

TEST_F(Mat, CellsThatNestWithoutEnd) {
  matvar_t* inner = doubles(nullptr, 1, 1, {1});
  for (int depth = 0; depth < 60; ++depth) inner = cell(depth == 59 ? "deep" : nullptr, {inner});
  EXPECT_EQ(error({inner}),
            "a.mat: the file is damaged or unusual: in variable 'deep', cells nest deeper than 32 "
            "levels. Get "
            "a new copy, or save it with -v7.");
}

}  // namespace
}  // namespace coterie
