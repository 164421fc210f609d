// The dual of the support vector machine, docs/maths.md (16)-(19), with signed variables beta_i = y_i alpha_i:
//
//   minimise   1/2 beta' K beta - sum_i y_i p_i beta_i      sum_i beta_i = 0,   lo_i <= beta_i <= hi_i
//
// where [lo, hi] is [0, C_i] for y_i = +1 and [-C_i, 0] for y_i = -1. p = 1 is the SVM; other p serve centred forms.
// With e = K beta - y p the gradient, beta is optimal iff for some bias b
//
//   e_i + b >= 0 where beta_i = lo_i,    e_i + b <= 0 where beta_i = hi_i,    e_i + b = 0 between.
//
// Method: two-variable steps with second-order choice of the pair (Fan, Chen, Lin 2005) find the active set, Newton steps on the
// free variables finish it. It stops when
//
//   gap = primal - dual = sum_i [ C_i max(0, -y_i (e_i + b)) + beta_i (e_i + b) ]  <=  gap_tolerance * primal.
//
// Where beta is not unique, a barrier makes it so (interior_svm.hpp).
#pragma once

#include <vector>

#include "coterie/math/parallel.hpp"
#include "coterie/svm/mixed_gram.hpp"

namespace coterie {

struct SvmProblem {
  ConstVectorRef y;  // -1 or +1
  ConstVectorRef p;  // linear term, 1 for the ordinary SVM
  ConstVectorRef C;  // upper bound of every alpha_i
};

struct SvmSettings {
  double gap_tolerance = 1e-8;
  Index max_steps = 10'000'000;  // two-variable steps
  double tau = 0;                // > 0: with this barrier, to full precision
  KeepGoing keep_going = {};     // asked several times a second
};

struct SvmResult {
  Vector alpha;
  double bias = 0;    // decision value: sum_j alpha_j y_j K(x, x_j) + bias
  Vector gradient;    // e = K beta - y p
  double primal = 0;  // 1/2 w'w + sum_i C_i max(0, p_i - y_i (w'x_i + bias))
  double dual = 0;    // p'alpha - 1/2 alpha' Y K Y alpha
  double plain = 0;   // the primal value without a barrier, where primal has one
  double roundings =
      0;  // |gradient_i - truth| <= roundings * u * (|p_i| + sqrt(K_ii) mass), u the unit rounding
  double mass = 0;  // at least sum_j sqrt(K_jj) |beta_j|
  Index steps = 0;  // two-variable steps
  Index newton_steps = 0;
  bool converged = false;
};

// Newton steps, and curvatures made from free support vectors, take at most so many of them, spread evenly: the matrices stay
// within memory and a step within a fraction of a second.
constexpr Index kMostFree = 1500;

// `count` of the items at most, spread evenly.
std::vector<Index> thin_out(std::vector<Index> items, Index count);

// Over the samples of K's set. `start` is a warm start (it is made feasible; where it is shorter than the set, zeros follow).
SvmResult solve_svm(MixedGram& K, const SvmProblem& problem, ConstVectorRef start,
                    const SvmSettings& settings);

// The bias that minimises sum_i C_i max(0, -y_i (e_i + b)): the middle of the minimising interval.
double best_bias(ConstVectorRef gradient, const SvmProblem& problem);

}  // namespace coterie
