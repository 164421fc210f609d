#include "coterie/baseline/whom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "coterie/baseline/linear_proof.hpp"
#include "coterie/baseline/partition.hpp"
#include "coterie/math/clip.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/math/kmeans.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/math/random.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {

namespace {

using Members = std::vector<Index>;

// lambda sum_g ||W_g||_*^2, a function of the singular values of every group: the squared l1 norm, which is the box norm with
// weights between 0 and infinity that sum to 1. Its conjugate is the squared l-infinity norm / 4: sum_g sigma_max(Z_g)^2 / (4 lambda).
class GroupTraceNorms final : public Penalty {
 public:
  GroupTraceNorms(double lambda, const Groups& groups) : lambda_(lambda), groups_(groups) {}

  double value(const Matrix& W) override { return lambda_ * squared_trace_norms(W, groups_); }

  Matrix prox(const Matrix& Z, double step, double) override {
    Matrix W(Z.rows(), Z.cols());
    for (const Members& g : groups_) {
      const Svd svd = svd_of(Z(g, Eigen::all).transpose());  // tall: quicker
      const Vector sigma = prox_box_norm(svd.sigma, 2 * lambda_ * step, box);
      const Matrix scaled = svd.V * sigma.asDiagonal();
      W(g, Eigen::all) = product(scaled, svd.U.transpose());
    }
    return W;
  }

  double conjugate(const Matrix& Z, double) override {
    double sum = 0;
    for (const Members& g : groups_)
      sum += box_norm_conjugate(singular_values(Z(g, Eigen::all).transpose()), box);
    return sum / lambda_;
  }

  // Trace and spectral norm are norms: a singular value that is off by `off` changes them by that, once for each of them.
  PenaltyProof prove(const Matrix& W, const Matrix& Z) override {
    const double sums = static_cast<double>(W.rows() + 8) * unit_roundoff;
    PenaltyProof proof;
    for (const Members& g : groups_) {
      const Index tasks = std::ssize(g);
      const Matrix W_g = W(g, Eigen::all), Z_g = Z(g, Eigen::all);
      const auto off = [&](const Matrix& A) {
        return error_of_singular_values(tasks, A.cols(), A.norm());
      };
      const double trace = singular_values(W_g.transpose()).sum();
      const double largest = singular_values(Z_g.transpose()).maxCoeff();
      const double value = lambda_ * trace * trace;
      const double conjugate = largest * largest / (4 * lambda_);
      proof.value.value += value;
      proof.value.error +=
          change_of_square(value, std::sqrt(lambda_) * static_cast<double>(tasks) * off(W_g)) +
          2 * sums * value;
      proof.conjugate.value += conjugate;
      proof.conjugate.error +=
          change_of_square(conjugate, off(Z_g) / (2 * std::sqrt(lambda_))) + sums * conjugate;
    }
    proof.value.error += sums * proof.value.value;
    proof.conjugate.error += sums * proof.conjugate.value;
    proof.reach = 1 / (4 * lambda_);
    proof.W_reach = lambda_ * static_cast<double>(std::min(W.rows(), W.cols()));
    return proof;
  }

