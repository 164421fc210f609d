#include "coterie/io/task_graph.hpp"

#include "coterie/io/test_files.hpp"

namespace coterie {
namespace {

class TaskGraph : public FilesTest {
 protected:
  std::vector<TaskLink> read(const std::string& text) const {
    return read_task_graph(write("g.csv", text), {"a", "b", "c"});
  }
  std::string failure(const std::string& text) const {
    return message([&] { read(text); });
  }
};

TEST_F(TaskGraph, ReadsPairs) {
  EXPECT_EQ(read("task_a,task_b,weight\na,c,0.5\nb,a,0\n"),
            (std::vector<TaskLink>{{0, 2, 0.5}, {1, 0, 0}}));
  EXPECT_EQ(read("task_b,task_a\nc,\"a\"\n"), (std::vector<TaskLink>{{0, 2, 1}}));
  EXPECT_TRUE(read("task_a,task_b\n").empty());
}

TEST_F(TaskGraph, ErrorsNameTheLine) {
  EXPECT_EQ(failure("task_a,task_b\na,d\n"),
            "g.csv:2:3: no task is called 'd'; the tasks are a, b, c.");
  EXPECT_EQ(failure("task_a,task_b\na,a\n"),
            "g.csv:2:3: task 'a' is paired with itself. Remove this line.");
  EXPECT_EQ(failure("task_a,task_b\na,b\nb,a\n"),
            "g.csv:3:1: tasks 'b' and 'a' are paired on line 2 already. Remove one line.");
  EXPECT_EQ(failure("task_a,task_b,weight\na,b,-1\n"),
            "g.csv:2:5: the weight is -1; weights must not be negative.");
  EXPECT_EQ(failure("task_a,task_b,weight\na,b,nan\n"),
            "g.csv:2:5: the weight holds 'nan'; every value must be a finite number. Correct it.");
  EXPECT_EQ(failure("task_a,task_b,weight\na,b\n"),
            "g.csv:2:4: 2 fields, but the header has 3. Give every row the same number of fields.");
  EXPECT_EQ(
      failure("from,to\na,b\n"),
      "g.csv: the columns are from, to; a task graph has task_a, task_b and, if wanted, weight.");
  EXPECT_EQ(failure("task_a,task_b,note\na,b,x\n"),
            "g.csv: the columns are task_a, task_b, note; a task graph has task_a, task_b and, if "
            "wanted, weight.");
}

}  // namespace
}  // namespace coterie
