// A file that shows results, for whoever writes it.
#pragma once

#include <string>

namespace coterie {

struct ReportFile {
  std::string name;  // in its folder
  std::string text;  // empty: there is nothing to show
};

}  // namespace coterie
