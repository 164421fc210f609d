#include "coterie/experiment/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "coterie/data/validation.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/mtmkl/theta_step.hpp"
#include "coterie/search/fold.hpp"
#include "coterie/stats/scores.hpp"
#include "coterie/svm/task_svm.hpp"

namespace coterie {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kSvmTolerance = 1e-6;    // relative gap; labels need no more
constexpr double kThetaTolerance = 1e-7;  // gap of (*), relative to the largest q
constexpr double kScoredC = 1;            // of the script's scores

struct PublishedScores {
  double validation = undefined, test = undefined;
};

// A task at given weights.
struct TaskAt {
  Vector q;
  PublishedScores plain, chosen;  // by the SVM at C = 1, and at the C that validation rows choose
  double largest = undefined;     // test score of any C
};

bool better(double a, double b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

// What is held out of a task: rows and true labels.
struct HeldPart {
  std::vector<Index> samples;
  Vector y;
};

double score_of(Score score, const Vector& f, const Vector& y) {
  return score == Score::auc                 ? auc(f, y)
         : score == Score::balanced_accuracy ? balanced_accuracy(f, y)
                                             : accuracy(f, y);
}

// One task: for any weights its SVMs along C, and how they do on rows that are held out. What it answers depends on the weights alone, and is
// kept: iterates that go round come back to the same.
class IteratedTask {
 public:
  IteratedTask(const TaskGrams& train, const Vector& y, Vector unit_costs, const TaskGrams& whole,
               const std::vector<Index>& trained, HeldPart validation, HeldPart test,
               const std::vector<double>& C, Score score)
      : y_(y),
        unit_costs_(std::move(unit_costs)),
        validation_(std::move(validation)),
        test_(std::move(test)),
        C_(C),
        score_(score),
        powers_(whole.shared_powers()),
        svm_(train, y, Vector::Ones(y.size()), unit_costs_, y.size()) {
    std::vector<Index> rows = validation_.samples;
    rows.insert(rows.end(), test_.samples.begin(), test_.samples.end());
    std::vector<double*> out;
    for (Index r = 0; r < powers_->roots(); ++r)
      out.push_back(roots_.emplace_back(std::ssize(rows), std::ssize(trained)).data());
    whole.root_values(rows, trained, out.data(), std::ssize(trained));
    if (std::ranges::find(C_, kScoredC) == C_.end()) C_.push_back(kScoredC);
    std::ranges::sort(C_);
    in_list_.resize(C_.size());
    for (std::size_t k = 0; k < C_.size(); ++k)
      in_list_[k] = std::ranges::find(C, C_[k]) != C.end();
  }

  const TaskAt& at(const Vector& theta) {
    const std::vector<double> key(theta.begin(), theta.end());
    const auto found = known_.find(key);
    return found != known_.end() ? found->second : known_.emplace(key, solve(theta)).first->second;
  }
  Index svms() const { return std::ssize(known_) * std::ssize(C_); }

 private:
  TaskAt solve(const Vector& theta) {
    TaskAt out;
    svm_.gram().set_weights(theta);
    const Matrix K = held_kernel(theta);
    Vector start, chosen;
    for (std::size_t k = 0; k < C_.size(); ++k) {
      svm_.set_costs(C_[k] * unit_costs_);
      const SvmResult svm = svm_.solve(start, {.gap_tolerance = kSvmTolerance});
      const Vector beta = y_.cwiseProduct(svm.alpha);
      const Vector f = (K * beta).array() + svm.bias;
      const PublishedScores scores = {
          score_of(score_, f.head(validation_.y.size()), validation_.y),
          score_of(score_, f.tail(test_.y.size()), test_.y),
      };
      if (C_[k] == kScoredC) out.plain = scores;
      if (better(scores.test, out.largest)) out.largest = scores.test;
      if (in_list_[k] && (chosen.size() == 0 || better(scores.validation, out.chosen.validation))) {
        out.chosen = scores;
        chosen = beta;
      }
      start = svm.alpha;
    }
    std::vector<Index> support;
    for (Index i = 0; i < chosen.size(); ++i)
      if (chosen[i] != 0) support.push_back(i);
    Matrix K_beta;
    svm_.gram().products(support, support, chosen.data(), K_beta);
    out.q = -0.5 * K_beta.transpose() * Vector(chosen(support));
    return out;
  }

  // Held-out rows x training rows, at these weights.
  Matrix held_kernel(const Vector& theta) const {
    const KernelPowers::Recipe recipe = powers_->recipe(theta);
    Matrix K(roots_.front().rows(), roots_.front().cols());
    std::vector<const double*> values(roots_.size());
    for (Index i = 0; i < K.rows(); ++i) {
      for (std::size_t r = 0; r < roots_.size(); ++r) values[r] = roots_[r].row(i).data();
      powers_->mix(recipe, values.data(), K.cols(), K.row(i).data());
    }
    return K;
  }

  const Vector& y_;
  Vector unit_costs_;  // at C = 1
  HeldPart validation_, test_;
  std::vector<double> C_;  // increasing
  std::vector<bool> in_list_;
  Score score_;
  std::shared_ptr<const KernelPowers> powers_;
  std::vector<Matrix> roots_;  // held-out rows x training rows
  TaskSvm svm_;
  std::map<std::vector<double>, TaskAt> known_;
};

// (*). The simplex has corners for lambda = 0.
Matrix minimise_linear(const Matrix& q, double lambda, const Matrix& start,
                       const KeepGoing& keep_going) {
  const WeightSet simplex(1);
  const double size = q.cwiseAbs().maxCoeff();
  if (size == 0) return start;
  if (lambda == 0) {
    Matrix theta(q.rows(), q.cols());
    for (Index t = 0; t < q.rows(); ++t)
      theta.row(t) = simplex.minimiser(q.row(t).transpose()).transpose();
    return theta;
  }
  const TaskGraph graph = complete_graph(q.rows());
  const Vector kappa = Vector::Constant(std::ssize(graph), lambda);
  const std::vector<Matrix> B(static_cast<std::size_t>(q.rows()), Matrix::Zero(q.cols(), q.cols()));
  ThetaState state;
  state.theta = start;
  return solve_theta({q, B, graph, kappa, simplex}, state,
                     {.gap_tolerance = kThetaTolerance * size,
                      .enough = 1e3 * kThetaTolerance * size,
                      .groups = false,
                      .keep_going = keep_going})
      .theta;
}

// One step of the iteration: all tasks at its weights. What is pointed to belongs to the tasks.
using Iterate = std::vector<const TaskAt*>;

template <typename Value>
double mean_over_tasks(const Iterate& iterate, const Value& value) {
  Matrix scores(1, std::ssize(iterate));
  for (std::size_t t = 0; t < iterate.size(); ++t)
    scores(0, static_cast<Index>(t)) = value(*iterate[t]);
  return mean_score(scores);
}

class Iteration {
 public:
  Iteration(const Samples& samples, const Parts& parts, const DatasetPlan& dataset,
            const MethodPlan& method, const Run& run)
      : run_(run), settings_(method.settings.front()) {
    settings_.method = method.grid.method;
    if (!settings_.scale) settings_.scale = dataset.scale;
    settings_ = in_full(settings_);
    const Dataset train = planned_tasks(select_rows(samples, parts.train), dataset);
    std::vector<Index> held = parts.validation;
    held.insert(held.end(), parts.test.begin(), parts.test.end());
    rows_ = with_validation(train, select_rows(samples, held));
    const double largest_C = std::max(kScoredC, method.grid.C.back());
    SearchData search{rows_.data, settings_, extras_, largest_C, Storage::on_demand, run.threads};
    search.storage = storage_within(search, 1, 0.5 * memory_budget(run));
    GramCache cache;
    folds_ = make_folds(search, {rows_.split}, method.grid.normalise.front(), cache);
    const Prepared& prepared = kernels_of(folds_[0]);
    Settings unit = settings_;
    unit.C = 1;
    const std::vector<Vector> costs = sample_costs(prepared.set.data, unit, extras_);
    const Index first_test = train.X.rows() + std::ssize(parts.validation);
    for (std::size_t t = 0; t < rows_.data.tasks.size(); ++t) {
      HeldPart validation = held_part(t, [&](Index row) { return row < first_test; });
      HeldPart test = held_part(t, [&](Index row) { return row >= first_test; });
      tasks_.push_back(std::make_unique<IteratedTask>(
          prepared.grams.tasks[t], prepared.set.y[t], costs[t], folds_[0].held_out->whole[t],
          rows_.split.train[t], std::move(validation), std::move(test), method.grid.C,
          dataset.score));
    }
    M_ = std::ssize(prepared.grams.kernels);
  }

  // Throws Stopped.
  std::vector<Iterate> run(double lambda, Index steps) {
    const KeepGoing keep_going = [this] { return !run_.share || run_.share(0, 1); };
    Matrix theta = Matrix::Constant(T(), M_, 1 / static_cast<double>(M_));
    std::vector<Iterate> out;
    for (Index k = 0; k < steps; ++k) {
      if (k > 0) {
        Matrix q(T(), M_);
        for (Index t = 0; t < T(); ++t)
          q.row(t) = out.back()[static_cast<std::size_t>(t)]->q.transpose();
        theta = minimise_linear(q, lambda, theta, keep_going);
      }
      ask(keep_going);
      Iterate iterate(tasks_.size());
      parallel_for(T(), run_.threads, [&](Index t) {
        const auto i = static_cast<std::size_t>(t);
        iterate[i] = &tasks_[i]->at(theta.row(t).transpose());
      });
      out.push_back(std::move(iterate));
    }
    return out;
  }

  const std::vector<Task>& tasks() const { return rows_.data.tasks; }
  Index svms() const {
    Index sum = 0;
    for (const auto& task : tasks_) sum += task->svms();
    return sum;
  }

 private:
  Index T() const { return std::ssize(tasks_); }
  HeldPart held_part(std::size_t t, auto&& wanted) const {
    const Task& task = rows_.data.tasks[t];
    HeldPart out;
    for (const Index i : rows_.split.rest[t])
      if (wanted(task.rows[static_cast<std::size_t>(i)])) out.samples.push_back(i);
    out.y = task.y(out.samples);
    return out;
  }

  const Run& run_;
  Settings settings_;
  Extras extras_;
  Validated rows_;  // training, validation and test rows, one behind the other
  std::vector<Fold> folds_;
  std::vector<std::unique_ptr<IteratedTask>> tasks_;
  Index M_ = 0;
};

// Of things that are met one after the other, the first with the largest score; with it what that is worth on the test rows.
struct Pick {
  double by = undefined, test = undefined;
  double lambda = 0;
  Index iterate = 0;
  const Iterate* where = nullptr;
  void offer(double score, double its_test, double its_lambda, Index k, const Iterate& iterate_) {
    if (where && !better(score, by)) return;
    *this = {score, its_test, its_lambda, k, &iterate_};
  }
};

// Iterates by lambda, which increases as in the script.
using Runs = std::map<double, std::vector<Iterate>>;

// The SVMs that scores are of: TaskAt::plain or TaskAt::chosen.
using Rule = PublishedScores TaskAt::*;
double validation_score(const Iterate& iterate, Rule rule) {
  return mean_over_tasks(iterate, [rule](const TaskAt& task) { return (task.*rule).validation; });
}
double test_score(const Iterate& iterate, Rule rule) {
  return mean_over_tasks(iterate, [rule](const TaskAt& task) { return (task.*rule).test; });
}

// Lambda and iterate by validation rows, among some iterates of every lambda.
Pick pick_on_validation(const Runs& runs, Rule rule, Index begin, Index end) {
  Pick out;
  for (const auto& [lambda, iterates] : runs)
    for (Index k = begin; k < end; ++k) {
      const Iterate& iterate = iterates[static_cast<std::size_t>(k)];
      out.offer(validation_score(iterate, rule), test_score(iterate, rule), lambda, k, iterate);
    }
  return out;
}

// The script: lambda by the best of its first iterates on validation rows, the iterate by test rows.
Pick pick_as_script(const Runs& runs, Rule rule, const PublishedSettings& settings) {
  const Pick lambda =
      pick_on_validation(runs, rule, 0, std::min(settings.searched, settings.scored));
  const std::vector<Iterate>& iterates = runs.at(lambda.lambda);
  Pick out;
  for (std::size_t k = 0; k < iterates.size(); ++k) {
    const double score = test_score(iterates[k], rule);
    out.offer(score, score, lambda.lambda, static_cast<Index>(k), iterates[k]);
  }
  out.by = lambda.by;
  return out;
}

Pick pick_largest(const Runs& runs) {
  Pick out;
  for (const auto& [lambda, iterates] : runs)
    for (std::size_t k = 0; k < iterates.size(); ++k) {
      const double score =
          mean_over_tasks(iterates[k], [](const TaskAt& task) { return task.largest; });
      out.offer(score, score, lambda, static_cast<Index>(k), iterates[k]);
    }
  return out;
}

}  // namespace

std::optional<std::string> unfit_for_published(const MethodPlan& method) {
  const Settings& settings = method.settings.front();
  if (!settings.method->is_main())
    return fmt::format("the method {} has no such iteration; it is of the paper's own, 'coterie'",
                       settings.method->name);
  if (method.settings.size() > 1) return "settings cannot be open; give one value of each";
  if (method.grid.norm != std::vector<double>{1}) return "'norm' must be 1";
  if (method.grid.normalise.size() != 1) return "'normalise' must be a single one";
  if (method.coarse) return "'search' must be 'grid'";
  if (std::ranges::any_of(method.grid.lambda, [](const Lambda& lambda) {
        return lambda.relative || std::isinf(lambda.value);
      }))
    return "'lambda' must be numbers, not shares of lambda_max, nor inf";
  return {};
}

std::optional<CellResult> run_published_cell(const Samples& samples, const Parts& parts,
                                             const DatasetPlan& dataset, const MethodPlan& method,
                                             const Run& run, const PublishedSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  Iteration iteration(samples, parts, dataset, method, run);
  Runs runs;
  try {
    for (const Lambda& lambda : method.grid.lambda)
      runs[lambda.value] = iteration.run(lambda.value, settings.scored);
  } catch (const Stopped&) {
    return {};
  }
  const Index end = settings.scored;
  const Pick script = pick_as_script(runs, &TaskAt::plain, settings);
  CellResult out;
  out.score = script.test;
  out.validation = script.by;
  out.chosen = fmt::format("lambda={} iterate={}", script.lambda, script.iterate + 1);
  for (std::size_t t = 0; t < iteration.tasks().size(); ++t) {
    out.tasks.push_back(iteration.tasks()[t].name);
    out.task_scores.push_back((*script.where)[t]->plain.test);
  }
  out.readings = {{"script", script.test},
                  {"last", pick_on_validation(runs, &TaskAt::plain, end - 1, end).test},
                  {"script, chosen C", pick_as_script(runs, &TaskAt::chosen, settings).test},
                  {"last, chosen C", pick_on_validation(runs, &TaskAt::chosen, end - 1, end).test},
                  {"validation", pick_on_validation(runs, &TaskAt::chosen, 0, end).test},
                  {"largest", pick_largest(runs).test}};
  out.gap = undefined;
  out.status = "iterated";
  out.claim = "nothing";
  out.fits = iteration.svms();
  out.train = std::ssize(parts.train);
  out.validated = std::ssize(parts.validation);
  out.tested = std::ssize(parts.test);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace coterie
