// ./run bench [PART] [OPTION...]: the timings of coterie, next to LIBSVM. All comparisons are ratios within one run.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "coterie/io/machine.hpp"
#include "measure.hpp"
#include "parts.hpp"

extern "C" void openblas_set_num_threads(int threads);

namespace coterie::bench {

void say(const std::string& text) { fmt::print(stderr, "{}\n", text); }

std::string how_often(const Options& options) {
  if (options.runs == 1) return "once";
  return fmt::format("medians of {}{}", options.runs,
                     options.runs > 3 ? " or more (of 3 where a run takes more than 20 s)" : "");
}

std::string case_name(const Work& work, double C, double share) {
  return fmt::format("{}, C {}, {}max", work.name, C, share);
}

std::vector<Work> chosen_work(const Options& options, const std::vector<std::string>& names) {
  std::vector<Work> chosen;
  for (Work& work : real_work())
    if (work.name.find(options.only) != std::string::npos &&
        (names.empty() || std::find(names.begin(), names.end(), work.name) != names.end()))
      chosen.push_back(std::move(work));
  return chosen;
}

namespace {

struct Part {
  std::string name, about;
  std::vector<Report> (*run)(const Options&);
  bool needs_data = true;
  bool in_all = true;
};

const std::vector<Part> parts = {
    {"parse", "reading tables: MB/s and memory", part_parse, false},
    {"gram", "ten Gram matrices against one BLAS product and one exp per entry", part_gram},
    {"svm", "our SVM solver against LIBSVM on the same matrices, to the same gap", part_svm},
    {"fit", "a cold fit, Gram matrices given, against one LIBSVM pass", part_fit},
    {"limits", "what a fit cannot do without, next to what the aims allow", part_limits},
    {"phases", "where a run spends its time", part_phases},
    {"whole", "from parsed features, against LIBSVM with one Gaussian kernel", part_whole},
    {"path", "21 lambdas with warm starts against one cold fit", part_path},
    {"lambdas",
     "the slowest of 200 lambdas against the median one (COTERIE_LAMBDAS: a table of yours)",
     part_lambdas, false, false},
    {"grid", "21 x 21 (C, lambda) with warm starts against one cold fit", part_grid},
    {"threads", "2 threads against 1", part_threads},
    {"memory", "peak memory over the bytes of the Gram matrices", part_memory},
    {"tasks", "time against the number of tasks", part_tasks, false, false},
    {"samples", "time against the number of samples", part_samples, false, false},
    {"kernels", "time against the number of kernels", part_kernels, false, false},
    {"columns", "time against the number of kernels of single columns", part_columns, false, false},
    {"growth", "tasks, samples and kernels, with plots docs/growth-*.svg", part_growth, false},
    {"select", "a grid of 21 x 21 points with 5-fold cross-validation", part_select, true, false},
    {"calibration", "log loss of probabilities on rows that were not trained on (docs/choosing.md)",
     part_calibration, true, false},
    {"letters", "writes letters.csv, the eight pairs of letters as tasks, into --plots",
     part_letters, true, false},
    {"choosing", "test accuracy of what cross-validation chooses (docs/choosing.md)", part_choosing,
     true, false},
    {"standardised", "the same where features are standardised that need not be", part_standardised,
     true, false},
    {"methods", "fits of every method, and grids of the convex linear ones (docs/methods.md)",
     part_methods, true, false},
    {"planted", "which method finds which planted structure (docs/methods.md)", part_planted, false,
     false},
    {"bound", "complexities and bounds of models of real data (docs/bound.md)", part_bound, true,
     false},
    {"cone", "the whole problem against an interior-point cone solver", part_cone, false},
};

std::string help() {
  std::string text =
      "usage: ./run bench [PART...] [OPTION...]\n\n"
      "Times coterie, next to LIBSVM on the same data. Parts (default: all):\n\n";
  for (const Part& part : parts)
    text += fmt::format("  {:<8} {}{}\n", part.name, part.about, part.needs_data ? " *" : "");
  return text +
         "  all      every part, tasks, samples and kernels as growth\n\n"
         "  * on real data: COTERIE_DATA names the folder that holds letter/data.csv.gz, vehicle,\n"
         "    landmine, pen and mnist\n\n"
         "  --json         one JSON document: commit, compiler, flags, machine, settings, rows\n"
         "  --markdown     tables as they stand in docs/performance-tables.md\n"
         "  --update FILE  puts the tables into a document, between <!-- bench PART --> and <!-- "
         "end -->\n"
         "  --runs N       medians of N runs (default 5)\n"
         "  --only TEXT    real cases whose name contains TEXT, such as 'pen 50'\n"
         "  --limit S      growth: stop a fit after S seconds (default 120)\n"
         "  --plots DIR    folder of the plots (default docs)\n\n"
         "example: ./run bench fit svm --only vehicle --json\n";
}

struct Request {
  Options options;
  std::vector<const Part*> parts;
  enum class Format { text, json, markdown } format = Format::text;
  bool help = false;
  std::string update, memory_of;
};

double number(const std::string& option, const std::string& text, double least) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= least))
    throw InputError(fmt::format("{} is '{}'; it must be a number >= {}.", option, text, least));
  return value;
}

