#include "coterie/svm/svm.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "coterie/math/dense.hpp"
#include "coterie/math/lanes.hpp"
#include "coterie/math/no_allocation.hpp"

namespace coterie {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The best value of a search through lanes, and its place; of equal values the first of a lane.
struct Best {
  Lanes value;
  LaneNumbers place{0, 0, 0, 0};
  explicit Best(double worst) : value(broadcast(worst)) {}
  void offer(Lanes x, LaneNumbers better, LaneNumbers at) {
    value = better ? x : value;
    place = better ? at : place;
  }
};
constexpr LaneNumbers kFirstPlaces{0, 1, 2, 3};

// Multiplications between two questions whether to go on: some hundredths of a second.
constexpr Index kPatience = 50'000'000;
// Rounds without progress that rounding must be to blame for, and two-variable steps of a round, per sample.
constexpr int kMostStale = 60;
constexpr int kMostBlind = 6;  // the same where one rounding of every gradient hides what is asked
constexpr int kFewStale =
    1;  // above, the best bias is sought, which sorts all samples; later costs outer steps at kinks
constexpr Index kLongestBurst = 200;
// A step adds two rows: at most so many roundings of the largest gradient there can be (docs/maths.md (43)).
constexpr double kRoundingsOfStep = 9;

class DualSolver {
 public:
  DualSolver(MixedGram& K, const SvmProblem& problem, ConstVectorRef start);

  SvmResult solve(const SvmSettings& settings);

 private:
  // Bounds as penalties on the gradient: up is 0 where beta may rise, +inf elsewhere; down 0 where it may fall, else -inf.
  void mark(Index k) {
    up_[k] = beta_[k] < hi_[k] ? 0 : infinity;
    down_[k] = beta_[k] > lo_[k] ? 0 : -infinity;
  }
  void find_first();
  void take_first(const Best& best);
  double find_second(const double* row, double scale);
  void move_pair(const double* row_i, const double* row_j, double delta);
  bool two_variable_steps(double epsilon, Index limit);
  bool newton_phase();
  bool newton_step(const std::vector<Index>& free);
  void compute_gradient();
  // The sum of beta to the last bit that one variable can hold.
  double excess() const;
  bool balance();  // true: something changed
  bool repair();   // true: something changed
  bool is_balanced(double target) const;
  // Sets bias, dual and primal of the result; returns the gap.
  double measure(SvmResult& result, bool seek);
  double rounding_of_gap(double roundings) const;

