// The header and the rows of a CSV or TSV file. Internal to this room.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "coterie/io/line_reader.hpp"

namespace coterie::detail {

struct Header {
  char delimiter;
  std::vector<std::string> names;
  std::vector<const char*> places;  // of the names in the line, until the reader moves on
  std::unordered_set<std::string> known;
  bool has(const std::string& name) const { return known.contains(name); }
};

// Reads the first line. Throws InputError for an empty file, a column without a name, two of the same name.
Header read_header(LineReader& reader);

// Moves to the next row. Blank lines may only end the file.
bool next_row(LineReader& reader);

// The fields of a row as text, and where they start. Throws InputError unless there are as many as columns.
struct TextRow {
  std::vector<std::string> fields;
  std::vector<const char*> places;
};
TextRow split_row(const LineReader& reader, const Header& header);

// "12 fields, but the header has 13 columns." at the place where the row is too short or too long.
[[noreturn]] void fail_ragged(const LineReader& reader, const char* at, std::size_t found,
                              std::size_t wanted, const std::string& wanted_by);

// How many fields the rest of the line has, from the start of a field on.
std::size_t count_fields(const LineReader& reader, const char* at, char delimiter);

}  // namespace coterie::detail
