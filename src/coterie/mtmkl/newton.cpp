#include "coterie/mtmkl/newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "coterie/mtmkl/evaluator.hpp"
#include "coterie/svm/interior_svm.hpp"

namespace coterie {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// What the loop decides by, with the reason for each number.
struct Policy {
  // SVMs are solved to this part of the gap at hand: their own gaps must not be what a theta step sees, and more would be wasted on
  // weights that move on. Together they may take a tenth of the gap that is asked for.
  double svm_share = 0.01, svm_share_of_target = 0.1;
  double loosest_svm = 1e-2, closest_svm = 1e-13;
  double sharper = 0.1;  // SVMs, barriers and models after a step that led nowhere
  // A model is solved to this part of the gap. Where the next step may be the last (a Newton step gains that factor), as closely as it takes
  // to decide who is fused. On large graphs theta steps cost more than SVMs: they are solved less closely.
  double model_share = 0.003, model_share_of_target = 0.2, groups_share = 1e-3;
  Index large_graph = 10'000;
  double large_model_share = 0.05, large_groups_share = 1e-2;
  double loosest_model = 0.1;  // of the gap, whatever the target allows
  double least_gap = 0.1;      // of the target: a smaller gap asks for no more
  double last_step_gain = 30;
  Index idle_passes =
      300;  // where ADMM must help out: a model that is hard to solve is not worth more than another outer step
  double settling_work = 2e8;  // numbers that a step may touch that only settles groups: a second
  // The step is taken if the objective falls by this part of what the model promises, or the gap halves.
  double least_promise = 1e-3, gap_falls = 0.5;
  int most_trials =
      6;  // lengths of one step: each costs SVMs, and the tangents find a kink in two or three
  double shortest = 1e-4, longest = 0.7;  // of a shortened step, of the one before
  double rounding = 1e-14;                // of the objective: less is no descent
  // mu falls where the model was right and grows where it was not.
  double flat = 1e-6;  // of gradient and curvature: less than what the model knows
  double good = 0.7, poor = 0.2, mu_falls = 0.1, mu_grows = 4, mu_fails = 10, least_mu = 1e-10;
  // Rounds that neither lower the objective nor bring the dual value closer, before it gives up; few where rounding is to blame.
  int most_failures = 8, few_failures = 2;
  // More than half of the gap is the SVMs' own, or their barriers': then these are sharpened first. Half of the target needs no more.
  double most_of_gap = 0.5, enough_of_target = 0.5;
  double closer = 0.9;       // of the gap: the dual value has gained
  double negligible = 0.05;  // rounding below this part of the target does not matter
  int most_misled = 3;  // certificates that doubles promised and a careful look did not confirm
  double far_outside = 0.1;   // losses left out above this part of the objective: all are looked at
  double look_outside = 0.5;  // of the gap at the last look, before the next
  double spare = 0.7;         // of the target: leaves room for losses outside
  // Barriers may cost this part of the gap at first; below this part of the tolerance smaller ones gain nothing. Around them J is smooth
  // but steep: weights may move by less than the objective shows, so a step also counts where the weights' part of the gap falls
  // below all that was seen (below that of x alone, steps could go round).
  double barrier_cost = 0.1, least_barrier_cost = 1e-2, weights_gap_falls = 0.7;
  double flat_with_barrier = 1e-14;
  // Each step with them factorises the whole kernel of every task: above so many multiplications plain steps get longer to find a way.
  double cheap_barriers = 1e8;
  int most_slow_large = 30, most_failures_large = 6;
  // They are put up where a step leads nowhere, or where so many steps in a row bring less than this part of the gap and do not halve it.
  int most_slow = 5;
  double slow = 0.01;
  // How far apart weights between 0 and 1 may be that are made equal where the gap allows it: further where a small gap was asked for,
  // which tells what is equal. Means of weights may lie off the face of the optimum, and get there in a few steps; SVMs must not blur that.
  double equal = 1e-6, equal_at_small_gap = 1e-4, small_gap = 1e-6;
  int most_fusions = 3;
  double fusion_svm_share = 0.01, closest_fusion_svm = 1e-12;
  // Where a certificate leaves open more than this part of the objective, smaller C are tried: by this factor, then by its square, and so on.
  double says_little = 0.1, retreat = 0.1;
  double rough_retreat = 1e-2;  // the tolerance of their fits
  int most_retreats = 7;
  Index most_retreat_steps = 20;
  double stop_work = 2e8;  // multiplications that may still be spent on a certificate after a stop
};
constexpr Policy policy;

class Loop {
 public:
  Loop(const MtmklProblem& problem, const std::vector<Index>& tasks, Coupling& coupling,
       const FitSettings& settings, Workspace& workspace, const ProgressCallback& progress,
       Progress report)
      : problem_(problem),
        tasks_(tasks),
        coupling_(coupling),
        settings_(settings),
        progress_(progress),
        report_(report),
        newton_(settings.solver == Solver::newton),
        closest_(policy.svm_share_of_target * settings.gap_tolerance),
        svms_(problem, tasks, coupling.unit(), settings, workspace,
              [this] { return keep_going(); }) {}

