#include "coterie/baseline/linear.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "coterie/baseline/linear_proof.hpp"
#include "coterie/math/anderson.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

constexpr double spacing = std::numeric_limits<double>::epsilon();

std::size_t at(Index t) { return static_cast<std::size_t>(t); }

// Margins and losses at (W, b). The biases are always those that are best for W, so every task's pulls balance: sum_i c_i s_i y_i = 0.
struct LinearPoint {
  Matrix W;
  Vector b;
  std::vector<Vector> margin;  // [task]
  Vector loss;                 // T
  double penalty = 0;
  double primal() const { return loss.sum() + penalty; }
};

double task_loss(const LinearProblem& problem, Index t, const Vector& margin) {
  double sum = 0;
  for (Index i = 0; i < margin.size(); ++i)
    sum += problem.c[at(t)][i] * loss_value(problem.loss, margin[i]);
  return sum;
}

// The bias that is best for the given margins, as a change of it: the root of the slope  - sum_i c_i s_i y_i,  which does not
// decrease. Newton steps within a bracket, bisection where they leave it.
double best_bias_change(const LinearProblem& problem, Index t, const Vector& margin) {
  const Vector& y = problem.y[at(t)];
  const Vector& c = problem.c[at(t)];
  const double unbounded = std::numeric_limits<double>::infinity();
  double low = -unbounded, high = unbounded, change = 0;
  for (int iteration = 0; iteration < 200; ++iteration) {
    double slope = 0, curvature = 0, size = 0;
    for (Index i = 0; i < y.size(); ++i) {
      const double m = margin[i] + y[i] * change;
      const double pull = c[i] * loss_pull(problem.loss, m);
      slope -= pull * y[i];
      size += std::abs(pull);
      curvature += c[i] * loss_curvature(problem.loss, m);
    }
    if (std::abs(slope) <= 4 * spacing * size) break;
    (slope > 0 ? high : low) = change;
    const double reach = 2 * (1 + std::abs(change));
    double next = curvature > 0 ? change - slope / curvature : slope > 0 ? -unbounded : unbounded;
    next = std::clamp(next, change - reach, change + reach);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (next == change || !(next > low && next < high)) break;
    change = next;
  }
  return change;
}

LinearPoint point_at(const LinearProblem& problem, Penalty& penalty, Matrix W, Vector b,
                     int threads) {
  LinearPoint point{std::move(W), std::move(b), {}, Vector(problem.T()), 0};
  point.margin.resize(problem.X.size());
  parallel_for(problem.T(), threads, [&](Index t) {
    const Vector& y = problem.y[at(t)];
    Vector& margin = point.margin[at(t)];
    margin = times(problem.X[at(t)], point.W.row(t).transpose());
    margin.array() = y.array() * (margin.array() + point.b[t]);
    const double change = best_bias_change(problem, t, margin);
    point.b[t] += change;
    margin += change * y;
    point.loss[t] = task_loss(problem, t, margin);
  });
  point.penalty = penalty.value(point.W);
  return point;
}

// What the pulls at these margins prove. What is left of their imbalance goes first: from the heavier side, or for the square loss from
// all.
DualPoint dual_point(const LinearProblem& problem, const std::vector<Vector>& margin, int threads) {
  DualPoint dual;
  dual.Z.resize(problem.T(), problem.d());
  Vector part(problem.T());
  parallel_for(problem.T(), threads, [&](Index t) {
    const Vector& y = problem.y[at(t)];
    const Vector& c = problem.c[at(t)];
    const Index n = y.size();
    Vector s(n);
    for (Index i = 0; i < n; ++i) s[i] = loss_pull(problem.loss, margin[at(t)][i]);
    if (problem.loss == Loss::square) {
      const double mean = (c.array() * s.array() * y.array()).sum() / c.sum();
      s -= mean * y;
    } else {
      double positive = 0, negative = 0;
      for (Index i = 0; i < n; ++i) (y[i] > 0 ? positive : negative) += c[i] * s[i];
      const double lighter = std::min(positive, negative);
      for (Index i = 0; i < n; ++i) {
        const double side = y[i] > 0 ? positive : negative;
        if (side > lighter) s[i] *= lighter / side;
      }
    }
    part[t] = 0;
    for (Index i = 0; i < n; ++i) part[t] -= c[i] * loss_conjugate(problem.loss, s[i]);
    const Vector weight = c.cwiseProduct(s).cwiseProduct(y);
    dual.Z.row(t) = times(problem.X[at(t)].transpose(), weight);
  });
  dual.losses = part.sum();
  return dual;
}

