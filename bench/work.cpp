#include "work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>

#include "coterie/math/random.hpp"

namespace coterie::bench {

namespace {

constexpr std::uint64_t seed = 1;

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

// Rows of the first `per_class` samples of every class in a seeded shuffle, increasing.
std::vector<Index> first_of_each_class(const std::vector<Index>& label, Index per_class) {
  std::vector<Index> order(label.size());
  std::iota(order.begin(), order.end(), Index{0});
  Random random(seed);
  random.shuffle(order);
  std::map<Index, Index> taken;
  std::vector<Index> rows;
  for (const Index i : order)
    if (taken[label[static_cast<std::size_t>(i)]]++ < per_class) rows.push_back(i);
  std::sort(rows.begin(), rows.end());
  return rows;
}

Samples training_share(const Samples& samples, double share) {
  return select_rows(samples, split_samples(samples, share, seed).train);
}

Samples read_letters(const std::string& path) {
  const Samples all =
      read_samples({path}, {.drop = {"id", "next_id", "word_id", "position", "fold"}});
  return select_rows(all, first_of_each_class(all.label, 200));
}

Dataset load_letter(const std::string& path) {
  return letter_pairs(training_share(read_letters(path), 0.5));
}

Dataset load_share(const std::string& path, double share, Casting casting) {
  return cast_into_tasks(training_share(read_samples({path}), share), casting);
}

Dataset load_mnist(const std::filesystem::path& folder, Index per_class) {
  const Samples all = read_samples({(folder / "train-images-idx3-ubyte.gz").string()});
  Samples samples = select_rows(all, first_of_each_class(all.label, per_class));
  samples.X /= 255;
  return cast_into_tasks(std::move(samples), Casting::one_vs_one);
}

std::filesystem::path data_folder() {
  const char* folder = std::getenv("COTERIE_DATA");
  if (!folder || !*folder)
    throw InputError(
        "this part needs the real data sets, and COTERIE_DATA is not set. Set it to the folder "
        "that holds letter/data.csv.gz, vehicle, landmine, pen and mnist.");
  return folder;
}

}  // namespace

Settings Work::settings() const {
  Settings settings;
  settings.scale = scale;
  return settings;
}

std::vector<Work> real_work() {
  const std::filesystem::path root = data_folder();
  const auto csv = [&](const char* name) { return (root / name / "data.csv.gz").string(); };
  const auto share = [&](const char* name, double part, Casting casting) {
    return [path = csv(name), part, casting] { return load_share(path, part, casting); };
  };
  return {
      {"letter 50%", [path = csv("letter")] { return load_letter(path); }},
      {"vehicle 50%", share("vehicle", 0.5, Casting::one_vs_one), Scale::standard},
      {"landmine 50%", share("landmine", 0.5, Casting::binary)},
      {"pen 20%", share("pen", 0.2, Casting::one_vs_one), Scale::standard},
      {"pen 50%", share("pen", 0.5, Casting::one_vs_one), Scale::standard},
      {"mnist 200", [root] { return load_mnist(root / "mnist", 200); }},
  };
}

std::vector<Study> studies() {
  const std::filesystem::path root = data_folder();
  const auto csv = [&](const char* name) { return (root / name / "data.csv.gz").string(); };
  const auto whole = [](const std::string& path, Casting casting) {
    return [path, casting] { return cast_into_tasks(read_samples({path}), casting); };
  };
  const std::string digits =
      (std::filesystem::path(BENCH_FOLDER).parent_path() / "data" / "digits.csv.gz").string();
  return {
      {"digits", whole(digits, Casting::one_vs_one), 0.1},
      {"vehicle", whole(csv("vehicle"), Casting::one_vs_one), 0.2, Scale::standard},
      {"letter", [path = csv("letter")] { return letter_pairs(read_letters(path)); }},
      {"landmine", whole(csv("landmine"), Casting::binary), 0.2, Scale::none, true},
  };
}

Dataset planted_tasks(Index tasks, Index samples, Index groups) {
  PlantedSettings planted;
  planted.tasks = tasks;
  planted.groups = groups;
  planted.samples = samples;
  planted.seed = seed;
  return cast_into_tasks(plant_groups(planted).samples, Casting::binary);
}

}  // namespace coterie::bench
