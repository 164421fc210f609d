// What a long run has done so far, in a file that survives the end of the program at any moment.
//
// A line that says what the run is, then records, each with its length and a checksum. Records are appended as they come; a record that
// was cut off by a crash is dropped when the journal is opened again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coterie {

class Journal {
 public:
  // Opens the journal of the run that `run` describes. `resume`: keeps the records that are there; throws InputError when they are of another
  // run. Otherwise starts an empty one. Throws InputError when another program holds the file, OutputError when it cannot be written.
  Journal(std::string path, std::string_view run, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::vector<std::string>& records() const { return records_; }  // of earlier runs
  void append(std::string_view record);
  void remove();  // the run is done

  static bool exists(const std::string& path);

 private:
  void write(std::string_view bytes);

  std::string path_;
  std::vector<std::string> records_;
  int file_ = -1;
};

}  // namespace coterie