  NewtonResult run(const WarmStart& start) {
    try {
      begin(start);
      for (;; ++outer_steps_) {
        measure();
        if (gap_ <= check_at_) consider();
        if (!say() && !ended_) throw Stopped{};
        if (ended_ || outer_steps_ >= settings_.max_outer_steps) break;
        if (!newton_)
          take_published_step();
        else if (coupling_.is_fixed())
          solve_closer();
        else
          take_newton_step();
        if (ended_) break;
      }
      finish();
    } catch (const Stopped&) {
      stop();
    }
    best_.groups = coupling_.equal_points(best_.theta);
    best_.status = status_;
    best_.outer_steps = outer_steps_;
    best_.svm_solves = svms_.svm_solves;
    best_.theta_iterations = coupling_.iterations;
    best_.cycle = cycle_;
    best_.coarseness = coarseness_;
    return std::move(best_);
  }

 private:
  // Asked by any thread.
  bool keep_going() {
    if (!progress_) return true;
    const std::lock_guard lock(one_at_a_time_);
    return progress_(report_);
  }
  bool enter(Phase phase) {
    report_.phase = phase;
    return keep_going();
  }
  bool is_large() const { return coupling_.ties() > policy.large_graph; }
  double groups_share() const {
    return is_large() ? policy.large_groups_share : policy.groups_share;
  }
  double target(const Iterate& x) const { return settings_.gap_tolerance * x.plain; }

  void begin(const WarmStart& start) {
    nu_ = start.nu.rows() == coupling_.ties() && start.nu.size() > 0
              ? start.nu
              : Matrix::Zero(coupling_.ties(), problem_.M());
    begin_with_nothing(start.theta);
    std::vector<Vector> alpha(tasks_.size());
    if (start.alpha.size() == tasks_.size())
      for (std::size_t k = 0; k < alpha.size(); ++k) alpha[k] = svms_.admit(k, start.alpha[k]);
    svm_tolerance_ = newton_ ? std::max(closest_, policy.loosest_svm) : closest_;
    enter(Phase::svms);
    x_ = gather(start.theta, coupling_.singletons(),
                svms_.resume(start.theta, alpha, svm_tolerance_));
    standing_ = true;
    mu_ = newton_ ? least_curvature() : 0;
    check_at_ = std::max(policy.look_outside * x_.plain, target(x_));
    far_ = !svms_.knows_outside();
  }

  // Where nothing is known but the labels: no support vectors, and the better of the two constant answers.
  void begin_with_nothing(const Matrix& theta) {
    best_.theta = theta;
    best_.nu = nu_;
    best_.bias.resize(std::ssize(tasks_));
    best_.objective.resize(std::ssize(tasks_));
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      const std::size_t t = static_cast<std::size_t>(tasks_[k]);
      const ConstantAnswer answer = constant_answer(problem_.y[t], problem_.C[t]);
      best_.alpha.emplace_back(Vector::Zero(problem_.y[t].size()));
      best_.bias[static_cast<Index>(k)] = answer.bias;
      best_.objective[static_cast<Index>(k)] = answer.objective;
      TaskProof part;
      part.primal = answer.objective;
      part.g = part.g_error = Vector::Zero(problem_.M());
      best_.parts.push_back(std::move(part));
    }
    const double value = coupling_.value(best_.objective) + coupling_.penalty(theta);
    best_.proof = {value, 0, 1e-12 * value};
  }

  // ---- Values ----------------------------------------------------------------------------------------------------------------------

