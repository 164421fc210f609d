#include "coterie/mtmkl/outer_loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coterie/mtmkl/part_solver.hpp"

namespace coterie {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Theta steps on large graphs cost more than SVMs: they are solved less closely.
constexpr std::size_t kLargeGraph = 10'000;
// The share of the user's gap to which a theta step is solved that decides which edges are fused.
double closeness_of_groups(const Part& part) {
  return part.graph.size() > kLargeGraph ? 1e-2 : 1e-3;
}
// Steps in a row that neither lower the objective nor bring the dual value closer, before the solver gives up.
constexpr int kMostFailures = 8;
constexpr int kFewFailures = 2;  // where rounding is to blame
// Lengths of one step that are tried.
constexpr int kMostTrials = 6;
// A smoothed problem is made sharper by this factor when what is left of its gap is mostly due to the ridge.
constexpr double kSharper = 0.1;
// Rounding below this part of the target does not matter; above, it is worth a careful proof.
constexpr double kNegligible = 0.05;

// x + length (next - x), equal bit for bit within every group.
Matrix between(const Matrix& x, const Matrix& next, double length, const Groups& groups) {
  Matrix theta = length == 1 ? next : Matrix(x + length * (next - x));
  for (const std::vector<Index>& group : groups)
    for (const Index u : group) theta.row(u) = theta.row(group.front());
  return theta;
}

// The algorithm of fit.hpp on one part. `x` and `nu` are where it stands; `best` is the best proof of an iterate that it has left.
class Loop {
 public:
  Loop(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
       const ProgressCallback& progress, Progress report, Workspace& workspace)
      : problem_(problem),
        part_(part),
        settings_(settings),
        progress_(progress),
        report_(report),
        newton_(settings.solver == Solver::newton),
        closest_(0.1 * settings.gap_tolerance),
        solver_(problem, part, settings, workspace, [this] { return keep_going(); }) {}

  PartResult run(const WarmStart& start) {
    PartResult& result = best_;
    try {
      begin(start);
      for (Index step = 0;; ++step) {
        outer_steps_ = step;
        measure();
        if (gap_ <= check_at_) consider();
        if (!say() && !ended_) throw Stopped{};
        if (ended_ || step >= settings_.max_outer_steps) break;
        if (newton_)
          take_newton_step();
        else
          take_published_step();
        if (ended_) break;
      }
      finish();
    } catch (const Stopped&) {
      stop();
    }
    result.status = status_;
    result.outer_steps = outer_steps_;
    result.svm_solves = solver_.svms().svm_solves;
    result.theta_iterations = solver_.theta_iterations;
    result.cycle = cycle_;
    result.coarseness = coarseness_;
    return std::move(result);
  }

 private:
  bool keep_going() const { return !progress_ || progress_(report_); }
  bool enter(Phase phase) {
    report_.phase = phase;
    return keep_going();
  }
  bool is_large() const { return part_.graph.size() > kLargeGraph; }

  void begin(const WarmStart& start) {
    const Index M = problem_.M();
    Matrix theta(part_.units, M);
    std::vector<Vector> alpha(part_.tasks.size());
    nu_ = Matrix::Zero(std::ssize(part_.graph), M);
    theta.rowwise() = problem_.weights.uniform(M).transpose();
    trivial(theta);
    for (std::size_t k = 0; k < part_.tasks.size(); ++k) {
      const Index t = part_.tasks[k];
      if (start.theta.rows() == problem_.T()) theta.row(part_.unit[k]) = start.theta.row(t);
      if (std::ssize(start.alpha) == problem_.T())
        alpha[k] = solver_.svms().admit(k, start.alpha[static_cast<std::size_t>(t)]);
    }
    if (start.nu.rows() == std::ssize(problem_.graph))
      for (std::size_t i = 0; i < part_.edges.size(); ++i)
        nu_.row(static_cast<Index>(i)) = start.nu.row(part_.edges[i]);
    pull_inside(nu_, solver_.kappa());  // those of a larger lambda are cut to their balls
    svm_tolerance_ = newton_ ? std::max(closest_, 1e-2) : closest_;
    enter(Phase::svms);
    x_ = solver_.resume(theta, alpha, svm_tolerance_);
    standing_ = true;
    state_ = {theta, theta, Matrix::Zero(part_.units, M), nu_, 0};
    mu_ = newton_ ? solver_.least_curvature(x_) : 0;
    check_at_ = std::max(0.5 * x_.plain, solver_.target(x_));
    far_ = !solver_.svms().knows_outside();
  }

