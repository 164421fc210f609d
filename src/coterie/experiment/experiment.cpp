#include "coterie/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include "coterie/data/fingerprint.hpp"
#include "coterie/experiment/published.hpp"
#include "coterie/experiment/record.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

struct LoadedData {
  Samples samples;
  std::string fingerprint;
};

// Texts of a data set say which it is.
template <typename Action>
auto named(const std::string& name, Action&& action) {
  try {
    return action();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
}

LoadedData load(const Plan& plan, const DatasetPlan& dataset, const ExperimentRun& run) {
  return named(fmt::format("data set '{}'", dataset.name), [&] {
    LoadedData out{planned_samples(run.read(dataset), dataset, plan.seed), {}};
    const Dataset data = planned_tasks(out.samples, dataset);
    check_dataset(data);
    out.fingerprint = fingerprint(data);
    return out;
  });
}

std::map<std::string, CellResult> results_in(const Journal& journal) {
  std::map<std::string, CellResult> out;
  for (std::size_t i = 0; i < journal.records().size(); ++i) {
    try {
      Record record = decode(journal.records()[i]);
      out[record.description] = std::move(record.result);
    } catch (const InputError& error) {
      journal.refuse(i, error.what());
    }
  }
  return out;
}

// A run under way.
class Runner {
 public:
  Runner(Experiment& experiment, const ExperimentRun& run, Journal& journal,
         const std::vector<std::optional<LoadedData>>& data)
      : experiment_(experiment), run_(run), journal_(journal), data_(data) {}

  // What the journal knows, and the cells that are left, repetition by repetition: a study that is ended early has some of everything.
  void take(const std::map<std::string, CellResult>& known) {
    for (std::size_t i = 0; i < experiment_.cells.size(); ++i) {
      const auto found = known.find(description_of(experiment_.cells[i]));
      if (found == known.end())
        left_.push_back(i);
      else
        experiment_.results[i] = found->second;
    }
    std::ranges::stable_sort(left_, {},
                             [&](std::size_t i) { return experiment_.cells[i].repetition; });
    experiment_.earlier = done_ = std::ssize(experiment_.cells) - std::ssize(left_);
  }

  void finish() {
    const int threads = thread_count(run_.threads);
    const Index workers = std::clamp<Index>(std::ssize(left_), 1, threads);
    Run each;
    each.threads = std::max(1, threads / static_cast<int>(workers));
    each.memory_bytes =
        memory_budget({.memory_bytes = run_.memory_bytes}) / static_cast<double>(workers);
    each.share = [this](Index, Index) { return go_on(); };
    each.progress = [this](const Progress&) { return go_on(); };
    std::atomic<std::size_t> next = 0;
    parallel_for(workers, static_cast<int>(workers), [&](Index) {
      for (std::size_t k; (k = next++) < left_.size() && go_on();) {
        try {
          work(left_[k], each);
        } catch (...) {
          failed_ = true;
          throw;
        }
      }
    });
    experiment_.stopped = experiment_.done() < std::ssize(experiment_.cells);
  }

 private:
  const DatasetPlan& dataset_of(const Cell& cell) const {
    return experiment_.plan.datasets[cell.dataset];
  }
  const MethodPlan& method_of(const Cell& cell) const {
    return experiment_.plan.methods[cell.method];
  }
  std::string description_of(const Cell& cell) const {
    return describe_cell(experiment_.plan, dataset_of(cell), data_[cell.dataset]->fingerprint,
                         cell.share, cell.repetition, method_of(cell));
  }
  bool go_on() {
    const std::lock_guard lock(mutex_);
    if (run_.progress && !run_.progress(done_, std::ssize(experiment_.cells))) stop_ = true;
    return !stop_ && !failed_;
  }
  void work(std::size_t i, const Run& each) {
    const Cell& cell = experiment_.cells[i];
    const Samples& samples = data_[cell.dataset]->samples;
    std::optional<CellResult> result = named(name_of(experiment_.plan, cell), [&] {
      const Parts parts = planned_parts(samples, dataset_of(cell), experiment_.plan.seed,
                                        cell.share, cell.repetition);
      return experiment_.plan.protocol == Protocol::published
                 ? run_published_cell(samples, parts, dataset_of(cell), method_of(cell), each)
                 : run_cell(samples, parts, dataset_of(cell), method_of(cell), each);
    });
    if (!result) return;
    const std::lock_guard lock(mutex_);
    journal_.append(encode({description_of(cell), *result}));
    experiment_.results[i] = std::move(result);
    ++done_;
  }

  Experiment& experiment_;
  const ExperimentRun& run_;
  Journal& journal_;
  const std::vector<std::optional<LoadedData>>& data_;
  std::vector<std::size_t> left_;  // cells to run
  std::mutex mutex_;
  Index done_ = 0;
  bool stop_ = false;
  std::atomic<bool> failed_ = false;
};

}  // namespace

std::string name_of(const Plan& plan, const Cell& cell) {
  return fmt::format("{} {:.4g} % #{} {}", plan.datasets[cell.dataset].name, 100 * cell.share,
                     cell.repetition, plan.methods[cell.method].name);
}

std::vector<Cell> cells_of(const Plan& plan, const std::string& only) {
  std::vector<Cell> cells;
  for (std::size_t d = 0; d < plan.datasets.size(); ++d)
    for (const double share : plan.datasets[d].shares)
      for (Index repetition = 1; repetition <= plan.repetitions; ++repetition)
        for (std::size_t m = 0; m < plan.methods.size(); ++m) {
          const Cell cell{d, m, share, repetition};
          if (!plan.methods[m].runs_on(plan.datasets[d])) continue;
          if (name_of(plan, cell).find(only) != std::string::npos) cells.push_back(cell);
        }
  return cells;
}

Index Experiment::done() const {
  return std::ranges::count_if(results, [](const auto& result) { return result.has_value(); });
}

Experiment run_experiment(const Plan& plan, const std::string& folder, const ExperimentRun& run) {
  Experiment out{plan, cells_of(plan, run.only), {}};
  out.results.resize(out.cells.size());
  Journal journal(folder + "/journal", "coterie experiment 1\n", true);
  const std::map<std::string, CellResult> known = results_in(journal);
  std::vector<std::optional<LoadedData>> data(plan.datasets.size());
  for (const Cell& cell : out.cells)
    if (!data[cell.dataset]) data[cell.dataset] = load(plan, plan.datasets[cell.dataset], run);
  Runner runner(out, run, journal, data);
  runner.take(known);
  const Index others = std::ssize(known) - out.earlier;
  if (others > 0 && run.note)
    run.note(
        fmt::format("the journal holds {} cell(s) that this run does not ask for; they are "
                    "kept, and not in its tables.",
                    others));
  runner.finish();
  return out;
}

}  // namespace coterie
