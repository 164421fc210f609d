#include "coterie/data/description.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace coterie {

namespace {

Index code(const std::vector<Index>& codes, Index row) {
  return codes.empty() ? 0 : codes[static_cast<std::size_t>(row)];
}

Duplicates count_duplicates(const Samples& samples) {
  const Index d = samples.X.cols();
  const auto row = [&](Index i) {
    return std::span(samples.X.data() + i * d, static_cast<std::size_t>(d));
  };
  std::vector<Index> order(static_cast<std::size_t>(samples.X.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index a, Index b) {
    const Index s = code(samples.task, a), t = code(samples.task, b);
    return s != t ? s < t : std::ranges::lexicographical_compare(row(a), row(b));
  });
  Duplicates count;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Index a = order[k - 1], b = order[k];
    if (code(samples.task, a) != code(samples.task, b) || !std::ranges::equal(row(a), row(b)))
      continue;
    ++count.rows;
    if (code(samples.label, a) != code(samples.label, b)) ++count.conflicting;
  }
  return count;
}

// Rows per task (one when there is no task column) and class.
Eigen::Matrix<Index, -1, -1> count_classes(const Samples& samples) {
  const Index tasks = std::max<Index>(1, std::ssize(samples.tasks));
  Eigen::Matrix<Index, -1, -1> counts;
  counts.setZero(tasks, std::max<Index>(1, std::ssize(samples.labels)));
  for (Index i = 0; i < samples.X.rows(); ++i)
    ++counts(code(samples.task, i), code(samples.label, i));
  return counts;
}

std::vector<ColumnRange> ranges_of(const Samples& samples) {
  const Vector smallest = samples.X.colwise().minCoeff(), mean = samples.X.colwise().mean(),
               largest = samples.X.colwise().maxCoeff();
  std::vector<ColumnRange> columns;
  for (Index j = 0; j < samples.X.cols(); ++j)
    columns.push_back(
        {samples.features[static_cast<std::size_t>(j)], smallest[j], mean[j], largest[j]});
  return columns;
}

}  // namespace

std::vector<std::string> Description::constant_columns() const {
  std::vector<std::string> names;
  for (const ColumnRange& column : columns)
    if (column.is_constant()) names.push_back(column.name);
  return names;
}

Description describe(const Samples& samples) {
  return {count_classes(samples), ranges_of(samples), count_duplicates(samples)};
}

}  // namespace coterie
