// NumPy's .npy files: what is read, what is written, and every message. Files of NumPy itself are in tests/formats_test.py.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/io/matrix_file.hpp"
#include "coterie/io/table.hpp"
#include "coterie/io/test_files.hpp"
#include "coterie/io/write_table.hpp"

namespace coterie {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<Index>;

std::string bytes(std::uint64_t value, std::size_t size) {  // little-endian
  std::string text;
  for (std::size_t k = 0; k < size; ++k) text += static_cast<char>(value >> (8 * k) & 0xff);
  return text;
}
template <typename Value>
std::string raw(std::initializer_list<Value> values, bool big = false) {
  std::string text;
  for (const Value& value : values) {
    std::string one(reinterpret_cast<const char*>(&value), sizeof value);
    if (big) std::reverse(one.begin(), one.end());
    text += one;
  }
  return text;
}

// A whole file around a header as it stands there.
std::string around(const std::string& dictionary, const std::string& values, int version = 1) {
  return "\x93NUMPY" + bytes(static_cast<std::uint64_t>(version), 2) +
         bytes(dictionary.size(), version == 1 ? 2 : 4) + dictionary + values;
}
std::string file(const std::string& descr, const std::string& shape, const std::string& values,
                 bool fortran = false, int version = 1) {
  return around(fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}   \n", descr,
                            fortran ? "True" : "False", shape),
                values, version);
}

const Matrix kX = (Matrix(2, 3) << 1, 2, 3, 4, 5, 6).finished();

class Npy : public FilesTest {
 protected:
  std::string matrix_error(const std::string& text) const {
    return message([&] { read_matrix(write("a.npy", text)); });
  }
  std::string header_error(const std::string& dictionary) const {
    return matrix_error(around(dictionary, raw({1.0})));
  }
  Names labels_of(const std::string& text, Index rows) const {
    std::string shape = fmt::format("({}, 1)", rows);
    write("l.npy", file("|u1", shape, std::string(static_cast<std::size_t>(rows), '\1')));
    const Samples samples = read_samples({path("l.npy")}, {.label = write("y.npy", text)});
    Names names;
    for (const Index code : samples.label) names.push_back(samples.labels[code]);
    return names;
  }
};

TEST_F(Npy, ReadsEveryTypeOrderAndVersion) {
  const auto expect = [&](const std::string& descr, const std::string& values, bool fortran) {
    for (const int version : {1, 2, 3})
      EXPECT_EQ(read_matrix(write("a.npy", file(descr, "(2, 3)", values, fortran, version))), kX)
          << descr << version;
  };
  const auto both = [&]<typename Value>(const std::string& type, Value) {
    const std::initializer_list<Value> rows = {1, 2, 3, 4, 5, 6}, columns = {1, 4, 2, 5, 3, 6};
    expect("<" + type, raw(rows), false);
    expect(">" + type, raw(rows, true), false);
    expect("<" + type, raw(columns), true);
    expect(">" + type, raw(columns, true), true);
    if (sizeof(Value) == 1) expect("|" + type, raw(rows), false);
  };
  both("f8", double{});
  both("f4", float{});
  both("i1", std::int8_t{});
  both("i2", std::int16_t{});
  both("i4", std::int32_t{});
  both("i8", std::int64_t{});
  both("u1", std::uint8_t{});
  both("u2", std::uint16_t{});
  both("u4", std::uint32_t{});
  both("u8", std::uint64_t{});
  EXPECT_EQ(read_matrix(write("b.npy", file("|b1", "(1, 3)", std::string("\0\1\7", 3)))),
            (Matrix(1, 3) << 0, 1, 1).finished());
  EXPECT_EQ(read_matrix(write("i.npy", file("<i8", "(1, 1)", raw<std::int64_t>({-3})))),
            Matrix::Constant(1, 1, -3));
  // By its content, compressed, with the words of Python 2 and keys in another order.
  EXPECT_EQ(read_matrix(write_gzip("k.gz", file("|u1", "(2, 3)", "\1\2\3\4\5\6"))), kX);
  EXPECT_EQ(read_matrix(write("p.npy", around("{\"shape\": (2L, 3L),\n'descr':'|u1' ,"
                                              "'fortran_order' : False}",
                                              "\1\2\3\4\5\6"))),
            kX);
}

