#include "coterie/search/judgement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/stats/calibration.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// Log loss of the held-out samples of every fold, (folds x tasks), with sigmoids fitted to the held-out scores of the other folds; of a
// single fold, to the other half of its own.
Matrix cross_fitted_log_loss(const Dataset& data, const std::vector<Split>& splits,
                             const std::vector<Vector>& decisions) {
  const Index K = std::ssize(splits);
  const Index T = std::ssize(data.tasks);
  Matrix cells = Matrix::Constant(K, T, undefined);
  std::vector<Index> begin(splits.size(), 0);
  for (Index t = 0; t < T; ++t) {
    const auto task = static_cast<std::size_t>(t);
    std::vector<double> f, y;
    std::vector<Index> part;  // which part a score is judged in: its fold, or a half
    Index of_class[2] = {0, 0};
    for (std::size_t k = 0; k < splits.size(); ++k) {
      for (const Index i : splits[k].rest[task]) {
        f.push_back(decisions[k][begin[k]++]);
        y.push_back(data.tasks[task].y[i]);
        part.push_back(K > 1 ? static_cast<Index>(k) : of_class[y.back() > 0]++ % 2);
      }
    }
    double sum = 0;
    Index judged = 0;
    for (Index p = 0; p < std::max<Index>(K, 2); ++p) {
      std::vector<Index> inside, outside;
      for (std::size_t i = 0; i < part.size(); ++i)
        (part[i] == p ? inside : outside).push_back(static_cast<Index>(i));
      if (inside.empty()) continue;
      const Eigen::Map<const Vector> scores(f.data(), std::ssize(f));
      const Eigen::Map<const Vector> labels(y.data(), std::ssize(y));
      const Calibration sigmoid = fit_platt(Vector(scores(outside)), Vector(labels(outside)));
      Vector probabilities(std::ssize(inside));
      for (Index i = 0; i < probabilities.size(); ++i)
        probabilities[i] = probability(sigmoid, scores[inside[static_cast<std::size_t>(i)]]);
      const double loss = log_loss(probabilities, Vector(labels(inside)));
      if (K > 1) cells(p, t) = loss;
      sum += loss * static_cast<double>(inside.size());
      judged += std::ssize(inside);
    }
    if (K == 1 && judged > 0) cells(0, t) = sum / static_cast<double>(judged);
  }
  return cells;
}

}  // namespace

std::string to_string(Score score) {
  switch (score) {
    case Score::accuracy:
      return "accuracy";
    case Score::balanced_accuracy:
      return "balanced";
    case Score::auc:
      return "auc";
    case Score::log_loss:
      break;
  }
  return "logloss";
}

std::optional<Score> score_from(const std::string& text) {
  for (const Score score : {Score::accuracy, Score::balanced_accuracy, Score::auc, Score::log_loss})
    if (text == to_string(score)) return score;
  return {};
}

bool higher_is_better(Score score) { return score != Score::log_loss; }

Vector judge_held_out(const Dataset& data, const Split& split, Score score,
                      const Decisions& decisions) {
  std::vector<double> out;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const std::vector<Index>& rest = split.rest[t];
    if (rest.empty()) {
      if (score != Score::log_loss) out.push_back(undefined);
      continue;
    }
    const Vector f = decisions(static_cast<Index>(t));
    const Vector y = data.tasks[t].y(rest);
    switch (score) {
      case Score::accuracy:
        out.push_back(accuracy(f, y));
        break;
      case Score::balanced_accuracy:
        out.push_back(balanced_accuracy(f, y));
        break;
      case Score::auc:
        out.push_back(auc(f, y));
        break;
      case Score::log_loss:
        out.insert(out.end(), f.begin(), f.end());
        break;
    }
  }
  return Eigen::Map<const Vector>(out.data(), std::ssize(out));
}

Matrix cells_of(const Dataset& data, const std::vector<Split>& splits, Score score,
                const std::vector<Vector>& judged) {
  if (score == Score::log_loss) return cross_fitted_log_loss(data, splits, judged);
  Matrix cells(std::ssize(splits), std::ssize(data.tasks));
  for (std::size_t k = 0; k < splits.size(); ++k) cells.row(static_cast<Index>(k)) = judged[k];
  return cells;
}

double mean_score(const Matrix& cells) {
  double sum = 0;
  Index tasks = 0;
  for (Index t = 0; t < cells.cols(); ++t) {
    double of_task = 0;
    Index folds = 0;
    for (Index k = 0; k < cells.rows(); ++k) {
      if (std::isnan(cells(k, t))) continue;
      of_task += cells(k, t);
      ++folds;
    }
    if (folds == 0) continue;
    sum += of_task / static_cast<double>(folds);
    ++tasks;
  }
  return tasks == 0 ? undefined : sum / static_cast<double>(tasks);
}

double standard_error(const Matrix& cells) {
  const Matrix units = cells.rows() > 1 ? cells : Matrix(cells.transpose());
  std::vector<double> means;
  for (Index k = 0; k < units.rows(); ++k) {
    double sum = 0;
    Index count = 0;
    for (const double value : units.row(k)) {
      if (std::isnan(value)) continue;
      sum += value;
      ++count;
    }
    if (count > 0) means.push_back(sum / static_cast<double>(count));
  }
  const double n = static_cast<double>(means.size());
  if (means.size() < 2) return undefined;
  double mean = 0, squares = 0;
  for (const double value : means) mean += value / n;
  for (const double value : means) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1) / n);
}

}  // namespace coterie
