#include "coterie/io/results.hpp"

#include "coterie/io/test_files.hpp"
#include "coterie/math/types.hpp"

namespace coterie {
namespace {

class Results : public FilesTest {
 protected:
  std::vector<ResultBlock> read(const std::string& text, const ResultColumns& columns = {}) const {
    return read_results(write("r.csv", text), columns);
  }
  std::string failure(const std::string& text, const ResultColumns& columns = {}) const {
    return message([&] { read(text, columns); });
  }
};

TEST_F(Results, ReadsALongTable) {
  const auto blocks =
      read("method,note,score,dataset\nb,x,2,p\na,,1,p\na,\"y,z\",3,\"q r\"\nb,,4e0,q r\n");
  ASSERT_EQ(blocks.size(), 1);
  EXPECT_EQ(blocks[0].name, "");
  EXPECT_EQ(blocks[0].datasets, (std::vector<std::string>{"p", "q r"}));
  EXPECT_EQ(blocks[0].methods, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(mean_scores(blocks[0]), (Matrix{{2, 1}, {4, 3}}));
}

TEST_F(Results, BlocksAndRepetitionsMayDiffer) {
  const auto blocks = read(
      "share,set,way,run,auc\n"
      "20,p,a,1,1\n20,p,a,2,2\n20,p,b,2,4\n20,p,b,1,3\n"
      "20,q,a,x,5\n20,q,b,x,6\n"
      "10,p,c,1,7\n10,p,a,1,8\n",
      {.block = "share", .dataset = "set", .method = "way", .repetition = "run", .score = "auc"});
  ASSERT_EQ(blocks.size(), 2);
  EXPECT_EQ(blocks[0].name, "20");
  ASSERT_EQ(blocks[0].scores.size(), 2);
  EXPECT_EQ(blocks[0].scores[0], (Matrix{{1, 2}, {3, 4}}));
  EXPECT_EQ(blocks[0].scores[1], (Matrix{{5}, {6}}));
  EXPECT_EQ(blocks[1].name, "10");
  EXPECT_EQ(blocks[1].methods, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(blocks[1].scores[0], (Matrix{{8}, {7}}));
}

TEST_F(Results, ErrorsSayWhere) {
  const std::string head = "dataset,method,score\n";
  EXPECT_EQ(
      failure("set,method,score\np,a,1\n"),
      "r.csv: no column is called 'dataset'; say with `dataset` which it is; the columns are set, "
      "method, "
      "score.");
  EXPECT_EQ(failure(head + "p,a,1\n", {.method = "dataset"}),
            "column 'dataset' is named by `method` and by `dataset`. Name two columns.");
  EXPECT_EQ(failure(head), "r.csv: there is a header but no row of results.");
  EXPECT_EQ(failure(head + "p,a,1\np,b,high\n"),
            "r.csv:3:5: the score holds 'high', which is not a number. Correct it.");
  EXPECT_EQ(failure(head + "p,a,nan\n"),
            "r.csv:2:5: the score holds 'nan'; every value must be a finite number. Correct it.");
  EXPECT_EQ(failure(head + "p,,1\n"),
            "r.csv:2:3: column 'method' is empty. Every row needs a method, as UTF-8 text.");
  EXPECT_EQ(failure(head + "p,a\n"),
            "r.csv:2:4: 2 fields, but the header has 3. Give every row the same number of fields.");
  EXPECT_EQ(
      failure(head + "p,a,1\np,b,2\np,a,1\n"),
      "r.csv:4:1: method 'a' on data set 'p' has a score on line 2 already. Remove one of them, or "
      "name the column that tells them apart by `repetition`.");
  EXPECT_EQ(
      failure(head + "p,a,1\np,b,2\nq,b,1\n"),
      "r.csv: method 'a' on data set 'q' has no score; every method needs one on every data set of "
      "its block. Add the row, or leave out the method or the data set.");
  EXPECT_EQ(
      failure("dataset,method,run,b,score\np,m,1,x,1\np,m,2,x,1\np,n,2,x,1\n",
              {.block = "b", .repetition = "run"}),
      "r.csv: method 'n' on data set 'p' (block 'x', repetition '1') has no score; every method "
      "needs one on every data set and repetition of its block. Add the row, or leave out the "
      "method or the data set.");
}

}  // namespace
}  // namespace coterie