TEST_F(Npy, ReadsFeaturesWithLabelsAndTasks) {
  const std::string X = write("X.npy", file("|u1", "(2, 3)", "\1\2\3\4\5\6"));
  const std::string y = write("y.npy", file("<i4", "(2,)", raw<std::int32_t>({7, -2})));
  const Samples plain = read_samples({X}, {.label_required = false});
  EXPECT_EQ(plain.X, kX);
  EXPECT_EQ(plain.features, (Names{"f1", "f2", "f3"}));
  EXPECT_TRUE(plain.label.empty() && plain.task.empty());

  const std::string tasks = write("t.npy", file("|S2", "(2,)", std::string("b\0aa", 4)));
  const Samples given = read_samples({X}, {.label = y, .task = tasks});
  EXPECT_EQ(given.X, kX);
  EXPECT_EQ(given.labels, (Names{"-2", "7"}));
  EXPECT_EQ(given.label, (Numbers{1, 0}));
  EXPECT_EQ(given.tasks, (Names{"b", "aa"}));
  EXPECT_EQ(given.task, (Numbers{0, 1}));

  // Beside it, by the usual names.
  EXPECT_EQ(files_behind(X), Names{X});
  std::filesystem::rename(y, path("X-labels.npy"));
  std::filesystem::rename(tasks, path("X-tasks.npy"));
  EXPECT_EQ(read_samples({X}), given);
  EXPECT_EQ(files_behind(X), (Names{X, path("X-labels.npy"), path("X-tasks.npy")}));
  EXPECT_EQ(read_samples({X + ":u"}).tasks, Names{"u"});
  EXPECT_EQ(read_samples({X}, {.features = {"f3", "f1"}}).X,
            (Matrix(2, 2) << 3, 1, 6, 4).finished());

  // Several files: a task each, unless they say.
  const std::string Z = write("Z.npy", file("<f4", "(1, 3)", raw<float>({7, 8, 9})));
  write("Z-labels.npy.gz", file("|b1", "(1, 1)", "\1"));
  const Samples joined = read_samples({X, Z});
  EXPECT_EQ(joined.X.rows(), 3);
  EXPECT_EQ(joined.X(2, 0), 7);
  EXPECT_EQ(joined.tasks, (Names{"b", "aa", "Z"}));
  EXPECT_EQ(joined.labels, (Names{"-2", "1", "7"}));
}

TEST_F(Npy, ReadsLabelsOfEveryKind) {
  EXPECT_EQ(labels_of(file("<i8", "(2,)", raw<std::int64_t>({9007199254740993, -1})), 2),
            (Names{"9007199254740993", "-1"}));
  EXPECT_EQ(labels_of(file(">u8", "(1, 2)", raw<std::uint64_t>({~std::uint64_t{0}, 0}, true)), 2),
            (Names{"18446744073709551615", "0"}));
  EXPECT_EQ(labels_of(file("<f8", "(3, 1)", raw({1.0, -0.0, 0.1})), 3), (Names{"1", "0", "0.1"}));
  EXPECT_EQ(labels_of(file("<f4", "(1,)", raw({0.1F})), 1), (Names{"0.1"}));
  EXPECT_EQ(labels_of(file("|b1", "(2,)", std::string("\0\1", 2)), 2), (Names{"0", "1"}));
  EXPECT_EQ(labels_of(file("|i1", "(2,)", "\xfe\x41"), 2), (Names{"-2", "65"}));
  EXPECT_EQ(labels_of(file("|S3", "(2,)", std::string("no\0yes", 6)), 2), (Names{"no", "yes"}));
  const auto text = raw<std::uint32_t>({'a', 0, 0xb5, 0x20ac, 0x1f600, 0});
  EXPECT_EQ(labels_of(file("<U2", "(3,)", text), 3), (Names{"a", "\u00b5\u20ac", "\U0001f600"}));
  EXPECT_EQ(labels_of(file(">U2", "(1,)", raw<std::uint32_t>({'a', 'b'}, true)), 1), Names{"ab"});
}

