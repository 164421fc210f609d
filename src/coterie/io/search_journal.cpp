#include "coterie/io/search_journal.hpp"

#include <limits>
#include <utility>

#include "coterie/io/numbers.hpp"

namespace coterie {

namespace {

RowKey decode_key(NumberReader& in, const SearchShape& shape) {
  const Grid& grid = shape.grid;
  const auto place = [&](const auto& list, const char* what) {
    return in.whole(0, std::ssize(list) - 1, what);
  };
  RowKey key;
  key.round = in.count("the round");
  key.fold = place(shape.widths, "the number of a fold");
  key.point.norm = place(grid.norm, "the number of a norm");
  key.point.normalise = place(grid.normalise, "the number of a normalisation");
  key.point.C = place(grid.C, "the number of a C");
  key.point.lambda = place(grid.lambda, "the number of a lambda");
  in.expect(std::ssize(grid.parameters), "the number of parameters");
  for (const ParameterList& list : grid.parameters)
    key.point.parameters.push_back(place(list.values, "the number of a parameter's value"));
  return key;
}

RowScores decode_scores(NumberReader& in, Score score, Index width) {
  RowScores row;
  row.worst_gap = in.between(-1e200, std::numeric_limits<double>::infinity(), "a gap");
  row.fits = in.count("the number of fits");
  row.outer_steps = in.count("the number of steps");
  row.reused = in.count("the number of fits that were saved");
  row.unconverged = in.count("the number of fits that stopped short");
  const Index points = in.count("the number of points");
  in.expect(width, "the number of scores");
  if (score == Score::log_loss) {
    row.values = in.matrix(points, width, -1e200, 1e200, "a decision value");
  } else {
    in.need(points, width);
    row.values.resize(points, width);
    for (Index i = 0; i < row.values.size(); ++i)
      row.values.data()[i] = in.share_or_none("a score");
  }
  in.expect_end();
  return row;
}

}  // namespace

std::string encode(const RowKey& key, const RowScores& row, std::optional<std::size_t> search) {
  Numbers out;
  if (search) out.add(static_cast<Index>(*search));
  const GridPoint& point = key.point;
  for (const Index part : {key.round, key.fold, point.norm, point.normalise, point.C, point.lambda})
    out.add(part);
  out.add(std::ssize(point.parameters));
  for (const Index place : point.parameters) out.add(place);
  out.add(row.worst_gap);
  for (const Index count : {row.fits, row.outer_steps, row.reused, row.unconverged}) out.add(count);
  out.add(row.values.rows());
  out.add(row.values.cols());
  out.add(row.values.data(), row.values.size());
  return out.bytes();
}

SearchShape shape_of(const Dataset& data, const Grid& grid, Score score,
                     const std::vector<Split>& splits) {
  SearchShape shape{grid, score, {}};
  for (const Split& split : splits) {
    Index held_out = 0;
    for (const std::vector<Index>& rest : split.rest) held_out += std::ssize(rest);
    shape.widths.push_back(score == Score::log_loss ? held_out : std::ssize(data.tasks));
  }
  return shape;
}

std::map<RowKey, KnownRow> decode_search(const Journal& journal, const SearchShape& shape) {
  return std::move(decode_searches(journal, {shape}).front());
}

std::vector<std::map<RowKey, KnownRow>> decode_searches(const Journal& journal,
                                                        const std::vector<SearchShape>& shapes) {
  std::vector<std::map<RowKey, KnownRow>> rows(shapes.size());
  read_journal(journal, [&](std::size_t record, const std::string& bytes) {
    NumberReader in(bytes);
    const Index last = std::ssize(shapes) - 1;
    const auto search =
        static_cast<std::size_t>(last > 0 ? in.whole(0, last, "the number of a search") : Index{0});
    const SearchShape& shape = shapes[search];
    const RowKey key = decode_key(in, shape);
    rows[search][key] = {
        record, decode_scores(in, shape.score, shape.widths[static_cast<std::size_t>(key.fold)])};
  });
  return rows;
}

}  // namespace coterie
