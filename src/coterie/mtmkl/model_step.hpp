// Newton's model of the smoothed objective, minimised over moves that stay in D, docs/maths.md (37):
//
//   minimise   m(d) = r'd + 1/2 d'H d,      theta + d in D,      H as in (36)
//
// A degenerate SVM has curvature of 1e8 and more in few directions, next to 1e-3 in all others. There the move that (36) asks for must not be cut at the bounds
// of D: what is cut off is felt a hundred million times over. So (36) is solved on the face; the move is cut at the bounds where that costs little, and else
// shortened, task by task, so that it ends at its first bound; kernels that have arrived at a bound leave the face; and so on with the rest. m falls from round
// to round, hence d is a direction of descent for the smoothed objective.
#pragma once

#include <functional>

#include "coterie/mtmkl/newton_system.hpp"

namespace coterie {

// Keeps memory from one step to the next.
class ModelStep {
 public:
  // The move, T x padded M, from theta with gradient r. `faces`, those of H, lose the kernels that arrive at a bound.
  Matrix solve(const NewtonMatrix& H, Faces& faces, const Matrix& r,
               const std::function<Groups()>& groups, const std::function<bool()>& keep_going);

  Index rounds() const { return rounds_; }  // of the last step: linear systems solved

 private:
  NewtonSystem system_;
  Index rounds_ = 0;
};

}  // namespace coterie