TEST_F(Npy, WritesWhatItReads) {
  Samples samples;
  samples.X = (Matrix(3, 2) << 0.1 + 0.2, -1e308, 5e-324, 3, 4, -0.0).finished();
  samples.features = {"f1", "f2"};
  samples.label = {1, 0, 1};
  samples.task = {0, 1, 1};
  samples.tasks = {"site \u00b5", "\U0001f600b"};
  for (const Names& labels : {Names{"-1", "3"}, Names{"0.5", "1e+20"}, Names{"1", "1.0"},
                              Names{"1", "no"}, Names{"1", "nan"}}) {
    samples.labels = labels;
    for (const char* name : {"w.npy", "v.npy.gz"}) {
      const WrittenFiles written = write_samples(samples, path(name));
      EXPECT_EQ(written.files, files_to_write(samples, path(name)));
      EXPECT_EQ(written.files.size(), 3U);
      EXPECT_EQ(read_samples({path(name)}), samples) << labels[1];
    }
  }
  // The values begin at a multiple of 64.
  EXPECT_EQ(contents(path("w.npy")).size() % 64, 3 * 2 * 8 % 64);
  EXPECT_EQ(contents(path("w.npy"))[127], '\n');

  for (const char* name : {"w-labels.npy", "w-tasks.npy.gz"})
    EXPECT_FALSE(names_a_table(path(name)));
  EXPECT_TRUE(names_a_table(path("labels.npy")));
  samples.label.clear();
  samples.labels.clear();
  EXPECT_EQ(message([&] { write_samples(samples, path("w.npy")); }),
            "w-labels.npy would be read as the labels of w.npy, which has none. Remove it, or "
            "choose another name.");
  write_samples(samples, path("n.npy"));
  EXPECT_EQ(read_samples({path("n.npy")}, {.label_required = false}), samples);
}

TEST_F(Npy, SaysWhatIsMissing) {
  const std::string X = write("X.npy", file("|u1", "(2, 3)", "\1\2\3\4\5\6"));
  const auto error = [&](const TableOptions& options, const Names& more = {}) {
    Names files = {X};
    files.insert(files.end(), more.begin(), more.end());
    return message([&] { read_samples(files, options); });
  };
  EXPECT_EQ(error({}),
            "X.npy: a .npy file holds features only. Name the file of the labels, as in `label` "
            "labels.npy, or put it beside as X-labels.npy.");
  EXPECT_EQ(error({.label = "y"}),
            "`label` is 'y'; the labels of X.npy are in a file of their own, as in `label` "
            "labels.npy.");
  EXPECT_EQ(error({.task = "site", .label_required = false}),
            "`task` is 'site'; the tasks of X.npy are in a file of their own, as in `task` "
            "tasks.npy.");
  EXPECT_EQ(error({.label = "y.npy"}),
            "y.npy: there is no such file. Check the name and the folder.");
  const std::string y = write("y.npy", file("|u1", "(3,)", "\1\2\3"));
  EXPECT_EQ(error({.label = y}),
            "y.npy: is an array of 3 values of type '|u1', but X.npy has 2 rows. Give one value "
            "for every row.");
  const std::string Z = write("Z.npy", file("|u1", "(2, 2)", "\1\2\3\4"));
  EXPECT_EQ(error({.label = y}, {Z}),
            "`label` is y.npy, but there are 2 files of data. Put the labels of each beside it, as "
            "X-labels.npy.");
  EXPECT_EQ(error({.label_required = false}, {Z}),
            "Z.npy has 2 columns, but X.npy has 3. All files need the same features.");
  write("X-labels.npy", file("|u1", "(2,)", "\1\2"));
  EXPECT_EQ(error({.label_required = false}, {write("W.npy", contents(X))}),
            "of X.npy and W.npy only one has labels. Give those of all files or of none.");
  EXPECT_EQ(error({.features = {"f9"}}),
            "X.npy: no column is called 'f9', which `features` asks for; the columns are f1, f2, "
            "f3.");
  EXPECT_EQ(error({}, {write("a.csv", "f1,label\n1,2\n")}),
            "X.npy and a.csv are of different formats (NumPy and CSV). Give files of one format.");
  std::filesystem::create_directory(path("other"));
  std::filesystem::remove(path("X-labels.npy"));
  EXPECT_EQ(
      error({.label_required = false}, {write("other/X.npy", contents(X))}),
      "X.npy and other/X.npy would both be task 'X'. Name their tasks, as in other/X.npy:name, "
      "or give them a task column.");
  const std::string much = error({.label_required = false, .memory = 50});
  EXPECT_TRUE(much.starts_with("X.npy: ")) << much;
  EXPECT_NE(much.find("memory"), std::string::npos) << much;
}

