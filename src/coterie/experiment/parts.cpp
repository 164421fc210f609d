#include "coterie/experiment/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "coterie/math/random.hpp"

namespace coterie {

namespace {

using Strata = std::map<std::pair<std::string, std::string>, std::vector<Index>>;

// Rows by task and class, under their names; the task is empty where there is no column of them.
Strata strata_of(const Samples& samples) {
  Strata strata;
  for (std::size_t i = 0; i < samples.label.size(); ++i)
    strata[{samples.task.empty() ? "" : samples.tasks[static_cast<std::size_t>(samples.task[i])],
            samples.labels[static_cast<std::size_t>(samples.label[i])]}]
        .push_back(static_cast<Index>(i));
  return strata;
}

// The rows of a class in an order of its own, which other classes do not change.
std::vector<Index> shuffled(const Strata::value_type& stratum, std::uint64_t seed) {
  const auto& [task, label] = stratum.first;
  Random random(seed_of(fmt::format("{}\n{}\n{}", seed, task, label)));
  std::vector<Index> rows = stratum.second;
  random.shuffle(rows);
  return rows;
}

Index training_rows(double share, Index n) {
  return std::clamp<Index>(std::lround(share * static_cast<double>(n)), 1, n - 2);
}

void check_size(const Strata::value_type& stratum) {
  const auto& [task, label] = stratum.first;
  if (stratum.second.size() < 3)
    throw InputError(fmt::format(
        "class '{}'{} has {} row(s); an experiment needs three, to train, choose and test on.",
        label, task.empty() ? "" : fmt::format(" of task '{}'", task), stratum.second.size()));
}

}  // namespace

std::uint64_t seed_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

Parts part_rows(const Samples& samples, const PartSettings& settings) {
  const Strata strata = strata_of(samples);
  std::map<std::string, Index> smallest;  // class of every task
  for (const auto& stratum : strata) {
    check_size(stratum);
    const Index n = std::ssize(stratum.second);
    const auto [place, is_new] = smallest.emplace(stratum.first.first, n);
    if (!is_new) place->second = std::min(place->second, n);
  }
  Parts parts;
  for (const auto& stratum : strata) {
    const std::vector<Index> rows = shuffled(stratum, settings.seed);
    const Index of = settings.equal_classes ? smallest.at(stratum.first.first) : std::ssize(rows);
    const auto trained = rows.begin() + training_rows(settings.share, of);
    const auto chosen_on = trained + (rows.end() - trained) / 2;
    parts.train.insert(parts.train.end(), rows.begin(), trained);
    parts.validation.insert(parts.validation.end(), trained, chosen_on);
    parts.test.insert(parts.test.end(), chosen_on, rows.end());
  }
  for (std::vector<Index>* part : {&parts.train, &parts.validation, &parts.test})
    std::ranges::sort(*part);
  return parts;
}

std::vector<Index> capped_rows(const Samples& samples, Index most, std::uint64_t seed) {
  std::vector<Index> kept;
  for (const auto& stratum : strata_of(samples)) {
    const std::vector<Index> rows = shuffled(stratum, seed);
    kept.insert(kept.end(), rows.begin(), rows.begin() + std::min(most, std::ssize(rows)));
  }
  std::ranges::sort(kept);
  return kept;
}

}  // namespace coterie
