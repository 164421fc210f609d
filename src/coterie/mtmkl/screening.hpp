// Which samples take part in a fit, docs/maths.md (30). Private to this room.
//
// A sample i of task t that is left out has alpha_i = 0, which is feasible, so the dual value of the selection is a dual value of the
// whole; the primal value grows by the losses of the samples left out:
//
//   primal(all) = primal(selection) + sum over i left out of C_i max(0, 1 - y_i f(x_i)),     dual(all) = dual(selection)
//
// Hence a selection whose complement has no (or little) loss proves optimality for all samples.
#pragma once

#include <vector>

#include "coterie/mtmkl/fit.hpp"

namespace coterie {

// Per task the positions of the samples that take part, increasing.
class Selection {
 public:
  Selection(std::vector<std::vector<Index>> chosen, const MtmklProblem& problem);

  const std::vector<Index>& of(Index t) const { return chosen_[static_cast<std::size_t>(t)]; }
  Index tasks() const { return std::ssize(chosen_); }
  bool whole(Index t) const { return std::ssize(of(t)) == sizes_[static_cast<std::size_t>(t)]; }
  bool whole() const;

  // Adds samples to task t; when most of the task is chosen, all of it.
  void join(Index t, const std::vector<Index>& samples);

 private:
  std::vector<std::vector<Index>> chosen_;
  std::vector<Index> sizes_;
};

// Samples of both classes spread evenly over every task, a fifth of small_task each, and the support vectors of a warm start; tasks of
// at most small_task samples as a whole.
Selection first_selection(const MtmklProblem& problem, const WarmStart& start, Index small_task);

// The problem on the selected samples, with Gram matrices of its own.
class Restriction {
 public:
  Restriction(const MtmklProblem& whole, const Selection& selection);
  MtmklProblem problem() const {
    return {grams_, y_, C_, whole_.lambda, whole_.graph, whole_.weights};
  }

 private:
  const MtmklProblem& whole_;
  std::vector<TaskGrams> grams_;
  std::vector<Vector> y_, C_;
};

WarmStart restrict_start(const Selection& selection, const WarmStart& start);

// alpha on a grown selection.
std::vector<Vector> carry_over(const Selection& before, const Selection& after,
                               const std::vector<Vector>& alpha);

// The fit of a selection as a fit of all samples, with its proof; samples with a loss join the selection, the worst first.
Fit screen(const MtmklProblem& problem, const Fit& found, Selection& selection, int threads);

}  // namespace coterie