TEST_F(Npy, RefusesBadArrays) {
  const std::string anew = " in the header. Write the file anew with numpy.save.";
  EXPECT_EQ(matrix_error(""), "a.npy: the file is empty. Give a .npy file.");
  EXPECT_EQ(matrix_error("1,2\n3,4\n"),
            "a.npy: this is no .npy file: it starts with '1,2\\x0a3,4\\x0a'. Check the name.");
  EXPECT_EQ(matrix_error("PK\3\4abcdefgh"),
            "a.npy: this is an .npz archive. Save its arrays one by one, with numpy.save.");
  EXPECT_EQ(matrix_error(file("<f8", "(1, 1)", raw({1.0}), false, 4)),
            "a.npy: byte 7: version 4.0 of the .npy format is not known, only 1.0, 2.0 and 3.0. "
            "Write the file anew with numpy.save.");
  const std::string good = file("<f8", "(1, 1)", raw({1.0}));
  const std::string cut = "a.npy: ends within its header. It was cut off; get a whole copy.";
  for (std::size_t length = 6; length + 8 < good.size(); ++length)
    EXPECT_EQ(matrix_error(good.substr(0, length)), cut) << length;
  EXPECT_EQ(matrix_error(good.substr(0, good.size() - 1)),
            fmt::format("a.npy: its header promises a 1 x 1 array of type '<f8', but the file has "
                        "only {} bytes. It was cut off or is damaged; get a whole copy.",
                        good.size() - 1));
  EXPECT_EQ(matrix_error(good + "x"),
            "a.npy: there is more behind a 1 x 1 array of type '<f8'. Save one array per file.");
  EXPECT_EQ(matrix_error(std::string("\x93NUMPY\2\0\xff\xff\xff\x7f{", 13)),
            "a.npy: byte 9: the header would have 2147483647 bytes; no array of numbers or texts "
            "needs more than 65536. Write the file anew with numpy.save.");
  // Sizes that overflow any product.
  for (const char* shape :
       {"(4611686018427387904, 4)", "(9223372036854775807, 9223372036854775807)"}) {
    const std::string error = matrix_error(file("<f8", shape, raw({1.0})));
    EXPECT_TRUE(error.starts_with("a.npy: its header promises a ")) << error;
  }
  write_gzip("z.npy", good.substr(0, good.size() - 1));
  EXPECT_EQ(message([&] { read_matrix(path("z.npy")); }),
            "z.npy: ends too early: its header promises a 1 x 1 array of type '<f8'. It was cut "
            "off; get a whole copy.");
  EXPECT_EQ(matrix_error(file("<f8", "(0, 3)", "")),
            "a.npy: holds no values: it is a 0 x 3 array of type '<f8'.");
  EXPECT_EQ(matrix_error(file("<f8", "()", raw({1.0}))),
            "a.npy: is a single value of type '<f8'. Give one of two dimensions: rows and columns, "
            "as of X.reshape(len(X), -1).");
  EXPECT_EQ(matrix_error(file("|u1", "(2, 1, 2)", "abcd")),
            "a.npy: is a 2 x 1 x 2 array of type '|u1'. Give one of two dimensions: rows and "
            "columns, as of X.reshape(len(X), -1).");
  EXPECT_EQ(matrix_error(file("|S1", "(2, 2)", "abcd")),
            "a.npy: is a 2 x 2 array of type '|S1', which holds texts. Give an array of numbers.");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool fortran : {false, true})
    EXPECT_EQ(
        matrix_error(file("<f8", fortran ? "(3, 1)" : "(1, 3)", raw({1.0, nan, 2.0}), fortran)),
        fmt::format("a.npy: row {}, column {} holds nan; every value must be a finite number. "
                    "Correct it.",
                    fortran ? 2 : 1, fortran ? 1 : 2));

  EXPECT_EQ(header_error("[]"), "a.npy: byte 11: '{' is expected, but '[]' follows" + anew);
  EXPECT_EQ(header_error("{"),
            "a.npy: byte 12: a key in quotes is expected, but its end follows" + anew);
  EXPECT_EQ(header_error("{'descr"), "a.npy: byte 12: a quote has no end" + anew);
  EXPECT_EQ(header_error("{'descr' '<f8'}"),
            "a.npy: byte 20: ':' is expected, but ''<f8'}' follows" + anew);
  EXPECT_EQ(header_error("{'descr': '<f8', 'descr': '<f8'}"),
            "a.npy: byte 28: the key 'descr' is there twice" + anew);
  EXPECT_EQ(header_error("{'other': 1}"),
            "a.npy: byte 12: the key 'other' is none of 'descr', 'fortran_order', 'shape'" + anew);
  EXPECT_EQ(header_error("{'descr': '<f8'}"),
            "a.npy: byte 27: the key 'fortran_order' is missing" + anew);
  EXPECT_EQ(header_error("{'fortran_order': 0}"),
            "a.npy: byte 29: True or False is expected, but '0}' follows" + anew);
  EXPECT_EQ(header_error("{'shape': (1, -1)}"),
            "a.npy: byte 25: a size is expected, but '-1)}' follows" + anew);
  EXPECT_EQ(header_error("{'shape': (99999999999999999999)}"),
            "a.npy: byte 22: a size is expected, but '999999999999' follows" + anew);
  EXPECT_EQ(header_error("{'shape': (1 1)}"),
            "a.npy: byte 24: ',' is expected, but '1)}' follows" + anew);
  EXPECT_EQ(header_error("{'shape': 1}"),
            "a.npy: byte 21: '(' is expected, but '1}' follows" + anew);
  EXPECT_EQ(header_error("{'shape': (1,), 'descr': '<f8', 'fortran_order': False} x"),
            "a.npy: byte 67: there is more behind the dictionary" + anew);
  for (const char* type : {"<c16", "<f2", "<f16", "<i3", "f8", "<f", "|f8", "<U0", "<U", "<M8[ns]",
                           "<U99999999999999999999", "<f-8", ""}) {
    EXPECT_EQ(header_error(fmt::format("{{'descr': '{}', 'fortran_order': False}}", type)),
              fmt::format("a.npy: holds values of type '{}', which cannot be read. Save numbers or "
                          "texts, such as X.astype(float).",
                          type));
  }
  EXPECT_EQ(header_error("{'descr': '|O'}"),
            "a.npy: holds Python objects. Save numbers or texts, such as y.astype(str).");
  EXPECT_EQ(
      header_error("{'descr': [('a', '<f8')]}"),
      "a.npy: holds records of several fields. Save the features as one array of numbers, and "
      "labels and tasks as arrays of their own.");
}