  // The gap. When most of it is the SVMs' own, a theta step cannot help: they are solved closer. When most of it is due to ridges, these
  // are made smaller.
  void measure() {
    for (;;) {
      dual_ = solver_.dual(x_, nu_);
      gap_ = x_.plain - dual_;
      if (gap_ <= 0.5 * solver_.target(x_)) return;
      const double smooth_gap = x_.primal - dual_ + solver_.ridge_cost(x_);
      const bool svms = solver_.svm_gap(x_) > 0.5 * gap_ && svm_tolerance_ > closest_;
      const bool ridges = share_ > 0 && gap_ > solver_.target(x_) && smooth_gap < 0.5 * gap_ &&
                          share_ > least_share();
      if (!svms && !ridges) return;
      if (svms) svm_tolerance_ = std::max(closest_, 0.1 * svm_tolerance_);
      if (ridges) set_share(kSharper * share_);
      again(svm_tolerance_);
    }
  }

  // x anew, with SVMs of this tolerance.
  void again(double svm_tolerance) {
    enter(Phase::svms);
    leave();
    x_ = solver_.evaluate(x_.theta, x_.groups, solver_.svms().alphas(x_.tasks), svm_tolerance);
  }

  double least_share() const { return 1e-3 * settings_.gap_tolerance; }
  void set_share(double share) {
    share_ = share;
    solver_.set_ridges(x_, share);
  }

  // Close enough on the samples that take part: then those left out are looked at, and the groups are settled. Ends the loop if the proof
  // of the whole problem is small enough, rounding included.
  void consider() {
    enter(Phase::svms);
    const bool close = gap_ <= solver_.target(x_);
    if (close && newton_ && !part_.graph.empty()) {
      if (!settled_) settle_groups();
      for (const double equality : {1e-4, 1e-6})
        if (equality == 1e-6 || settings_.gap_tolerance <= 1e-6) fuse_equal_tasks(equality);
    }
    const double target = solver_.target(x_);
    gap_ = x_.plain - dual_;
    solver_.count_left_out(x_, close || far_ ? TaskSvm::Outside::all : TaskSvm::Outside::near);
    far_ = x_.left_out > 0.1 * x_.plain;
    if (close && gap_ + x_.left_out <= target && prove()) return;
    check_at_ = std::max((solver_.svms().has_all() ? 1 : 0.7) * target, 0.5 * x_.left_out);
    if (x_.counted) leave();
    standing_ = false;
    grew_ = solver_.svms().grow(x_.tasks);
    standing_ = !grew_;
  }

  // Whether the gap is surely within the tolerance. Where the numbers at hand are too coarse, they are computed anew.
  bool prove() {
    PartProof proof = solver_.rounded_proof(x_, nu_);
    const double target = settings_.gap_tolerance * proof.primal;
    if (!proof.shows(target)) {
      if (proof.error < kNegligible * target && proof.gap() >= -proof.error) return false;
      enter(Phase::proof);
      proof = solver_.careful_proof(x_, nu_);
    }
    keep(proof);
    if (best_.proof.shows(settings_.gap_tolerance * best_.proof.primal)) {
      end(Status::converged);
      return true;
    }
    // Closer SVMs may help, as long as doubles can tell.
    sharpening_ *= 0.1;
    if (++misled_ <= 3 && proof.error < target) return false;
    coarseness_ = proof.error / proof.primal;
    end(Status::precision);
    return true;
  }

