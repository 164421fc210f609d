// The data set inside the program: UCI optical digits, see data/README.md.
#pragma once

#include <string>

namespace coterie::app {

inline const std::string embedded_name = "digits";

// The embedded bytes as a file without a name, for as long as this lives.
class EmbeddedFile {
 public:
  EmbeddedFile();
  ~EmbeddedFile();
  EmbeddedFile(const EmbeddedFile&) = delete;
  EmbeddedFile& operator=(const EmbeddedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace coterie::app