  Iterate gather(Matrix theta, Groups groups, std::vector<TaskState> states) const {
    Iterate x;
    x.theta = std::move(theta);
    x.groups = std::move(groups);
    x.tasks = std::move(states);
    Vector smooth(std::ssize(x.tasks)), plain(std::ssize(x.tasks));
    for (std::size_t k = 0; k < x.tasks.size(); ++k) {
      smooth[static_cast<Index>(k)] = x.tasks[k].svm.primal;
      plain[static_cast<Index>(k)] = x.tasks[k].svm.plain;
    }
    x.penalty = coupling_.penalty(x.theta);
    x.primal = coupling_.value(smooth) + x.penalty;
    x.plain = coupling_.value(plain) + x.penalty;
    x.c = coupling_.slopes(smooth);
    x.counted = svms_.has_all();
    x.g = Matrix::Zero(coupling_.units(), problem_.M());
    for (std::size_t k = 0; k < x.tasks.size(); ++k)  // in task order, whatever the threads
      x.g.row(coupling_.unit()[k]) += x.c[static_cast<Index>(k)] * x.tasks[k].g;
    return x;
  }

  Iterate evaluate(const Matrix& theta, Groups groups, const std::vector<Vector>& start,
                   double svm_tolerance) {
    return gather(theta, std::move(groups), svms_.evaluate(theta, start, svm_tolerance));
  }

  // x anew, with SVMs of this tolerance.
  void again(double svm_tolerance) {
    enter(Phase::svms);
    leave();
    x_ = evaluate(x_.theta, x_.groups, svms_.alphas(x_.tasks), svm_tolerance);
    standing_ = true;
    grew_ = false;
  }

  double dual_of(const Iterate& x, const Matrix& nu) const {
    double sum = coupling_.smallest(x, nu);
    for (std::size_t k = 0; k < x.tasks.size(); ++k)
      sum += x.c[static_cast<Index>(k)] * x.tasks[k].svm.alpha.sum();
    return sum;
  }

  // The part of the gap that comes from inexact SVMs and from barriers. The rest is that of the weights.
  static double svm_gap(const Iterate& x) {
    double sum = 0;
    for (std::size_t k = 0; k < x.tasks.size(); ++k)
      sum += x.c[static_cast<Index>(k)] * (x.tasks[k].svm.plain - x.tasks[k].svm.dual);
    return sum;
  }

  // Curvature that only keeps a model from being flat.
  double least_curvature() {
    svms_.add_curvatures(x_.theta, x_.tasks);
    const double flat = share_ > 0 ? policy.flat_with_barrier : policy.flat;
    double mu = 0;
    for (const TaskState& task : x_.tasks)
      mu = std::max({mu, flat * task.g.cwiseAbs().maxCoeff(),
                     flat * trace_of_hessian(task) / static_cast<double>(problem_.M())});
    return mu;
  }

  // Barriers that may cost every task about this part of its objective.
  void set_barriers(double share) {
    share_ = share;
    Vector tau(std::ssize(x_.tasks));
    for (std::size_t k = 0; k < x_.tasks.size(); ++k)
      tau[static_cast<Index>(k)] =
          share * x_.tasks[k].svm.plain / (2 * static_cast<double>(svms_.size(k)));
    svms_.set_barriers(std::move(tau));
    best_weights_gap_ = infinity;
  }
  bool can_have_barriers() const {
    for (std::size_t k = 0; k < tasks_.size(); ++k)
      if (svms_.size(k) > kMostInterior) return false;
    return true;
  }

  void count_left_out(TaskSvm::Outside who) {
    svms_.count_left_out(x_.theta, x_.tasks, who);
    Vector J(std::ssize(x_.tasks));
    for (std::size_t k = 0; k < x_.tasks.size(); ++k)
      J[static_cast<Index>(k)] = x_.tasks[k].svm.plain + x_.tasks[k].left_out;
    x_.left_out = coupling_.value(J) + x_.penalty - x_.plain;
    x_.counted = who == TaskSvm::Outside::all || svms_.has_all();
  }

  // ---- The rounds of the loop ------------------------------------------------------------------------------------------------------

  // The gap. When most of it is the SVMs' own, a theta step cannot help: they are solved closer, with smaller barriers if they have any.
  void measure() {
    for (;;) {
      dual_ = dual_of(x_, nu_);
      gap_ = x_.plain - dual_;
      best_weights_gap_ = std::min(best_weights_gap_, gap_ - svm_gap(x_));
      if (gap_ <= policy.enough_of_target * target(x_)) return;
      const bool sharp = share_ > 0 ? share_ <= policy.least_barrier_cost * settings_.gap_tolerance
                                    : svm_tolerance_ <= closest_;
      if (sharp || svm_gap(x_) <= policy.most_of_gap * gap_) return;
      if (share_ > 0)
        set_barriers(policy.sharper * share_);
      else
        svm_tolerance_ = std::max(closest_, policy.sharper * svm_tolerance_);
      again(svm_tolerance_);
    }
  }

