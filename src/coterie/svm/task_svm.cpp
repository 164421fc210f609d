#include "coterie/svm/task_svm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "coterie/svm/interior_svm.hpp"

namespace coterie {

namespace {

// In units of the margin, beyond it: who is asked again, and who may leave the set.
constexpr double kNear = 0.3;
constexpr double kLeaves = 0.2;
// A task of so many samples whose matrices are stored is read where it stands: nothing is gained by leaving samples out.
constexpr Index kReadable = 2048;
// Two-variable steps per sample. Where so many are not enough K is nearly singular, and they would go on for long.
constexpr Index kPatientSteps = 500;
constexpr Index kFinalSteps = 2000;  // behind barriers, close to the end
// Kernels that take so few multiplications, about a millisecond, may be computed in vain.
constexpr double kLittleWork = 4e6;

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

std::vector<Index> first(Index n) {
  std::vector<Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

}  // namespace

TaskSvm::TaskSvm(const TaskGrams& base, const Vector& y, Vector p, Vector C, Index whole,
                 double bytes)
    : all_y_(y),
      all_p_(std::move(p)),
      all_C_(std::move(C)),
      K_(base, bytes),
      slack_(static_cast<std::size_t>(y.size()), 0),
      returned_(slack_.size(), false) {
  change({}, y.size() <= whole ? first(y.size()) : spread_evenly(y, whole));
}

void TaskSvm::change(const std::vector<Index>& kept, const std::vector<Index>& joining) {
  K_.change(kept, joining);
  y_ = all_y_(K_.samples());
  p_ = all_p_(K_.samples());
  C_ = all_C_(K_.samples());
}

void TaskSvm::set_costs(const Vector& C) {
  all_C_ = C;
  C_ = all_C_(K_.samples());
}

void TaskSvm::take_all() {
  if (!has_all()) change({}, first(all_y_.size()));
}

Vector TaskSvm::admit(const Vector& alpha) {
  std::vector<Index> joining;
  for (Index i = 0; i < alpha.size(); ++i)
    if (alpha[i] > 0 && !K_.contains(i)) joining.push_back(i);
  change(first(K_.size()), joining);
  return alpha(K_.samples());
}

SvmResult TaskSvm::solve(ConstVectorRef start, const SvmSettings& settings) {
  if (settings.tau > 0)
    return solve_interior(K_, {y_, p_, C_}, start, settings.tau, settings.keep_going);
  if (K_.size() > kMostInterior) return solve_svm(K_, {y_, p_, C_}, start, settings);
  SvmSettings patient = settings;
  patient.max_steps = std::min(settings.max_steps, kPatientSteps * K_.size());
  SvmResult result = solve_svm(K_, {y_, p_, C_}, start, patient);
  if (result.converged || result.steps < patient.max_steps) return result;
  patient.max_steps = std::min(settings.max_steps, kFinalSteps * K_.size());
  return solve_from_inside(K_, {y_, p_, C_}, std::move(result), patient);
}

double TaskSvm::loss_outside(const SvmResult& svm, Outside who) {
  violators_.clear();
  if (has_all()) return 0;
  std::vector<Index> samples;
  for (Index i = 0; i < all_y_.size(); ++i)
    if (!K_.contains(i) && (who == Outside::all || slack_[static_cast<std::size_t>(i)] < kNear))
      samples.push_back(i);
  if (who == Outside::all) looked_ = true;
  std::vector<Index> support;
  const Vector beta = y_.cwiseProduct(svm.alpha);
  for (Index k = 0; k < beta.size(); ++k)
    if (beta[k] != 0) support.push_back(k);
  const Vector f = K_.decisions(samples, support, beta.data());
  double loss = 0;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const Index i = samples[k];
    const double slack = all_y_[i] * (f[static_cast<Index>(k)] + svm.bias) - all_p_[i];
    slack_[static_cast<std::size_t>(i)] = slack;
    if (slack >= 0) continue;
    loss -= all_C_[i] * slack;
    violators_.emplace_back(slack, i);
  }
  return loss;
}

double TaskSvm::cost_outside_within(double within) const {
  double sum = 0;
  if (has_all()) return sum;
  for (Index i = 0; i < all_y_.size(); ++i)
    if (!K_.contains(i) && slack_[static_cast<std::size_t>(i)] < within) sum += all_C_[i];
  return sum;
}

bool TaskSvm::grow(SvmResult& svm) {
  if (violators_.empty()) return false;
  if (K_.is_stored() && all_y_.size() <= kReadable) {
    svm.alpha = spread(svm.alpha);
    svm.gradient.resize(0);
    violators_.clear();
    change({}, first(all_y_.size()));
    return true;
  }
  std::vector<Index> joining;
  const Index outside = all_y_.size() - K_.size();
  // Most have a loss; or most of the set are support vectors, so that most others may be, and nothing is lost if they are not.
  const Index support = (svm.alpha.array() > 0).count();
  const bool many = 2 * std::ssize(violators_) >= outside ||
                    (5 * support >= 3 * K_.size() && K_.work_of_task() <= kLittleWork);
  const bool everyone = many && outside <= 3 * K_.size();
  if (everyone) {
    for (Index i = 0; i < all_y_.size(); ++i)
      if (!K_.contains(i)) joining.push_back(i);
  } else {
    const std::size_t limit = static_cast<std::size_t>(std::max<Index>(32, K_.size()));
    if (violators_.size() > limit) {
      std::nth_element(violators_.begin(), violators_.begin() + static_cast<std::ptrdiff_t>(limit),
                       violators_.end());
      violators_.resize(limit);
    }
    for (const auto& [slack, i] : violators_) joining.push_back(i);
  }
  std::sort(joining.begin(), joining.end());
  violators_.clear();
  std::vector<Index> kept;
  for (Index k = 0; k < K_.size(); ++k) {
    const std::size_t i = static_cast<std::size_t>(K_.samples()[static_cast<std::size_t>(k)]);
    slack_[i] = y_[k] * (svm.gradient[k] + svm.bias);
    if (everyone || svm.alpha[k] > 0 || slack_[i] < kLeaves || returned_[i])
      kept.push_back(k);
    else
      returned_[i] = true;  // if it comes again
  }
  const Vector alpha = svm.alpha(kept);
  change(kept, joining);
  svm.alpha = Vector::Zero(K_.size());
  svm.alpha.head(alpha.size()) = alpha;
  svm.gradient.resize(0);
  return true;
}

Vector TaskSvm::spread(const Vector& of_set) const {
  Vector all = Vector::Zero(all_y_.size());
  for (Index k = 0; k < of_set.size(); ++k)
    all[K_.samples()[static_cast<std::size_t>(k)]] = of_set[k];
  return all;
}

Vector TaskSvm::spread_gradient(const SvmResult& svm) const {
  Vector all = spread(svm.gradient);
  for (Index i = 0; i < all.size(); ++i)
    if (!K_.contains(i)) all[i] = all_y_[i] * slack_[static_cast<std::size_t>(i)] - svm.bias;
  return all;
}

SvmResult train_svm(const TaskGrams& base, ConstVectorRef theta, const Vector& y, const Vector& p,
                    const Vector& C, const SvmSettings& settings, Index whole, double bytes) {
  if (whole == 0) whole = y.size() <= kReadable ? kReadable : 128;
  TaskSvm svm(base, y, p, C, whole, bytes);
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
    const double own_gap = result.primal - result.dual;
    double loss = svm.loss_outside(result, TaskSvm::Outside::near);
    const auto close = [&] {
      return own_gap + loss <= settings.gap_tolerance * (result.primal + loss);
    };
    if (close() || !settled || steps >= settings.max_steps)
      loss = svm.loss_outside(result, TaskSvm::Outside::all);
    result.converged = close();
    result.primal += loss;
    if (result.converged || !settled || steps >= settings.max_steps) break;
    const double before = own.gap_tolerance;
    if (loss <= own_gap)
      own.gap_tolerance = std::max(0.3 * settings.gap_tolerance, 0.1 * own.gap_tolerance);
    if (!svm.grow(result) && own.gap_tolerance == before) {
      result.primal += svm.loss_outside(result, TaskSvm::Outside::all) - loss;
      break;
    }
  }
  result.gradient = svm.spread_gradient(result);
  result.alpha = svm.spread(result.alpha);
  result.steps = steps;
  result.newton_steps = newton_steps;
  return result;
}

}  // namespace coterie
