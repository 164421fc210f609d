#include "coterie/io/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "coterie/data/names.hpp"
#include "coterie/io/csv_reader.hpp"
#include "coterie/io/text.hpp"

namespace coterie {
namespace {

enum Role : std::size_t { block, dataset, method, repetition, roles };

// A row's names by number, in the order of the roles; 0 where there is no such column.
using Key = std::array<Index, roles>;
struct Entry {
  double score;
  Index line;
};

class ResultReader {
 public:
  ResultReader(const std::string& path, const ResultColumns& columns)
      : reader_(path), header_(detail::read_header(reader_)) {
    const std::array<std::optional<std::string>, roles> given = {
        columns.block, columns.dataset, columns.method, columns.repetition};
    for (std::size_t role = 0; role < roles; ++role)
      if (given[role]) place_[role] = find_column(*given[role], option[role]);
    score_ = find_column(columns.score, "score");
    check_distinct();
  }

  std::vector<ResultBlock> read() {
    Index line = 2;
    for (; detail::next_row(reader_); ++line) read_row(line);
    if (line == 2) reader_.fail_file("there is a header but no row of results.");
    std::vector<ResultBlock> blocks;
    const std::size_t count = std::max<std::size_t>(1, names_[block].names().size());
    for (std::size_t b = 0; b < count; ++b) blocks.push_back(make_block(static_cast<Index>(b)));
    return blocks;
  }

 private:
  static constexpr std::array<const char*, roles> option = {"block", "dataset", "method",
                                                            "repetition"};
  static constexpr std::array<const char*, roles> noun = {"block", "data set", "method",
                                                          "repetition"};
  static constexpr double bytes_of_row = 200;  // in the map, about

  std::size_t find_column(const std::string& name, const char* setting) const {
    const auto place = std::ranges::find(header_.names, name);
    if (place == header_.names.end())
      reader_.fail_file(
          fmt::format("no column is called {}{}; the columns are {}.", detail::show(name),
                      name == setting ? fmt::format("; say with `{}` which it is", setting)
                                      : fmt::format(", which `{}` asks for", setting),
                      list_names(header_.names, 12)));
    return static_cast<std::size_t>(place - header_.names.begin());
  }

  void check_distinct() const {
    std::map<std::size_t, const char*> user = {{score_, "score"}};
    for (std::size_t role = 0; role < roles; ++role) {
      if (!place_[role]) continue;
      const auto [other, fresh] = user.emplace(*place_[role], option[role]);
      if (fresh) continue;
      throw InputError(fmt::format("column '{}' is named by `{}` and by `{}`. Name two columns.",
                                   header_.names[*place_[role]], option[role], other->second));
    }
  }

  void read_row(Index line) {
    const detail::TextRow row = detail::split_row(reader_, header_);
    Key key = {};
    for (std::size_t role = 0; role < roles; ++role) {
      if (!place_[role]) continue;
      const std::string& name = row.fields[*place_[role]];
      if (const std::string bad = detail::describe_bad_name(name); !bad.empty())
        reader_.fail(row.places[*place_[role]],
                     fmt::format("column '{}' {}. Every row needs a {}, as UTF-8 text.",
                                 header_.names[*place_[role]], bad, noun[role]));
      key[role] = names_[role].code(name);
    }
    Entry entry{0, line};
    if (!detail::parse_number(row.fields[score_], entry.score))
      reader_.fail(row.places[score_],
                   fmt::format("the score {}. Correct it.",
                               detail::describe_bad_number(row.fields[score_])));
    const auto [earlier, fresh] = entries_.emplace(key, entry);
    if (!fresh)
      reader_.fail(reader_.begin(),
                   fmt::format("{} has a score on line {} already. Remove one of them{}.",
                               describe(key), earlier->second.line,
                               place_[repetition]
                                   ? ""
                                   : ", or name the column that tells them apart by `repetition`"));
    reader_.need(bytes_of_row * static_cast<double>(entries_.size()));
  }

  // "method 'a' on data set 'd' (block '10', repetition '3')".
  std::string describe(const Key& key) const {
    const auto name = [&](Role role) {
      return detail::show(names_[role].names()[static_cast<std::size_t>(key[role])]);
    };
    std::vector<std::string> where;
    for (const Role role : {block, repetition})
      if (place_[role]) where.push_back(fmt::format("{} {}", noun[role], name(role)));
    return fmt::format("method {} on data set {}{}", name(method), name(dataset),
                       where.empty() ? "" : fmt::format(" ({})", fmt::join(where, ", ")));
  }

  std::vector<std::string> names_of(Role role, const std::set<Index>& numbers) const {
    std::vector<std::string> out;
    for (const Index number : numbers)
      out.push_back(names_[role].names()[static_cast<std::size_t>(number)]);
    return out;
  }

  ResultBlock make_block(Index b) const {
    std::map<Index, std::set<Index>> runs_of;  // the repetitions of every data set
    std::set<Index> datasets, methods;
    for (auto entry = entries_.lower_bound({b}); entry != entries_.lower_bound({b + 1}); ++entry) {
      const Key& key = entry->first;
      datasets.insert(key[dataset]);
      methods.insert(key[method]);
      runs_of[key[dataset]].insert(key[repetition]);
    }
    ResultBlock out;
    if (place_[block]) out.name = names_[block].names()[static_cast<std::size_t>(b)];
    out.datasets = names_of(dataset, datasets);
    out.methods = names_of(method, methods);
    for (const auto& [d, runs] : runs_of) {
      std::vector<double> scores;  // grows as they are found: gaps in a table ask for no room
      for (const Index m : methods)
        for (const Index r : runs) scores.push_back(score_of({b, d, m, r}));
      out.scores.emplace_back(
          Eigen::Map<const Matrix>(scores.data(), std::ssize(methods), std::ssize(runs)));
    }
    return out;
  }

  double score_of(const Key& key) const {
    const auto entry = entries_.find(key);
    if (entry == entries_.end())
      reader_.fail_file(
          fmt::format("{} has no score; every method needs one on every data set{} of its block. "
                      "Add the row, or "
                      "leave out the method or the data set.",
                      describe(key), place_[repetition] ? " and repetition" : ""));
    return entry->second.score;
  }

  detail::LineReader reader_;
  detail::Header header_;
  std::array<std::optional<std::size_t>, roles> place_ = {};  // of the columns
  std::size_t score_ = 0;
  std::array<detail::Dictionary, roles> names_;
  std::map<Key, Entry> entries_;
};

}  // namespace

std::vector<ResultBlock> read_results(const std::string& path, const ResultColumns& columns) {
  return ResultReader(path, columns).read();
}

}  // namespace coterie
