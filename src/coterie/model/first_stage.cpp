#include "coterie/model/first_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "coterie/data/fingerprint.hpp"
#include "coterie/data/split.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/train.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kCrossFitGap = 1e-3;  // of models that only score: more digits change no column
// Where C is open. At equal weights the kernel is the sum of all: small values are small indeed.
constexpr double kCosts[] = {0x1p-8, 0x1p-5, 0x1p-2, 0x1p1, 0x1p4};
constexpr Index kPartsOfChoice = 2;  // that C is chosen by

// The settings of a block's model.
Settings settings_of(const std::string& block, const Settings& second, double C) {
  const Parameters& p = second.first_stage;
  Settings out;
  out.method = block == "pooled" ? "pooled" : block == "group" ? "groups" : "stl";
  if (block == "group")
    out.parameters = {
        {"clusters", p.at("clusters")}, {"restarts", p.at("restarts")}, {"seed", p.at("seed")}};
  std::vector<Kernel> kernels = second.kernels.list();
  std::erase_if(kernels,
                [](const Kernel& kernel) { return kernel.is_precomputed() || has_scores(kernel); });
  if (!kernels.empty()) out.kernels = Kernels(std::move(kernels));
  out.scale = second.scale;
  out.smooth = second.smooth;
  out.C = C;
  out.norm = p.at("learnt") != 0 ? 1 : std::numeric_limits<double>::infinity();
  out.class_weight = p.at("balanced") != 0 ? ClassWeight::balanced : ClassWeight::none;
  out.tolerance = second.tolerance;
  out.max_steps = second.max_steps;
  return in_full(out);
}

// A model of some tasks of the data; `place` says where each task of the data is among its tasks, -1: it is not.
struct PartModel {
  Model model;
  std::vector<Index> place;
};

Model fit_block(const Dataset& data, const Settings& settings, int threads, double memory) {
  const MethodProblem problem = prepare_method(data, settings, {}, threads);
  return make_model(problem, settings, fit_method(problem, settings, threads, {}, nullptr, memory),
                    fingerprint(data));
}

// The rows outside a part. Tasks that have but one class there are left out.
Dataset without_part(const Dataset& data, const std::vector<Index>& part, Index number,
                     std::vector<Index>& place) {
  Dataset out;
  out.X = data.X;
  out.features = data.features;
  out.classes = data.classes;
  out.casting = data.casting;
  for (const Task& task : data.tasks) {
    std::vector<Index> kept;
    for (Index i = 0; i < task.size(); ++i)
      if (part[static_cast<std::size_t>(task.rows[static_cast<std::size_t>(i)])] != number)
        kept.push_back(i);
    Task some;
    static_cast<TaskId&>(some) = task;
    some.y = task.y(kept);
    for (const Index i : kept) some.rows.push_back(task.rows[static_cast<std::size_t>(i)]);
    const bool both = (some.y.array() > 0).any() && (some.y.array() < 0).any();
    place.push_back(both ? std::ssize(out.tasks) : -1);
    if (both) out.tasks.push_back(std::move(some));
  }
  return out;
}

// Scores of rows of task t (-1: of many tasks) by the model of a block, a column each.
Matrix scores_of(const std::string& block, const Model& model, const std::vector<Index>& place,
                 Index t, ConstMatrixRef X) {
  const auto score = [&](Index s) -> Vector {
    const Index own = place[static_cast<std::size_t>(s)];
    return own < 0 ? Vector::Constant(X.rows(), unknown) : decision_values(model, own, X);
  };
  if (block == "pooled") return decision_values(model, 0, X);
  if (block == "group") return score(t);
  Matrix out(X.rows(), std::ssize(place));
  for (Index s = 0; s < out.cols(); ++s)
    if (s == t)
      out.col(s).setConstant(unknown);
    else
      out.col(s) = score(s);
  return out;
}

// Scores of the rows of some parts by models of the rows outside each.
class CrossFit {
 public:
  CrossFit(const Dataset& data, const Settings& second, int threads, double memory)
      : data_(data), second_(second), threads_(threads), memory_(memory) {
    const Parameters& p = second.first_stage;
    parts_ = static_cast<Index>(p.at("folds"));
    part_ = cross_fit_parts(data, parts_, static_cast<std::uint64_t>(p.at("seed")));
    if (*std::ranges::max_element(part_) + 1 < parts_)
      throw InputError(
          fmt::format("`first_stage`: folds is {}, but there are only {} different rows.", parts_,
                      *std::ranges::max_element(part_) + 1));
  }

  Index parts() const { return parts_; }

  // Rows x columns of the block; what no model says is NaN.
  Matrix scores(const std::string& block, double C) const {
    const Index columns = block == "others" ? std::ssize(data_.tasks) : 1;
    Matrix out = Matrix::Constant(data_.X.rows(), columns, unknown);
    for (Index k = 0; k < parts_; ++k) {
      const PartModel fitted = fit(block, C, k);
      for (const auto& [t, rows] : rows_of(k))
        out(rows, Eigen::all) =
            scores_of(block, fitted.model, fitted.place, t, data_.X(rows, Eigen::all));
    }
    return out;
  }