 private:
  static constexpr Box box{
      .alpha = 0, .beta = std::numeric_limits<double>::infinity(), .budget = 1};
  double lambda_;
  const Groups& groups_;
};

// The search for groups at fixed W lowers sum_g h(g) for a function h of sets of tasks.
using SetFunction = std::function<double(const Members&)>;

// Rows in an orthonormal basis of their span: at most T columns, and singular values as before for every set of rows.
Matrix compact(const Matrix& W) {
  if (W.cols() <= W.rows()) return W;
  return product(W, orthonormal(W.transpose()));
}

SetFunction squared_trace_norm(const Matrix& W) {
  return [W = compact(W)](const Members& g) {
    if (g.empty()) return 0.0;
    const double norm = singular_values(W(g, Eigen::all).transpose()).sum();
    return norm * norm;
  };
}

SetFunction squared_spectral_norm(const Matrix& Z) {
  return [Z = compact(Z)](const Members& g) {
    if (g.empty()) return 0.0;
    const double norm = singular_values(Z(g, Eigen::all).transpose())[0];
    return norm * norm;
  };
}

struct Move {
  Groups groups;  // after it
  double change;  // of sum_g h(g)
};

// Every task to every other group, or to an empty one while there are fewer than G.
std::vector<Move> single_moves(const Groups& groups, Index G, const SetFunction& h,
                               const KeepGoing& keep_going) {
  Groups slots = groups;
  if (std::ssize(slots) < G) slots.push_back({});
  std::vector<double> before;
  for (const Members& g : slots) before.push_back(h(g));
  std::vector<Move> moves;
  for (std::size_t from = 0; from < slots.size(); ++from) {
    for (const Index t : slots[from]) {
      ask(keep_going);
      Groups without = slots;
      std::erase(without[from], t);
      const double left = h(without[from]) - before[from];
      for (std::size_t to = 0; to < slots.size(); ++to) {
        if (to == from || (slots[to].empty() && slots[from].size() == 1)) continue;
        Groups with = without;
        with[to].push_back(t);
        moves.push_back({in_order(with), left + h(with[to]) - before[to]});
      }
    }
  }
  return moves;
}

double total(const Groups& groups, const SetFunction& h) {
  double sum = 0;
  for (const Members& g : groups) sum += h(g);
  return sum;
}

// The best single move, until none lowers the sum by more than rounding.
Groups descend(Groups groups, Index G, const SetFunction& h, const KeepGoing& keep_going) {
  const double slack = 1e-12 * total(groups, h);
  for (;;) {
    std::vector<Move> moves = single_moves(groups, G, h, keep_going);
    const auto best =
        std::min_element(moves.begin(), moves.end(),
                         [](const Move& a, const Move& b) { return a.change < b.change; });
    if (best == moves.end() || !(best->change < -slack)) return groups;
    groups = std::move(best->groups);
  }
}

Groups singletons_of(Index T) {
  Members label(static_cast<std::size_t>(T));
  std::iota(label.begin(), label.end(), Index{0});
  return groups_of(label);
}

// Join the two groups that raise the sum least, until G are left.
Groups merge(Groups groups, Index G, const SetFunction& h, const KeepGoing& keep_going) {
  const Index count = std::ssize(groups);
  std::vector<double> alone;
  for (const Members& g : groups) alone.push_back(h(g));
  const auto joined = [&](std::size_t a, std::size_t b) {
    Members both = groups[a];
    both.insert(both.end(), groups[b].begin(), groups[b].end());
    return both;
  };
  Matrix rise(count, count);  // a < b
  const auto fill = [&](std::size_t a, std::size_t b) {
    ask(keep_going);
    rise(static_cast<Index>(a), static_cast<Index>(b)) = h(joined(a, b)) - alone[a] - alone[b];
  };
  for (std::size_t b = 0; b < groups.size(); ++b)
    for (std::size_t a = 0; a < b; ++a) fill(a, b);
  for (Index left = count; left > G; --left) {
    std::size_t best_a = 0, best_b = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t b = 0; b < groups.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) {
        const double here = rise(static_cast<Index>(a), static_cast<Index>(b));
        if (groups[a].empty() || groups[b].empty() || !(here < least)) continue;
        least = here;
        best_a = a;
        best_b = b;
      }
    groups[best_a] = joined(best_a, best_b);
    groups[best_b].clear();
    alone[best_a] = h(groups[best_a]);
    for (std::size_t other = 0; other < groups.size(); ++other)
      if (other != best_a && !groups[other].empty())
        fill(std::min(best_a, other), std::max(best_a, other));
  }
  return in_order(groups);
}

