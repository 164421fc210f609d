// ./run bench [PART] [--json]: the timings of coterie, next to LIBSVM. All comparisons are ratios within one run, on one thread.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "coterie/io/write_table.hpp"
#include "coterie/math/random.hpp"
#include "measure.hpp"
#include "reference.hpp"
#include "work.hpp"

namespace coterie::bench {

namespace {

constexpr int repetitions = 5;
using Row = nlohmann::ordered_json;

// Seconds per phase of the solver, by the clock that its progress callback reads.
class PhaseClock {
 public:
  ProgressCallback callback() {
    return [this](const Progress& progress) {
      charge();
      current_ = progress.phase;
      running_ = true;
      return true;
    };
  }
  void finish() {
    charge();
    running_ = false;
  }
  double seconds(Phase phase) { return total_[phase]; }

 private:
  void charge() {
    if (running_) total_[current_] += watch_.seconds();
    watch_ = Watch();
  }
  Watch watch_;
  Phase current_ = Phase::proof;
  bool running_ = false;
  std::map<Phase, double> total_;
};

MtmklProblem problem_of(const Prepared& prepared, double lambda) {
  return {prepared.grams.tasks, prepared.y, prepared.C, lambda, prepared.graph, prepared.weights};
}

// The T SVMs once, cold, at the final kernels, by LIBSVM with its default stopping rule.
double libsvm_pass(const Prepared& prepared, const Fit& fit) {
  double seconds = 0;
  for (std::size_t t = 0; t < prepared.y.size(); ++t)
    seconds += libsvm_on_matrix(
                   prepared.grams.tasks[t].mixed(fit.theta.row(static_cast<Index>(t)).transpose()),
                   prepared.y[t], prepared.C[t][0], 1e-3)
                   .seconds;
  return seconds;
}

// What is prepared once for a case: data, Gram matrices, lambda.
struct Case {
  std::string name;
  TrainSettings settings;
  Prepared prepared;
  double lambda = 0;
  double read_seconds = 0, gram_seconds = 0;
};

Case make_case(const Work& work, double C, double share) {
  Case c;
  c.name = fmt::format("{}, C {}, {}max", work.name, C, share);
  c.settings.C = C;
  c.settings.scale = work.scale;
  Watch read;
  Dataset data = load(work);
  c.read_seconds = read.seconds();
  Watch gram;
  c.prepared = prepare(std::move(data), c.settings, {}, 1);
  c.gram_seconds = gram.seconds();
  const MtmklProblem common = problem_of(c.prepared, std::numeric_limits<double>::infinity());
  c.lambda = share * lambda_max(common, fit(common, {.gap_tolerance = 1e-4, .threads = 1}));
  return c;
}

// A plain table of decimals, as text on disk: megabytes of text per second, and memory over the parsed numbers.
Report part_parse() {
  Report report{"parse",
                "reading a generated file, one thread, best of 5: MB of text per second; peak "
                "memory of the process over the bytes of the matrix",
                {}};
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  for (const std::string ending : {".csv", ".svm", ".csv.gz"}) {
    Samples samples;
    samples.X.resize(20'000, 500);
    Random random(1);
    for (double& x : samples.X.reshaped()) x = std::round(1e5 * random.uniform()) / 1e5;
    for (Index j = 0; j < 500; ++j) samples.features.push_back(fmt::format("f{}", j + 1));
    samples.labels = {"-1", "1"};
    for (Index i = 0; i < 20'000; ++i) samples.label.push_back(i % 2);
    const std::string path = (folder / ("coterie_bench_parse" + ending)).string();
    if (ending == ".svm")
      write_libsvm(samples, path);
    else
      write_csv(samples, path);
    const std::string plain = (folder / "coterie_bench_parse.csv").string();
    const double bytes =
        static_cast<double>(std::filesystem::file_size(ending == ".svm" ? path : plain));
    samples = Samples();
    std::vector<double> seconds;
    for (int k = 0; k < repetitions; ++k) {
      const Watch watch;
      samples = Samples();
      samples = read_samples({path});
      seconds.push_back(watch.seconds());
    }
    const double best = *std::min_element(seconds.begin(), seconds.end());
    report.rows.push_back(
        Row{{"file", ending},
            {"MB", bytes / 1e6},
            {"MB/s", bytes / 1e6 / best},
            {"seconds", best},
            {"peak/matrix", peak_memory_bytes() / (8.0 * static_cast<double>(samples.X.size()))}});
    if (ending != ".csv") std::filesystem::remove(path);
  }
  std::filesystem::remove(folder / "coterie_bench_parse.csv");
  return report;
}

Report part_phases() {
  Report report{"phases",
                "seconds per phase of a cold fit to relative gap 1e-4, one thread, median of 5; "
                "LIBSVM: the tasks once, cold, at the final kernels, eps 1e-3",
                {}};
  for (const Work& work : real_work()) {
    const Case c = make_case(work, 1, 0.1);
    std::vector<double> total, svms, theta, proof, reference;
    Fit last;
    for (int k = 0; k < repetitions; ++k) {
      PhaseClock clock;
      const Watch watch;
      last = fit(problem_of(c.prepared, c.lambda), {.gap_tolerance = 1e-4, .threads = 1},
                 clock.callback());
      clock.finish();
      total.push_back(watch.seconds());
      svms.push_back(clock.seconds(Phase::svms));
      theta.push_back(clock.seconds(Phase::theta_step));
      proof.push_back(clock.seconds(Phase::proof));
      reference.push_back(libsvm_pass(c.prepared, last));
    }
    report.rows.push_back(Row{{"data", work.name},
                              {"tasks", last.theta.rows()},
                              {"read", c.read_seconds},
                              {"gram", c.gram_seconds},
                              {"svms", median(svms)},
                              {"theta", median(theta)},
                              {"proof", median(proof)},
                              {"fit", median(total)},
                              {"LIBSVM", median(reference)},
                              {"fit/LIBSVM", median(total) / median(reference)},
                              {"outer steps", last.outer_steps},
                              {"gap", last.gap},
                              {"groups", last.groups.size()}});
  }
  return report;
}

Report part_fit() {
  Report report{"fit",
                "cold fit to relative gap 1e-4 with Gram matrices given, over one LIBSVM pass at "
                "the final kernels (eps 1e-3); one thread, interleaved, medians of 5",
                {}};
  for (const Work& work : real_work())
    for (const double C : {1.0, 64.0})
      for (const double share : {0.05, 0.3}) {
        const Case c = make_case(work, C, share);
        std::vector<double> ours, theirs;
        Fit last;
        for (int k = 0; k < repetitions; ++k) {
          const Watch watch;
          last = fit(problem_of(c.prepared, c.lambda), {.gap_tolerance = 1e-4, .threads = 1});
          ours.push_back(watch.seconds());
          theirs.push_back(libsvm_pass(c.prepared, last));
        }
        report.rows.push_back(Row{{"case", c.name},
                                  {"fit s", median(ours)},
                                  {"LIBSVM s", median(theirs)},
                                  {"ratio", median(ours) / median(theirs)},
                                  {"outer steps", last.outer_steps},
                                  {"SVM solves", last.svm_solves},
                                  {"theta iterations", last.theta_iterations},
                                  {"gap", last.gap}});
      }
  return report;
}

Report part_svm() {
  Report report{
      "svm",
      "one SVM per task at uniform weights, ours against LIBSVM on the same matrix; 'same gap': "
      "LIBSVM's eps lowered until its relative gap is below ours; medians of 5",
      {}};
  for (const Work& work : real_work()) {
    for (const double C : {1.0, 64.0}) {
      const Case c = make_case(work, C, 0.1);
      for (const double gap : {1e-3, 1e-6}) {
        std::vector<double> ours, theirs;
        for (int k = 0; k < repetitions; ++k) {
          double our_seconds = 0;
          double their_seconds = 0;
          for (std::size_t t = 0; t < c.prepared.y.size(); ++t) {
            const Matrix K_uniform =
                c.prepared.grams.tasks[t].mixed(c.prepared.weights.uniform(10));
            const TaskGrams base({K_uniform});
            const Vector& y = c.prepared.y[t];
            const Vector ones = Vector::Ones(y.size());
            const Watch watch;
            const SvmResult svm =
                train_svm(base, Vector::Ones(1), y, ones, c.prepared.C[t], {.gap_tolerance = gap});
            our_seconds += watch.seconds();
            double epsilon = 0.1;
            ReferenceRun run;
            do {
              epsilon *= 0.3;
              run = libsvm_on_matrix(K_uniform, y, C, epsilon);
            } while (svm.primal - run.objective > gap * std::max(1.0, svm.primal) &&
                     epsilon > 1e-12);
            their_seconds += run.seconds;
          }
          ours.push_back(our_seconds);
          theirs.push_back(their_seconds);
        }
        report.rows.push_back(Row{{"case", fmt::format("{}, C {}", work.name, C)},
                                  {"gap", gap},
                                  {"ours s", median(ours)},
                                  {"LIBSVM s", median(theirs)},
                                  {"times faster", median(theirs) / median(ours)}});
      }
    }
  }
  return report;
}

Report part_threads() {
  Report report{"threads", "cold fit to relative gap 1e-4 on 1 and 2 threads, medians of 5", {}};
  for (const Work& work : real_work()) {
    const Case c = make_case(work, 1, 0.1);
    std::vector<double> one, two;
    for (int k = 0; k < repetitions; ++k) {
      const Watch first;
      fit(problem_of(c.prepared, c.lambda), {.gap_tolerance = 1e-4, .threads = 1});
      one.push_back(first.seconds());
      const Watch second;
      fit(problem_of(c.prepared, c.lambda), {.gap_tolerance = 1e-4, .threads = 2});
      two.push_back(second.seconds());
    }
    report.rows.push_back(Row{{"data", work.name},
                              {"1 thread s", median(one)},
                              {"2 threads s", median(two)},
                              {"times faster", median(one) / median(two)}});
  }
  return report;
}

Report part_tasks() {
  Report report{"tasks",
                "planted tasks of 50 samples, 10 kernels, complete graph, C 1, lambda 0.3max: cold "
                "fit to relative gap 1e-4, one thread, once",
                {}};
  for (const Index tasks : {10, 30, 100, 300, 1000}) {
    PlantedSettings planted;
    planted.tasks = tasks;
    planted.groups = 5;
    planted.samples = 50;
    planted.seed = 1;
    TrainSettings settings;
    Prepared prepared =
        prepare(cast_into_tasks(plant_groups(planted).samples, Casting::binary), settings, {}, 1);
    const MtmklProblem common = problem_of(prepared, std::numeric_limits<double>::infinity());
    const double lambda =
        0.3 * lambda_max(common, fit(common, {.gap_tolerance = 1e-4, .threads = 1}));
    PhaseClock clock;
    const Watch watch;
    const Fit result =
        fit(problem_of(prepared, lambda), {.gap_tolerance = 1e-4, .threads = 1}, clock.callback());
    clock.finish();
    const double seconds = watch.seconds();
    report.rows.push_back(Row{{"tasks", tasks},
                              {"fit s", seconds},
                              {"svms s", clock.seconds(Phase::svms)},
                              {"theta s", clock.seconds(Phase::theta_step)},
                              {"theta share", clock.seconds(Phase::theta_step) / seconds},
                              {"outer steps", result.outer_steps},
                              {"theta iterations", result.theta_iterations},
                              {"groups", result.groups.size()},
                              {"gap", result.gap}});
  }
  return report;
}

const std::vector<std::pair<std::string, std::function<Report()>>> parts = {
    {"parse", part_parse}, {"phases", part_phases},   {"fit", part_fit},
    {"svm", part_svm},     {"threads", part_threads}, {"tasks", part_tasks}};

int run(int argc, char** argv) {
  bool json = false;
  std::string wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json")
      json = true;
    else
      wanted = word;
  }
  bool known = wanted.empty();
  for (const auto& [name, part] : parts) known = known || name == wanted;
  if (!known) {
    std::string names;
    for (const auto& [name, part] : parts) names += " " + name;
    fmt::print(stderr, "error: no benchmark is called '{}'; there are:{}\n", wanted, names);
    return 2;
  }
  if (real_work().empty())
    fmt::print(stderr, "COTERIE_DATA is not set: parts on real data are empty\n");
  for (const auto& [name, part] : parts)
    if (wanted.empty() || name == wanted) part().print(json);
  return 0;
}

}  // namespace

}  // namespace coterie::bench

int main(int argc, char** argv) { return coterie::bench::run(argc, argv); }
