// IDX files: what is read, what is written, and every message.
#include <fmt/format.h>

#include <cmath>

#include "coterie/data/planted.hpp"
#include "coterie/io/table.hpp"
#include "coterie/io/test_files.hpp"
#include "coterie/io/write_table.hpp"
#include "coterie/math/random.hpp"

namespace coterie {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<Index>;

// Big-endian bytes.
std::string bytes(std::uint64_t value, std::size_t size) {
  std::string text;
  for (std::size_t k = size; k-- > 0;) text += static_cast<char>(value >> (8 * k) & 0xff);
  return text;
}

std::string header(int type, const std::vector<std::uint64_t>& shape) {
  std::string text = bytes(static_cast<std::uint64_t>(type), 3) + bytes(shape.size(), 1);
  for (const std::uint64_t n : shape) text += bytes(n, 4);
  return text;
}

class Idx : public FilesTest {
 protected:
  // Two images of 1 x 3 and their labels 7 and 0, by the usual names.
  std::string pair(const std::string& stem = "a-") const {
    write(stem + "labels-idx1-ubyte", header(8, {2}) + bytes(7, 1) + bytes(0, 1));
    return write(stem + "images-idx3-ubyte",
                 header(8, {2, 1, 3}) + std::string("\1\2\3\4\5\xff", 6));
  }
  std::string error(const std::string& text) const {
    return message([&] { read_samples({write("a.idx", text)}, {.label_required = false}); });
  }
};

TEST_F(Idx, ReadsImagesAndTheLabelsBeside) {
  const Samples samples = read_samples({pair()});
  EXPECT_EQ(samples.X, (Matrix(2, 3) << 1, 2, 3, 4, 5, 255).finished());
  EXPECT_EQ(samples.features, (Names{"f1", "f2", "f3"}));
  EXPECT_EQ(samples.labels, (Names{"0", "7"}));
  EXPECT_EQ(samples.label, (Numbers{1, 0}));
  EXPECT_TRUE(samples.tasks.empty());
  const std::string images = contents(path("a-images-idx3-ubyte")),
                    labels = contents(path("a-labels-idx1-ubyte"));
  EXPECT_EQ(read_samples({write("pictures", images), write("classes", labels)}), samples);
  write_gzip("z-labels-idx1-int.gz", header(0x0c, {2}) + bytes(7, 4) + bytes(0, 4));
  EXPECT_EQ(read_samples({write_gzip("z-images-idx3-ubyte.gz", images)}), samples);
  EXPECT_EQ(read_samples({write("z-images-idx3-ubyte", images)}), samples);
  write("k-labels.idx1-ubyte", labels);
  EXPECT_EQ(read_samples({write("k-images.idx3-ubyte", images)}), samples);
  write("d-labels.idx", labels);
  EXPECT_EQ(read_samples({write("d.idx", images)}), samples);
}

TEST_F(Idx, SeveralFilesAreATaskEach) {
  const Samples samples = read_samples({pair("north-"), pair("south-") + ":s"});
  EXPECT_EQ(samples.tasks, (Names{"north", "s"}));
  EXPECT_EQ(samples.task, (Numbers{0, 0, 1, 1}));
}

TEST_F(Idx, ReadsEveryType) {
  const TableOptions unlabelled{.label_required = false};
  const auto read = [&](int type, const std::string& values) {
    return read_samples({write("a.idx", header(type, {1, 2}) + values)}, unlabelled).X;
  };
  const Matrix expected = (Matrix(1, 2) << -2, 100).finished();
  EXPECT_EQ(read(0x08, bytes(0xfe, 1) + bytes(100, 1)), (Matrix(1, 2) << 254, 100).finished());
  EXPECT_EQ(read(0x09, bytes(0xfe, 1) + bytes(100, 1)), expected);
  EXPECT_EQ(read(0x0b, bytes(0xfffe, 2) + bytes(100, 2)), expected);
  EXPECT_EQ(read(0x0c, bytes(0xfffffffe, 4) + bytes(100, 4)), expected);
  EXPECT_EQ(read(0x0d, bytes(0xc0000000, 4) + bytes(0x42c80000, 4)), expected);
  EXPECT_EQ(read(0x0e, bytes(0xc000000000000000, 8) + bytes(0x4059000000000000, 8)), expected);
}

TEST_F(Idx, FeaturesCanBeChosen) {
  const std::string file = pair();
  EXPECT_EQ(read_samples({file}, {.drop = {"f2"}}).X, (Matrix(2, 2) << 1, 3, 4, 255).finished());
  EXPECT_EQ(read_samples({file}, {.features = {"f3", "f1"}}).features, (Names{"f3", "f1"}));
  EXPECT_EQ(message([&] { read_samples({file}, {.features = {"f4"}}); }),
            "a-images-idx3-ubyte: no column is called 'f4', which `features` asks for; the columns "
            "are f1, f2, f3.");
  EXPECT_EQ(message([&] { read_samples({file}, {.drop = {"f2"}, .features = {"f2"}}); }),
            "`features` names column 'f2', which is dropped as well. Take it out of one place.");
}

TEST_F(Idx, RoundTripsBitForBit) {
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    const bool whole = round % 2 == 0;
    Samples samples;
    const Index n = 1 + static_cast<Index>(random.uniform() * 20),
                d = 1 + static_cast<Index>(random.uniform() * 9);
    samples.X.resize(n, d);
    for (double& value : samples.X.reshaped())
      value = whole ? std::floor(random.uniform() * 256) : random.normal() * 1e-300;
    samples.labels = round % 3 == 0 ? Names{"-70000", "300"} : Names{"0", "255"};
    for (Index i = 0; i < n; ++i) samples.label.push_back(i % 2);
    if (n == 1) samples.labels.pop_back();
    for (Index j = 1; j <= d; ++j) samples.features.push_back(fmt::format("f{}", j));
    const std::string stem = fmt::format("r{}", round);
    for (const char* name : {".idx", "z.idx.gz", "-images-idx3-double.gz", "-images-idx2"}) {
      const Names files = write_idx(samples, path(stem + name));
      EXPECT_EQ(files.size(), 2U);
      EXPECT_EQ(read_samples({path(stem + name)}), samples) << name;
    }
    EXPECT_EQ(contents(path(stem + ".idx"))[2], whole ? 0x08 : 0x0e);
  }
}

