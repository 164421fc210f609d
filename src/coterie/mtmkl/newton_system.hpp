// The linear system of a Newton step, docs/maths.md (36):
//
//   (Z' H Z + P_0) x = -Z' r,      Z: moves along the faces of all tasks                                                  (36)
//
// It is factorised when it has few unknowns. Otherwise conjugate gradients solve it until the residual, measured by the preconditioner, has fallen
// by 1e-4. The preconditioner is the sum of two approximate inverses: of the matrix of the moves that are common to each group, and of
// B_t + I sum of kappa/max(||d||, eps) of each single task.
#pragma once

#include <functional>
#include <vector>

#include "coterie/mtmkl/group_moves.hpp"

namespace coterie {

// Every task a group of its own.
Groups singletons(Index T);

// Keeps memory from one system to the next.
class NewtonSystem {
 public:
  // The solution for the right-hand side `residual`, T x padded M and along the faces. `groups` are asked for when there are many unknowns.
  // keep_going is asked between pieces of work, and may be empty.
  Matrix solve(const NewtonMatrix& H, const Matrix& residual, const std::function<Groups()>& groups,
               const std::function<bool()>& keep_going);

 private:
  Matrix conjugate_gradients(const NewtonMatrix& H, Matrix residual, const Groups& groups,
                             const std::function<bool()>& keep_going);
  void precondition(const NewtonMatrix& H, const Groups& groups, bool common, const Matrix& x,
                    Matrix& y);

  GroupMoves moves_;
  std::vector<Matrix> own_;  // [task], the inverses of single tasks
};

}  // namespace coterie
