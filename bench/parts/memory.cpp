// Peak memory of a training run in units of its Gram matrices. Every case trains in a process of its own, so that peaks do not mix.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {
const std::string kStored = ", stored";  // after the name of a case
}

void run_memory_child(const std::string& request) {
  const bool stored = request.ends_with(kStored);
  const std::string name = stored ? request.substr(0, request.size() - kStored.size()) : request;
  for (const Work& work : real_work()) {
    if (work.name != name) continue;
    Dataset data = work.load();
    malloc_trim(0);
    const bool was_reset = reset_peak();
    const double before = memory_now();
    Settings settings = work.settings();
    const std::string mark = fingerprint(data);
    const Prepared prepared =
        prepare(std::move(data), settings, {}, 1, stored ? Storage::stored : Storage::on_demand);
    const Fitted fitted = fit_prepared(prepared, settings, 1);
    const Model model = make_model(prepared, settings, fitted, mark);
    const Row out = {{"before", before},
                     {"peak", memory_peak()},
                     {"grams", gram_bytes(prepared)},
                     {"reset", was_reset},
                     {"tasks", model.tasks.size()}};
    fmt::print("{}\n", out.dump());
    return;
  }
  throw InputError("no case is called '" + name + "'.");
}

namespace {

Row run_child(const std::string& name) {
  const std::string command = fmt::format("exec /proc/{}/exe --memory-of '{}'", getpid(), name);
  std::string text;
  char buffer[512];
  FILE* pipe = popen(command.c_str(), "r");
  while (pipe && std::fgets(buffer, sizeof buffer, pipe)) text += buffer;
  if (!pipe || pclose(pipe) != 0) throw InputError("the training run of '" + name + "' failed.");
  return Row::parse(text);
}

}  // namespace

std::vector<Report> part_memory(const Options& options) {
  Report report{
      "memory",
      fmt::format(
          "peak resident memory of a training run (C 1, lambda 0.1max, one "
          "thread, relative gap 1e-4) over the bytes of its stored Gram matrices "
          "({}); 'none stored': as the program does it, kernel values computed "
          "where they are needed; 'before': program and parsed data before the run starts; each "
          "case once, in a process of its own",
          gram_storage()),
      {{"gap_tolerance", gap_tolerance},
       {"threads", 1},
       {"C", 1},
       {"lambda", "0.1max"},
       {"storage", gram_storage()}}};
  for (const Work& work : chosen_work(options)) {
    say("memory: " + work.name);
    const Row run = run_child(work.name + kStored);
    const double computed_peak = run_child(work.name)["peak"];
    const double before = run["before"], peak = run["peak"], grams = run["grams"];
    report.rows.push_back({{"data", work.name},
                           {"Gram matrices MB", grams / 1e6},
                           {"before MB", before / 1e6},
                           {"peak MB", peak / 1e6},
                           {"peak/Gram", peak / grams},
                           {"(peak - before)/Gram", (peak - before) / grams},
                           {"peak MB, none stored", computed_peak / 1e6}});
    if (!run["reset"])
      report.notes.push_back(work.name + ": the peak includes reading, it could not be reset");
  }
  return {report};
}

}  // namespace coterie::bench
