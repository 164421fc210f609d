// Raw files of public data sets, as `data fetch` makes tables of them.
#include "coterie/io/raw_table.hpp"

#include <algorithm>

#include "target.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_raw_table(Bytes bytes) {
  const TableLayout layout = label_last(2);
  accepts([&] {
    const std::string table = table_of_lines({{"here", std::string(bytes)}}, layout);
    require(table.starts_with("f1,f2,label\n"), "a table begins with its header");
    require(std::ranges::count(table, ',') == 2 * std::ranges::count(table, '\n'),
            "every line has as many fields as the header");
    const std::string body = table.substr(table.find('\n') + 1);
    const bool gzip = body.starts_with("\x1f\x8b");
    require(gzip || table_of_lines({{"here", body}}, layout) == table,
            "a table is made of itself again");
  });
}

const Target raw_table_target("raw_table", fuzz_raw_table);

}  // namespace
}  // namespace coterie::fuzz
