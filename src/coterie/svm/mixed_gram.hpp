// The kernel of one task at given weights, docs/maths.md (2):  K(theta) = sum_m theta_m K^m.
//
// An SVM touches few rows of it (those of support vectors and of samples near the margin), so a row is mixed when it
// is first asked for and kept.
#pragma once

#include <memory>
#include <vector>

#include "coterie/kernel/gram.hpp"

namespace coterie {

class MixedGram {
 public:
  // Keeps a reference to the base matrices: they must outlive it.
  MixedGram(const TaskGrams& base, ConstVectorRef theta);

  Index size() const { return n_; }
  const double* row(Index i);  // n values

 private:
  struct Term {
    double weight;
    const double* values;
  };
  Index n_;
  std::vector<Term> terms_;          // kernels with positive weight
  std::vector<const double*> rows_;  // null until touched
  std::vector<std::unique_ptr<double[]>>
      chunks_;  // storage of the rows, in the order of their first touch
  Index left_in_chunk_ = 0;
};

}  // namespace coterie
