// The table that every part gives: for people, for machines and for documents.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace coterie::bench {

using Row = nlohmann::ordered_json;  // an object; the first row names the columns

struct Report {
  std::string part;
  std::string about;  // what was compared, and how
  Row settings = Row::object();
  std::vector<Row> rows = {};
  std::vector<std::string> notes = {};
};

// The row with the largest (or smallest) value of a column, in words: "largest ratio: 3.2 (pen 50%, C 1, 0.05max)".
std::string extreme(const Report& report, const std::string& column, bool largest);

std::string as_text(const Report& report);
std::string as_markdown(const Report& report);
// One document for all reports, with commit, compiler, flags, machine and settings.
std::string as_json(const std::vector<Report>& reports, const Row& settings);
// The document with `text` between the lines "<!-- bench PART -->" and "<!-- end -->". Throws InputError when it has no such lines.
std::string with_block(const std::string& document, const std::string& part,
                       const std::string& text);
// One line: commit, compiler, flags, machine.
std::string provenance();

}  // namespace coterie::bench
