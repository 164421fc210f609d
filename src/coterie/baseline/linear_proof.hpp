// Certificates of linear fits with the rounding of their numbers, docs/methods.md (18)-(23).
//
//   primal  >=  optimum  >=  dual,      both known to within `error`
//
// The dual value is that of the pulls at (W, b), so both are functions of W and b alone, and `error` bounds the distance of the numbers
// from these functions. First everything in double; where that is too coarse to decide, margins, losses, pulls and Z in long double.
#pragma once

#include <functional>

#include "coterie/baseline/linear.hpp"
#include "coterie/mtmkl/proof.hpp"

namespace coterie {

struct LinearProof : Proof {
  Vector task_objective;  // T, loss of every task
  double coarseness =
      0;  // what doubles leave open of the gap, relative to primal, where that is too much
  bool coarse() const { return coarseness > 0; }
};

// An amount relative to the objective, whatever its size. Nothing is small beside an objective of 0 but 0.
double relative(double amount, double primal);

// At (W, b), to be judged by gap_tolerance; `penalty` is called once or twice.
using PenaltyAt = std::function<PenaltyProof(const Matrix& Z)>;
LinearProof prove_linear(const LinearProblem& problem, const PenaltyAt& penalty, const Matrix& W,
                         const Vector& b, double gap_tolerance, int threads);

// Length of what the weights of a model may differ from W by, 0 where it holds them as they are.
double weight_error(const LinearProblem& problem, const Matrix& W);

// For penalties. Singular values of a rows x columns matrix of this size are off by at most so much.
double error_of_singular_values(Index rows, Index columns, double norm);

// Of the square of a norm, f = N^2, whose argument moves by `distance` in terms of N.
inline double change_of_square(double f, double distance) {
  return 2 * std::sqrt(std::max(0.0, f)) * distance + distance * distance;
}

}  // namespace coterie
