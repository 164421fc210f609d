#include "coterie/front/learnt_kernel.hpp"

#include <algorithm>

#include "coterie/math/parallel.hpp"
#include "coterie/model/first_stage.hpp"

namespace coterie {

Matrix learnt_kernel(const Model& model, ConstVectorRef weights, ConstMatrixRef A, ConstMatrixRef B,
                     int threads) {
  if (model.kernels.empty() || weights.size() != std::ssize(model.kernels))
    throw InputError("the model has no kernels with these weights.");
  if (model.first_stage)
    throw InputError(
        "kernels on scores of other models (@pooled, @others, @group) depend on the task that "
        "asks; there is no one kernel of rows.");
  if (std::ranges::any_of(model.kernels, &Kernel::is_precomputed))
    throw InputError("the kernels were precomputed; add up their matrices with the weights.");
  if (A.cols() != std::ssize(model.features) || B.cols() != A.cols())
    throw InputError("the rows do not have the features of the model.");
  const Matrix left = apply_scaling(model.scaling, A);
  const Matrix right = apply_scaling(model.scaling, B);
  Matrix out = Matrix::Zero(left.rows(), right.rows());
  constexpr Index piece = 512;  // rows at a time, the same for any number of threads
  parallel_for((left.rows() + piece - 1) / piece, threads, [&](Index i) {
    const Index start = i * piece;
    const Index count = std::min(piece, left.rows() - start);
    for (std::size_t m = 0; m < model.kernels.size(); ++m) {
      const double factor = weights[static_cast<Index>(m)] / model.divisors[static_cast<Index>(m)];
      if (factor == 0) continue;
      out.middleRows(start, count) +=
          factor * cross_gram(model.kernels[m], left.middleRows(start, count), right);
    }
  });
  return out;
}

}  // namespace coterie
