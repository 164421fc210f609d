// The SVM of one task when most samples do not matter: a set of samples that are, or may become, support vectors.
//
// Whatever is optimal on the set is feasible for all samples with alpha = 0 outside, so its dual value bounds the optimum of the
// task; its primal value lacks the losses of the samples left out. Those with a loss join.
#pragma once

#include "coterie/svm/svm.hpp"

namespace coterie {

class TaskSvm {
 public:
  // Begins with all samples when there are at most `whole` of them, else with `whole` of both classes, spread evenly.
  // References are kept to base, y, p and C.
  TaskSvm(const TaskGrams& base, const Vector& y, const Vector& p, const Vector& C, Index whole);

  MixedGram& gram() { return K_; }
  const Vector& y() const { return y_; }  // of the set
  const Vector& C() const { return C_; }
  bool has_all() const { return K_.size() == all_y_.size(); }

  // The support vectors of an alpha over all samples join; returns it over the set.
  Vector admit(const Vector& alpha);

  // On the set, with the weights that the Gram matrix has. Alpha and gradient of the result are those of the set.
  SvmResult solve(ConstVectorRef start, const SvmSettings& settings);

  // sum of C_i max(0, p_i - y_i f_i) over the samples left out, f of that result; remembers who has a loss.
  double loss_outside(const SvmResult& svm);
  // Those of the last call join, the largest first, at most as many as the set has. True when any did.
  bool grow();

  // Numbers of the set, with 0 for the samples left out.
  Vector spread(const Vector& of_set) const;
  // The gradient e of all samples: of the set as given, of the others from the last loss_outside.
  Vector spread_gradient(const Vector& of_set) const;

 private:
  void join(const std::vector<Index>& samples);

  const Vector& all_y_;
  const Vector& all_p_;
  const Vector& all_C_;
  MixedGram K_;
  Vector y_, p_, C_;
  MixedGram::Outside outside_;
  std::vector<std::pair<double, Index>> violators_;  // minus the violation, sample
};

// The SVM of all samples at one theta, from nothing.
SvmResult train_svm(const TaskGrams& base, ConstVectorRef theta, const Vector& y, const Vector& p,
                    const Vector& C, const SvmSettings& settings);

}  // namespace coterie
