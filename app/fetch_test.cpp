// With invented data in a folder. Servers are those of tests/fetch_test.py.
#include "fetch.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "checksum.hpp"
#include "coterie/io/test_files.hpp"

namespace coterie::app {
namespace {

const std::string kTable = "f1,f2,label\n1,2,a\n3,4,b\n";

class FetchTest : public FilesTest {
 protected:
  FetchTest() {
    std::filesystem::create_directories(path("raw/toys"));
    write("raw/toys/one", "1 2 a\n");
    write("raw/toys/two", "3 4 b\n");
    place_.from = path("raw");
    toys_.files = {
        {"data.csv.gz",
         {{"one", "http://example.invalid", sha256("1 2 a\n")},
          {"two", "http://example.invalid", ""}},
         [](const std::vector<RawFile>& raw) { return table_of_lines(raw, label_last(2)); },
         sha256(kTable)}};
  }

  FetchedFile fetch() { return fetch_file(toys_, toys_.files.front(), place_, {}); }

  PublicData toys_{"toys", {}};
  FetchPlace place_;
};

TEST(Checksum, IsThatOfTheStandard) {  // the examples of FIPS 180-2
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(FetchTest, RawFilesBecomeATableThatIsThenThere) {
  const PublicFile& file = toys_.files.front();
  const std::string target = path("out/toys/data.csv.gz");
  EXPECT_FALSE(is_there(file, target));
  write_fetched(fetch(), target);
  EXPECT_TRUE(is_there(file, target));
  EXPECT_EQ(inflated({target, contents(target)}, 1000), kTable);
  write("out/toys/data.csv.gz", kTable);  // stored plain
  EXPECT_TRUE(is_there(file, target));
  write("out/toys/data.csv.gz", kTable + "5,6,a\n");
  EXPECT_FALSE(is_there(file, target));
  write("out/toys/data.csv.gz", "\x1f\x8b\x08 cut off");
  EXPECT_FALSE(is_there(file, target));
}

TEST_F(FetchTest, FilesWithoutAConverterAreKeptAsTheyCame) {
  const std::string packed = contents(write_gzip("raw/toys/one", "images"));
  toys_.files = {{"one", {{"one", "", sha256(packed)}}, {}, sha256("images")}};
  const FetchedFile fetched = fetch();
  EXPECT_EQ(fetched.bytes, packed);
  EXPECT_TRUE(fetched.compressed);
  toys_.files.front().sha256 = sha256("other images");
  EXPECT_NE(
      message([&] { fetch(); }).find("raw/toys/one: is not the data that was asked for: 6 bytes"),
      std::string::npos);
}

TEST_F(FetchTest, WhatIsNotTheDataIsRefused) {
  write("raw/toys/one", "1 2 b\n");
  EXPECT_EQ(message([&] { fetch(); }),
            "raw/toys/one: is not the data that was asked for: 6 bytes with SHA-256 " +
                sha256("1 2 b\n") + ", not " + sha256("1 2 a\n") +
                ". Nothing of it is kept. Try another source with --from.");
  write("raw/toys/one", "1 2 a\n");
  write("raw/toys/two", "3 4 c\n");
  EXPECT_EQ(message([&] { fetch(); }),
            "raw/toys/one: the table made of it and 1 more is not the data that was asked for: 24 "
            "bytes with SHA-256 " +
                sha256("f1,f2,label\n1,2,a\n3,4,c\n") + ", not " + sha256(kTable) +
                ". Nothing of it is kept. Try another source with --from.");
  for (const char* page :
       {"<html><body>Gone</body></html>", "\xef\xbb\xbf\r\n <!DOCTYPE HTML>", "<?xml "}) {
    write("raw/toys/one", page);
    EXPECT_EQ(
        message([&] { fetch(); }),
        "raw/toys/one: is a web page, not the data. The file may have moved; try another source "
        "with --from.");
  }
  place_.limits.most_bytes = 1 << 20;
  write("raw/toys/one", std::string((1 << 20) + 1, '1'));
  EXPECT_EQ(message([&] { fetch(); }),
            "raw/toys/one: has more than 1 MB. It is not the file that was asked for.");
  std::filesystem::remove(path("raw/toys/one"));
  EXPECT_EQ(message([&] { fetch(); }),
            "raw/toys/one: there is no such file. Put it there, or check --from.");
}

TEST_F(FetchTest, PlacesOfRawFiles) {
  const PublicRawFile& raw = toys_.files.front().raw.front();
  EXPECT_EQ(raw_place(toys_, raw, ""), "http://example.invalid/one");
  EXPECT_EQ(raw_place(toys_, raw, "https://mirror/data"), "https://mirror/data/toys/one");
  EXPECT_EQ(raw_place(toys_, raw, "HTTP://mirror/data//"), "HTTP://mirror/data/toys/one");
  EXPECT_EQ(raw_place(toys_, raw, "folder/"), "folder/toys/one");
  EXPECT_FALSE(is_web_address("ftp://mirror/data"));
  EXPECT_FALSE(is_web_address("http://"));
}

TEST(PublicDataTest, EveryFileHasSourcesAndChecksums) {
  EXPECT_EQ(public_data().size(), 7U);
  for (const PublicData& data : public_data())
    for (const PublicFile& file : data.files) {
      EXPECT_TRUE(file.name.ends_with(".gz")) << data.name;
      EXPECT_EQ(file.sha256.size(), 64U) << data.name;
      EXPECT_FALSE(file.raw.empty()) << data.name;
      for (const PublicRawFile& raw : file.raw) {
        EXPECT_TRUE(is_web_address(raw.address) && !raw.address.ends_with('/')) << raw.address;
        EXPECT_TRUE(raw.sha256.empty() || raw.sha256.size() == 64U) << raw.name;
      }
    }
}

}  // namespace
}  // namespace coterie::app
