// The whole problem against an interior-point cone solver (CVXOPT, bench/cone.py) on sizes that grow until it takes a minute.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr double limit_seconds = 60;

// What cone.py reads: T, M, C, lambda, then per task n, y and the M matrices, all as doubles.
void write_problem(const Prepared& prepared, double lambda, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](const double* values, Index count) {
    file.write(reinterpret_cast<const char*>(values),
               static_cast<std::streamsize>(sizeof(double)) * count);
  };
  const Index T = std::ssize(prepared.y);
  const Index M = std::ssize(prepared.kernels);
  const std::vector<double> head = {static_cast<double>(T), static_cast<double>(M),
                                    prepared.C[0][0], lambda};
  put(head.data(), std::ssize(head));
  for (Index t = 0; t < T; ++t) {
    const Vector& y = prepared.y[static_cast<std::size_t>(t)];
    const double n = static_cast<double>(y.size());
    put(&n, 1);
    put(y.data(), y.size());
    for (Index m = 0; m < M; ++m) {
      const Matrix K = mixed(prepared, t, Vector::Unit(M, m));
      put(K.data(), K.size());
    }
  }
  if (!file.flush()) throw InputError(path + ": cannot be written.");
}

// {"seconds", "iterations", "lower", "upper"}; seconds are null when it took longer than the limit.
Row run_cone_solver(const std::string& problem) {
  const std::string command = fmt::format(
      "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 /usr/bin/python3 '{}/cone.py' '{}' {} {}",
      BENCH_FOLDER, problem, gap_tolerance, limit_seconds);
  std::string text;
  char buffer[512];
  FILE* pipe = popen(command.c_str(), "r");
  while (pipe && std::fgets(buffer, sizeof buffer, pipe)) text += buffer;
  if (!pipe || pclose(pipe) != 0)
    throw InputError("bench/cone.py failed; it needs the Debian package python3-cvxopt.");
  return Row::parse(text);
}

}  // namespace

std::vector<Report> part_cone(const Options& options) {
  Report report{
      "cone",
      fmt::format("CVXOPT's cone solver on the dual problem, over our cold fit, both to relative "
                  "gap 1e-4 (and its feasibility tolerance, too), Gram matrices given to both "
                  "(stating the cone program and factoring "
                  "its matrices is not counted); planted tasks of 50 samples, 10 kernels, complete "
                  "graph, C 1, lambda 0.3max; one thread; ours {}, the cone solver once, on the "
                  "largest size that it does within {} s three times",
                  how_often(options), limit_seconds),
      {{"gap_tolerance", gap_tolerance}, {"threads", 1}, {"C", 1}, {"lambda", "0.3max"}}};
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("coterie_bench_cone_{}.bin", getpid()))
          .string();
  double before = 0;  // seconds of the size before
  for (const Index tasks : {5, 7, 10, 14, 20, 28, 40}) {
    // Its work grows faster than the cube of the tasks, by a factor of 1.4 a size.
    if (2.7 * before > 1.2 * limit_seconds) {
      report.notes.push_back(
          fmt::format("{} tasks would take the cone solver more than {} s", tasks, limit_seconds));
      break;
    }
    say(fmt::format("cone: {} tasks", tasks));
    TrainSettings settings;
    const Prepared prepared = prepare(planted_tasks(tasks, 50, 5), settings, {}, 1);
    const double lambda = 0.3 * lambda_max_of(prepared);
    write_problem(prepared, lambda, path);
    Row cone;
    Fit last;
    const auto ours = [&] {
      TimedFit run = timed_fit(prepared, lambda);
      last = std::move(run.fit);
      return run.seconds;
    };
    const auto theirs = [&]() -> double {
      cone = run_cone_solver(path);
      return cone["seconds"].is_null() ? infinite : cone["seconds"].get<double>();
    };
    const double once = theirs();
    if (!(once < limit_seconds)) {
      report.notes.push_back(
          fmt::format("{} tasks took the cone solver more than {} s", tasks, limit_seconds));
      break;
    }
    before = once;
    const bool last_size = 2.7 * once > 1.2 * limit_seconds;
    const Timing mine = interleave(options.runs, {ours});
    const double seconds =
        last_size && options.runs > 1 ? median({once, theirs(), theirs()}) : once;
    report.rows.push_back(
        {{"tasks", tasks},
         {"cone solver s", seconds},
         {"ours s", mine.seconds[0]},
         {"times faster", seconds / mine.seconds[0]},
         {"its gap", cone["gap"]},
         {"our gap", last.gap},
         {"values differ by",
          std::abs(cone["value"].get<double>() - last.primal) / std::abs(last.primal)}});
  }
  std::filesystem::remove(path);
  return {report};
}

}  // namespace coterie::bench
