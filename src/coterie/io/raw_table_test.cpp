#include "coterie/io/raw_table.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include "coterie/io/test_files.hpp"
#include "coterie/io/write_table.hpp"

namespace coterie {
namespace {

class RawTableTest : public FilesTest {};

TEST(RawTable, LinesKeepTheirTextWhateverStandsBetweenFields) {
  const std::string table = "f1,f2,label\n1.50,0,van\n-2,3e-1,bus\n";
  for (const char* lines :
       {"1.50,0,van\r\n-2,3e-1,bus\r\n", "1.50 0 van \n-2 3e-1 bus \n",
        " 1.50,  0, van\n -2,3e-1,bus", "\n1.50\t0\tvan\t\n\n-2\t3e-1\tbus\t\n"})
    EXPECT_EQ(table_of_lines({{"here", lines}}, label_last(2)), table) << lines;
  EXPECT_EQ(table_of_lines({{"a", "1.50 0 van"}, {"b", "-2 3e-1 bus\n"}}, label_last(2)), table);
}

TEST_F(RawTableTest, ALineWithTooFewOrTooManyFieldsIsNamed) {
  const auto say = [&](const std::string& lines) {
    return message([&] { table_of_lines({{"http://a/b", lines}}, label_last(2)); });
  };
  EXPECT_EQ(
      say("1,2,x\n\n1,x\n"),
      "http://a/b:3: has 2 fields where 3 are expected. It is not the file that was asked for.");
  EXPECT_EQ(
      say("1 2 3 x"),
      "http://a/b:1: has 4 fields where 3 are expected. It is not the file that was asked for.");
}

TEST(RawTable, LettersHavePixelsFirst) {
  std::string line = "17\tq\t-1\t5\t3\t9\t", pixels, header;
  for (int j = 1; j <= 128; ++j) {
    const char* pixel = j % 3 == 0 ? "1" : "0";
    line += std::string(pixel) + "\t";
    pixels += std::string(pixel) + ",";
    header += "f" + std::to_string(j) + ",";
  }
  EXPECT_EQ(table_of_lines({{"here", line + "\n"}}, letter_layout()),
            header + "label,id,next_id,word_id,position,fold\n" + pixels + "q,17,-1,5,3,9\n");
}

TEST_F(RawTableTest, CompressedFilesAreInflatedUpToALimit) {
  const std::string text(5000, 'x'), packed = contents(write_gzip("x.gz", text));
  EXPECT_EQ(inflated({"here", text}, 5000), text);
  EXPECT_EQ(inflated({"here", packed}, 5000), text);
  EXPECT_EQ(message([&] {
              inflated({"http://a/x.gz", packed}, 4999);
            }),
            "http://a/x.gz: unpacks to more than 0 MB. It is not the file that was asked for.");
  EXPECT_EQ(message([&] {
              inflated({"http://a/x.gz", packed.substr(0, packed.size() - 9)}, 5000);
            }),
            "http://a/x.gz: the gzip file ends too early. It was cut off; get a whole copy.");
}

TEST_F(RawTableTest, MatlabTasksBecomeAColumn) {
  Samples samples;
  samples.X.resize(3, 2);
  samples.X << 0.1, -3, 1e-5, 1.0 / 3, 2.5, 1e300;
  samples.features = {"f1", "f2"};
  samples.labels = {"0", "1"};
  samples.label = {0, 1, 1};
  samples.tasks = {"1", "2"};
  samples.task = {0, 0, 1};
  write_mat(samples, path("t.mat"));
  EXPECT_EQ(table_of_mat({"here", contents(path("t.mat"))}),
            "f1,f2,label,task\n0.1,-3,0,1\n1e-05,0.3333333333333333,1,1\n2.5,1e+300,1,2\n");
  EXPECT_EQ(message([&] {
              table_of_mat({"http://a/t.mat", "MATLAB 5.0 MAT-file, cut"});
            }).find("http://a/t.mat: "),
            0);
  samples.tasks.clear();
  samples.task.clear();
  write_mat(samples, path("u.mat"));
  EXPECT_EQ(
      message([&] {
        table_of_mat({"http://a/u.mat", contents(path("u.mat"))});
      }),
      "http://a/u.mat: has no tasks, which are cells of a MATLAB file. It is not the file that "
      "was asked for.");
}

}  // namespace
}  // namespace coterie
