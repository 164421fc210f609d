// The solver: proximal Newton on the joint problem, docs/maths.md (1), (20)-(39).
//
// Outer step: SVMs at theta give value, gradient and Hessian of every J_t; the theta step minimises their quadratic model plus the
// penalty over D; a line search on the objective guards the step. Each iterate carries its certificate, (5):
//
//   primal(theta, w, b)  >=  optimum  >=  dual(alpha, nu),
//
// with a bound of its rounding error, and the loop stops when  primal - dual + error <= gap_tolerance * primal.
// The best certificate seen is the one that is returned.
// Parts of the task graph that no edge connects are separate problems and are solved as such: lambda = 0 is T of them. For
// lambda = inf all tasks of a part share one theta.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coterie/mtmkl/objective.hpp"
#include "coterie/mtmkl/problem.hpp"

namespace coterie {

// precision: doubles cannot tell whether the gap is within the tolerance.
enum class Status { converged, step_limit, stopped, stalled, precision };
std::string to_string(Status status);
std::optional<Status> status_from(const std::string& text);

// What the gap of a fit proves.
enum class Claim {
  optimum,         // the objective is so near the smallest there is
  given_clusters,  // the same among all models with these clusters; other clusters may be better
  stationary,  // no lower bound: the gap is the relative size of what a further step would still gain
};
std::string to_string(Claim claim);
std::optional<Claim> claim_from(const std::string& text);

enum class Solver { newton, published };

// What the solver is about to do when it reports: callers that time the phases hold the clock.
enum class Phase { svms, theta_step, proof };

struct Progress {
  Phase phase = Phase::proof;
  Index outer_step = 0;
  double primal = 0, dual = 0, gap = 0;
  Index groups = 0;           // 0: nothing is known yet
  bool common = false;        // lambda = inf
  Index part = 0, parts = 1;  // of the task graph
};
using ProgressCallback = std::function<bool(const Progress&)>;  // false: stop

struct FitSettings {
  double gap_tolerance = 1e-4;
  Index max_outer_steps = 100;
  Solver solver = Solver::newton;
  int threads = 0;
  double memory =
      std::numeric_limits<double>::infinity();  // bytes for kernel values; changes no bit
};

struct Fit {
  Matrix theta;               // T x M
  std::vector<Vector> alpha;  // [task]
  Vector bias;                // T
  Vector task_objective;      // T, primal value of every task's SVM at theta
  Matrix nu;                  // edges x M; no rows where lambda is 0 or infinite
  Groups groups;
  double primal = 0, dual = 0, gap = 0;  // gap relative to primal
  double bound = 0;                      // of the rounding error of the gap, relative to primal
  Index outer_steps = 0;                 // of the part that took most
  Index svm_solves = 0, theta_iterations = 0;
  Index cycle =
      0;  // the published algorithm came back to weights it had so many steps before; 0: it did not
  double coarseness =
      0;  // what rounding left open of the gap where that was in the way: with Status::precision
  Claim claim = Claim::optimum;
  Status status = Status::converged;
};

// Where to begin; any member may be empty.
struct WarmStart {
  Matrix theta;
  std::vector<Vector> alpha;
  Matrix nu;
};

// What fits of the same tasks can share, whatever C and lambda: which samples matter, and their kernels. Empty at first; the Gram
// matrices and labels of the problem must outlive it.
struct Workspace {
  std::vector<std::unique_ptr<TaskSvm>> tasks;
  struct
      Last {  // where the last fit ended: a fit that starts there with the same C need not solve the SVM again
    Vector theta, C;
    TaskState state;
  };
  std::vector<Last> last;
  std::unique_ptr<RowPool> rows = std::make_unique<RowPool>();

  void make_room(Index T) {
    tasks.resize(static_cast<std::size_t>(T));
    last.resize(static_cast<std::size_t>(T));
  }
};

Fit fit(const MtmklProblem& problem, const FitSettings& settings,
        const ProgressCallback& progress = {}, const WarmStart& start = {},
        Workspace* workspace = nullptr);

// The smallest lambda of a closed form that fuses all tasks of every part of the graph, docs/maths.md (39), given the fit at lambda = inf.
// Throws Stopped when it may not keep going.
double lambda_max(const MtmklProblem& problem, const Fit& common, const KeepGoing& keep_going = {});

}  // namespace coterie