// k-means on squared cosines between the tasks' weights: the trace norm knows no signs and no basis of the features.
Groups kmeans_groups(const Matrix& W, Index G, Index seed) {
  const Vector norm = W.rowwise().norm().cwiseMax(std::numeric_limits<double>::min());
  const Matrix directions = norm.cwiseInverse().asDiagonal() * W;
  const Matrix cosines = product(directions, directions.transpose());
  constexpr Index restarts = 20;
  return groups_of(
      kmeans(cosines.cwiseAbs2(), G, restarts, static_cast<std::uint64_t>(seed)).label);
}

Groups random_groups(Index T, Index G, Random& random) {
  Members label(static_cast<std::size_t>(T));
  for (Index& g : label) g = random.below(G);
  return groups_of(label);
}

void check(const WhomParameters& p) {
  if (!(p.lambda > 0 && std::isfinite(p.lambda)))
    throw InputError(fmt::format("lambda is {}; it must be a number > 0.", p.lambda));
  if (p.clusters < 1)
    throw InputError(fmt::format("clusters is {}; it must be a whole number >= 1.", p.clusters));
  if (p.restarts < 1)
    throw InputError(fmt::format("restarts is {}; it must be a whole number >= 1.", p.restarts));
}

class WhomSearch {
 public:
  WhomSearch(const LinearProblem& problem, const WhomParameters& parameters,
             const LinearSettings& settings, const ProgressCallback& progress, Index parts)
      : problem_(problem),
        lambda_(parameters.lambda),
        G_(std::min(parameters.clusters, problem.T())),
        settings_(settings),
        progress_(progress),
        parts_(parts) {}

  Index part = 0;
  bool bounded =
      false;  // fits state the rounding of their gaps; not needed while groups are compared
  const KeepGoing keep_going = [this] { return poll(); };
  bool stopped() const { return stopped_; }
  Index steps() const { return steps_; }  // of all convex problems

  // The convex problem, reported to the caller.
  LinearFit solve(const Groups& groups, double tolerance, const LinearStart& from) {
    LinearFit fit =
        minimise_at(groups, tolerance, from, [&](const Progress& p) { return report(p, groups); });
    fit.clusters = groups;
    return fit;
  }

  // Its solution, roughly and without a report.
  LinearStart weights(const Groups& groups, const LinearStart& from) {
    constexpr double rough = 1e-3;
    LinearFit fit = minimise_at(groups, rough, from, [&](const Progress&) { return poll(); });
    return {.W = std::move(fit.W), .b = std::move(fit.b)};
  }

  // From single tasks an eighth of the groups at a time, with W anew at every stage. Throws Stopped.
  Groups merge_in_stages(LinearStart at) {
    Groups groups = singletons_of(problem_.T());
    for (;;) {
      const Index count = std::ssize(groups);
      const Index next = std::max(G_, count - std::max<Index>(1, count / 8));
      const SetFunction h = squared_trace_norm(at.W);
      groups = descend(merge(std::move(groups), next, h, keep_going), next, h, keep_going);
      if (next == G_ || stopped_) return groups;
      at = weights(groups, at);
    }
  }

  // W, groups, W, groups, ... until the groups stay. Ends early, without a result, at groups seen before: the end is then known.
  std::optional<LinearFit> descent(Groups groups, double tolerance, LinearStart from) {
    for (;;) {
      if (stopped_ || !seen_.insert(groups).second) return std::nullopt;
      LinearFit fit = solve(groups, tolerance, from);
      if (stopped_) return fit;
      Groups next;
      try {
        next = descend(groups, G_, squared_trace_norm(fit.W), keep_going);
      } catch (const Stopped&) {
        return fit;
      }
      if (next == groups) return fit;
      groups = std::move(next);
      from = {.W = std::move(fit.W), .b = std::move(fit.b)};
    }
  }

