#include "coterie/io/atomic_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "coterie/io/test_files.hpp"

namespace coterie {
namespace {

using AtomicFile = FilesTest;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_mode & 0777;
}

TEST_F(AtomicFile, WritesAndReplaces) {
  write_file_atomically(path("a"), "one");
  EXPECT_EQ(contents(path("a")), "one");
  write_file_atomically(path("a"), [](const ByteSink& sink) {
    sink("tw");
    sink("o");
  });
  EXPECT_EQ(contents(path("a")), "two");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(AtomicFile, FollowsTheUmaskAndKeepsTheModeOfAnOldFile) {
  const mode_t before = umask(027);
  write_file_atomically(path("a"), "one");
  umask(before);
  EXPECT_EQ(mode_of(path("a")), 0640U);
  chmod(path("a").c_str(), 0600);
  write_file_atomically(path("a"), "two");
  EXPECT_EQ(mode_of(path("a")), 0600U);
}

TEST_F(AtomicFile, AFailedWriteLeavesTheOldFileAndNothingElse) {
  write("a", "old");
  const auto broken = [&] {
    write_file_atomically(path("a"), [](const ByteSink& sink) {
      sink("new");
      throw std::runtime_error("stopped");
    });
  };
  EXPECT_EQ(message(broken), "stopped");
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(AtomicFile, LinksStayLinks) {
  write("a", "old");
  std::filesystem::create_symlink("a", path("link"));
  write_file_atomically(path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(contents(path("a")), "new");
}

TEST_F(AtomicFile, ErrorsNameTheReason) {
  EXPECT_EQ(message([&] { write_file_atomically(path("none/a"), "x"); }),
            "none/a: cannot be written: No such file or directory.");
  EXPECT_EQ(message([&] { write_file_atomically(folder_.string(), "x"); }),
            folder_.string() + ": cannot be written: this is a folder.");
  EXPECT_EQ(message([] { write_file_atomically("/dev/full", "x"); }),
            "/dev/full: cannot be written: No space left on device.");
  EXPECT_THROW(write_file_atomically("/dev/full", "x"), OutputError);
  write_file_atomically("/dev/null", "x");
}

TEST_F(AtomicFile, AReadOnlyFileIsNotReplaced) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  chmod(write("a", "old").c_str(), 0400);
  EXPECT_EQ(message([&] { write_file_atomically(path("a"), "x"); }),
            "a: cannot be written: Permission denied.");
}

}  // namespace
}  // namespace coterie