  // Mean over the tasks of the AUC that a task's own model, or that of the pool, has on rows that it did not see.
  double quality(const std::string& block, double C) const {
    double sum = 0;
    Index count = 0;
    for (Index k = 0; k < std::min(kPartsOfChoice, parts_); ++k) {
      const PartModel fitted = fit(block, C, k);
      for (std::size_t t = 0; t < data_.tasks.size(); ++t) {
        const Task& task = data_.tasks[t];
        std::vector<Index> rows, places;
        for (Index i = 0; i < task.size(); ++i)
          if (const Index row = task.rows[static_cast<std::size_t>(i)];
              part_[static_cast<std::size_t>(row)] == k) {
            rows.push_back(row);
            places.push_back(i);
          }
        const Vector y = task.y(places);
        const Index own = block == "pooled" ? 0 : fitted.place[t];
        if (own < 0 || !(y.array() > 0).any() || !(y.array() < 0).any()) continue;
        sum += auc(decision_values(fitted.model, own, data_.X(rows, Eigen::all)), y);
        ++count;
      }
    }
    return count == 0 ? 0 : sum / static_cast<double>(count);
  }

 private:
  PartModel fit(const std::string& block, double C, Index number) const {
    Settings settings = settings_of(block, second_, C);
    settings.tolerance = std::max(settings.tolerance, kCrossFitGap);
    PartModel out;
    const Dataset rows = without_part(data_, part_, number, out.place);
    if (rows.tasks.empty())
      throw InputError(
          "`kernels`: scores of other models need rows to hold out, and no task has more than one "
          "row of both classes. Leave out the kernels on scores.");
    out.model = fit_block(rows, settings, threads_, memory_);
    return out;
  }

  // The rows of a part, by task; of tasks that share rows all together.
  std::vector<std::pair<Index, std::vector<Index>>> rows_of(Index number) const {
    std::vector<std::pair<Index, std::vector<Index>>> out;
    if (data_.casting != Casting::binary) {
      std::vector<Index> rows;
      for (std::size_t row = 0; row < part_.size(); ++row)
        if (part_[row] == number) rows.push_back(static_cast<Index>(row));
      if (!rows.empty()) out.emplace_back(-1, std::move(rows));
      return out;
    }
    for (std::size_t t = 0; t < data_.tasks.size(); ++t) {
      std::vector<Index> rows;
      for (const Index row : data_.tasks[t].rows)
        if (part_[static_cast<std::size_t>(row)] == number) rows.push_back(row);
      if (!rows.empty()) out.emplace_back(static_cast<Index>(t), std::move(rows));
    }
    return out;
  }

  const Dataset& data_;
  const Settings& second_;
  int threads_;
  double memory_;
  Index parts_ = 0;
  std::vector<Index> part_;
};

// The C of a block's model: the one asked for, or that of the best scores. A group has that of the pool, which is quick to fit.
double choose_C(const CrossFit& cross, const std::string& block, const Settings& second,
                std::map<std::string, double>& chosen) {
  if (const double asked = second.first_stage.at("C"); asked > 0) return asked;
  const std::string judged = block == "others" ? "others" : "pooled";
  if (const auto known = chosen.find(judged); known != chosen.end()) return known->second;
  double best = kCosts[0], highest = -1;
  for (const double C : kCosts)
    if (const double quality = cross.quality(judged, C); quality > highest) {
      highest = quality;
      best = C;
    }
  return chosen[judged] = best;
}

void check_names(const Dataset& data) {
  for (const std::string& feature : data.features)
    if (is_score(feature))
      throw InputError(
          fmt::format("a column is called '{}', which is the name of scores. Rename it.", feature));
}

void check_meaning(const std::vector<std::string>& blocks, const Dataset& data) {
  for (const std::string& block : blocks) {
    if (block != "others" && data.casting != Casting::binary)
      throw InputError(fmt::format(
          "`kernels`: @{} is the score of a model of many tasks, which needs labels that mean the "
          "same in all of them; {} tasks have not. Use @others.",
          block, to_string(data.casting)));
    if (block == "others" && data.tasks.size() == 1)
      throw InputError(
          "`kernels`: @others are the scores of models of other tasks, and there is one task.");
  }
}

// Adds the columns of a block, standardised, behind those that are there.
void add_columns(const Matrix& scores, FirstStage& first) {
  const Index old = first.columns();
  const Index added = scores.cols();
  first.shift.conservativeResize(old + added);
  first.factor.conservativeResize(old + added);
  first.scores.conservativeResize(scores.rows(), old + added);
  for (Index j = 0; j < added; ++j) {
    double n = 0, sum = 0, squares = 0;
    for (const double value : scores.col(j))
      if (!std::isnan(value)) {
        n += 1;
        sum += value;
      }
    const double mean = n > 0 ? sum / n : 0;
    for (const double value : scores.col(j))
      if (!std::isnan(value)) squares += (value - mean) * (value - mean);
    const double spread = n > 0 ? std::sqrt(squares / n) : 0;
    first.shift[old + j] = mean;
    first.factor[old + j] = spread > 0 ? 1 / spread : 1;
    for (Index i = 0; i < scores.rows(); ++i)
      first.scores(i, old + j) =
          std::isnan(scores(i, j)) ? 0 : (scores(i, j) - mean) * first.factor[old + j];
  }
}

