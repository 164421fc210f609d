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
  const Index T = std::ssize(prepared.set.y);
  const Index M = std::ssize(prepared.grams.kernels);
  const std::vector<double> head = {static_cast<double>(T), static_cast<double>(M),
                                    prepared.set.C[0][0], lambda};
  put(head.data(), std::ssize(head));
  for (Index t = 0; t < T; ++t) {
    const Vector& y = prepared.set.y[static_cast<std::size_t>(t)];
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

// One size. `seconds` of the cone solver is infinite when it took longer than the limit; there is no row then.
struct Measured {
  double seconds = 0;
  Row row;
};

Measured measure(Index tasks, int cone_runs, const Options& options) {
  say(fmt::format("cone: {} tasks", tasks));
  const Prepared prepared = prepare(planted_tasks(tasks, 50, 5), Settings(), {}, 1);
  const double lambda = 0.3 * lambda_max_of(prepared);
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("coterie_bench_cone_{}.bin", getpid()))
          .string();
  write_problem(prepared, lambda, path);
  Row cone;
  std::vector<double> seconds;
  for (int k = 0; k < cone_runs; ++k) {
    cone = run_cone_solver(path);
    seconds.push_back(cone["seconds"].is_null() ? infinite : cone["seconds"].get<double>());
  }
  std::filesystem::remove(path);
  Measured out{median(seconds), {}};
  if (!(out.seconds < limit_seconds)) return out;
  Fit last;
  const Timing ours = interleave(options.runs, {[&] {
                                   TimedFit run = timed_fit(prepared, lambda);
                                   last = std::move(run.fit);
                                   return run.seconds;
                                 }});
  const double difference = std::abs(cone["value"].get<double>() - last.primal);
  out.row = {{"tasks", tasks},
             {"cone solver s", out.seconds},
             {"ours s", ours.seconds[0]},
             {"times faster", out.seconds / ours.seconds[0]},
             {"its gap", cone["gap"]},
             {"our gap", last.gap},
             {"values differ by", difference / std::abs(last.primal)}};
  return out;
}

}  // namespace

std::vector<Report> part_cone(const Options& options) {
  Report report{
      "cone",
      fmt::format("CVXOPT's cone solver on the dual problem, over our cold fit, both to relative "
                  "gap 1e-4 (its feasibility to 1e-4 as well), Gram matrices given to "
                  "the cone solver, ours computes what it needs "
                  "(stating the cone program and factoring its matrices is not counted); planted "
                  "tasks of 50 samples, the paper's 10 kernels, complete graph, C 1, lambda "
                  "0.3max; one thread; ours {}; the cone solver once, but three times on the "
                  "largest size that it does within {} s",
                  how_often(options), limit_seconds),
      {{"gap_tolerance", gap_tolerance}, {"threads", 1}, {"C", 1}, {"lambda", "0.3max"}}};
  Index size = 0;
  double seconds = 0;
  for (const Index tasks : {5, 7, 10, 12, 14, 17, 20, 24, 28}) {
    // Its work grows a little faster than the cube of the tasks: no need to wait for a size that cannot end in time.
    const double expected =
        size ? seconds * std::pow(static_cast<double>(tasks) / static_cast<double>(size), 3.3) : 0;
    const Measured next =
        expected > 1.2 * limit_seconds ? Measured{infinite, {}} : measure(tasks, 1, options);
    if (!(next.seconds < limit_seconds)) {
      report.notes.push_back(
          fmt::format("{} tasks are more than the cone solver does in {} s", tasks, limit_seconds));
      break;
    }
    report.rows.push_back(next.row);
    size = tasks;
    seconds = next.seconds;
  }
  if (options.runs > 1 && size) report.rows.back() = measure(size, 3, options).row;
  return {report};
}

}  // namespace coterie::bench
