// The front door: journals of long runs. What a search or a path has done is kept in a file as it goes; after an interruption, however
// hard, the same run goes on there and ends with the same bits:
//
//   SearchJournal journal("search.journal", Resume::yes, data, grid, settings);
//   const Selection best = select(data, grid, settings, run, {}, journal.hooks());
//   if (!best.scores.stopped) journal.remove();
#pragma once

#include <memory>
#include <string>

#include "coterie/front/contest.hpp"
#include "coterie/front/path.hpp"
#include "coterie/front/select.hpp"

namespace coterie {

enum class Resume { no, yes };  // no: what the file has of an earlier run is forgotten

// Constructors throw InputError where the file is something else, is damaged, or with Resume::yes holds another run; OutputError where it
// cannot be written. Hooks must not outlive their journal.
class SearchJournal {
 public:
  SearchJournal(const std::string& path, Resume resume, const Dataset& data, const Grid& grid,
                const SelectSettings& settings, const Extras& extras = {});
  // Of several candidates, each with hooks of its own.
  SearchJournal(const std::string& path, Resume resume, const Dataset& data,
                const std::vector<Candidate>& candidates, const SelectSettings& settings,
                const Extras& extras = {});
  ~SearchJournal();
  SearchJournal(SearchJournal&&) noexcept;
  SearchJournal& operator=(SearchJournal&&) noexcept;

  SearchHooks hooks(std::size_t candidate = 0);
  Index earlier() const;  // rows of the run that goes on
  Index rows() const;     // with those of this run
  void remove();          // the file; the run is done

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

class PathJournal {
 public:
  PathJournal(const std::string& path, Resume resume, const Dataset& data, const Settings& settings,
              const TraceSettings& trace, const Extras& extras = {});
  ~PathJournal();
  PathJournal(PathJournal&&) noexcept;
  PathJournal& operator=(PathJournal&&) noexcept;

  PathHooks hooks();
  StabilityHooks resample_hooks();
  Index earlier() const;  // points of the run that goes on
  Index records() const;  // points and resamples, with those of this run
  void remove();

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace coterie
