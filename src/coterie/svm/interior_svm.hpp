// The SVM with a barrier that keeps every alpha between its bounds, docs/maths.md (40):
//
//   maximise   p'alpha - 1/2 alpha' Y K Y alpha + tau sum_i [ log(alpha_i / C_i) + log(1 - alpha_i / C_i) ]      y'alpha = 0
//
// alpha is unique and smooth in K, also where the SVM itself has many optima. Newton's method; the matrix of its last step,
//
//   K + diag(d),     d_i = tau / alpha_i^2 + tau / (C_i - alpha_i)^2
//
// is what the curvature in theta is made of.
#pragma once

#include "coterie/svm/svm.hpp"

namespace coterie {

// Larger sets would take seconds for a step.
constexpr Index kMostInterior = 2500;

// Over the samples of K's set; `start` as for solve_svm. Primal is the value with the barrier, dual and plain are without it.
SvmResult solve_interior(MixedGram& K, const SvmProblem& problem, ConstVectorRef start, double tau,
                         const KeepGoing& keep_going = {});

// The SVM without a barrier, where two-variable steps have led to no end: barriers fall tenfold until their gap is small enough, and what is
// close to a bound then is put there, to finish. `found` is what the steps came to.
SvmResult solve_from_inside(MixedGram& K, const SvmProblem& problem, SvmResult found,
                            const SvmSettings& settings);

// d.
Vector barrier_curvature(ConstVectorRef alpha, ConstVectorRef C, double tau);

}  // namespace coterie