  // Close enough on the samples that take part: then those left out are looked at, and the groups are settled. Ends the loop if the
  // certificate of the whole problem is small enough, rounding included.
  void consider() {
    enter(Phase::svms);
    const bool close = gap_ <= target(x_);
    if (close && newton_ && coupling_.ties() > 0 && !coupling_.is_fixed()) {
      if (!settled_) settle_groups();
      if (settings_.gap_tolerance <= policy.small_gap) fuse_equal_tasks(policy.equal_at_small_gap);
      fuse_equal_tasks(policy.equal);
    }
    gap_ = x_.plain - dual_;
    count_left_out(close || far_ ? TaskSvm::Outside::all : TaskSvm::Outside::near);
    far_ = x_.left_out > policy.far_outside * x_.plain;
    if (close && gap_ + x_.left_out <= target(x_) && prove()) return;
    check_at_ = std::max((svms_.has_all() ? 1 : policy.spare) * target(x_),
                         policy.look_outside * x_.left_out);
    if (x_.counted) leave();
    standing_ = false;
    grew_ = svms_.grow(x_.theta, x_.tasks);
    standing_ = !grew_;
  }

  // Whether the gap is surely within the tolerance. Where the numbers at hand are too coarse, they are computed anew.
  bool prove() {
    Certified proof = certify(false);
    const double asked = settings_.gap_tolerance * proof.joined.primal;
    if (!proof.joined.shows(asked)) {
      if (proof.joined.error < policy.negligible * asked &&
          proof.joined.gap() >= -proof.joined.error)
        return false;
      enter(Phase::proof);
      proof = certify(true);
    }
    const double error = proof.joined.error;
    const double primal = proof.joined.primal;
    keep(std::move(proof));
    if (best_.proof.shows(settings_.gap_tolerance * best_.proof.primal)) {
      end(Status::converged);
      return true;
    }
    // Closer SVMs may help, as long as doubles can tell.
    sharpening_ *= policy.sharper;
    if (++misled_ <= policy.most_misled && error < asked) return false;
    end_for_rounding(std::max(error, certify(false).joined.error) / primal);
    return true;
  }

  void take_newton_step() {
    const double asked = target(x_);
    // After a step that led nowhere the model is solved closer; near the end, where the next step may be the last, so close that it
    // decides which edges are fused.
    const double gap = std::max(gap_, policy.least_gap * asked);
    const bool last = gap <= policy.last_step_gain * asked;
    const double share = is_large() ? policy.large_model_share : policy.model_share;
    double model_tolerance = std::min(policy.loosest_model * gap,
                                      std::max(share * gap, policy.model_share_of_target * asked));
    model_tolerance *= std::pow(policy.sharper, failures_);
    ThetaSettings limits{.gap_tolerance = model_tolerance,
                         .enough = share_ > 0 ? policy.loosest_model * gap : model_tolerance,
                         .idle_passes = policy.idle_passes,
                         .groups = last,
                         .keep_going = [this] { return keep_going(); }};
    if (last) limits.gap_tolerance = std::min(model_tolerance, groups_share() * asked);
    svm_tolerance_ =
        precise_ ? closest_
                 : std::clamp(policy.svm_share * gap / x_.plain, closest_, policy.loosest_svm);
    svm_tolerance_ = std::max(policy.closest_svm, sharpening_ * svm_tolerance_);
    if (!search(limits, last)) {
      fail();
      return;
    }
    failures_ = 0;
    if (slow_ > (barriers_are_cheap() ? policy.most_slow : policy.most_slow_large))
      put_up_barriers();
  }

  // Stay, with the best pair duals, and ask again from sharper SVMs.
  void fail() {
    const bool closer = x_.plain - dual_ <= policy.closer * gap_;
    sharpening_ *= policy.sharper;
    if (closer) {
      failures_ = 0;
      return;
    }
    mu_ = std::max(policy.mu_fails * mu_, policy.least_mu);
    if ((barriers_are_cheap() || failures_ >= policy.most_failures_large) && put_up_barriers())
      return;
    if (++failures_ > (is_coarse(policy.negligible) ? policy.few_failures : policy.most_failures))
      end(Status::stalled);
  }

  bool barriers_are_cheap() const {
    double work = 0;
    for (std::size_t k = 0; k < tasks_.size(); ++k)
      work += std::pow(static_cast<double>(svms_.size(k)), 3);
    return work <= policy.cheap_barriers;
  }

  // J has a kink here, where alpha is not unique, (40).
  bool put_up_barriers() {
    if (share_ > 0 || !can_have_barriers() || is_coarse(1)) return false;
    set_barriers(policy.barrier_cost * std::min(1.0, gap_ / x_.plain));
    again(svm_tolerance_);
    mu_ = least_curvature();
    return true;
  }

