// The public data sets of the studies: where their raw files are, what they become, and the checksums of both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/io/raw_table.hpp"

namespace coterie {

struct PublicRawFile {
  std::string name;     // as its source calls it
  std::string address;  // of the folder that it is in
  std::string sha256;   // empty: not known, and only that of what it becomes is checked
};

struct PublicFile {
  std::string name;  // in the folder of the data set, always a gzip file
  std::vector<PublicRawFile> raw;
  std::function<std::string(const std::vector<RawFile>&)> convert;  // empty: kept as it came
  std::string sha256;  // of its contents before compression
};

struct PublicData {
  std::string name;
  std::vector<PublicFile> files;
};

const std::vector<PublicData>& public_data();  // in the order of the paper's table

}  // namespace coterie
