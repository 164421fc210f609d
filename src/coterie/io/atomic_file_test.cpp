#include "coterie/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

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

TEST_F(AtomicFile, DanglingLinksAreFollowed) {
  std::filesystem::create_directory(path("sub"));
  std::filesystem::create_symlink("sub/a", path("link"));
  std::filesystem::create_symlink("link", path("link to link"));
  write_file_atomically(path("link to link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link to link")));
  EXPECT_EQ(contents(path("sub/a")), "new");
  std::filesystem::create_symlink("circle", path("circle"));
  EXPECT_EQ(message([&] { write_file_atomically(path("circle"), "x"); }),
            "circle: cannot be written: Too many levels of symbolic links.");
  std::filesystem::create_symlink("none/a", path("lost"));
  EXPECT_EQ(message([&] { write_file_atomically(path("lost"), "x"); }),
            "lost: cannot be written: No such file or directory.");
}

// The number of a process that has just ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST_F(AtomicFile, RemovesWhatKilledProcessesLeft) {
  const std::string gone = std::to_string(ended_process());
  const std::string parent = std::to_string(getppid());
  const std::string own = std::to_string(getpid());
  write(".coterie-" + gone + "-0.tmp", "left");
  write(".coterie-" + own + "-4000000.tmp", "left by one that had our number");
  std::vector<std::string> kept = {
      ".coterie-" + parent + "-0.tmp",  // of a process that lives
      ".coterie-" + gone + "-1.tmp",    // locked: see below
      ".coterie-" + gone + ".tmp",      // not our pattern
      ".coterie-" + gone + "-01.tmp",  ".coterie-" + gone + "-1.tmp.bak",
      "coterie-" + gone + "-1.tmp",    ".coterie-notes-1.tmp"};
  for (const std::string& name : kept) write(name, "keep");
  write("mine", "keep");
  std::filesystem::create_symlink("mine", path(".coterie-" + gone + "-2.tmp"));
  kept.push_back(".coterie-" + gone + "-2.tmp");
  const int locked = open(path(kept[1]).c_str(), O_RDWR);
  ASSERT_EQ(flock(locked, LOCK_EX), 0);
  write_file_atomically(path("a"), "new");
  close(locked);
  for (const std::string& name : kept) EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
  EXPECT_EQ(contents(path("mine")), "keep");
  EXPECT_EQ(file_count(), kept.size() + 2);
}

TEST_F(AtomicFile, TheTemporaryFileIsLockedAndCanBeDiscarded) {
  write_file_atomically(path("a"), [&](const ByteSink& sink) {
    sink("some");
    std::string temporary;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      temporary = entry.path().string();
    EXPECT_EQ(temporary.rfind(path(".coterie-" + std::to_string(getpid()) + "-"), 0), 0U);
    const int file = open(temporary.c_str(), O_RDWR);
    EXPECT_NE(flock(file, LOCK_EX | LOCK_NB), 0);
    close(file);
  });
  EXPECT_THROW(write_file_atomically(path("b"),
                                     [&](const ByteSink& sink) {
                                       sink("some");
                                       discard_unfinished_file();
                                       EXPECT_EQ(file_count(), 1U);
                                     }),
               OutputError);
  discard_unfinished_file();  // nothing is at hand
  EXPECT_EQ(contents(path("a")), "some");
  EXPECT_EQ(file_count(), 1U);
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
