#include "coterie/data/planted.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "coterie/data/planted_samples.hpp"

namespace coterie {
namespace {

void check(const PlantedSettings& s) {
  const auto number = [](Index n) { return static_cast<double>(n); };
  const double most = 1e10;  // entries of X
  require_setting(s.tasks >= 1 && s.tasks <= 1'000'000, "tasks", number(s.tasks),
                  "between 1 and 1000000");
  require_setting(s.groups >= 1 && s.groups <= s.tasks, "groups", number(s.groups),
                  "between 1 and the number of tasks");
  require_setting(s.samples >= 2 && s.samples <= 1'000'000'000, "samples", number(s.samples),
                  "between 2 and 1000000000");
  require_setting(s.features_per_block >= 1 && s.features_per_block <= 1'000'000,
                  "features_per_block", number(s.features_per_block), "between 1 and 1000000");
  require_setting(s.noise >= 0 && s.noise < 0.5, "noise", s.noise, "at least 0 and below 0.5");
  require_setting(s.positive_share > 0 && s.positive_share < 1, "positive_share", s.positive_share,
                  "between 0 and 1");
  require_setting(s.size_spread >= 0 && s.size_spread < 1, "size_spread", s.size_spread,
                  "at least 0 and below 1");
  const double entries = number(s.tasks) * number(s.samples) * (1 + s.size_spread) *
                         number(s.groups) * number(s.features_per_block);
  require_setting(entries <= most, "tasks x samples x groups x features_per_block", entries,
                  "at most 1e10");
}

Vector random_direction(Index size, Random& random) {
  Vector w(size);
  do {
    for (double& value : w) value = random.normal();
  } while (w.norm() == 0);
  return w.normalized();
}

Vector scores(ConstMatrixRef block, bool linear, Random& random) {
  const Vector w = random_direction(block.cols(), random);
  if (linear) return block * w;
  const double shift = 0.5;  // a fraction of the deviation, so that the tasks stay alike
  return (block.rowwise() - shift * w.transpose()).rowwise().norm();
}

// 1 for the samples with the largest scores, 0 for the others, then noise.
std::vector<Index> labels_by(const Vector& score, const PlantedSettings& settings, Random& random) {
  const Index n = score.size();
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&](Index i) { return score[i]; });
  const Index wanted = std::lround(settings.positive_share * static_cast<double>(n));
  const Index positives = std::clamp<Index>(wanted, 1, n - 1);

  std::vector<Index> label(n);
  for (Index i = 0; i < n; ++i) label[order[i]] = i >= n - positives ? 1 : 0;
  std::vector<Index> minus(order.begin(), order.end() - positives);
  std::vector<Index> plus(order.end() - positives, order.end());
  turn_over(minus, settings.noise, label, random);
  turn_over(plus, settings.noise, label, random);
  return label;
}

}  // namespace

Planted plant_groups(const PlantedSettings& settings) {
  check(settings);
  Random random(settings.seed);
  std::vector<Index> size(settings.tasks);
  for (Index& n : size) {
    const double factor = 1 + settings.size_spread * random.uniform(-1, 1);
    n = std::max<Index>(2, std::lround(factor * static_cast<double>(settings.samples)));
  }
  const Index rows = std::accumulate(size.begin(), size.end(), Index{0});
  const Index columns = settings.groups * settings.features_per_block;

  Planted planted;
  planted.samples = planted_samples(settings.tasks, columns, rows);
  Samples& samples = planted.samples;
  Index first = 0;
  for (Index t = 0; t < settings.tasks; ++t) {
    const Index n = size[t], group = t % settings.groups;
    for (Index i = first; i < first + n; ++i) {
      for (Index j = 0; j < columns; ++j) samples.X(i, j) = random.normal();
    }
    const Matrix block =
        samples.X.block(first, group * settings.features_per_block, n, settings.features_per_block);
    for (const Index label : labels_by(scores(block, group % 2 == 0, random), settings, random)) {
      samples.label.push_back(label);
      samples.task.push_back(t);
    }
    planted.group.push_back(group);
    first += n;
  }
  return planted;
}

}  // namespace coterie