TEST_F(Npy, RefusesBadLabels) {
  const auto error = [&](const std::string& text, Index rows) {
    return message([&] { labels_of(text, rows); });
  };
  EXPECT_EQ(error(file("<f8", "(2,)", raw({1.0, std::nan("")})), 2),
            "y.npy: value 2 is nan. Correct it.");
  EXPECT_EQ(error(file("<f4", "(1,)", raw({-std::numeric_limits<float>::infinity()})), 1),
            "y.npy: value 1 is -inf. Correct it.");
  EXPECT_EQ(error(file("|S2", "(2,)", std::string("ab\0\0", 4)), 2),
            "y.npy: value 2 is empty. Correct it.");
  EXPECT_EQ(error(file("|S2", "(1,)", "\xff\xfe"), 1),
            "y.npy: value 1 holds '\\xff\\xfe', which is not UTF-8 text. Correct it.");
  EXPECT_EQ(error(file("|S3", "(1,)", std::string("a\0b", 3)), 1),
            "y.npy: value 1 holds 'a\\x00b', which has a control character. Correct it.");
  for (const std::uint32_t c : {0xd800U, 0x110000U})
    EXPECT_EQ(error(file("<U1", "(1,)", raw({c})), 1),
              "y.npy: value 1 holds '\\xff', which is not UTF-8 text. Correct it.");
  EXPECT_EQ(error(file("|u1", "(2, 2)", "abcd"), 4),
            "y.npy: is a 2 x 2 array of type '|u1'. Give one of one dimension, as of y.ravel().");
}

}  // namespace
}  // namespace coterie
