#include "coterie/io/journal.hpp"

#include <gtest/gtest.h>

#include "coterie/io/test_files.hpp"
#include "coterie/math/types.hpp"

namespace coterie {
namespace {

class JournalTest : public FilesTest {
 protected:
  const std::string file = path("run.part");
  const std::vector<std::string> records = {"one", "", std::string(1000, '\0'), "four"};

  void put(const std::string& bytes) const { write("run.part", bytes); }

  void write_all() {
    Journal journal(file, "run A", false);
    for (const std::string& record : records) journal.append(record);
  }
};

TEST_F(JournalTest, GivesBackWhatWasAppended) {
  write_all();
  Journal journal(file, "run A", true);
  EXPECT_EQ(journal.records(), records);
  journal.append("five");
  journal.remove();
  EXPECT_FALSE(Journal::exists(file));
}

// Cut off anywhere, the records that are whole are kept and the next one follows them.
TEST_F(JournalTest, DropsWhatWasCutOff) {
  write_all();
  const std::string whole = contents(file);
  std::size_t most = 0;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    put(whole.substr(0, length));
    std::size_t kept = 0;
    {
      Journal journal(file, "run A", true);
      kept = journal.records().size();
      for (std::size_t i = 0; i < kept; ++i) EXPECT_EQ(journal.records()[i], records[i]);
      journal.append("next");
    }
    EXPECT_GE(kept, most);
    most = kept;
    const Journal again(file, "run A", true);
    ASSERT_EQ(again.records().size(), kept + 1);
    EXPECT_EQ(again.records().back(), "next");
  }
  EXPECT_EQ(most, records.size());
}

TEST_F(JournalTest, StopsAtADamagedRecord) {
  write_all();
  std::string bytes = contents(file);
  bytes[bytes.size() - 1] ^= 1;
  put(bytes);
  EXPECT_EQ(Journal(file, "run A", true).records().size(), records.size() - 1);
}

TEST_F(JournalTest, RefusesAnotherRunAndAnotherFile) {
  write_all();
  EXPECT_EQ(message([&] { Journal(file, "run B", true); }),
            "run.part: it holds a run with other data, options or another version. Run without "
            "--resume to start anew, or with the options and data of that run.");
  EXPECT_EQ(Journal(file, "run A", true).records(), records);
  put("my own notes");
  for (const bool resume : {true, false})
    EXPECT_EQ(message([&] { Journal(file, "run A", resume); }),
              "run.part: this name is needed for the journal of the run, but the file is something "
              "else. Move it away, or choose another --output.");
  EXPECT_EQ(contents(file), "my own notes");
}

TEST_F(JournalTest, BelongsToOneProgramAtATime) {
  const Journal journal(file, "run A", false);
  EXPECT_THROW(Journal(file, "run A", true), InputError);
}

}  // namespace
}  // namespace coterie
