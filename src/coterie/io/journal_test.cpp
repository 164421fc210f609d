#include "coterie/io/journal.hpp"

#include <gtest/gtest.h>

#include <cstring>

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

TEST_F(JournalTest, RefusesADamagedRecordBeforeOthersAndLeavesTheFile) {
  write_all();
  std::string bytes = contents(file);
  const std::size_t first =
      bytes.size() - 4 * 16 - 3 - 1000 - 4;  // where "one" begins, with its head
  bytes[first + 16] ^= 1;
  put(bytes);
  const std::string place = std::to_string(first);
  EXPECT_EQ(message([&] { Journal(file, "run A", true); }),
            "run.part: the journal is damaged at byte " + place +
                ": the checksum of a record is not that of its contents. To go on with the 0 "
                "records before it, cut the file there (truncate -s " +
                place + " run.part); to start from scratch, run without `resume`.");
  EXPECT_EQ(contents(file), bytes);
}

TEST_F(JournalTest, RefusesRecordsForTheCaller) {
  write_all();
  const std::string before = contents(file);
  const Journal journal(file, "run A", true);
  const std::string place = std::to_string(before.size() - 16 - 4);
  EXPECT_EQ(message([&] { journal.refuse(3, "it is four"); }),
            "run.part: the journal is damaged at byte " + place +
                ": it is four. To go on with the 3 records before it, cut the file there (truncate "
                "-s " +
                place + " run.part); to start from scratch, run without `resume`.");
  EXPECT_EQ(contents(file), before);
}

// A length beyond the end is a record that was cut off; one that is impossible is damage, and no room is made for it.
TEST_F(JournalTest, MakesNoRoomForImpossibleRecords) {
  write_all();
  const std::string whole = contents(file);
  const std::uint64_t length = std::uint64_t{1} << 40;
  std::string bytes = whole;
  std::memcpy(bytes.data() + bytes.size() - 4 - 16, &length, 8);
  put(bytes);
  EXPECT_EQ(Journal(file, "run A", true).records().size(), 3U);
  put(bytes);
  std::filesystem::resize_file(file, std::uintmax_t{1} << 41);  // with a hole
  const std::string text = message([&] { Journal(file, "run A", true); });
  EXPECT_NE(text.find("a record of 1099511627776 bytes, more than there can be"), text.npos)
      << text;
}

TEST_F(JournalTest, NeedsARegularFile) {
  std::filesystem::create_symlink("/dev/zero", file);
  EXPECT_EQ(message([&] { Journal(file, "run A", true); }),
            "run.part: this name is needed for the journal of the run, but it is no regular file. "
            "Move it away, or choose another `output`.");
}

TEST_F(JournalTest, RefusesAnotherRunAndAnotherFile) {
  write_all();
  EXPECT_EQ(message([&] { Journal(file, "run B", true); }),
            "run.part: it holds a run with other data, options or another version. Run without "
            "`resume` to start from scratch, or with the options and data of that run.");
  EXPECT_EQ(Journal(file, "run A", true).records(), records);
  put("my own notes");
  for (const bool resume : {true, false})
    EXPECT_EQ(message([&] { Journal(file, "run A", resume); }),
              "run.part: this name is needed for the journal of the run, but the file is something "
              "else. Move it away, or choose another `output`.");
  EXPECT_EQ(contents(file), "my own notes");
}

TEST_F(JournalTest, BelongsToOneProgramAtATime) {
  const Journal journal(file, "run A", false);
  EXPECT_THROW(Journal(file, "run A", true), InputError);
}

}  // namespace
}  // namespace coterie