// Multiplications between two questions whether to go on.
constexpr double kPiece = 5e8;
Index rows_of_piece(double work_of_row) {
  return static_cast<Index>(std::clamp(kPiece / std::max(1.0, work_of_row), 16.0, 1e9));
}

// The quadratic model of one task's loss around w0, its bias following w as is best for the model:
//
//   q(w) = <g, w - w0> + 1/2 ||A (w - w0)||^2,      rows of A:  sqrt(c_i phi''_i) (x_i - centre)
//
// with the centre the mean of the x_i with weights c_i phi''_i; b = b0 - <centre, w - w0>. With fewer rows than features, A'A is never
// formed.
struct Quadratic {
  Vector centre;  // d
  Matrix A;
  Eigen::MatrixXd H;  // A'A; empty when A is to be used
  Vector p;           // A'A w0 - g
  Eigen::MatrixXd L;  // L L' = A'A + rho I, or AA' + rho I when A is to be used

  bool wide() const { return A.rows() < A.cols(); }
  Vector times(const Vector& v) const {
    return wide() ? coterie::times(A.transpose(), coterie::times(A, v)) : coterie::times(H, v);
  }
  void factorise(double rho, const KeepGoing& keep_going) {
    if (wide()) {
      const Index n = A.rows(), piece = rows_of_piece(static_cast<double>(A.size()));
      L.resize(n, n);
      for (Index i = 0; i < n; i += piece) {
        ask(keep_going);
        const Index columns = std::min(piece, n - i);
        set_product(L.block(i, i, n - i, columns), A.bottomRows(n - i),
                    A.middleRows(i, columns).transpose());
      }
    } else {
      L = H;
    }
    L.diagonal().array() += rho;
    cholesky(L, keep_going);
  }
  // argmin q(w) + rho/2 ||w - v||^2 with the rho of L
  Vector prox(const Vector& v, double rho) const { return divided(rho * v + p, rho); }
  // (A'A + rho I)^-1 x
  Vector divided(const Vector& x, double rho) const {
    if (!wide()) return cholesky_solve(L, x);
    return (x - coterie::times(A.transpose(), cholesky_solve(L, coterie::times(A, x)))) / rho;
  }
};

Quadratic quadratic_of(const LinearProblem& problem, Index t, const LinearPoint& point,
                       const Vector& gradient, const KeepGoing& keep_going) {
  const Matrix& X = problem.X[at(t)];
  const Index n = X.rows();
  Vector weight(n);
  std::vector<Index> active;
  for (Index i = 0; i < n; ++i) {
    weight[i] = problem.c[at(t)][i] * loss_curvature(problem.loss, point.margin[at(t)][i]);
    if (weight[i] > 0) active.push_back(i);
  }
  Quadratic q;
  q.centre = Vector::Zero(X.cols());
  if (!active.empty()) q.centre = times(X.transpose(), weight) / weight.sum();
  q.A.resize(std::ssize(active), X.cols());
  for (Index k = 0; k < q.A.rows(); ++k)
    q.A.row(k) = std::sqrt(weight[active[at(k)]]) * (X.row(active[at(k)]) - q.centre.transpose());
  if (!q.wide()) {
    const Index rows = q.A.rows(), piece = rows_of_piece(static_cast<double>(X.cols() * X.cols()));
    q.H = Eigen::MatrixXd::Zero(X.cols(), X.cols());
    for (Index i = 0; i < rows; i += piece) {
      ask(keep_going);
      add_squares(q.H, q.A.middleRows(i, std::min(piece, rows - i)));
    }
    q.H.triangularView<Eigen::StrictlyUpper>() = q.H.transpose();
  }
  q.p = q.times(point.W.row(t).transpose()) - gradient;
  return q;
}