  MixedGram& K_;
  const SvmProblem& problem_;
  Index n_;
  Vector yp_, beta_, lo_, hi_;
  Eigen::ArrayXd e_, up_, down_, diagonal_;  // padded to the lanes
  Index first_ = 0;                          // the sample of the lowest gradient that may rise
  double lowest_ = infinity;                 // and that gradient
  Index second_ = 0;                         // its partner of the largest gain
  Index steps_ = 0, newton_steps_ = 0;
  // Of the gradient: additions since it was computed anew, and what bounds the size of each.
  double roundings_ = 0;
  double mass_ = 0;    // sum_i sqrt(K_ii) |beta_i| when it was last looked at
  double travel_ = 0;  // what it may have grown by since then
  double peak_ = 0;    // the largest it may have been since the gradient was computed
  Vector roots_;       // sqrt(K_ii)
  Index asked_ = 0;    // multiplications until keep_going is asked again
  const KeepGoing* keep_going_ = nullptr;
  void work(Index multiplications) {
    asked_ -= multiplications;
    if (asked_ > 0 || !keep_going_) return;
    asked_ = kPatience;
    ask(*keep_going_);
  }
};

// The sum becomes 0 by a smaller part of the variables of the heavier sign.
void scale_heavier_sign(Vector& beta) {
  const double positive = beta.cwiseMax(0.0).sum();
  const double negative = -beta.cwiseMin(0.0).sum();
  const double target = std::min(positive, negative);
  for (double& b : beta)
    if (b != 0) b *= target / (b > 0 ? positive : negative);
}

// The start, clipped to the bounds. What the sum then lacks the free variables share; if they cannot, the heavier sign is scaled
// down.
Vector feasible_start(ConstVectorRef start, const SvmProblem& problem) {
  const Index n = problem.y.size();
  Vector alpha = Vector::Zero(n);
  for (Index i = 0; i < std::min(n, start.size()); ++i)
    alpha[i] = std::clamp(start[i], 0.0, problem.C[i]);
  const auto is_free = [&](Index i) { return alpha[i] > 0 && alpha[i] < problem.C[i]; };
  for (int pass = 0; pass < 10; ++pass) {
    const double excess = problem.y.dot(alpha);
    if (std::abs(excess) <= 1e-13 * alpha.sum()) return problem.y.cwiseProduct(alpha);
    Index count = 0;
    for (Index i = 0; i < n; ++i) count += is_free(i) ? 1 : 0;
    if (count == 0) break;
    for (Index i = 0; i < n; ++i)
      if (is_free(i))
        alpha[i] = std::clamp(alpha[i] - problem.y[i] * excess / static_cast<double>(count), 0.0,
                              problem.C[i]);
  }
  Vector beta = problem.y.cwiseProduct(alpha);
  scale_heavier_sign(beta);
  return beta;
}

DualSolver::DualSolver(MixedGram& K, const SvmProblem& problem, ConstVectorRef start)
    : K_(K), problem_(problem), n_(K.size()) {
  assert(problem.y.size() == n_ && problem.p.size() == n_ && problem.C.size() == n_);
  yp_ = problem.y.cwiseProduct(problem.p);
  lo_ = (problem.y.array() > 0).select(Vector::Zero(n_), -problem.C);
  hi_ = (problem.y.array() > 0).select(problem.C, Vector::Zero(n_));
  beta_ = feasible_start(start, problem);
  const Index size = padded(n_);
  up_ = Eigen::ArrayXd::Constant(size, infinity);
  down_ = Eigen::ArrayXd::Constant(size, -infinity);
  diagonal_ = Eigen::ArrayXd::Zero(size);
  diagonal_.head(n_) = K.diagonal();
  roots_ = diagonal_.head(n_).max(0).sqrt().matrix();
  for (Index k = 0; k < n_; ++k) mark(k);
}

void DualSolver::compute_gradient() {
  e_ = Eigen::ArrayXd::Zero(padded(n_));
  e_.head(n_) = -yp_;
  roundings_ = 2;
  for (Index k = 0; k < n_; ++k) {
    if (beta_[k] == 0) continue;
    e_ += beta_[k] * Eigen::Map<const Eigen::ArrayXd>(K_.row(k), e_.size());
    roundings_ += 1;
    work(8 * n_);
  }
  mass_ = peak_ = roots_.dot(beta_.cwiseAbs());
  travel_ = 0;
}

double DualSolver::excess() const {
  double sum = 0;
  double lost = 0;  // of the additions, after Neumaier
  for (const double b : beta_) {
    const double next = sum + b;
    lost += std::abs(sum) >= std::abs(b) ? (sum - next) + b : (b - next) + sum;
    sum = next;
  }
  return sum + lost;
}

bool DualSolver::balance() {
  if (n_ == 0) return false;
  const double excess = this->excess();
  // Of the variable that is farthest from its bounds: at a bound it would begin to count as free.
  Index k = 0;
  const double room = (beta_ - lo_).cwiseMin(hi_ - beta_).maxCoeff(&k);
  if (!(room > 2 * std::abs(excess))) return false;
  const double before = beta_[k];
  beta_[k] = std::clamp(before - excess, lo_[k], hi_[k]);
  if (beta_[k] == before) return false;
  mark(k);
  e_ += (beta_[k] - before) * Eigen::Map<const Eigen::ArrayXd>(K_.row(k), e_.size());
  roundings_ += kRoundingsOfStep;
  return true;
}

// Variables that were large on the way and are tiny at the end leave a sum that no longer counts as rounding. Then the heavier sign
// gives way.
bool DualSolver::repair() {
  const double allowed =
      static_cast<double>(n_) * std::numeric_limits<double>::epsilon() * beta_.cwiseAbs().sum();
  if (std::abs(excess()) <= allowed) return false;
  scale_heavier_sign(beta_);
  for (Index k = 0; k < n_; ++k) mark(k);
  compute_gradient();
  return true;
}

// What the sum may be off by, carried into the gap, (45): whether that matters.
bool DualSolver::is_balanced(double target) const {
  if (n_ == 0) return true;
  const double excess =
      static_cast<double>(n_) * std::numeric_limits<double>::epsilon() * beta_.cwiseAbs().sum();
  return excess * (1 + roots_.maxCoeff() * mass_) <= 0.001 * target;
}

void DualSolver::find_first() {
  Best best(infinity);
  LaneNumbers at = kFirstPlaces;
  for (Index k = 0; k < e_.size(); k += kLanes, at += kLanes) {
    const Lanes x = load(&e_[k]) + load(&up_[k]);
    best.offer(x, x < best.value, at);
  }
  take_first(best);
}

void DualSolver::take_first(const Best& best) {
  lowest_ = infinity;
  first_ = n_;
  for (int lane = 0; lane < kLanes; ++lane)
    if (best.value[lane] < lowest_ || (best.value[lane] == lowest_ && best.place[lane] < first_)) {
      lowest_ = best.value[lane];
      first_ = static_cast<Index>(best.place[lane]);
    }
}

// Gain of the pair (i, k): (e_k - e_i)^2 / (K_ii + K_kk - 2 K_ik), over k that may fall. Sets the best partner and returns the
// largest violation e_k - e_i.
double DualSolver::find_second(const double* row, double scale) {
  const Lanes lowest = broadcast(lowest_);
  const Lanes own = broadcast(diagonal_[first_]);
  const Lanes least = broadcast(scale);
  const Lanes zero{};
  Best best(0);
  Lanes highest = zero;
  LaneNumbers at = kFirstPlaces;
  for (Index k = 0; k < e_.size(); k += kLanes, at += kLanes) {
    const Lanes rise = load(&e_[k]) + load(&down_[k]) - lowest;
    const Lanes violation = rise > zero ? rise : zero;
    highest = violation > highest ? violation : highest;
    Lanes curvature = load(&diagonal_[k]) + own - 2 * load(row + k);
    curvature = curvature > least ? curvature : least;
    const Lanes gain = violation * violation / curvature;
    best.offer(gain, gain > best.value, at);
  }
  double most = 0;
  double violation = 0;
  second_ = first_;
  for (int lane = 0; lane < kLanes; ++lane) {
    violation = std::max(violation, static_cast<double>(highest[lane]));
    if (best.value[lane] > most ||
        (best.value[lane] == most && most > 0 && best.place[lane] < second_)) {
      most = best.value[lane];
      second_ = static_cast<Index>(best.place[lane]);
    }
  }
  return violation;
}

// e += delta (K_i - K_j), and finds the next first sample on the way.
void DualSolver::move_pair(const double* row_i, const double* row_j, double delta) {
  const Lanes step = broadcast(delta);
  Best best(infinity);
  LaneNumbers at = kFirstPlaces;
  for (Index k = 0; k < e_.size(); k += kLanes, at += kLanes) {
    const Lanes e = load(&e_[k]) + step * (load(row_i + k) - load(row_j + k));
    store(&e_[k], e);
    const Lanes x = e + load(&up_[k]);
    best.offer(x, x < best.value, at);
  }
  take_first(best);
}

bool DualSolver::two_variable_steps(double epsilon, Index limit) {
  const NoAllocation in_these_steps;
  find_first();
  for (Index step = 0; step < limit; ++step) {
    if (!(lowest_ < infinity)) return true;
    const Index i = first_;
    const double* row_i = K_.row(i);
    const double least = 1e-12 * diagonal_[i] + 1e-300;
    if (find_second(row_i, least) <= epsilon) return true;
    const Index j = second_;
    const double curvature = std::max(diagonal_[i] + diagonal_[j] - 2 * row_i[j], least);
    const double room_i = hi_[i] - beta_[i];
    const double room_j = beta_[j] - lo_[j];
    const double delta = std::min({(e_[j] - lowest_) / curvature, room_i, room_j});
    beta_[i] = delta == room_i ? hi_[i] : beta_[i] + delta;
    beta_[j] = delta == room_j ? lo_[j] : beta_[j] - delta;
    mark(i);
    mark(j);
    move_pair(row_i, K_.row(j), delta);
    ++steps_;
    roundings_ += kRoundingsOfStep;
    travel_ += delta * (roots_[i] + roots_[j]);
    work(8 * n_);
  }
  return false;
}

// Newton steps on the free variables with their sum kept, docs/maths.md (19): the step d solves
//   minimise  e_F'd + 1/2 d' K_FF d,   1'd = 0,
// and is cut where the first variable meets a bound, which then leaves F. True when a full step was taken.
bool DualSolver::newton_phase() {
  std::vector<Index> free;
  for (Index k = 0; k < n_; ++k)
    if (beta_[k] > lo_[k] && beta_[k] < hi_[k]) free.push_back(k);
  free = thin_out(std::move(free), kMostFree);
  for (int cut = 0; cut < 6 && free.size() > 1; ++cut) {
    if (newton_step(free)) return true;
    std::erase_if(free, [&](Index k) { return beta_[k] <= lo_[k] || beta_[k] >= hi_[k]; });
  }
  return free.size() < 2;
}

// True when the full step was taken.
bool DualSolver::newton_step(const std::vector<Index>& free) {
  ++newton_steps_;
  const Index size = std::ssize(free);
  Eigen::MatrixXd A(size, size);
  Vector e(size);
  for (Index k = 0; k < size; ++k) {
    const double* row = K_.row(free[static_cast<std::size_t>(k)]);
    for (Index l = 0; l <= k; ++l) A(l, k) = A(k, l) = row[free[static_cast<std::size_t>(l)]];
    e[k] = e_[free[static_cast<std::size_t>(k)]];
    work(n_);
  }
  work(size * size * size);
  const Vector ones = Vector::Ones(size);
  Vector d;
  double ridge = 1e-12 * (1e-300 + A.trace() / static_cast<double>(size));
  while (true) {
    Eigen::MatrixXd L = A;
    L.diagonal().array() += ridge;
    if (cholesky(L)) {
      const Vector a = cholesky_solve(L, e);
      const Vector c = cholesky_solve(L, ones);
      d = (a.sum() / c.sum()) * c - a;
      if (d.allFinite()) break;
    }
    ridge *= 100;
    if (!(ridge < 1e300)) return true;
  }
  d.array() -= d.mean();  // the sum is kept to rounding
  const double slope = e.dot(d);
  if (!(slope < 0)) return true;
  const double curvature = d.dot(times(A, d));
  double length = curvature > 0 ? -slope / curvature : infinity;
  const double full = length;
  Index hit = -1;
  for (Index k = 0; k < size; ++k) {
    const Index i = free[static_cast<std::size_t>(k)];
    const double room = d[k] > 0   ? (hi_[i] - beta_[i]) / d[k]
                        : d[k] < 0 ? (lo_[i] - beta_[i]) / d[k]
                                   : infinity;
    if (room < length) {
      length = room;
      hit = k;
    }
  }
  if (!(length < infinity)) return true;
  for (Index k = 0; k < size; ++k) {
    const Index i = free[static_cast<std::size_t>(k)];
    beta_[i] = std::clamp(beta_[i] + length * d[k], lo_[i], hi_[i]);
    if (k == hit) beta_[i] = d[k] > 0 ? hi_[i] : lo_[i];
    mark(i);
    e_ += (length * d[k]) * Eigen::Map<const Eigen::ArrayXd>(K_.row(i), e_.size());
    roundings_ += kRoundingsOfStep;
    travel_ += length * std::abs(d[k]) * roots_[i];
  }
  return length == full;
}

double DualSolver::measure(SvmResult& result, bool seek) {
  const double before = std::exchange(mass_, roots_.dot(beta_.cwiseAbs()));
  peak_ = std::max({peak_, mass_, before + std::exchange(travel_, 0.0)});
  const auto gap_at = [&](double bias) {
    double gap = 0;
    for (Index i = 0; i < n_; ++i) {
      const double s = e_[i] + bias;
      gap += problem_.C[i] * std::max(0.0, -problem_.y[i] * s) + beta_[i] * s;
    }
    return gap;
  };
  result.dual = yp_.dot(beta_) - 0.5 * beta_.dot((e_.head(n_).matrix() + yp_));
  // Between the largest gradient that may fall and the smallest that may rise is the bias of an optimal beta. A variable that is off its
  // bound by rounding alone spoils that, so where the gap does not fall the best bias is sought among all.
  const double highest = (e_ + down_).maxCoeff();
  const double lowest = (e_ + up_).minCoeff();
  const bool both = highest > -infinity && lowest < infinity;
  result.bias = both && !seek ? -(highest + lowest) / 2 : best_bias(e_.head(n_).matrix(), problem_);
  const double gap = gap_at(result.bias);
  result.primal = result.plain = result.dual + gap;
  return gap;
}

// Two-variable steps and Newton steps in turn. Newton steps pay once the active set is nearly right: after a burst of two-variable
// steps, which grows while they come too early.
SvmResult DualSolver::solve(const SvmSettings& settings) {
  keep_going_ = &settings.keep_going;
  compute_gradient();
  SvmResult result;
  double epsilon = std::clamp(100 * settings.gap_tolerance, 1e-6, 1e-2) *
                   std::max(1e-12, problem_.p.cwiseAbs().maxCoeff());
  Index burst = std::max<Index>(50, 2 * n_);
  double best_gap = infinity;
  int stale = 0;  // rounds in a row that did not lower the gap by a tenth
  const double least = 1e-12 * problem_.C.dot(problem_.p.cwiseAbs());
  for (int round = 0; round < 500; ++round) {
    double gap = measure(result, stale > kFewStale);
    double target = settings.gap_tolerance * std::max(least, result.primal);
    result.converged = gap <= target;
    // Many updates leave rounding in the gradient: where it matters, the proof is taken from a fresh one.
    if (result.converged && roundings_ > 1000 && rounding_of_gap(roundings_) > 0.02 * target) {
      compute_gradient();
      gap = measure(result, stale > kFewStale);
      target = settings.gap_tolerance * std::max(least, result.primal);
      result.converged = gap <= target;
    }
    if (result.converged || steps_ >= settings.max_steps) break;
    if (epsilon < 1e-15 && gap >= best_gap) break;  // rounding is all that is left
    stale = gap > 0.9 * best_gap ? stale + 1 : 0;
    if (stale > kMostStale || (stale > kMostBlind && rounding_of_gap(1) > target)) break;
    best_gap = std::min(best_gap, gap);
    if (two_variable_steps(epsilon, std::min(burst, settings.max_steps - steps_))) {
      epsilon *= 0.1;
      continue;
    }
    if (!newton_phase()) burst = std::min(2 * burst, kLongestBurst * n_);
  }
  const double asked = settings.gap_tolerance * result.primal;
  const bool repaired = repair();
  if ((!is_balanced(asked) && balance()) || repaired || !result.converged) {
    const double gap = measure(result, stale > kFewStale || !result.converged);
    if (repaired) result.converged = gap <= settings.gap_tolerance * result.primal;
  }
  result.steps = steps_;
  result.newton_steps = newton_steps_;
  result.alpha = problem_.y.cwiseProduct(beta_);
  result.gradient = e_.head(n_).matrix();
  result.roundings = roundings_;
  result.mass = peak_;
  return result;
}

// What so many roundings of the gradient, (43), can do to the gap: every sample that may have a loss counts.
double DualSolver::rounding_of_gap(double roundings) const {
  double sum = 0;
  for (Index i = 0; i < n_; ++i)
    if (beta_[i] != 0) sum += problem_.C[i] * (std::abs(yp_[i]) + roots_[i] * peak_);
  return std::numeric_limits<double>::epsilon() / 2 * roundings * sum;
}

}  // namespace