  // The step is taken if the objective falls as far as the model promises, if the gap is smaller by half than ever before, or if samples
  // joined, so that there is nothing to compare with. Else it is shortened to where the tangents at its ends meet, which is where a kink
  // between them is; there any descent will do.
  bool search(const ThetaSettings& limits, bool last) {
    svms_.add_curvatures(x_.theta, x_.tasks);
    if (!enter(Phase::theta_step)) throw Stopped{};
    WeightStep next = coupling_.step(x_, mu_, limits);
    if (!enter(Phase::svms)) throw Stopped{};
    const Matrix d = next.theta - x_.theta;
    const double slope = x_.g.cwiseProduct(d).sum();
    double length = 1;
    const bool visible = next.predicted > policy.rounding * x_.primal;
    const int most = visible || share_ > 0 ? policy.most_trials : 1;
    for (int trial = 0; trial < most; ++trial) {
      const Groups groups =
          length == 1 ? next.groups : common_refinement(coupling_.points(), x_.groups, next.groups);
      const Matrix theta = coupling_.between(x_.theta, next.theta, length, groups);
      Iterate y =
          evaluate(theta, groups, svms_.alphas_after(x_.tasks, theta - x_.theta), svm_tolerance_);
      const double actual = x_.primal - y.primal;
      const double gap_there = y.plain - dual_of(y, next.nu);
      const bool falls = actual > policy.rounding * std::abs(x_.primal);
      const bool closer = gap_there <= policy.gap_falls * best_gap_ &&
                          (coupling_.is_convex() || actual >= -policy.rounding * x_.primal);
      const bool settles =
          share_ > 0 && gap_there - svm_gap(y) <= policy.weights_gap_falls * best_weights_gap_;
      if ((falls && (trial > 0 || actual >= policy.least_promise * next.predicted)) || closer ||
          settles || grew_) {
        settled_ = last && length == 1 && (is_large() || next.gap <= limits.gap_tolerance);
        accept(std::move(y), std::move(next), actual, gap_there, length);
        return true;
      }
      if (!precise_) {  // the SVMs may be to blame
        precise_ = true;
        svm_tolerance_ = std::min(svm_tolerance_, closest_);
        again(svm_tolerance_);
        return true;
      }
      length = shorten(length, slope, y, d);
    }
    const double dual_here = dual_of(x_, next.nu);
    if (dual_here > dual_) {
      dual_ = dual_here;
      nu_ = std::move(next.nu);
    }
    return false;
  }

  void accept(Iterate y, WeightStep next, double actual, double gap_there, double length) {
    const double ratio = next.predicted > 0 ? actual / next.predicted : 1;
    slow_ = !grew_ && actual < policy.slow * gap_ && gap_there > policy.gap_falls * best_gap_
                ? slow_ + 1
                : 0;
    if (!grew_ && gap_there > gap_) leave();
    if (!grew_)
      mu_ *= length < 1 || ratio < policy.poor ? policy.mu_grows
             : ratio > policy.good             ? policy.mu_falls
                                               : 1;
    best_gap_ = grew_ ? gap_there : std::min(best_gap_, gap_there);
    x_ = std::move(y);
    nu_ = std::move(next.nu);
    standing_ = true;
    grew_ = false;
  }

  // To where the tangents at both ends of the step meet.
  double shorten(double length, double slope, const Iterate& y, const Matrix& d) const {
    const double slope_there = y.g.cwiseProduct(d).sum();
    const double change = (y.primal - y.penalty) - (x_.primal - x_.penalty);
    const double meet = (length * slope_there - change) / std::max(1e-300, slope_there - slope);
    return std::clamp(meet, policy.shortest * length, policy.longest * length);
  }

  // Weights without a choice: closer SVMs, over the samples that have joined.
  void solve_closer() {
    const bool grew = grew_;
    svm_tolerance_ = std::max(policy.closest_svm, sharpening_ * closest_);
    again(svm_tolerance_);
    if (grew) return;
    sharpening_ *= policy.sharper;
    if (++failures_ > policy.few_failures) end(Status::stalled);
  }