// A minimum of the model plus the penalty, sum_t q_t(w_t) + R(W), by the splitting of Douglas and Rachford with the acceleration of
// Anderson:
//
//   X = prox_{q/rho}(V),    Z = prox_{R/rho}(2X - V),    V <- V + Z - X
//
// Plain steps never lengthen the residual Z - X; an accelerated one that does is taken back. In the end X = Z and
// V = X + grad q(X) / rho. Fenchel's inequality tells how far Z is from the optimum:
//
//   gap = R(Z) + R*(-grad q(Z)) + <grad q(Z), Z>
//
// rho decides which directions are slow: those where the curvatures of q and R are both far above it, or both far below. A tenth of the
// mean curvature of q takes tens of iterations over ten decades of R. One column of large numbers makes that mean, and both curvatures
// of all others are far below: where iterations do not end, rho falls.
struct ModelOptimum {
  Matrix W;
  double penalty = 0;  // R(W)
  double change = 0;   // of model and penalty, from the point where the model was made
};

// Fills in R(W) and the change, and returns the gap. `slope` is grad q(W), `step` leads to W from where the model was made.
double measure(ModelOptimum& optimum, const Matrix& step, const Matrix& slope, Penalty& penalty,
               const LinearPoint& from, const Matrix& gradient, double slack) {
  optimum.penalty = penalty.value(optimum.W);
  optimum.change = (gradient + slope).cwiseProduct(step).sum() / 2 + optimum.penalty - from.penalty;
  return optimum.penalty + penalty.conjugate(-slope, slack) + slope.cwiseProduct(optimum.W).sum();
}

// The same where R is quadratic, by conjugate gradients on  A'A W + grad R(W) = p,  preconditioned by A'A + rho I with rho amid the
// curvatures of R: curvatures of q, however far apart, do not matter.
ModelOptimum minimise_quadratic_model(std::vector<Quadratic>& q, Penalty& penalty,
                                      const LinearPoint& from, const Matrix& gradient,
                                      double target, double slack, int threads,
                                      const KeepGoing& keep_going) {
  constexpr Index limit = 2000, every = 5;
  const Index T = gradient.rows();
  const Penalty::Spread spread = *penalty.quadratic();
  const double rho = std::sqrt(spread.least) * std::sqrt(spread.largest);
  const auto by_task = [&](const Matrix& X, auto f) {
    Matrix out(X.rows(), X.cols());
    parallel_for(T, threads,
                 [&](Index t) { out.row(t) = f(q[at(t)], X.row(t).transpose()).transpose(); });
    return out;
  };
  const auto times = [](const Quadratic& task, const Vector& x) { return task.times(x); };
  const auto divided = [rho](const Quadratic& task, const Vector& x) {
    return task.divided(x, rho);
  };
  parallel_for(T, threads, [&](Index t) { q[at(t)].factorise(rho, keep_going); });

  ModelOptimum optimum;
  Matrix step = Matrix::Zero(T, gradient.cols());
  Matrix residual = -gradient - penalty.gradient(from.W), next = by_task(residual, divided);
  Matrix direction = next;
  double size = residual.cwiseProduct(next).sum();
  const double first = size;
  for (Index iteration = 1;; ++iteration) {
    ask(keep_going);
    const Matrix image = by_task(direction, times) + penalty.gradient(direction);
    const double length = size / direction.cwiseProduct(image).sum();
    const bool moves = std::isfinite(length) && length > 0;
    if (moves) {
      step += length * direction;
      residual -= length * image;
      next = by_task(residual, divided);
    }
    const double size_before = std::exchange(size, residual.cwiseProduct(next).sum());
    const bool last = !moves || iteration == limit || !(size > spacing * spacing * first);
    if (iteration % every == 0 || last) {
      const Matrix slope = gradient + by_task(step, times);
      optimum.W = from.W + step;
      const double gap = measure(optimum, step, slope, penalty, from, gradient, slack);
      if ((gap <= target && optimum.change < 0) || last) return optimum;
    }
    direction = next + size / size_before * direction;
  }
}

