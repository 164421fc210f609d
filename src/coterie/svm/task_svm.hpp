// The SVM of one task when most samples do not matter, docs/maths.md (38): a set of samples that are, or may become, support vectors.
//
// Whatever is optimal on the set is feasible for all samples with alpha = 0 outside, so its dual value bounds the optimum of the
// task; its primal value lacks the losses of the samples left out. Those with a loss join.
#pragma once

#include "coterie/svm/svm.hpp"

namespace coterie {

class TaskSvm {
 public:
  // Begins with all samples when there are at most `whole` of them, else with `whole` of both classes, spread evenly.
  // References are kept to base and y. `bytes` is what kernel values may take (mixed_gram.hpp).
  TaskSvm(const TaskGrams& base, const Vector& y, Vector p, Vector C, Index whole,
          double bytes = std::numeric_limits<double>::infinity());

  void set_costs(const Vector& C);

  MixedGram& gram() { return K_; }
  const MixedGram& gram() const { return K_; }
  double y_of(Index sample) const { return all_y_[sample]; }
  const Vector& y() const { return y_; }  // of the set
  const Vector& C() const { return C_; }
  bool has_all() const { return K_.size() == all_y_.size(); }
  bool knows_outside() const { return looked_ || has_all(); }

  void take_all();  // everyone joins, in the order of the task
  // The support vectors of an alpha over all samples join; returns it over the set.
  Vector admit(const Vector& alpha);

  // On the set, with the weights that the Gram matrix has. Alpha and gradient of the result are those of the set.
  SvmResult solve(ConstVectorRef start, const SvmSettings& settings);

  // sum of C_i max(0, p_i - y_i f_i) over the samples left out, f of that result; remembers who has a loss. With Outside::near
  // only over those that were not far from having one when they were looked at last.
  enum class Outside { near, all };
  double loss_outside(const SvmResult& svm, Outside who);
  // sum of C_i over the samples left out whose slack y f - p was below `within` when they were looked at last.
  double cost_outside_within(double within) const;
  // Those of the last call join, the largest first, at most as many as the set has, or everyone when most have a loss or are likely to get
  // one; members that are far from having one leave. The result moves to the new set. True when any joined.
  bool grow(SvmResult& svm);

  // Numbers of the set, with 0 for the samples left out.
  Vector spread(const Vector& of_set) const;
  // The gradient e of all samples: of the set as given, of the others as of the last look.
  Vector spread_gradient(const SvmResult& svm) const;

 private:
  void change(const std::vector<Index>& kept, const std::vector<Index>& joining);

  const Vector& all_y_;
  Vector all_p_, all_C_;
  MixedGram K_;
  Vector y_, p_, C_;
  bool looked_ = false;         // at everyone outside, at least once
  std::vector<double> slack_;   // [sample], y f - p when it was last looked at from outside
  std::vector<bool> returned_;  // [sample], left and came back: it stays
  std::vector<std::pair<double, Index>> violators_;  // slack, sample
};

// The SVM of all samples at one theta, from scratch; `whole` and `bytes` as in TaskSvm, 0: chosen.
SvmResult train_svm(const TaskGrams& base, ConstVectorRef theta, const Vector& y, const Vector& p,
                    const Vector& C, const SvmSettings& settings, Index whole = 0,
                    double bytes = std::numeric_limits<double>::infinity());

}  // namespace coterie
