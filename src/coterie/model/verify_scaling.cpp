#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/model/verify_sums.hpp"

namespace coterie {

namespace {

// Whether features are averaged with those that are nearest to them, by correlations in plain sums of long double.
void check_neighbours(const Model& model, const Dataset& data, const std::vector<bool>& used,
                      std::vector<std::string>& findings) {
  const Index d = std::ssize(model.features_of_data());
  const Index smooth = model.scaling.smooth;
  std::vector<std::vector<long double>> z(static_cast<std::size_t>(d));
  for (Index j = 0; j < d; ++j) {
    std::vector<long double>& column = z[static_cast<std::size_t>(j)];
    for (Index i = 0; i < data.X.rows(); ++i)
      if (used[static_cast<std::size_t>(i)]) column.push_back(data.X(i, j));
    const auto [low, high] = std::minmax_element(column.begin(), column.end());
    const bool constant = *low == *high;
    long double mean = 0, squares = 0;
    for (const long double x : column) mean += x / static_cast<long double>(column.size());
    for (long double& x : column) squares += (x - mean) * (x - mean);
    for (long double& x : column) x = constant ? 0 : (x - mean) / std::sqrt(squares);
  }
  const auto correlation = [&](Index i, Index j) {
    long double sum = 0;
    const std::vector<long double>& a = z[static_cast<std::size_t>(i)];
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * z[static_cast<std::size_t>(j)][k];
    return sum;
  };
  constexpr long double off = 1e-9L;  // of what is compared: steps of 2^-32, and rounding
  for (Index j = 0; j < d; ++j) {
    const auto first = model.scaling.neighbours.begin() + j * smooth;
    const std::vector<Index> stated(first, first + smooth);
    std::vector<long double> nearness(static_cast<std::size_t>(d));
    for (Index i = 0; i < d; ++i) nearness[static_cast<std::size_t>(i)] = correlation(i, j);
    Index count = 1;  // of columns: itself, then others
    while (count < smooth && stated[static_cast<std::size_t>(count)] != j) ++count;
    std::vector<bool> taken(static_cast<std::size_t>(d), false);
    long double least = std::numeric_limits<long double>::infinity();
    bool right = stated[0] == j;
    for (Index k = 0; k < smooth; ++k) {
      const auto i = static_cast<std::size_t>(stated[static_cast<std::size_t>(k)]);
      if (k >= count) right = right && stated[static_cast<std::size_t>(k)] == j;
      if (k == 0 || k >= count) continue;
      right = right && !taken[i] && nearness[i] > -off;
      least = std::min(least, nearness[i]);
      taken[i] = true;
    }
    taken[static_cast<std::size_t>(j)] = true;
    const long double bar = count < smooth ? off : least + off;
    for (std::size_t i = 0; i < taken.size(); ++i)
      right = right && (taken[i] || nearness[i] <= bar);
    if (!right)
      findings.push_back(
          fmt::format("the features that '{}' is averaged with are not those nearest to it",
                      model.features[static_cast<std::size_t>(j)]));
  }
}

}  // namespace

void check_scaling(const Model& model, const Dataset& data, std::vector<std::string>& findings) {
  if (model.settings.scale != model.scaling.kind)
    findings.push_back(fmt::format("the features are scaled '{}', not '{}' as the settings say",
                                   to_string(model.scaling.kind), text_of(model.settings.scale)));
  if (model.settings.smooth != model.scaling.smooth)
    findings.push_back(
        fmt::format("the mean of {} features is taken, not of {} as the settings say",
                    model.scaling.smooth, model.settings.smooth));
  if (!model.scaling.changes()) return;
  std::vector<bool> used(static_cast<std::size_t>(data.X.rows()), false);
  for (const Task& task : data.tasks)
    for (const Index row : task.rows) used[static_cast<std::size_t>(row)] = true;
  // Scores of a first stage have a scale already.
  const Index learnt = std::ssize(model.features_of_data());
  if (model.scaling.smooth > 1) check_neighbours(model, data, used, findings);
  if (model.scaling.kind == Scaling::Kind::none) return;
  for (Index j = learnt; j < data.X.cols(); ++j)
    if (model.scaling.shift[j] != 0 || model.scaling.factor[j] != 1)
      findings.push_back(fmt::format("the scores '{}' are scaled once more",
                                     model.features[static_cast<std::size_t>(j)]));
  for (Index j = 0; j < learnt; ++j) {
    // In long double, whose range has room for any square of a double. Shifts and factors are doubles: one rounding each, and that of
    // the shift moves the spread by its square.
    long double count = 0, sum = 0, squares = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (Index i = 0; i < data.X.rows(); ++i) {
      if (!used[static_cast<std::size_t>(i)]) continue;
      count += 1;
      sum += data.X(i, j);
      low = std::min(low, data.X(i, j));
      high = std::max(high, data.X(i, j));
    }
    const bool standard = model.scaling.kind == Scaling::Kind::standard;
    const long double shift = low == high || !standard ? low : sum / count;
    for (Index i = 0; i < data.X.rows(); ++i)
      if (used[static_cast<std::size_t>(i)])
        squares += (data.X(i, j) - shift) * (data.X(i, j) - shift);
    const long double spread = low == high ? 1
                               : standard  ? std::sqrt(squares / count)
                                           : static_cast<long double>(high) - low;
    const long double size = std::max(std::abs(low), std::abs(high));
    const long double shift_off = standard ? (4 * unit_roundoff + count * long_roundoff) * size : 0;
    const long double share = shift_off / spread;
    const long double factor_off = 16 * unit_roundoff + count * long_roundoff + share * share;
    if (!(std::abs(model.scaling.shift[j] - shift) <= shift_off) ||
        !(std::abs(model.scaling.factor[j] * spread - 1) <= factor_off))
      findings.push_back(fmt::format("the scaling of feature '{}' is not that of the data",
                                     model.features[static_cast<std::size_t>(j)]));
  }
}

namespace {

Matrix smoothed(const Scaling& scaling, const Matrix& X) {
  Matrix out = X;
  if (scaling.smooth == 1) return out;
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; (j + 1) * scaling.smooth <= std::ssize(scaling.neighbours); ++j) {
      double sum = 0;
      for (Index k = 0; k < scaling.smooth; ++k)
        sum += X(i, scaling.neighbours[static_cast<std::size_t>(j * scaling.smooth + k)]);
      out(i, j) = sum / static_cast<double>(scaling.smooth);
    }
  return out;
}

}  // namespace

Matrix scaled(const Model& model, Matrix X) {
  if (model.scaling.kind != Scaling::Kind::none)
    for (Index i = 0; i < X.rows(); ++i)
      for (Index j = 0; j < X.cols(); ++j)
        X(i, j) = (X(i, j) - model.scaling.shift[j]) * model.scaling.factor[j];
  return smoothed(model.scaling, X);
}

}  // namespace coterie