  void take_newton_step() {
    const double target = solver_.target(x_);
    // After a step that led nowhere the model is solved closer; near the end, where the next step may be the last, so close that it
    // decides which edges are fused.
    const double gap = std::max(gap_, 0.1 * target);
    const bool last = gap <= 30 * target;
    const double closeness = is_large() ? 0.05 : 0.003;
    double inner_tolerance = std::min(0.1 * gap, std::max(closeness * gap, 0.2 * target));
    inner_tolerance *= std::pow(0.1, failures_);
    const double enough = inner_tolerance;
    if (last) inner_tolerance = std::min(inner_tolerance, closeness_of_groups(part_) * target);
    svm_tolerance_ = precise_ ? closest_ : std::clamp(0.01 * gap / x_.plain, closest_, 1e-2);
    svm_tolerance_ = std::max(1e-13, sharpening_ * svm_tolerance_);
    const ThetaSettings limits{
        .gap_tolerance = inner_tolerance, .enough = enough, .groups = last, .keep_going = [this] {
          return keep_going();
        }};
    if (search(limits, last)) {
      failures_ = 0;
      return;
    }
    // Stay, with the best pair duals, and ask again from sharper SVMs.
    const bool closer = x_.plain - dual_ <= 0.9 * gap_;
    sharpening_ *= 0.1;
    if (closer) {
      failures_ = 0;
      return;
    }
    mu_ = std::max(10 * mu_, 1e-10);
    // J has a kink here, where alpha is not unique, (53).
    if (share_ == 0) {
      set_share(std::min(0.1, 0.1 * gap_ / x_.plain));
      again(svm_tolerance_);
      mu_ = solver_.least_curvature(x_);
      return;
    }
    if (++failures_ > (is_coarse() ? kFewFailures : kMostFailures)) end(Status::stalled);
  }

  // The step is taken if the objective falls as far as the model promises, if the proof is closer by half than ever before, or if samples
  // joined, so that there is nothing to compare with. Else it is shortened to where the tangents at its ends meet, which is where a kink
  // between them is; there any descent will do.
  bool search(const ThetaSettings& limits, bool last) {
    const std::vector<Matrix> B = solver_.curvatures(x_, mu_);
    if (!enter(Phase::theta_step)) throw Stopped{};
    ThetaResult next = solver_.theta_step(x_, B, state_, limits);
    if (!enter(Phase::svms)) throw Stopped{};
    const double predicted = solver_.predicted_decrease(x_, B, next.theta);
    const Matrix d = next.theta - x_.theta;
    const double slope = x_.g.cwiseProduct(d).sum();
    double length = 1;
    const int most = predicted > 1e-14 * x_.primal ? kMostTrials : 1;
    for (int trial = 0; trial < most; ++trial) {
      const Groups groups =
          length == 1 ? next.groups : common_refinement(part_.units, x_.groups, next.groups);
      const Matrix theta = between(x_.theta, next.theta, length, groups);
      Iterate y = solver_.evaluate(
          theta, groups, solver_.svms().alphas_after(x_.tasks, theta - x_.theta), svm_tolerance_);
      const double actual = x_.primal - y.primal;
      const double gap_there = y.plain - solver_.dual(y, next.nu);
      const bool falls = actual > 1e-14 * std::abs(x_.primal);
      if ((falls && (trial > 0 || actual >= 1e-3 * predicted)) || gap_there <= 0.5 * best_gap_ ||
          grew_) {
        const double ratio = predicted > 0 ? actual / predicted : 1;
        if (!grew_ && gap_there > gap_) leave();
        if (!grew_) mu_ *= length < 1 || ratio < 0.2 ? 4 : ratio > 0.7 ? 0.1 : 1;
        best_gap_ = grew_ ? gap_there : std::min(best_gap_, gap_there);
        x_ = std::move(y);
        nu_ = std::move(next.nu);
        standing_ = true;
        grew_ = false;
        settled_ = last && length == 1 && (is_large() || next.gap <= limits.gap_tolerance);
        return true;
      }
      if (!precise_) {  // the SVMs may be to blame
        precise_ = true;
        svm_tolerance_ = std::min(svm_tolerance_, closest_);
        again(svm_tolerance_);
        return true;
      }
      const double slope_there = y.g.cwiseProduct(d).sum();
      const double change = (y.primal - y.penalty) - (x_.primal - x_.penalty);
      const double meet = (length * slope_there - change) / std::max(1e-300, slope_there - slope);
      length = std::clamp(meet, 1e-4 * length, 0.7 * length);
    }
    const double dual_here = solver_.dual(x_, next.nu);
    if (dual_here > dual_) {
      dual_ = dual_here;
      nu_ = std::move(next.nu);
    }
    solver_.restore(x_);
    return false;
  }