  // Moves of one task with W optimised anew. The dual point of the present fit bounds the optimum of every other partition from below:
  // moves that cannot gain are left out, and the others come in the order of their bounds. A trial ends once its own bound is too high.
  LinearFit try_moves(LinearFit fit, double tolerance, Index& trials) {
    for (bool moved = true; moved && !stopped_;) {
      moved = false;
      const double slack = tolerance * fit.primal;
      const double goal = fit.primal - slack;
      const DualPoint dual = dual_point(problem_, fit.W, fit.b, settings_.threads);
      const SetFunction h = squared_spectral_norm(dual.Z);
      std::vector<Move> moves;
      try {
        moves = single_moves(fit.clusters, G_, h, keep_going);
      } catch (const Stopped&) {
        return fit;
      }
      std::stable_sort(moves.begin(), moves.end(),
                       [](const Move& a, const Move& b) { return a.change < b.change; });
      for (const Move& move : moves) {
        const double bound = dual.losses - (total(fit.clusters, h) + move.change) / (4 * lambda_);
        if (bound >= goal || seen_.contains(move.groups)) continue;
        const Progress at_work{.primal = fit.primal, .dual = fit.dual, .gap = fit.gap};
        if (trials == 0 || !report(at_work, fit.clusters)) return fit;
        --trials;
        const LinearStart from{.W = fit.W, .b = fit.b};
        LinearFit trial = minimise_at(move.groups, tolerance, from,
                                      [&](const Progress& p) { return p.dual < goal && poll(); });
        if (!(trial.primal < goal)) {
          seen_.insert(move.groups);
          continue;
        }
        std::optional<LinearFit> found =
            descent(move.groups, tolerance, {.W = trial.W, .b = trial.b});
        if (found && found->primal < goal) {
          fit = std::move(*found);
          moved = true;
          break;
        }
      }
    }
    return fit;
  }

  void forget() { seen_.clear(); }

  // The same weights, with a bound.
  LinearFit certified(const LinearFit& fit) const {
    GroupTraceNorms penalty(lambda_, fit.clusters);
    LinearSettings settings = settings_;
    settings.max_steps = 0;
    LinearFit out = minimise(problem_, penalty, settings, {.W = fit.W, .b = fit.b});
    out.clusters = fit.clusters;
    return out;
  }

 private:
  bool report(Progress p, const Groups& groups) {
    p.outer_step = reports_++;
    p.groups = std::ssize(groups);
    p.part = part;
    p.parts = parts_;
    last_ = p;
    stopped_ = stopped_ || (progress_ && !progress_(p));
    return !stopped_;
  }

  // Whether to go on, with nothing new to tell.
  bool poll() {
    stopped_ = stopped_ || (progress_ && !progress_(last_));
    return !stopped_;
  }

  LinearFit minimise_at(const Groups& groups, double tolerance, const LinearStart& from,
                        const ProgressCallback& progress) {
    GroupTraceNorms penalty(lambda_, groups);
    LinearSettings settings = settings_;
    settings.gap_tolerance = tolerance;
    settings.bounded = bounded;
    LinearFit fit = minimise(problem_, penalty, settings, from, progress);
    steps_ += fit.steps;
    return fit;
  }

  const LinearProblem& problem_;
  double lambda_;
  Index G_;
  const LinearSettings& settings_;
  const ProgressCallback& progress_;
  Index parts_, reports_ = 0, steps_ = 0;
  bool stopped_ = false;
  Progress last_{.primal = std::numeric_limits<double>::infinity(),
                 .dual = -std::numeric_limits<double>::infinity(),
                 .gap = std::numeric_limits<double>::infinity()};
  std::set<Groups> seen_;
};

// Where one of several descents ended.
struct WhomEnd {
  LinearFit fit;
  Index part;
};

