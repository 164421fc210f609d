// Raw files of public data sets to the tables that the program reads: text of a CSV file with a header.
//
// The decimal text of numbers is kept. Only the number of fields is checked here; whatever else is wrong shows in the checksum.
#pragma once

#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct RawFile {
  std::string from;   // address or path, for messages
  std::string bytes;  // plain or gzip
};

// Which field of a line goes where. Fields stand between commas, spaces and tabs, as many as there are of these.
struct TableLayout {
  std::vector<std::string> header;
  std::vector<std::size_t> field;  // of a raw line, from 0, for every column of the header
};
TableLayout label_last(Index features);  // f1, f2, ..., label, as they stand
TableLayout letter_layout();             // id label next_id word_id position fold, then 128 pixels

// The files one behind the other; empty lines are left out. These throw InputError: file, line, what was found.
std::string table_of_lines(const std::vector<RawFile>& files, const TableLayout& layout);
// A MATLAB file with tasks: features, label, task; numbers with as many digits as they need.
std::string table_of_mat(const RawFile& file);

// Its bytes, inflated if they are gzip, at most so many.
std::string inflated(const RawFile& file, std::size_t most_bytes);

}  // namespace coterie
