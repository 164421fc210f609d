// Reading tables: megabytes of text per second, and memory over the parsed numbers.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "coterie/io/write_table.hpp"
#include "coterie/math/random.hpp"
#include "measure.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr Index rows = 20'000, columns = 500;

Samples decimals() {
  Samples samples;
  samples.X.resize(rows, columns);
  Random random(1);
  for (double& x : samples.X.reshaped()) x = std::round(1e5 * random.uniform()) / 1e5;
  for (Index j = 0; j < columns; ++j) samples.features.push_back(fmt::format("f{}", j + 1));
  samples.labels = {"-1", "1"};
  for (Index i = 0; i < rows; ++i) samples.label.push_back(i % 2);
  return samples;
}

}  // namespace

std::vector<Report> part_parse(const Options& options) {
  Report report{"parse",
                fmt::format("reading a table of {} x {} decimals, one thread, {}: MB of "
                            "(unpacked) text per second; peak memory of the process while reading "
                            "over the bytes of the matrix",
                            rows, columns, how_often(options)),
                {{"rows", rows}, {"columns", columns}}};
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string plain = (folder / "coterie_bench_parse.csv").string();
  for (const std::string ending : {".csv", ".svm", ".csv.gz"}) {
    say("parse: " + ending);
    const std::string path = (folder / ("coterie_bench_parse" + ending)).string();
    if (ending == ".svm")
      write_libsvm(decimals(), path);
    else
      write_csv(decimals(), path);
    const double bytes =
        static_cast<double>(std::filesystem::file_size(ending == ".svm" ? path : plain));
    reset_peak();
    const Timing timing = interleave(options.runs, {[&] {
                                       const Watch watch;
                                       read_samples({path});
                                       return watch.seconds();
                                     }});
    report.rows.push_back({{"file", ending},
                           {"MB", bytes / 1e6},
                           {"s", timing.seconds[0]},
                           {"MB/s", bytes / 1e6 / timing.seconds[0]},
                           {"peak/matrix", memory_peak() / (8.0 * rows * columns)}});
    if (ending != ".csv") std::filesystem::remove(path);
  }
  std::filesystem::remove(plain);
  return {report};
}

}  // namespace coterie::bench