TEST_F(Idx, ImagesKeepTheirShapeAndNegativeZero) {
  Samples samples;
  samples.X = Matrix::Constant(2, 9, 3);
  samples.features.assign(9, "f");
  write_idx(samples, path("s-images-idx3-ubyte"));
  EXPECT_EQ(contents(path("s-images-idx3-ubyte")).substr(0, 16), header(8, {2, 3, 3}));
  samples.X(0, 0) = -0.0;
  write_idx(samples, path("s.idx"));
  EXPECT_TRUE(std::signbit(read_samples({path("s.idx")}, {.label_required = false}).X(0, 0)));
}

TEST_F(Idx, TasksGoToAFileEach) {
  const Samples samples =
      plant_groups({.tasks = 3, .groups = 1, .samples = 9, .size_spread = 0.5}).samples;
  const WrittenFiles written = write_samples(samples, path("p-images-idx2-double"));
  EXPECT_TRUE(written.file_per_task);
  ASSERT_EQ(written.files.size(), 6U);
  EXPECT_EQ(written.files[2], path("p-t02-images-idx2-double"));
  EXPECT_EQ(written.files[3], path("p-t02-labels-idx1-int"));
  EXPECT_EQ(read_samples(
                {written.files[0] + ":t01", written.files[2] + ":t02", written.files[4] + ":t03"}),
            samples);
}

TEST_F(Idx, MessagesOfBadFiles) {
  EXPECT_EQ(error(""), "a.idx: the file is empty. Give an IDX file.");
  EXPECT_EQ(
      error("f1,f2\n"),
      "a.idx: this is no IDX file: it starts with the bytes 66 31 2c 66, where two zeros, a type "
      "and the number of dimensions should be. Check the name.");
  EXPECT_EQ(error(header(8, {2, 3}).substr(0, 9)),
            "a.idx: ends within its header. It was cut off; get a whole copy.");
  EXPECT_EQ(
      error(header(8, {2, 3}) + "12345"),
      "a.idx: the header promises 2 x 3 values of type ubyte, but the file has only 17 bytes. It "
      "was cut off or damaged; get a whole copy.");
  EXPECT_EQ(
      error(header(8, {2, 3}) + "1234567"),
      "a.idx: there is more behind the 2 x 3 values of type ubyte that the header promises. Check "
      "where the file is from.");
  EXPECT_EQ(
      error(header(14, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff})),
      "a.idx: the header promises 4294967295 x 4294967295 x 4294967295 x 4294967295 values of type "
      "double, but the file has only 20 bytes. It was cut off or damaged; get a whole copy.");
  EXPECT_EQ(error(header(8, {0, 28, 28})), "a.idx: holds no values: its size is 0 x 28 x 28.");
  std::vector<std::uint64_t> endless(40, 0xffffffff);  // their product is above all doubles
  endless.push_back(0);
  EXPECT_TRUE(error(header(8, endless)).starts_with("a.idx: holds no values: its size is 429496"));
  EXPECT_EQ(
      error(header(14, {1, 2}) + bytes(0, 8) + bytes(0x7ff8000000000000, 8)),
      "a.idx: value 2 of image 1 holds nan; every value must be a finite number. Correct it.");
  const std::string packed = write_gzip("z.idx.gz", header(8, {1 << 20, 1 << 20}));
  EXPECT_EQ(
      message([&] { read_samples({packed}, {.label_required = false}); }),
      "z.idx.gz: the header promises 1048576 x 1048576 values of type ubyte, but the file has "
      "only " +
          std::to_string(contents(packed).size()) +
          " bytes of gzip. It was cut off or damaged; get a whole copy.");
  const std::string whole =
      contents(write_gzip("y.idx.gz", header(8, {9, 9}) + std::string(81, 'q')));
  EXPECT_EQ(message([&] {
              read_samples({write("y.idx.gz", whole.substr(0, whole.size() - 9))},
                           {.label_required = false});
            }),
            "y.idx.gz: the gzip file ends too early. It was cut off; get a whole copy.");
}

