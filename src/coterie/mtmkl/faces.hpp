// Where the tasks may move from a point of D, docs/maths.md (34): along the face of D that the free kernels span,
//
//   free kernels:  theta^m > 0  or  r^m < r^pivot,      the largest weight of a task, its pivot, takes up what the others give      (34)
//
// for p = 1. For p > 1 a kernel is free if theta^m > 0 or if the gradient asks for some of it, (35); on the outer boundary moves are tangential, and the
// boundary adds mu (p - 1) diag(theta^(p-2)) to the Hessian, with the multiplier mu = -r'theta. For weights far below those that the gradient asks for, normal and
// curvature are taken on the way there.
#pragma once

#include <vector>

#include "coterie/math/simplex.hpp"

namespace coterie {

struct Faces {
  Matrix free;               // T x padded M, 1 where a kernel is free, else 0
  Matrix normal;             // of the outer boundary, along the free kernels; 0: not on it
  Matrix bend;               // diagonal that the outer boundary adds to the Hessian
  std::vector<Index> pivot;  // [task], the free kernel that yields to the others; -1: no boundary
  Index unknowns = 0;        // of all tasks

  // After kernels of task t left the face: its normal has length 1 again, the largest weight of x is its pivot.
  void choose_pivot(Index t, const Eigen::Ref<const Eigen::RowVectorXd>& x);

  // x <- its part along the faces
  void project(Matrix& x) const;
};

// At theta with gradient r, both T x padded M with M kernels; the first `fixed` tasks do not move. With far_aims the outer boundary is that between a weight and the one it aims at where
// these are far apart: right if the weight goes there. Without, moves along the faces are tangents, but for weights that are zero, and those aim at what any task aims at.
Faces choose_faces(const WeightSet& weights, Index M, Index fixed, const Matrix& theta,
                   const Matrix& r, double eps, bool far_aims);

}  // namespace coterie