std::vector<Index> thin_out(std::vector<Index> items, Index count) {
  const Index size = std::ssize(items);
  if (size <= count) return items;
  for (Index k = 0; k < count; ++k)
    items[static_cast<std::size_t>(k)] = items[static_cast<std::size_t>(k * size / count)];
  items.resize(static_cast<std::size_t>(count));
  return items;
}

double best_bias(ConstVectorRef gradient, const SvmProblem& problem) {
  // The slope of the sum in b at -infinity is minus the weight of the positive samples; it rises by C_i at every kink b = -e_i.
  const Index n = gradient.size();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index i, Index j) {
    return gradient[i] != gradient[j] ? gradient[i] > gradient[j] : i < j;
  });
  double slope = 0;
  double total = 0;
  for (Index i = 0; i < n; ++i) {
    if (problem.y[i] > 0) slope -= problem.C[i];
    total += problem.C[i];
  }
  const double tolerance = 1e-12 * total;
  for (std::size_t k = 0; k < order.size(); ++k) {
    slope += problem.C[order[k]];
    if (slope > tolerance) return -gradient[order[k]];
    if (slope >= -tolerance) {  // flat up to the next kink
      const Index next = order[std::min(k + 1, order.size() - 1)];
      return -(gradient[order[k]] + gradient[next]) / 2;
    }
  }
  return order.empty() ? 0 : -gradient[order.back()];
}

SvmResult solve_svm(MixedGram& K, const SvmProblem& problem, ConstVectorRef start,
                    const SvmSettings& settings) {
  return DualSolver(K, problem, start).solve(settings);
}

}  // namespace coterie