  // The published algorithm takes the step as it is, even to where it has been.
  void take_published_step() {
    const double model_tolerance =
        std::min(policy.loosest_model * gap_, policy.model_share_of_target * target(x_));
    if (!enter(Phase::theta_step)) throw Stopped{};
    WeightStep next = coupling_.step(
        x_, 0, {.gap_tolerance = model_tolerance, .enough = model_tolerance, .keep_going = [this] {
                  return keep_going();
                }});
    if (!enter(Phase::svms)) throw Stopped{};
    for (std::size_t back = 1; back <= visited_.size() && cycle_ == 0; ++back)
      if ((next.theta - visited_[visited_.size() - back]).cwiseAbs().maxCoeff() < 1e-6 && back > 1)
        cycle_ = static_cast<Index>(back);
    visited_.push_back(next.theta);
    leave();
    x_ = evaluate(next.theta, next.groups, svms_.alphas(x_.tasks), closest_);
    nu_ = std::move(next.nu);
    standing_ = true;
    grew_ = false;
  }

  // ---- Groups ----------------------------------------------------------------------------------------------------------------------

  // At a gap that satisfies the user the theta step may not yet have decided which edges are fused. One more step, solved much
  // closer than the gap asks (it needs no SVM), decides that. It is kept if the gap stays as small.
  void settle_groups() {
    const double asked = target(x_);
    const double work = static_cast<double>(nu_.size() + 1);  // numbers that an iteration touches
    svms_.add_curvatures(x_.theta, x_.tasks);
    enter(Phase::theta_step);
    WeightStep next =
        coupling_.step(x_, mu_,
                       {.gap_tolerance = groups_share() * asked,
                        .enough = asked,
                        .max_iterations = std::clamp<Index>(
                            static_cast<Index>(policy.settling_work / work), 50, 20'000),
                        .idle_passes = policy.idle_passes,
                        .keep_going = [this] { return enter(Phase::theta_step); }});
    enter(Phase::svms);
    if (next.groups == x_.groups) return;
    take_if_close(evaluate(next.theta, next.groups, svms_.alphas(x_.tasks), svm_tolerance_),
                  std::move(next.nu));
  }

  // Weights that differ by rounding and by what the gap leaves open are meant to be equal: they are made so where the gap stays as
  // small. `equality` is how far apart they may be, of weights between 0 and 1.
  void fuse_equal_tasks(double equality) {
    const Groups groups = joined(x_.groups, coupling_.equal_points(x_.theta, equality));
    if (groups == x_.groups) return;
    Matrix merged = coupling_.merge(x_.theta, groups);
    for (int trial = 0; trial < policy.most_fusions; ++trial) {
      // SVMs closer than before, and pair duals that belong to them: neither's own gap must decide.
      Iterate y =
          evaluate(merged, groups, svms_.alphas(x_.tasks),
                   std::max(policy.closest_fusion_svm, policy.fusion_svm_share * svm_tolerance_));
      svms_.add_curvatures(y.theta, y.tasks);
      WeightStep next = coupling_.step(y, mu_,
                                       {.gap_tolerance = groups_share() * target(y),
                                        .enough = target(y),
                                        .keep_going = [this] { return keep_going(); }});
      merged = coupling_.merge(next.theta, groups);  // the mean may be off the face of the optimum
      if (take_if_close(std::move(y), std::move(next.nu))) return;
    }
  }

  // The finest partition that both refine.
  Groups joined(const Groups& a, const Groups& b) const {
    TaskGraph graph;
    for (const Groups* const groups : {&a, &b})
      for (const std::vector<Index>& group : *groups)
        for (const Index at : group)
          if (at != group.front()) graph.push_back({group.front(), at, 1});
    return connected_parts(coupling_.points(), graph, std::vector<bool>(graph.size(), true));
  }

  bool take_if_close(Iterate y, Matrix nu) {
    const double dual = dual_of(y, nu);
    if (y.plain - dual > target(y)) return false;
    x_ = std::move(y);
    nu_ = std::move(nu);
    dual_ = dual;
    return true;
  }

  // ---- Certificates and the end ----------------------------------------------------------------------------------------------------

  bool say() {
    best_gap_ = std::min(best_gap_, gap_);
    report_.outer_step = outer_steps_;
    report_.primal = x_.plain + x_.left_out;
    report_.dual = dual_;
    report_.gap = (gap_ + x_.left_out) / report_.primal;
    report_.groups = std::ssize(x_.groups);
    return enter(Phase::proof);
  }

  struct Certified {
    Proof joined;
    std::vector<TaskProof> parts;
  };

  // Of x, whose losses outside have been counted: from the SVMs as they were solved, or computed anew.
  Certified certify(bool careful) const {
    Certified proof;
    proof.parts = careful ? svms_.careful_proofs(x_.theta, x_.tasks)
                          : svms_.rounded_proofs(x_.theta, x_.tasks);
    proof.joined = coupling_.prove(proof.parts, x_.theta, nu_);
    return proof;
  }

  // x is the result, unless there was a better one.
  void keep(Certified proof) {
    const Proof& joined = proof.joined;
    if (!(joined.gap() + joined.error <= best_.proof.gap() + best_.proof.error) ||
        !(joined.gap() >= -joined.error))
      return;
    found_ = true;
    best_.theta = x_.theta;
    best_.nu = nu_;
    best_.proof = joined;
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      best_.alpha[k] = svms_.all_alpha(x_.tasks, k);
      best_.bias[static_cast<Index>(k)] = x_.tasks[k].svm.bias;
      best_.objective[static_cast<Index>(k)] = proof.parts[k].primal;
    }
    best_.parts = std::move(proof.parts);
  }

