// The matrix of a Newton step, Z' H Z + P_0 of docs/maths.md (36), as an operator on moves along the faces of all tasks:
//
//   H = diag(B_t)  +  the curvature (32) of all edges  +  diag(bend),      bend: of the outer boundary, and P_0
//
// It is never stored. Matrices of moves are T x padded M.
#pragma once

#include "coterie/mtmkl/faces.hpp"
#include "coterie/mtmkl/rounded_penalty.hpp"

namespace coterie {

struct NewtonMatrix {
  const ThetaProblem& problem;
  const RoundedPenalty& penalty;
  EdgeCurvature& edges;  // not const: its products have workspace
  const Faces& faces;
  const Matrix& theta;
  const Matrix& bend;

  // y <- H x, on all kernels and along the faces. After edges.prepare_products.
  void apply(const Matrix& x, Matrix& y) const;
  void multiply(const Matrix& x, Matrix& y) const;

  // 1/2 d' (B_t + stiffness_t I + diag(bend_t)) d: about what the model rises by when task t alone is off its minimum by d.
  double own_cost(Index t, const Eigen::RowVectorXd& d) const;

  // M x M, the inverse of B_t + stiffness_t I + diag(bend_t) along the face of t.
  Matrix own_inverse(Index t) const;
};

}  // namespace coterie
