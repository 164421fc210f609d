// The SVMs of some tasks at given weights, for solvers that move weights: one place for warm starts, threads, memory, and samples that
// do not take part. Values are without the losses of samples left out until those are counted.
#pragma once

#include <vector>

#include "coterie/mtmkl/fit.hpp"
#include "coterie/mtmkl/proof.hpp"

namespace coterie {

class Evaluator {
 public:
  // Task k of this evaluator is tasks[k] of the problem, and has row[k] of every theta. The workspace must have room for all
  // tasks of the problem, and like the problem outlives this.
  // `keep_going` is asked, by any thread, within everything that takes long: false makes it throw Stopped.
  Evaluator(const MtmklProblem& problem, std::vector<Index> tasks, std::vector<Index> row,
            const FitSettings& settings, Workspace& workspace, KeepGoing keep_going = {});
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Forgets all SVMs, which may have been stopped midway; nothing may be asked of it then.
  void discard();

  void watch(const KeepGoing& keep_going);  // in place of the one before

  // Of every task's SVM, (40); 0 at first: none.
  void set_barriers(Vector tau) { tau_ = std::move(tau); }
  Index size(std::size_t k) const { return svms_[k]->gram().size(); }  // of its set

  Index svm_solves = 0;

  // Support vectors of a start, given over all samples of task k, take part; returns its alpha over those that do.
  Vector admit(std::size_t k, const Vector& alpha);

  std::vector<TaskState> evaluate(const Matrix& theta, const std::vector<Vector>& start,
                                  double svm_tolerance);
  // As evaluate, but tasks where a fit has just ended with these weights are as it left them; and the ending of a fit.
  std::vector<TaskState> resume(const Matrix& theta, const std::vector<Vector>& start,
                                double svm_tolerance);
  void remember(const Matrix& theta, const std::vector<TaskState>& states);
  void forget();

  // The states below are those at theta.
  // Adds curvatures where they are not yet there.
  void add_curvatures(const Matrix& theta, std::vector<TaskState>& states);

  // Sets the losses of the samples left out. With them primal values are those of the whole problem.
  void count_left_out(const Matrix& theta, std::vector<TaskState>& states,
                      TaskSvm::Outside who = TaskSvm::Outside::all);
  // Multiplications, about, that this takes.
  double work_outside(const std::vector<TaskState>& states) const;
  // Samples with a loss that count_left_out found join. Of the states only alpha remains valid, and the gradient with its curvature.
  // True when there were any.
  bool grow(const Matrix& theta, std::vector<TaskState>& states);
  bool has_all() const;
  bool knows_outside() const;

  // What every task brings to a proof, with bounds of its rounding: from the states, whose losses outside have been counted, or anew.
  std::vector<TaskProof> rounded_proofs(const Matrix& theta,
                                        const std::vector<TaskState>& states) const;
  std::vector<TaskProof> careful_proofs(const Matrix& theta,
                                        const std::vector<TaskState>& states) const;

  // Over all samples.
  Vector all_alpha(const std::vector<TaskState>& states, std::size_t k) const {
    return svms_[k]->spread(states[k].svm.alpha);
  }
  // Warm starts: as they are, and as predicted for a step of the weights.
  std::vector<Vector> alphas(const std::vector<TaskState>& states) const;
  std::vector<Vector> alphas_after(const std::vector<TaskState>& states, const Matrix& step) const;

 private:
  template <typename AtTask>
  std::vector<TaskState> gather(const AtTask& at_task);

  MixedGram& gram_at(const Matrix& theta, std::size_t k);

  static constexpr Index kWhole = 64;  // samples that a task begins with

  const MtmklProblem& problem_;
  std::vector<Index> tasks_, row_;
  int threads_;
  bool whole_;  // all samples take part from the first evaluation on
  Workspace& workspace_;
  KeepGoing keep_going_;
  Vector tau_;          // [task], of barriers
  Index kept_ = kKept;  // of objective.hpp
  std::vector<TaskSvm*> svms_;
};

}  // namespace coterie