TEST_F(Idx, MessagesOfLabelsAndTasks) {
  const std::string images = pair();
  EXPECT_EQ(message([&] { read_samples({path("a-labels-idx1-ubyte")}); }),
            "a-labels-idx1-ubyte: has one dimension, as labels do. Name the file of images, and "
            "its labels after it.");
  write("b-labels-idx1-ubyte", header(8, {3}) + "123");
  const std::string b = write("b-images-idx3-ubyte", contents(images));
  EXPECT_EQ(message([&] { read_samples({b}); }),
            "b-labels-idx1-ubyte: holds 3 labels, but b-images-idx3-ubyte holds 2 images. Give the "
            "labels of these images.");
  const std::string alone = write("c-images-idx3-ubyte", contents(images));
  EXPECT_EQ(message([&] { read_samples({alone}); }),
            "c-images-idx3-ubyte: its labels are not beside it, as c-labels-idx1-ubyte. Name the "
            "file of labels after it.");
  write("e-labels-idx1-int", "");
  write("e-labels-idx1-ubyte.gz", "");
  EXPECT_EQ(message([&] { read_samples({write("e-images-idx3-ubyte", contents(images))}); }),
            "e-images-idx3-ubyte: several files could be its labels: e-labels-idx1-int, "
            "e-labels-idx1-ubyte.gz. Name the right one after it.");
  EXPECT_TRUE(read_samples({alone}, {.label_required = false}).label.empty());
  EXPECT_EQ(message([&] {
              read_samples({alone, images}, {.label_required = false});
            }),
            "of c-images-idx3-ubyte and a-images-idx3-ubyte only one has labels. Give those of all "
            "files or of none.");
  EXPECT_EQ(message([&] { read_samples({images}, {.task = "site"}); }),
            "a-images-idx3-ubyte: an IDX file has no task column 'site'. Name the task as in "
            "a-images-idx3-ubyte:name.");
  write("w-labels.idx", header(8, {1}) + "1");
  const std::string wide = write("w.idx", header(8, {1, 4}) + "1234");
  EXPECT_EQ(message([&] {
              read_samples({images, wide});
            }),
            "w.idx: its images have 4 values, but those of a-images-idx3-ubyte have 3. All files "
            "need images of one size.");
  EXPECT_EQ(message([&] {
              read_samples({images, write("t.csv", "f1,label\n1,x\n")});
            }),
            "a-images-idx3-ubyte and t.csv are of different formats (IDX and CSV). Give files of "
            "one format.");
}

TEST_F(Idx, MessagesOfWriting) {
  Samples samples = read_samples({pair()});
  samples.X(1, 2) = 0.5;
  EXPECT_EQ(message([&] { write_idx(samples, path("x-images-idx3-ubyte")); }),
            "x-images-idx3-ubyte: the name says ubyte, but feature 'f3' of row 2 is 0.5, no whole "
            "number from 0 to 255. Let the "
            "name end in -double or .idx.");
  EXPECT_EQ(message([&] { write_idx(samples, path("x-images-idx3-short")); }),
            "x-images-idx3-short: the name says short; images are written as ubyte or double. "
            "Change the name, or let it end in "
            ".idx.");
  EXPECT_EQ(message([&] { write_idx(samples, path("x-images-idx4-double")); }),
            "x-images-idx4-double: the name says 4 dimensions; images are written with 2 (idx2) or "
            "3 (idx3).");
  EXPECT_EQ(message([&] { write_idx(samples, path("x.bin")); }),
            "x.bin: the name of an IDX file ends in .idx or is like train-images-idx3-ubyte.");
  samples.labels[1] = "bus";
  EXPECT_EQ(message([&] { write_idx(samples, path("x.idx")); }),
            "x.idx: the label 'bus' is no whole number that an IDX file can hold. Number the "
            "classes, or write CSV or .mat.");
  samples.task = {0, 1};
  samples.tasks = {"s", "t"};
  EXPECT_EQ(message([&] { write_idx(samples, path("x.idx")); }),
            "x.idx: the data has 2 tasks, but an IDX file holds one. Write a file per task.");
  EXPECT_EQ(message([&] { check_table_name(path("x-labels-idx1-ubyte")); }),
            "x-labels-idx1-ubyte: the ending must say the format: .csv, .tsv, .svm, .npy or "
            ".idx, perhaps followed by .gz, or .mat.");
  EXPECT_EQ(file_count(), 2U);  // nothing was written
}

}  // namespace
}  // namespace coterie
