#include "coterie/io/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "coterie/data/names.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {

std::vector<std::string> numbered_features(Index count) {
  std::vector<std::string> names;
  for (Index j = 1; j <= count; ++j) names.push_back(fmt::format("f{}", j));
  return names;
}

namespace {

void keep_columns(Samples& samples, const std::string& path, const TableOptions& options) {
  if (options.drop.empty() && options.features.empty()) return;
  std::unordered_map<std::string, Index> column_of;
  for (std::size_t j = 0; j < samples.features.size(); ++j)
    column_of.emplace(samples.features[j], static_cast<Index>(j));
  const auto column = [&](const std::string& name, const char* option) {
    const auto found = column_of.find(name);
    if (found != column_of.end()) return found->second;
    throw InputError(
        fmt::format("{}: no column is called {}, which {} asks for; the columns are {}.", path,
                    show(name), option, list_names(samples.features, 8)));
  };
  std::vector<bool> dropped(samples.features.size(), false), taken = dropped;
  for (const std::string& name : options.drop) dropped[column(name, "`drop`")] = true;
  std::vector<Index> kept;
  for (const std::string& name : options.features) {
    const Index j = column(name, "`features`");
    if (dropped[j] || taken[j]) {
      throw InputError(
          fmt::format("`features` names column '{}', which is {}. Take it out of one place.", name,
                      dropped[j] ? "dropped as well" : "there twice"));
    }
    taken[j] = true;
    kept.push_back(j);
  }
  if (options.features.empty()) {
    for (std::size_t j = 0; j < dropped.size(); ++j) {
      if (!dropped[j]) kept.push_back(static_cast<Index>(j));
    }
  }
  if (kept.empty()) throw InputError(fmt::format("{}: no column is left for the features.", path));
  const Matrix X = samples.X(Eigen::all, kept);
  samples.X = X;
  std::vector<std::string> names;
  for (const Index j : kept) names.push_back(std::move(samples.features[j]));
  samples.features = std::move(names);
}

}  // namespace

void finish_samples(Samples& samples, const Dictionary& labels, const Dictionary& tasks,
                    const std::string& path, const TableOptions& options) {
  samples.labels = labels.names();
  sort_labels(samples.labels, samples.label);
  samples.tasks = tasks.names();
  keep_columns(samples, path, options);
}

std::string describe_not_finite(double value) {
  return fmt::format("holds {}; every value must be a finite number. Correct it.", value);
}

}  // namespace coterie::detail
