#include "work.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "coterie/math/random.hpp"

namespace coterie::bench {

namespace {

// The eight tasks of the paper: pairs of letters that are easily confused.
Dataset letter_pairs(const Samples& samples) {
  Dataset data;
  data.X = samples.X;
  data.features = samples.features;
  for (const std::string pair : {"ce", "gy", "mn", "ag", "ij", "ao", "ft", "hn"}) {
    Task task;
    task.name = pair;
    task.negative = pair.substr(0, 1);
    task.positive = pair.substr(1, 1);
    std::vector<double> y;
    for (std::size_t i = 0; i < samples.label.size(); ++i) {
      const std::string& label = samples.labels[static_cast<std::size_t>(samples.label[i])];
      if (label != task.negative && label != task.positive) continue;
      task.rows.push_back(static_cast<Index>(i));
      y.push_back(label == task.positive ? 1 : -1);
    }
    task.y = Eigen::Map<const Vector>(y.data(), std::ssize(y));
    data.tasks.push_back(std::move(task));
  }
  return data;
}

Samples first_of_each_class(const Samples& samples, Index per_class, std::uint64_t seed) {
  std::vector<Index> order(samples.label.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  Random random(seed);
  random.shuffle(order);
  std::map<Index, Index> taken;
  std::vector<Index> rows;
  for (const Index i : order)
    if (taken[samples.label[static_cast<std::size_t>(i)]]++ < per_class) rows.push_back(i);
  std::sort(rows.begin(), rows.end());
  return select_rows(samples, rows);
}

}  // namespace

std::vector<Work> real_work() {
  const char* folder = std::getenv("COTERIE_DATA");
  if (!folder) return {};
  const std::filesystem::path root(folder);
  const auto csv = [&](const char* name) {
    return std::vector<std::string>{(root / name / "data.csv.gz").string()};
  };
  std::vector<Work> all;
  all.push_back({.name = "letter 50%",
                 .paths = csv("letter"),
                 .columns = {.drop = {"id", "next_id", "word_id", "position", "fold"}},
                 .share = 0.5,
                 .per_class = 200});
  all.push_back({.name = "vehicle 50%",
                 .paths = csv("vehicle"),
                 .casting = Casting::one_vs_one,
                 .share = 0.5,
                 .scale = "standard"});
  all.push_back({.name = "landmine 50%", .paths = csv("landmine"), .share = 0.5});
  all.push_back({.name = "pen 20%",
                 .paths = csv("pen"),
                 .casting = Casting::one_vs_one,
                 .share = 0.2,
                 .scale = "standard"});
  all.push_back({.name = "pen 50%",
                 .paths = csv("pen"),
                 .casting = Casting::one_vs_one,
                 .share = 0.5,
                 .scale = "standard"});
  return all;
}

Dataset load(const Work& work) {
  Samples samples = read_samples(work.paths, work.columns);
  if (work.per_class > 0) samples = first_of_each_class(samples, work.per_class, 1);
  if (work.share < 1) samples = select_rows(samples, split_samples(samples, work.share, 1).train);
  if (work.name.starts_with("letter")) return letter_pairs(samples);
  return cast_into_tasks(std::move(samples), work.casting);
}

}  // namespace coterie::bench