Matrix side_by_side(const Matrix& X, const Matrix& scores) {
  Matrix wide(X.rows(), X.cols() + scores.cols());
  wide.leftCols(X.cols()) = X;
  wide.rightCols(scores.cols()) = scores;
  return wide;
}

std::vector<std::string> task_names(const Dataset& data) {
  std::vector<std::string> names;
  for (const Task& task : data.tasks) names.push_back(task.name);
  return names;
}

}  // namespace

bool FirstStage::operator==(const FirstStage& o) const {
  const auto same = [](const auto& a, const auto& b) {
    return a.rows() == b.rows() && a.cols() == b.cols() && a == b;
  };
  return blocks == o.blocks && models == o.models && same(shift, o.shift) &&
         same(factor, o.factor) && same(scores, o.scores);
}

std::vector<std::string> score_names(const std::vector<std::string>& blocks,
                                     const std::vector<std::string>& tasks) {
  std::vector<std::string> names;
  for (const std::string& block : blocks)
    if (block == "others")
      for (const std::string& task : tasks) names.push_back(fmt::format("@others:{}", task));
    else
      names.push_back("@" + block);
  return names;
}

std::vector<std::string> features_with_scores(const Settings& settings, const Dataset& data) {
  std::vector<std::string> names = data.features;
  const std::vector<std::string> more =
      score_names(score_blocks(settings.kernels.list(), data.features), task_names(data));
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

std::vector<Kernel> kernels_for(const Settings& settings, const Dataset& data) {
  return prepare_kernels(settings.kernels, settings.normalise, data,
                         features_with_scores(settings, data));
}

Settings first_stage_settings(const std::string& block, const Settings& settings) {
  const double asked = settings.first_stage.at("C");
  return settings_of(block, settings, asked > 0 ? asked : *std::ranges::max_element(kCosts));
}

Scored learn_scores(Dataset data, const Settings& given, int threads, double memory) {
  const Settings settings = in_full(given);
  const std::vector<std::string> blocks = score_blocks(settings.kernels.list(), data.features);
  check_names(data);
  if (blocks.empty()) return {std::move(data), nullptr};
  check_meaning(blocks, data);
  FirstStage first;
  first.blocks = blocks;
  const CrossFit cross(data, settings, threads, memory);
  std::map<std::string, double> chosen;
  for (const std::string& block : blocks) {
    const double C = choose_C(cross, block, settings, chosen);
    add_columns(cross.scores(block, C), first);
    first.models.push_back(fit_block(data, settings_of(block, settings, C), threads, memory));
  }
  auto kept = std::make_shared<const FirstStage>(std::move(first));
  Dataset wide = with_stored_scores(*kept, std::move(data));
  return {std::move(wide), std::move(kept)};
}

Dataset with_stored_scores(const FirstStage& first, Dataset data) {
  if (first.scores.rows() != data.X.rows())
    throw InputError(fmt::format(
        "The data has {} rows, the model has scores of {}; verify needs the training data.",
        data.X.rows(), first.scores.rows()));
  data.X = side_by_side(data.X, first.scores);
  const std::vector<std::string> names = score_names(first.blocks, task_names(data));
  data.features.insert(data.features.end(), names.begin(), names.end());
  return data;
}

Matrix with_scores(const FirstStage& first, Index t, ConstMatrixRef X) {
  Matrix scores(X.rows(), first.columns());
  Index column = 0;
  for (std::size_t b = 0; b < first.blocks.size(); ++b) {
    const Model& model = first.models[b];
    std::vector<Index> place;
    for (Index s = 0; s < std::ssize(model.tasks); ++s) place.push_back(s);
    const Matrix own =
        scores_of(first.blocks[b], model, place, model.casting == Casting::binary ? t : -1, X);
    scores.middleCols(column, own.cols()) = own;
    column += own.cols();
  }
  for (Index j = 0; j < scores.cols(); ++j)
    for (double& value : scores.col(j))
      value = std::isnan(value) ? 0 : (value - first.shift[j]) * first.factor[j];
  return side_by_side(X, scores);
}

double share_of_scores(const Model& model, Index t) {
  if (!model.first_stage) return 0;
  const Vector& theta = model.tasks[static_cast<std::size_t>(t)].theta();
  double sum = 0;
  for (std::size_t m = 0; m < model.kernels.size(); ++m)
    if (has_scores(model.kernels[m])) sum += theta[static_cast<Index>(m)];
  return theta.sum() > 0 ? sum / theta.sum() : 0;
}

}  // namespace coterie