ModelOptimum minimise_model(std::vector<Quadratic>& q, Penalty& penalty, const LinearPoint& from,
                            const Matrix& gradient, double target, double slack, int threads,
                            const KeepGoing& keep_going) {
  if (penalty.quadratic())
    return minimise_quadratic_model(q, penalty, from, gradient, target, slack, threads, keep_going);
  constexpr Index limit = 2000, every = 5, patience = 200;
  constexpr double fall = 1.0 / 30;
  const Index T = gradient.rows();
  double curvature = 0;
  for (const Quadratic& task : q) curvature += task.A.squaredNorm();
  double rho = curvature > 0 ? 0.1 * curvature / static_cast<double>(gradient.size()) : 1;
  const auto factorise = [&] {
    parallel_for(T, threads, [&](Index t) { q[at(t)].factorise(rho, keep_going); });
  };
  factorise();

  ModelOptimum optimum;
  Anderson anderson(10);
  Matrix V = from.W + gradient / rho;
  Matrix plain;  // where a plain step would have led instead of to V
  Matrix X(V.rows(), V.cols()), slope(V.rows(), V.cols());
  double shortest = std::numeric_limits<double>::infinity(), accuracy = 1e-4;
  for (Index iteration = 1;; ++iteration) {
    ask(keep_going);
    parallel_for(T, threads,
                 [&](Index t) { X.row(t) = q[at(t)].prox(V.row(t).transpose(), rho).transpose(); });
    const Matrix Z = penalty.prox(2 * X - V, 1 / rho, accuracy);
    const Matrix residual = Z - X;
    const double length = residual.norm(), size = Z.norm();
    const bool last = iteration == limit || length <= 4 * spacing * size;
    if (length > shortest && plain.size() > 0 && !last) {
      anderson.forget();
      V = std::exchange(plain, {});
      continue;
    }
    shortest = length;
    accuracy = size > 0 ? std::clamp(0.01 * length / size, 1e-13, 1e-4) : 1e-4;
    if (iteration % every == 0 || last) {
      parallel_for(T, threads, [&](Index t) {  // grad q(X) = rho (V - X)
        slope.row(t) =
            rho * (V.row(t) - X.row(t)) + q[at(t)].times(residual.row(t).transpose()).transpose();
      });
      optimum.W = Z;
      const double gap = measure(optimum, Z - from.W, slope, penalty, from, gradient, slack);
      if ((gap <= target && optimum.change < 0) || last) return optimum;
    }
    if (iteration % patience == 0) {  // `slope` is that of this Z
      rho *= fall;
      factorise();
      anderson.forget();
      plain.resize(0, 0);
      shortest = std::numeric_limits<double>::infinity();
      V = Z + slope / rho;
      continue;
    }
    plain = V + residual;
    V = anderson.next(V, plain);
  }
}

// The first of the points  from + W-step, half of it, a quarter, ..  that lowers the objective enough; nothing when none does.
std::optional<LinearPoint> line_search(const LinearProblem& problem, Penalty& penalty,
                                       const LinearPoint& from, const Matrix& gradient,
                                       const std::vector<Quadratic>& q, const ModelOptimum& optimum,
                                       int threads) {
  const Index T = problem.T();
  const Matrix step = optimum.W - from.W;
  Vector b_step(T);
  std::vector<Vector> margin_step(at(T));
  parallel_for(T, threads, [&](Index t) {
    b_step[t] = -q[at(t)].centre.dot(step.row(t));
    const Vector f = times(problem.X[at(t)], step.row(t).transpose());
    margin_step[at(t)] = problem.y[at(t)].array() * (f.array() + b_step[t]);
  });
  const double primal = from.primal();
  const double slope = gradient.cwiseProduct(step).sum() + optimum.penalty - from.penalty;
  for (double share = 1; share > 1e-10; share /= 2) {
    const Matrix W = share == 1 ? optimum.W : Matrix(from.W + share * step);
    Vector loss(T);
    parallel_for(T, threads, [&](Index t) {
      loss[t] = task_loss(problem, t, from.margin[at(t)] + share * margin_step[at(t)]);
    });
    const double penalty_there = share == 1 ? optimum.penalty : penalty.value(W);
    const double rounding = 4 * spacing * std::abs(primal);
    if (loss.sum() + penalty_there <= primal + 1e-4 * share * slope + rounding)
      return point_at(problem, penalty, W, from.b + share * b_step, threads);
  }
  return std::nullopt;
}

