// What an interrupted search has done so far, as records of a journal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coterie/io/journal.hpp"
#include "coterie/search/grid_scores.hpp"

namespace coterie {

// Where a journal is of several searches, its records begin with the number of theirs.
std::string encode(const RowKey& key, const RowScores& row, std::optional<std::size_t> search = {});

// What the records of a journal must agree with.
struct SearchShape {
  Grid grid;
  Score score = Score::accuracy;
  std::vector<Index> widths;  // numbers per point, of every fold
};
SearchShape shape_of(const Dataset& data, const Grid& grid, Score score,
                     const std::vector<Split>& splits);

struct KnownRow {
  std::size_t record = 0;  // of the journal
  RowScores scores;
};
// Throws InputError that names the file and the record, when one cannot be of such a search.
std::map<RowKey, KnownRow> decode_search(const Journal& journal, const SearchShape& shape);
// The same of several searches in one journal.
std::vector<std::map<RowKey, KnownRow>> decode_searches(const Journal& journal,
                                                        const std::vector<SearchShape>& shapes);

}  // namespace coterie
