// One file of a public data set: got, checked, converted, checked again, and written.
#pragma once

#include <functional>
#include <string>

#include "coterie/io/public_data.hpp"
#include "download.hpp"

namespace coterie::app {

struct FetchPlace {
  std::string
      from;  // empty: the public sources; else an address or a folder with FROM/robot/xaa.dat
  DownloadLimits limits;
};

struct FetchWatch {
  std::function<void(const std::string& from)> begin;  // before each raw file
  DownloadProgress progress;
};

// Where a raw file of the data set is: an address of the web or a path.
std::string raw_place(const PublicData& data, const PublicRawFile& raw, const std::string& from);

// Whether the file at `path` has the contents that it should have, compressed in whatever way.
bool is_there(const PublicFile& file, const std::string& path);

struct FetchedFile {
  std::string bytes;        // to write
  bool compressed = false;  // they are gzip already
};

// The raw files, checked and converted; nothing is written. Throws DownloadError for what cannot be got, and InputError for what is not
// the data: a web page, another checksum, lines that cannot be.
FetchedFile fetch_file(const PublicData& data, const PublicFile& file, const FetchPlace& place,
                       const FetchWatch& watch);

// Whole or not at all; folders are made as needed. Throws OutputError.
void write_fetched(const FetchedFile& file, const std::string& path);

}  // namespace coterie::app