// Proximal Newton steps: prove, stop, model, minimise the model, search along the step.
class LinearLoop {
 public:
  LinearLoop(const LinearProblem& problem, Penalty& penalty, const LinearSettings& settings,
             const ProgressCallback& progress)
      : problem_(problem), penalty_(penalty), settings_(settings), progress_(progress) {}

  LinearFit run(const LinearStart& start) {
    point_ = first_point(start);
    for (Index steps = 0;; ++steps) {
      const DualPoint pulls = dual_point(problem_, point_.margin, settings_.threads);
      if (!is_better(pulls, steps)) return end(Status::stalled);
      fit_.steps = steps;
      const KeepGoing keep_going = [&] { return report(steps); };
      const bool go_on = keep_going();
      if (best_gap_ <= settings_.gap_tolerance) {
        if (certify()) return take_best(Status::converged);
        if (++misled_ > kMostMisled || !(proof_.error < settings_.gap_tolerance * proof_.primal))
          return end(Status::stalled);
      }
      if (!go_on) return end(Status::stopped);
      if (steps == settings_.max_steps) return end(Status::step_limit);
      try {
        if (!take_step(-pulls.Z, keep_going)) return end(Status::stalled);
      } catch (const Stopped&) {
        return end(Status::stopped);
      }
    }
  }

 private:
  static constexpr int kMostMisled = 3;  // by a gap that its rounding makes too large

  double slack_at(double primal) const { return 0.01 * settings_.gap_tolerance * primal; }

  // Zero, or the start where that is better.
  LinearPoint first_point(const LinearStart& start) const {
    const Index T = problem_.T();
    const Index d = problem_.d();
    LinearPoint point =
        point_at(problem_, penalty_, Matrix::Zero(T, d), Vector::Zero(T), settings_.threads);
    if (start.W.size() == 0) return point;
    assert(start.W.rows() == T && start.W.cols() == d);
    const Vector b = start.b.size() == T ? start.b : Vector(Vector::Zero(T));
    LinearPoint other = point_at(problem_, penalty_, start.W, b, settings_.threads);
    return other.primal() < point.primal() ? other : point;
  }

  // Takes the point as the best if it is better than that by its objective or by its gap.
  bool is_better(const DualPoint& pulls, Index steps) {
    const double primal = point_.primal();
    const double dual = pulls.losses - penalty_.conjugate(pulls.Z, slack_at(primal));
    const double gap = relative(primal - dual, primal);
    if (steps > 0 && primal >= best_primal_ && gap >= best_gap_) return false;
    best_ = point_;
    best_primal_ = primal;
    best_dual_ = dual;
    best_gap_ = gap;
    return true;
  }

  bool report(Index steps) {  // asked by the threads of all tasks
    const std::lock_guard lock(one_at_a_time_);
    return !progress_ ||
           progress_(
               {.outer_step = steps, .primal = best_primal_, .dual = best_dual_, .gap = best_gap_});
  }

  // States the gap of the best; whether that is what was asked for.
  bool certify() {
    if (!settings_.bounded) {
      fit_.primal = best_primal_;
      fit_.dual = best_dual_;
      fit_.gap = best_gap_;
      fit_.task_objective = best_.loss;
      return best_gap_ <= settings_.gap_tolerance;
    }
    proof_ = prove_linear(
        problem_, [&](const Matrix& Z) { return penalty_.prove(best_.W, Z); }, best_.W, best_.b,
        settings_.gap_tolerance, settings_.threads);
    fit_.primal = proof_.primal;
    fit_.dual = proof_.dual;
    fit_.gap = relative(proof_.gap(), proof_.primal);
    fit_.bound = relative(proof_.error, proof_.primal);
    fit_.coarseness = proof_.coarseness;
    fit_.task_objective = proof_.task_objective;
    return proof_.shows(settings_.gap_tolerance * proof_.primal);
  }