// From the groups given, from those of k-means, from merged single tasks, and then from random ones.
std::vector<WhomEnd> descend_often(WhomSearch& search, const WhomParameters& parameters,
                                   const LinearStart& start, const LinearStart& single, Index G,
                                   double tolerance) {
  Random random(static_cast<std::uint64_t>(parameters.seed));
  const SetFunction h = squared_trace_norm(single.W);
  const auto first_groups = [&](Index recipe) -> Groups {
    switch (recipe) {
      case 0:
        return merge(in_order(start.clusters), G, h, search.keep_going);
      case 1:
        return descend(kmeans_groups(single.W, G, parameters.seed), G, h, search.keep_going);
      case 2:
        return search.merge_in_stages(single);
      default:
        return descend(random_groups(single.W.rows(), G, random), G, h, search.keep_going);
    }
  };
  const LinearStart given{.W = start.W, .b = start.b};
  std::vector<WhomEnd> ends;
  for (Index part = 0; part < parameters.restarts && !search.stopped(); ++part) {
    search.part = part;
    const Index recipe = part + (start.clusters.empty() ? 1 : 0);
    try {
      std::optional<LinearFit> fit =
          search.descent(first_groups(recipe), tolerance, recipe == 0 ? given : single);
      if (fit) ends.push_back({std::move(*fit), part});
    } catch (const Stopped&) {
      break;
    }
  }
  return ends;
}

// The best as exactly as it was asked for, with the rounding of its gap.
LinearFit finish(WhomSearch& search, WhomEnd end, double tolerance) {
  auto& [best, part] = end;
  if (!search.stopped()) {
    search.part = part;
    search.forget();
    search.bounded = true;
    const LinearStart from{.W = best.W, .b = best.b};
    std::optional<LinearFit> exact = search.descent(best.clusters, tolerance, from);
    best = exact ? std::move(*exact) : search.solve(best.clusters, tolerance, from);
  }
  if (search.stopped()) best = search.certified(best);
  best.claim = Claim::given_clusters;
  best.steps = search.steps();
  if (search.stopped()) best.status = Status::stopped;
  return std::move(best);
}

}  // namespace

double squared_trace_norms(const Matrix& W, const Groups& groups) {
  return total(groups, squared_trace_norm(W));
}

LinearFit fit_whom(const LinearProblem& problem, const WhomParameters& parameters,
                   const LinearSettings& settings, const LinearStart& start,
                   const ProgressCallback& progress) {
  check(parameters);
  assert(start.clusters.empty() || is_partition(start.clusters, problem.T()));
  const Index T = problem.T(), G = std::min(parameters.clusters, T);
  const Groups together{groups_of(Members(static_cast<std::size_t>(T), 0))};
  const LinearStart given{.W = start.W, .b = start.b};

  if (G == 1 || G == T) {  // nothing to search
    WhomSearch search(problem, parameters, settings, progress, 1);
    search.bounded = true;
    LinearFit fit =
        search.solve(G == 1 ? together : singletons_of(T), settings.gap_tolerance, given);
    fit.claim = G == 1 ? Claim::optimum : Claim::given_clusters;
    return fit;
  }

  constexpr double rough = 1e-4;  // while groups are compared
  constexpr Index trials_per_task = 5;
  const double tolerance = std::max(rough, settings.gap_tolerance);
  WhomSearch search(problem, parameters, settings, progress, parameters.restarts);
  // The weights of single tasks: much is to be learnt from them, and any descent may begin there.
  const LinearStart single = search.weights(singletons_of(T), given);
  std::vector<WhomEnd> ends = descend_often(search, parameters, start, single, G, tolerance);
  if (ends.empty()) {  // stopped, or rounding led round in a circle
    search.bounded = true;
    LinearFit fit = search.solve(together, settings.gap_tolerance, single);
    fit.claim = Claim::given_clusters;
    if (search.stopped()) fit.status = Status::stopped;
    return fit;
  }
  const auto better = [](const WhomEnd& a, const WhomEnd& b) {
    return a.fit.primal < b.fit.primal;
  };
  std::stable_sort(ends.begin(), ends.end(), better);
  Index trials = trials_per_task * T;
  for (WhomEnd& end : ends) {
    search.part = end.part;
    end.fit = search.try_moves(std::move(end.fit), tolerance, trials);
  }
  WhomEnd& best = *std::min_element(ends.begin(), ends.end(), better);
  return finish(search, std::move(best), settings.gap_tolerance);
}

}  // namespace coterie