Request parse(const std::vector<std::string>& words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&] {
      if (++i >= words.size()) throw InputError(word + " needs a value.");
      return words[i];
    };
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.name == word; });
    if (word == "--json")
      request.format = Request::Format::json;
    else if (word == "--markdown")
      request.format = Request::Format::markdown;
    else if (word == "--help" || word == "-h")
      request.help = true;
    else if (word == "--runs")
      request.options.runs = static_cast<int>(number(word, value(), 1));
    else if (word == "--limit")
      request.options.limit_seconds = number(word, value(), 0);
    else if (word == "--only")
      request.options.only = value();
    else if (word == "--plots")
      request.options.plots = value();
    else if (word == "--update")
      request.update = value();
    else if (word == "--memory-of")  // the memory part calls itself
      request.memory_of = value();
    else if (part != parts.end())
      request.parts.push_back(&*part);
    else if (word != "all") {
      std::string names = "all";
      for (const Part& p : parts) names += ", " + p.name;
      throw InputError(
          fmt::format("no benchmark is called '{}'; there are: {}. See ./run bench "
                      "--help.",
                      word, names));
    }
  }
  if (!request.parts.empty()) return request;
  const char* folder = std::getenv("COTERIE_DATA");
  for (const Part& part : parts) {
    if (!part.in_all) continue;
    if (part.needs_data && !(folder && *folder))
      say("left out, since COTERIE_DATA is not set: " + part.name);
    else
      request.parts.push_back(&part);
  }
  return request;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InputError(path + ": cannot be read.");
  return {std::istreambuf_iterator<char>(file), {}};
}

void update_document(const std::string& path, const std::string& part,
                     const std::vector<Report>& reports) {
  std::string text;
  for (const Report& report : reports) text += as_markdown(report);
  text = with_block(read_file(path), part, text + provenance() + "\n");
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw InputError(path + ": cannot be written.");
}

int run(const std::vector<std::string>& words) {
  const Request request = parse(words);
  if (request.help) {
    fmt::print("{}", help());
    return 0;
  }
  openblas_set_num_threads(1);  // the threads that are counted are coterie's own
  if (!request.memory_of.empty()) {
    run_memory_child(request.memory_of);
    return 0;
  }
  for (const Part* part : request.parts) {  // what is wrong shows now rather than after an hour
    if (part->needs_data) real_work();
    if (!request.update.empty()) with_block(read_file(request.update), part->name, "");
  }
  if (request.format != Request::Format::json) fmt::print("{}\n\n", provenance());
  std::vector<Report> all;
  for (const Part* part : request.parts) {
    const std::vector<Report> reports = part->run(request.options);
    for (const Report& report : reports) {
      if (request.format == Request::Format::text) fmt::print("{}", as_text(report));
      if (request.format == Request::Format::markdown) fmt::print("{}", as_markdown(report));
    }
    std::fflush(stdout);
    if (!request.update.empty()) update_document(request.update, part->name, reports);
    all.insert(all.end(), reports.begin(), reports.end());
  }
  if (request.format == Request::Format::json)
    fmt::print("{}", as_json(all, {{"runs", request.options.runs},
                                   {"only", request.options.only},
                                   {"limit_seconds", request.options.limit_seconds}}));
  return 0;
}

}  // namespace

}  // namespace coterie::bench

int main(int argc, char** argv) {
  coterie::keep_freed_memory();
  try {
    return coterie::bench::run({argv + 1, argv + argc});
  } catch (const coterie::InputError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