  bool take_step(const Matrix& gradient, const KeepGoing& keep_going) {
    std::vector<Quadratic> q(at(problem_.T()));
    // The model of the square loss is the loss itself: one step does. Others need not be more exact than their model is.
    const double target = problem_.loss == Loss::square
                              ? 0.5 * settings_.gap_tolerance
                              : std::max(0.1 * settings_.gap_tolerance, 0.01 * best_gap_);
    parallel_for(problem_.T(), settings_.threads, [&](Index t) {
      q[at(t)] = quadratic_of(problem_, t, point_, gradient.row(t).transpose(), keep_going);
    });
    const ModelOptimum optimum =
        minimise_model(q, penalty_, point_, gradient, target * best_primal_, slack_at(best_primal_),
                       settings_.threads, keep_going);
    std::optional<LinearPoint> next =
        line_search(problem_, penalty_, point_, gradient, q, optimum, settings_.threads);
    if (next) point_ = std::move(*next);
    return next.has_value();
  }

  // What the penalty keeps of a proof is to be that of the best.
  LinearFit end(Status status) {
    const DualPoint pulls = dual_point(problem_, best_.margin, settings_.threads);
    penalty_.conjugate(pulls.Z, slack_at(best_primal_));
    const bool enough = certify();
    return take_best(enough                                         ? Status::converged
                     : status == Status::stalled && proof_.coarse() ? Status::precision
                                                                    : status);
  }

  LinearFit take_best(Status status) {
    fit_.status = status;
    fit_.W = std::move(best_.W);
    fit_.b = std::move(best_.b);
    return std::move(fit_);
  }

  const LinearProblem& problem_;
  Penalty& penalty_;
  const LinearSettings& settings_;
  const ProgressCallback& progress_;
  std::mutex one_at_a_time_;
  LinearPoint point_;
  LinearPoint
      best_;  // the last one that was better than those before, by its objective or by its gap
  double best_primal_ = 0, best_dual_ = 0, best_gap_ = 0;
  LinearFit fit_;
  LinearProof proof_;
  int misled_ = 0;
};

}  // namespace

Vector task_losses(const LinearProblem& problem, const Matrix& W, const Vector& b, int threads) {
  Vector loss(problem.T());
  parallel_for(problem.T(), threads, [&](Index t) {
    const Vector f = times(problem.X[at(t)], W.row(t).transpose());
    loss[t] = task_loss(problem, t, (problem.y[at(t)].array() * (f.array() + b[t])).matrix());
  });
  return loss;
}

Vector best_biases(const LinearProblem& problem, const Matrix& W, Vector b, int threads) {
  parallel_for(problem.T(), threads, [&](Index t) {
    const Vector f = problem.X[at(t)] * W.row(t).transpose();
    const Vector margin = problem.y[at(t)].array() * (f.array() + b[t]);
    b[t] += best_bias_change(problem, t, margin);
  });
  return b;
}

DualPoint dual_point(const LinearProblem& problem, const Matrix& W, const Vector& b, int threads) {
  std::vector<Vector> margin(problem.X.size());
  parallel_for(problem.T(), threads, [&](Index t) {
    const Vector f = times(problem.X[at(t)], W.row(t).transpose());
    margin[at(t)] = problem.y[at(t)].array() * (f.array() + b[t]);
  });
  return dual_point(problem, margin, threads);
}

LinearFit minimise(const LinearProblem& problem, Penalty& penalty, const LinearSettings& settings,
                   const LinearStart& start, const ProgressCallback& progress) {
  return LinearLoop(problem, penalty, settings, progress).run(start);
}

}  // namespace coterie