  // Rounding hides more than this part of what is asked for.
  bool is_coarse(double part) const {
    return x_.counted && certify(false).joined.error > part * asked();
  }
  // Where numbers are too coarse, x may be far above what was seen before.
  double asked() const { return settings_.gap_tolerance * std::min(x_.plain, best_.proof.primal); }

  // Before x is left, or lost: the best certificate seen is the one that is reported.
  void leave() {
    if (standing_ && x_.counted &&
        x_.plain + x_.left_out - dual_ <= best_.proof.gap() + best_.proof.error)
      keep(certify(false));
  }

  void end(Status status) {
    status_ = status;
    ended_ = true;
  }

  // What hides the rest of the gap is the rounding of the numbers that the loop works with; that of a certificate may be far less.
  void end_for_rounding(double left_open) {
    coarseness_ = left_open;
    if (found_) coarseness_ = std::max(coarseness_, best_.proof.error / best_.proof.primal);
    end(Status::precision);
  }

  void finish() {
    if (!ended_) status_ = Status::step_limit;
    if (status_ != Status::converged && status_ != Status::precision) {
      if (!standing_) again(svm_tolerance_);
      if (!x_.counted) count_left_out(TaskSvm::Outside::all);
      Certified proof = certify(false);
      const double rounding = proof.joined.error;
      if (rounding > policy.negligible * asked()) proof = certify(true);
      const double left_open = rounding / proof.joined.primal;
      keep(std::move(proof));
      if (best_.proof.shows(settings_.gap_tolerance * best_.proof.primal))
        status_ = Status::converged;
      else if (rounding > (status_ == Status::stalled ? policy.negligible * asked()
                                                      : std::max(asked(), best_.proof.gap())))
        end_for_rounding(left_open);
    }
    if (share_ == 0)
      svms_.remember(x_.theta, x_.tasks);
    else
      svms_.forget();
  }

  // Where x is whole, and looking at the samples left out takes a moment only, it may be the best there is.
  void stop() {
    status_ = Status::stopped;
    if (standing_ && !x_.counted && svms_.work_outside(x_.tasks) <= policy.stop_work) {
      svms_.watch({});
      count_left_out(TaskSvm::Outside::all);
    }
    leave();
    svms_.discard();
  }

  const MtmklProblem& problem_;
  const std::vector<Index>& tasks_;
  Coupling& coupling_;
  const FitSettings& settings_;
  const ProgressCallback& progress_;
  std::mutex one_at_a_time_;
  Progress report_;
  bool newton_;
  double closest_;  // tolerance of the SVMs
  Evaluator svms_;

  Iterate x_;
  Matrix nu_;
  double dual_ = 0, gap_ = infinity;  // at x and nu, of the samples that take part
  bool standing_ = false;  // x is whole: false while samples have joined that it does not know
  NewtonResult best_;
  bool found_ = false;  // best is an x, not what was known before the first

  double mu_ = 0;
  double share_ = 0;  // of the objective that barriers may cost, (40)
  double svm_tolerance_ = policy.loosest_svm, sharpening_ = 1;
  double best_gap_ = infinity;
  double best_weights_gap_ = infinity;  // with the barriers that there are
  double check_at_ = infinity;
  bool grew_ = false;     // samples joined after x was evaluated
  bool settled_ = false;  // the groups, by the last theta step
  bool precise_ = false;  // SVMs are as close as ever, from the first step on that was refused
  bool far_ = false;      // from knowing which samples matter
  int failures_ = 0;
  int slow_ = 0;                 // steps in a row that brought little
  double coarseness_ = 0;        // what rounding left open of the gap, where it was in the way
  int misled_ = 0;               // certificates that a careful look did not confirm
  std::vector<Matrix> visited_;  // by the published algorithm
  Index cycle_ = 0;
  Index outer_steps_ = 0;
  Status status_ = Status::converged;
  bool ended_ = false;
};

