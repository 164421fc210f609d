#include "coterie/front/journals.hpp"

#include <fmt/format.h>

#include <utility>

#include "coterie/data/fingerprint.hpp"
#include "coterie/io/path_journal.hpp"
#include "coterie/io/search_journal.hpp"

namespace coterie {

namespace {

// All that the numbers of a run depend on, so that a journal can tell its run from others: a line for each.
class Description {
 public:
  Description(const std::string& verb, const Dataset& data, const Extras& extras) {
    add("coterie", COTERIE_VERSION);
    add("run", verb);
    add("data", fingerprint(data));
    for (const auto& [task, C] : extras.task_C) add("task_C " + task, C);
    add("complete", extras.complete);
    for (const Edge& edge : extras.graph)
      add("edge", fmt::format("{} {} {}", edge.t, edge.s, edge.weight));
    for (const auto& [name, matrix] : extras.precomputed)
      add("precomputed " + name,
          fmt::format("{} {} {}", matrix.rows(), matrix.sum(), matrix.squaredNorm()));
  }
  template <typename Value>
  void add(const std::string& name, const Value& value) {
    text_ += fmt::format("{}: {}\n", name, value);
  }
  template <typename List>
  void add_list(const std::string& name, const List& list) {
    for (const auto& value : list) add(name, text_of(value));
  }
  void add(const Settings& settings, const std::vector<std::string>& without = {}) {
    visit_fields(settings, [&](const char* name, const auto& value, const char*, const char*) {
      if (std::ranges::find(without, name) == without.end()) add(name, text_of(value));
    });
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// What one search has chosen from, and how.
void add_search(Description& run, const Grid& grid, const SelectSettings& how) {
  run.add(how.settings, {"C", "lambda", "norm", "normalise", "parameters"});
  run.add_list("C", grid.C);
  run.add_list("lambda", grid.lambda);
  run.add_list("norm", grid.norm);
  run.add_list("normalise", grid.normalise);
  for (const ParameterList& list : grid.parameters)
    run.add_list("parameter " + list.name, list.values);
}

std::string describe(const Dataset& data, const std::vector<Candidate>& candidates,
                     const SelectSettings& how, const Extras& extras) {
  Description run("select", data, extras);
  for (const Candidate& one : candidates) add_search(run, one.grid, how_of(one, how));
  run.add("score", to_string(how.score));
  run.add("coarse", how.coarse);
  run.add("folds", how.folds);
  run.add("hold_out", how.hold_out.value_or(0));
  run.add("validation", how.validation ? how.validation->X.rows() : 0);
  run.add("seed", how.seed);
  return run.text();
}

std::string describe(const Dataset& data, const Settings& settings, const TraceSettings& trace,
                     const Extras& extras) {
  Description run("path", data, extras);
  run.add(settings, {"lambda"});
  const PathSettings& path = trace.path;
  run.add("path", fmt::format("{} {} {} {} {} {}", path.smallest, path.beyond, path.ratio,
                              path.resolution, path.finest, path.most_points));
  run.add("hold_out", trace.hold_out.value_or(0));
  run.add("seed", trace.seed);
  return run.text();
}

Grid limited(Grid grid, Index tasks) {
  limit_clusters(grid, tasks);
  return grid;
}

PathShape shape_of_path(const Dataset& data, const Settings& settings, const TraceSettings& trace,
                        const Extras& extras) {
  const std::vector<Vector> C = sample_costs(
      trace.hold_out ? subset(data, hold_out_tasks(data, *trace.hold_out, trace.seed).train) : data,
      settings, extras);
  return {C, extras.complete ? complete_graph(std::ssize(data.tasks)) : extras.graph,
          std::ssize(kernels_for(settings, data)), kPointsOfResample};
}

}  // namespace

struct SearchJournal::Kept {
  Journal journal;
  std::vector<std::map<RowKey, KnownRow>> known = {};  // [candidate]
  Index added = 0;
};

SearchJournal::SearchJournal(const std::string& path, Resume resume, const Dataset& data,
                             const Grid& grid, const SelectSettings& how, const Extras& extras)
    : SearchJournal(path, resume, data, std::vector<Candidate>{{how.settings, grid}}, how, extras) {
}

SearchJournal::SearchJournal(const std::string& path, Resume resume, const Dataset& data,
                             const std::vector<Candidate>& wanted, const SelectSettings& how,
                             const Extras& extras) {
  const SearchedRows rows = searched_rows(data, how);
  std::vector<Candidate> candidates = wanted;
  std::vector<SearchShape> shapes;
  for (Candidate& one : candidates) {
    one.grid = limited(one.grid, std::ssize(data.tasks));
    shapes.push_back(shape_of(data, one.grid, how.score, rows.splits));
  }
  kept_.reset(
      new Kept{{path, describe(rows.in(data), candidates, how, extras), resume == Resume::yes}});
  kept_->known = decode_searches(kept_->journal, shapes);
}
SearchJournal::~SearchJournal() = default;
SearchJournal::SearchJournal(SearchJournal&&) noexcept = default;
SearchJournal& SearchJournal::operator=(SearchJournal&&) noexcept = default;

SearchHooks SearchJournal::hooks(std::size_t candidate) {
  SearchHooks out;
  out.known = [kept = kept_.get(), candidate](const RowKey& key, Index points) -> const RowScores* {
    const std::map<RowKey, KnownRow>& known = kept->known[candidate];
    const auto found = known.find(key);
    if (found == known.end()) return nullptr;
    const auto& [record, scores] = found->second;
    if (scores.values.rows() != points)
      kept->journal.refuse(
          record, fmt::format("the number of points is {}, not {}", scores.values.rows(), points));
    return &scores;
  };
  out.keep = [kept = kept_.get(), candidate](const RowKey& key, const RowScores& row) {
    const bool several = kept->known.size() > 1;
    kept->journal.append(
        encode(key, row, several ? std::optional<std::size_t>(candidate) : std::nullopt));
    ++kept->added;
  };
  return out;
}

Index SearchJournal::earlier() const {
  Index rows = 0;
  for (const std::map<RowKey, KnownRow>& known : kept_->known) rows += std::ssize(known);
  return rows;
}
Index SearchJournal::rows() const { return earlier() + kept_->added; }
void SearchJournal::remove() { kept_->journal.remove(); }

struct PathJournal::Kept {
  Journal journal;
  KnownPath known = {};
  Index added = 0;
};

PathJournal::PathJournal(const std::string& path, Resume resume, const Dataset& data,
                         const Settings& given, const TraceSettings& trace, const Extras& extras) {
  const Settings settings = in_full(given);
  kept_.reset(new Kept{{path, describe(data, settings, trace, extras), resume == Resume::yes}});
  kept_->known = decode_path(kept_->journal, shape_of_path(data, settings, trace, extras));
}
PathJournal::~PathJournal() = default;
PathJournal::PathJournal(PathJournal&&) noexcept = default;
PathJournal& PathJournal::operator=(PathJournal&&) noexcept = default;

PathHooks PathJournal::hooks() {
  PathHooks out;
  out.known = [kept = kept_.get()](double lambda) -> std::optional<PathPoint> {
    const auto found = kept->known.points.find(lambda);
    if (found == kept->known.points.end()) return {};
    return found->second;
  };
  out.keep = [kept = kept_.get()](const PathPoint& point) {
    kept->journal.append(encode(point));
    ++kept->added;
  };
  return out;
}

StabilityHooks PathJournal::resample_hooks() {
  StabilityHooks out;
  out.known = [kept = kept_.get()](Index b) -> const ResampledPath* {
    const auto found = kept->known.resamples.find(b);
    return found == kept->known.resamples.end() ? nullptr : &found->second;
  };
  out.keep = [kept = kept_.get()](Index b, const ResampledPath& path) {
    kept->journal.append(encode(b, path));
    ++kept->added;
  };
  return out;
}

Index PathJournal::earlier() const { return std::ssize(kept_->known.points); }
Index PathJournal::records() const {
  return earlier() + std::ssize(kept_->known.resamples) + kept_->added;
}
void PathJournal::remove() { kept_->journal.remove(); }

}  // namespace coterie
