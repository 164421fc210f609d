// What a long run has done so far, in a file that survives the end of the program at any moment.
//
// A line that says what the run is, then records, each with its length and a checksum. Records are appended as they come; a record that
// was cut off by a crash is dropped when the journal is opened again. Anything else that is wrong with the file is an error, and the file
// stays as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coterie {

class Journal {
 public:
  // Opens the journal of the run that `run` describes. `resume`: keeps the records that are there; throws InputError when they are of another
  // run, or damaged. Otherwise starts an empty one. Throws InputError when another program holds the file or it is no regular file,
  // OutputError when it cannot be written.
  Journal(std::string path, std::string_view run, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::vector<std::string>& records() const { return records_; }  // of earlier runs
  // Throws InputError: record number `record` of these cannot be used, for the reason `why`; it says how to go on with those before it.
  [[noreturn]] void refuse(std::size_t record, const std::string& why) const;
  void append(std::string_view record);
  void remove();  // the run is done

  static bool exists(const std::string& path);

 private:
  void open_file();
  void read_records(std::string_view begin, bool resume);
  void write(std::string_view bytes);

  std::string path_;
  std::vector<std::string> records_;
  std::vector<std::uint64_t> places_;  // where each record begins, in bytes
  int file_ = -1;
};

}  // namespace coterie