double certified_gap(const NewtonResult& x) { return x.proof.gap() + x.proof.error; }

// `other` has been tried as well: the better certificate, and what both took.
NewtonResult better_of(NewtonResult first, NewtonResult other) {
  NewtonResult& best = certified_gap(other) <= certified_gap(first) ? other : first;
  best.outer_steps = first.outer_steps + other.outer_steps;
  best.svm_solves = first.svm_solves + other.svm_solves;
  best.theta_iterations =
      std::max(first.theta_iterations, other.theta_iterations);  // the coupling counts on
  return std::move(best);
}

// The certificate of a fit with smaller C, as one of this problem: its alpha are within the larger bounds too.
void certify_for(const MtmklProblem& problem, const std::vector<Index>& tasks,
                 const Coupling& coupling, const KeepGoing& keep_going, NewtonResult& x) {
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    const std::size_t t = static_cast<std::size_t>(tasks[k]);
    x.parts[k] = careful_proof(problem.grams[t], problem.y[t], problem.C[t],
                               x.theta.row(coupling.unit()[k]).transpose(), x.alpha[k],
                               x.bias[static_cast<Index>(k)], keep_going);
    x.objective[static_cast<Index>(k)] = x.parts[k].primal;
  }
  x.proof = coupling.prove(x.parts, x.theta, x.nu);
}

// Where rounding left next to nothing certified, a model of smaller C may still be far better than none: alpha in double hold weights that
// are small next to their terms only up to a point. A C at which a fit is certified is looked for in growing steps.
NewtonResult retreat(const MtmklProblem& problem, const std::vector<Index>& tasks,
                     Coupling& coupling, const FitSettings& settings, const Matrix& theta,
                     const ProgressCallback& progress, const Progress& report, NewtonResult found) {
  std::vector<Vector> C = problem.C;
  const MtmklProblem smaller{problem.grams,  problem.y,     C,
                             problem.lambda, problem.graph, problem.weights};
  FitSettings rough =
      settings;  // a better model is wanted, not the best of a problem that is not this one
  rough.gap_tolerance = std::max(settings.gap_tolerance, policy.rough_retreat);
  rough.max_outer_steps = std::min(settings.max_outer_steps, policy.most_retreat_steps);
  bool certified = false;
  for (int trial = 0; trial < policy.most_retreats && !certified; ++trial) {
    for (Vector& bounds : C) bounds *= std::pow(policy.retreat, trial + 1);
    Workspace fresh;
    fresh.make_room(problem.T());
    NewtonResult other =
        Loop(smaller, tasks, coupling, rough, fresh, progress, report).run({theta, {}, {}});
    bool stopped = other.status == Status::stopped;
    certified = certified_gap(other) <= policy.says_little * other.proof.primal;
    try {
      if (!stopped)
        certify_for(
            problem, tasks, coupling, [&] { return !progress || progress(report); }, other);
    } catch (const Stopped&) {
      stopped = true;
    }
    if (stopped) {
      found.status = Status::stopped;
      break;
    }
    other.status = found.status;
    other.coarseness = found.coarseness;
    found = better_of(std::move(found), std::move(other));
  }
  return found;
}

}  // namespace

NewtonResult minimise(const MtmklProblem& problem, const std::vector<Index>& tasks,
                      Coupling& coupling, const FitSettings& settings, const WarmStart& start,
                      Workspace& workspace, const ProgressCallback& progress, Progress report) {
  NewtonResult found =
      Loop(problem, tasks, coupling, settings, workspace, progress, report).run(start);
  if (settings.solver != Solver::newton) return found;
  // A fit that is stuck gets a second chance: from its weights, without the samples, barriers and pair duals of its way there. In
  // problems that rounding hardly lets through, another way may be open. So too where rounding was in the way, but not at the best point.
  const bool elsewhere =
      found.status == Status::precision &&
      found.proof.error <= policy.negligible * settings.gap_tolerance * found.proof.primal;
  if (found.status == Status::stalled || elsewhere) {
    Workspace fresh;
    fresh.make_room(problem.T());
    NewtonResult second = Loop(problem, tasks, coupling, settings, fresh, progress, report)
                              .run({found.theta, {}, {}});
    const Status status = second.status;
    const double coarseness = second.coarseness;
    found = better_of(std::move(found), std::move(second));
    found.status = status;
    found.coarseness = coarseness;
  }
  if (found.status == Status::precision &&
      certified_gap(found) > policy.says_little * found.proof.primal)
    found = retreat(problem, tasks, coupling, settings, start.theta, progress, report,
                    std::move(found));
  return found;
}

}  // namespace coterie
