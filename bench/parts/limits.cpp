// What no fit can do without: one evaluation of all tasks at weights whose SVMs need no step any more. How often would it go into
// what the aims allow?
#include "coterie/mtmkl/objective.hpp"
#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"
#include "reference.hpp"

namespace coterie::bench {

namespace {

struct Task {
  TaskSvm svm;
  Vector theta, beta;
  std::vector<Index> support;
  TaskState state;
  Task(const Prepared& prepared, const Fit& fit, std::size_t t, RowPool& pool)
      : svm(prepared.grams.tasks[t], prepared.set.y[t], Vector::Ones(prepared.set.y[t].size()),
            prepared.set.C[t], prepared.set.y[t].size()),
        theta(fit.theta.row(static_cast<Index>(t))),
        beta(prepared.set.y[t].cwiseProduct(fit.alpha[t])) {
    for (Index i = 0; i < beta.size(); ++i)
      if (beta[i] != 0) support.push_back(i);
    state = evaluate_task(svm, theta, fit.alpha[t], 1e-3, pool);
  }
};

// Runs `work` on all tasks and returns the seconds.
template <typename Work>
double seconds_of(std::vector<Task>& tasks, const Work& work) {
  const Watch watch;
  for (Task& task : tasks) work(task);
  return watch.seconds();
}

// Rows, products, curvature, a cold fit, LIBSVM.
Timing time_work(const Prepared& prepared, const Fit& fit, double lambda, Index runs,
                 std::vector<Task>& tasks, RowPool& pool) {
  return interleave(
      runs, {[&] {
               return seconds_of(tasks, [&](Task& task) {
                 MixedGram& K = task.svm.gram();
                 K.set_weights(task.theta);
                 K.lend(pool.take());
                 for (const Index k : task.support) K.row(k);
                 pool.give_back(K.take_back());
               });
             },
             [&] {
               return seconds_of(tasks, [&](Task& task) {
                 Matrix K_beta;
                 task.svm.gram().products(task.support, task.support, task.beta.data(), K_beta);
               });
             },
             [&] {
               for (Task& task : tasks)  // the factor destroys the kernel that evaluate_task left
                 task.state = evaluate_task(task.svm, task.theta, task.state.svm.alpha, 1e-3, pool);
               return seconds_of(tasks,
                                 [&](Task& task) { add_curvature(task.svm, task.state, pool); });
             },
             [&] { return timed_fit(prepared, lambda).seconds; },
             [&] { return libsvm_pass(prepared, fit); }});
}

}  // namespace

std::vector<Report> part_limits(const Options& options) {
  Report report{
      "limits",
      fmt::format(
          "the work of one evaluation of all tasks, all samples, at the final weights and "
          "alphas, where the SVMs have nothing left to do: 'rows': mixing the kernel rows of the "
          "support vectors, which give all decision values; 'products': the ten kernels on the "
          "support vectors, which give gradient and certificate; 'curvature': Hessians of the "
          "theta "
          "step. 'affordable': evaluations with curvature within one LIBSVM pass (as in part "
          "fit); 'made': those of the cold fit, on all samples or fewer; 'path': 21 evaluations "
          "with curvature over one cold fit; one thread, interleaved, {}",
          how_often(options)),
      {{"gap_tolerance", gap_tolerance}, {"threads", 1}, {"eps", libsvm_epsilon}}};
  for (const Work& work : chosen_work(options)) {
    Prepared prepared = prepare(work.load(), work.settings(), {}, 1, Storage::stored);
    for (const double C : {1.0, 64.0}) {
      set_C(prepared, C);
      const double lambda = 0.1 * lambda_max_of(prepared);
      const std::string name = case_name(work, C, 0.1);
      say("limits: " + name);
      Fit fit = timed_fit(prepared, lambda).fit;
      RowPool pool;
      std::vector<Task> tasks;
      tasks.reserve(prepared.set.y.size());
      for (std::size_t t = 0; t < prepared.set.y.size(); ++t)
        tasks.emplace_back(prepared, fit, t, pool);
      const Timing timing = time_work(prepared, fit, lambda, options.runs, tasks, pool);
      const double rows = timing.seconds[0];
      const double products = timing.seconds[1];
      const double curvature = timing.seconds[2];
      const double evaluation = rows + products + curvature;
      report.rows.push_back(
          {{"case", name},
           {"rows s", rows},
           {"products s", products},
           {"curvature s", curvature},
           {"LIBSVM s", timing.seconds[4]},
           {"affordable", timing.seconds[4] / evaluation},
           {"made", static_cast<double>(fit.svm_solves) / static_cast<double>(tasks.size())},
           {"cold fit s", timing.seconds[3]},
           {"path", 21 * evaluation / timing.seconds[3]}});
    }
  }
  return {report};
}

}  // namespace coterie::bench