  // The published algorithm takes the step as it is, even to where it has been.
  void take_published_step() {
    const double inner_tolerance = std::min(0.1 * gap_, 0.2 * solver_.target(x_));
    if (!enter(Phase::theta_step)) throw Stopped{};
    const ThetaResult next = solver_.theta_step(x_, solver_.curvatures(x_, 0), state_,
                                                {.gap_tolerance = inner_tolerance,
                                                 .enough = inner_tolerance,
                                                 .keep_going = [this] { return keep_going(); }});
    if (!enter(Phase::svms)) throw Stopped{};
    for (std::size_t back = 1; back <= visited_.size() && cycle_ == 0; ++back)
      if ((next.theta - visited_[visited_.size() - back]).cwiseAbs().maxCoeff() < 1e-6 && back > 1)
        cycle_ = static_cast<Index>(back);
    visited_.push_back(next.theta);
    leave();
    x_ = solver_.evaluate(next.theta, next.groups, solver_.svms().alphas(x_.tasks), closest_);
    nu_ = next.nu;
    standing_ = true;
    grew_ = false;
  }

  // At a gap that satisfies the user the theta step may not yet have decided which edges are fused. One more step, solved much
  // closer than the gap asks (it needs no SVM), decides that. It is kept if the gap stays as small.
  void settle_groups() {
    enter(Phase::theta_step);
    const double target = solver_.target(x_);
    const double work =
        static_cast<double>(state_.nu.size() + 1);  // numbers that an iteration touches
    const ThetaSettings limits{
        .gap_tolerance = closeness_of_groups(part_) * target,
        .enough = target,
        .max_iterations = std::clamp<Index>(static_cast<Index>(2e8 / work), 50, 20'000),
        .keep_going = [this] { return enter(Phase::theta_step); }};
    ThetaResult next = solver_.theta_step(x_, solver_.curvatures(x_, mu_), state_, limits);
    enter(Phase::svms);
    if (next.groups == x_.groups) return;
    Iterate y =
        solver_.evaluate(next.theta, next.groups, solver_.svms().alphas(x_.tasks), svm_tolerance_);
    if (!take_if_close(std::move(y), std::move(next.nu))) solver_.restore(x_);
  }

  // Weights that differ by rounding and by what the gap leaves open are meant to be equal: they are made so where the gap stays as
  // small. `equality` is how far apart they may be, of weights between 0 and 1.
  void fuse_equal_tasks(double equality) {
    const Matrix& theta = x_.theta;
    std::vector<Index> group(static_cast<std::size_t>(part_.units));
    for (std::size_t g = 0; g < x_.groups.size(); ++g)
      for (const Index u : x_.groups[g]) group[static_cast<std::size_t>(u)] = static_cast<Index>(g);
    std::vector<bool> joined;
    bool any = false;
    for (const Edge& edge : part_.graph) {
      const bool together =
          group[static_cast<std::size_t>(edge.t)] == group[static_cast<std::size_t>(edge.s)];
      const bool equal = (theta.row(edge.t) - theta.row(edge.s)).cwiseAbs().maxCoeff() <= equality;
      any = any || (equal && !together);
      joined.push_back(equal || together);
    }
    if (!any) return;
    const Groups groups = connected_parts(part_.units, part_.graph, joined);
    Matrix merged = mean_of_groups(theta, groups);
    for (int trial = 0; trial < 3; ++trial) {
      // SVMs closer than before, and pair duals that belong to them: neither's own gap must decide.
      Iterate y = solver_.evaluate(merged, groups, solver_.svms().alphas(x_.tasks),
                                   std::max(1e-12, 0.01 * svm_tolerance_));
      const double target = solver_.target(y);
      ThetaResult next = solver_.theta_step(
          y, solver_.curvatures(y, mu_), state_,
          {.gap_tolerance = closeness_of_groups(part_) * target, .enough = target});
      merged = mean_of_groups(next.theta, groups);  // the mean may be off the face of the optimum
      if (take_if_close(std::move(y), std::move(next.nu))) return;
    }
    solver_.restore(x_);
  }

  bool take_if_close(Iterate y, Matrix nu) {
    const double dual = solver_.dual(y, nu);
    if (y.plain - dual > solver_.target(y)) return false;
    x_ = std::move(y);
    nu_ = std::move(nu);
    dual_ = dual;
    return true;
  }

  bool say() {
    best_gap_ = std::min(best_gap_, gap_);
    report_.outer_step = outer_steps_;
    report_.primal = x_.plain + x_.left_out;
    report_.dual = dual_;
    report_.gap = (gap_ + x_.left_out) / report_.primal;
    report_.groups = std::ssize(x_.groups);
    return enter(Phase::proof);
  }

  // Where nothing is known but the labels: no support vectors, and the better of the two constant answers.
  void trivial(const Matrix& theta) {
    PartResult& r = best_;
    r.theta = theta;
    r.nu = nu_;
    r.bias.resize(std::ssize(part_.tasks));
    r.objective.resize(std::ssize(part_.tasks));
    for (std::size_t k = 0; k < part_.tasks.size(); ++k) {
      const std::size_t t = static_cast<std::size_t>(part_.tasks[k]);
      const Vector& y = problem_.y[t];
      const double positive = problem_.C[t].dot((y.array() > 0).cast<double>().matrix());
      const double negative = problem_.C[t].sum() - positive;
      r.alpha.emplace_back(Vector::Zero(y.size()));
      r.bias[static_cast<Index>(k)] = positive > negative ? 1 : -1;
      r.objective[static_cast<Index>(k)] = 2 * std::min(positive, negative);
    }
    r.proof = {r.objective.sum(), 0, 1e-12 * r.objective.sum()};
  }

  // x is the result, unless there was a better one.
  void keep(const PartProof& proof) {
    PartResult& r = best_;
    if (!(proof.gap() + proof.error <= r.proof.gap() + r.proof.error) ||
        !(proof.gap() >= -proof.error))
      return;
    r.theta = x_.theta;
    r.nu = nu_;
    r.proof = proof;
    for (std::size_t k = 0; k < part_.tasks.size(); ++k) {
      const Index i = static_cast<Index>(k);
      r.alpha[k] = solver_.svms().all_alpha(x_.tasks, k);
      r.bias[i] = x_.tasks[k].svm.bias;
    }
    r.objective = proof.objective;
  }

  // Rounding may hide what is asked for.
  bool is_coarse() {
    if (!x_.counted) return false;
    return solver_.rounded_proof(x_, nu_).error > kNegligible * solver_.target(x_);
  }

  // Before x is left, or lost: the best proof seen is the one that is reported.
  void leave() {
    if (standing_ && x_.counted) keep(solver_.rounded_proof(x_, nu_));
  }

  void end(Status status) {
    status_ = status;
    ended_ = true;
  }

  void finish() {
    if (!ended_) status_ = Status::step_limit;
    if (status_ != Status::converged && status_ != Status::precision) {
      if (!standing_) again(svm_tolerance_);
      solver_.restore(x_);
      if (!x_.counted) solver_.count_left_out(x_);
      standing_ = true;
      PartProof proof = solver_.rounded_proof(x_, nu_);
      const double target = solver_.target(x_);
      const double rounding = proof.error;
      const bool coarse = rounding > kNegligible * target;
      if (coarse) proof = solver_.careful_proof(x_, nu_);
      keep(proof);
      if (best_.proof.shows(settings_.gap_tolerance * best_.proof.primal))
        status_ = Status::converged;
      else if (coarse && status_ == Status::stalled)
        status_ = Status::precision;
      coarseness_ = rounding / x_.plain;
    }
    best_.groups = solver_.equal_weights(best_.theta);
    if (share_ == 0)
      solver_.svms().remember(x_.theta, x_.tasks);
    else
      solver_.svms().forget();
  }

  void stop() {
    status_ = Status::stopped;
    leave();
    best_.groups = solver_.equal_weights(best_.theta);
    solver_.svms().discard();
  }

  const MtmklProblem& problem_;
  const Part& part_;
  const FitSettings& settings_;
  const ProgressCallback& progress_;
  Progress report_;
  bool newton_;
  double closest_;  // tolerance of the SVMs
  PartSolver solver_;

  Iterate x_;
  Matrix nu_;
  double dual_ = 0, gap_ = infinity;  // at x and nu, of the samples that take part
  bool standing_ = false;  // x is whole: false while samples have joined that it does not know
  PartResult best_;

  ThetaState state_;
  double mu_ = 0;
  double share_ = 0;  // of the objective that ridges may cost, (53)
  double svm_tolerance_ = 1e-2, sharpening_ = 1;
  double best_gap_ = infinity;
  double check_at_ = infinity;
  bool grew_ = false;     // samples joined after x was evaluated
  bool settled_ = false;  // the groups, by the last theta step
  bool precise_ =
      false;          // SVMs are solved as closely as ever, from the first step on that was refused
  bool far_ = false;  // from knowing which samples matter
  int failures_ = 0;
  double coarseness_ = 0;        // what rounding left open of the gap, where it was in the way
  int misled_ = 0;               // proofs that doubles promised and a careful look did not confirm
  std::vector<Matrix> visited_;  // by the published algorithm
  Index cycle_ = 0;
  Index outer_steps_ = 0;
  Status status_ = Status::converged;
  bool ended_ = false;
};

}  // namespace

std::vector<Part> split_into_parts(const MtmklProblem& problem) {
  std::vector<bool> joined;
  for (const Edge& edge : problem.graph) joined.push_back(problem.lambda > 0 && edge.weight > 0);
  const Groups groups = connected_parts(problem.T(), problem.graph, joined);
  std::vector<Part> parts;
  std::vector<std::pair<std::size_t, Index>> place(
      static_cast<std::size_t>(problem.T()));  // part, position within it
  const bool common = std::isinf(problem.lambda);
  for (const std::vector<Index>& tasks : groups) {
    Part part;
    part.tasks = tasks;
    part.units = common ? 1 : std::ssize(tasks);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      part.unit.push_back(common ? 0 : static_cast<Index>(k));
      place[static_cast<std::size_t>(tasks[k])] = {parts.size(), static_cast<Index>(k)};
    }
    parts.push_back(std::move(part));
  }
  if (common) return parts;
  for (std::size_t i = 0; i < problem.graph.size(); ++i) {
    if (!joined[i]) continue;
    const Edge& edge = problem.graph[i];
    const auto [p, t] = place[static_cast<std::size_t>(edge.t)];
    parts[p].edges.push_back(static_cast<Index>(i));
    parts[p].graph.push_back({t, place[static_cast<std::size_t>(edge.s)].second, edge.weight});
  }
  return parts;
}

PartResult solve_part(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
                      const ProgressCallback& progress, Progress report, const WarmStart& start,
                      Workspace& workspace) {
  return Loop(problem, part, settings, progress, report, workspace).run(start);
}

}  // namespace coterie
