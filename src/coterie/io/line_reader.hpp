// Lines of a text file, plain or gzip (told by its first bytes, not its name). Internal to this room.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "coterie/io/machine.hpp"
#include "coterie/math/types.hpp"

namespace coterie::detail {

// Holds one buffer of text, as long as the longest line at least; a line is valid until the next call of next().
class LineReader {
 public:
  // Throws InputError: not found, a directory, not text. `memory`: bytes that may be made of the file.
  explicit LineReader(const std::string& path, double memory = memory_for_tables());
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool next();  // to the next line; false at the end of the file
  std::string_view line() const { return {line_, static_cast<std::size_t>(line_end_ - line_)}; }
  const char* begin() const { return line_; }
  const char* end() const { return line_end_; }  // before the line's end mark, \n or \r\n
  void rewind();                                 // to before the first line

  const std::string& path() const { return path_; }
  bool is_regular() const { return is_regular_; }  // not a pipe; another reader can read it again
  double fraction_read() const;                    // of the file's bytes, in [0, 1]
  double size() const;                             // bytes of the file as it is stored

  double memory() const { return memory_; }
  void need(double bytes) const;  // throws InputError when that is more

  // Throws InputError "path:line:column: message"; the column counts characters from 1.
  [[noreturn]] void fail(const char* at, const std::string& message) const;
  [[noreturn]] void fail_file(const std::string& message) const;  // "path: message"

 private:
  struct File;
  void keep_in_memory();
  std::size_t fill();
  void check_text() const;
  void check_unpacked() const;

  std::string path_;
  double memory_;
  std::unique_ptr<File> file_;
  bool is_regular_ = true;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  char *unread_ = nullptr, *filled_ = nullptr;  // the text in the buffer that no line has covered
  const char *line_ = nullptr, *line_end_ = nullptr;
  Index number_ = 0;
  double bytes_ = 0;
};

// Throws InputError when a table of so many bytes would take more memory than it may.
void check_table_memory(const std::string& path, bool is_gzip, double bytes, double memory);

struct Field {
  std::string_view text;  // without surrounding spaces or quotes
  const char* after;      // the delimiter or the end of the line
};

// The field that starts at `at`. Quoted fields may hold delimiters and doubled quotes (unfolded into scratch), not line ends.
Field read_field(const LineReader& reader, const char* at, char delimiter, std::string& scratch);

// Tab when the name ends in .tsv or .tab (.gz) or the line has a tab; comma otherwise.
char delimiter_of(const LineReader& reader);

}  // namespace coterie::detail
