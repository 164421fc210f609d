#include "coterie/svm/task_svm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace coterie {

namespace {

std::vector<Index> spread_evenly(const Vector& y, Index count) {
  std::vector<Index> chosen;
  for (const double sign : {-1.0, 1.0}) {
    std::vector<Index> members;
    for (Index i = 0; i < y.size(); ++i)
      if (y[i] == sign) members.push_back(i);
    const Index taken = std::min<Index>(count / 2, std::ssize(members));
    for (Index k = 0; k < taken; ++k)
      chosen.push_back(members[static_cast<std::size_t>(k * std::ssize(members) / taken)]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<Index> everyone(Index n) {
  std::vector<Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

}  // namespace

TaskSvm::TaskSvm(const TaskGrams& base, const Vector& y, const Vector& p, const Vector& C,
                 Index whole)
    : all_y_(y), all_p_(p), all_C_(C), K_(base) {
  join(y.size() <= whole ? everyone(y.size()) : spread_evenly(y, whole));
}

void TaskSvm::join(const std::vector<Index>& samples) {
  K_.add(samples);
  y_ = all_y_(K_.samples());
  p_ = all_p_(K_.samples());
  C_ = all_C_(K_.samples());
}

Vector TaskSvm::admit(const Vector& alpha) {
  std::vector<Index> new_ones;
  for (Index i = 0; i < alpha.size(); ++i)
    if (alpha[i] > 0 && !K_.contains(i)) new_ones.push_back(i);
  join(new_ones);
  return alpha(K_.samples());
}

SvmResult TaskSvm::solve(ConstVectorRef start, const SvmSettings& settings) {
  return solve_svm(K_, {y_, p_, C_}, start, settings);
}

double TaskSvm::loss_outside(const SvmResult& svm) {
  violators_.clear();
  outside_ = {};
  if (has_all()) return 0;
  std::vector<Index> support;
  const Vector beta = y_.cwiseProduct(svm.alpha);
  for (Index k = 0; k < beta.size(); ++k)
    if (beta[k] != 0) support.push_back(k);
  outside_ = K_.outside(support, beta.data());
  double loss = 0;
  for (std::size_t k = 0; k < outside_.samples.size(); ++k) {
    const Index i = outside_.samples[k];
    const double f = outside_.values[static_cast<Index>(k)] + svm.bias;
    const double missing = all_p_[i] - all_y_[i] * f;
    if (missing <= 0) continue;
    loss += all_C_[i] * missing;
    violators_.emplace_back(-missing, i);
  }
  return loss;
}

bool TaskSvm::grow() {
  if (violators_.empty()) return false;
  const std::size_t limit = static_cast<std::size_t>(std::max<Index>(32, K_.size()));
  if (violators_.size() > limit) {
    std::nth_element(violators_.begin(), violators_.begin() + static_cast<std::ptrdiff_t>(limit),
                     violators_.end());
    violators_.resize(limit);
  }
  std::vector<Index> samples;
  for (const auto& [violation, i] : violators_) samples.push_back(i);
  std::sort(samples.begin(), samples.end());
  violators_.clear();
  join(samples);
  return true;
}

Vector TaskSvm::spread(const Vector& of_set) const {
  Vector all = Vector::Zero(all_y_.size());
  for (Index k = 0; k < of_set.size(); ++k)
    all[K_.samples()[static_cast<std::size_t>(k)]] = of_set[k];
  return all;
}

Vector TaskSvm::spread_gradient(const Vector& gradient) const {
  Vector all = spread(gradient);
  for (std::size_t k = 0; k < outside_.samples.size(); ++k) {
    const Index i = outside_.samples[k];
    all[i] = outside_.values[static_cast<Index>(k)] - all_y_[i] * all_p_[i];
  }
  return all;
}

SvmResult train_svm(const TaskGrams& base, ConstVectorRef theta, const Vector& y, const Vector& p,
                    const Vector& C, const SvmSettings& settings) {
  TaskSvm svm(base, y, p, C, 128);
  svm.gram().set_weights(theta);
  SvmResult result;
  SvmSettings own =
      settings;  // of the set: nobody needs its optimum to the last digit while samples are missing
  own.gap_tolerance = std::max(settings.gap_tolerance, 1e-3);
  Index steps = 0;
  Index newton_steps = 0;
  while (true) {
    const Vector start = std::move(result.alpha);
    if (svm.has_all()) own.gap_tolerance = settings.gap_tolerance;
    own.max_steps = settings.max_steps - steps;
    result = svm.solve(start, own);
    steps += result.steps;
    newton_steps += result.newton_steps;
    const bool settled = result.converged;
    const double loss = svm.loss_outside(result);
    result.primal += loss;
    const double scale = std::max(1.0, std::abs(result.dual));
    const double gap = result.primal - result.dual;
    result.converged = gap <= settings.gap_tolerance * scale;
    if (result.converged || !settled || steps >= settings.max_steps) break;
    const double before = own.gap_tolerance;
    if (loss <= 0.5 * gap)
      own.gap_tolerance = std::max(0.3 * settings.gap_tolerance, 0.1 * own.gap_tolerance);
    if (!svm.grow() && own.gap_tolerance == before) break;
  }
  result.gradient = svm.spread_gradient(result.gradient);
  result.alpha = svm.spread(result.alpha);
  result.steps = steps;
  result.newton_steps = newton_steps;
  return result;
}

}  // namespace coterie
