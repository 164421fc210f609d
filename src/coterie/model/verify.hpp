// The separate check of a model's certificate: plain loops in long double over raw data and the definition of every kernel, sharing no
// code with the solver, the Gram matrices or BLAS but that definition. docs/maths.md (5), (46). What the certificate needs is recomputed
// from the data and the settings; what is taken from the model for it is listed. Counts of steps and the like are not looked at.
//
// Margins, beyond which a number counts as wrong: kMargin of the sum of alpha for y'alpha = 0, of the radius for a pair dual and of 1 for
// the size of the weights. What is within them is repaired, and what the repair can change is part of the bound. The objective of a single
// task may be off by the bound that the model states for the whole; their sum may not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/model/model.hpp"

namespace coterie {

struct Verification {
  double primal = 0, dual = 0, gap = 0;  // recomputed; gap relative to the scale of the certificate
  double bound = 0;  // of its error, relative to the same: the true gap is at most gap + bound
  double infeasibility =
      0;  // how far alpha, theta or nu leave their sets, as parts of those; 0 to rounding for a sound model
  double primal_difference = 0;  // relative difference to what the model states
  double dual_difference = 0;
  bool groups_exact = false;          // theta equal bit for bit within every group
  std::vector<std::string> findings;  // what is wrong, in words; empty for a sound model
  std::vector<std::string> taken;     // what was taken from the model without a check, in words
  bool holds() const { return findings.empty(); }
};

// The certificate of any method's model, by the check of its method. `data` is the raw training data, cast into tasks as in training. Throws
// InputError when it does not fit the model at all. Of an extended model this checks what was trained first. The front door's verify
// (front/verify.hpp) also finds the part of a model that the data belongs to, and knows the data by its fingerprint.
using VerifyProgress = std::function<void(Index done, Index samples)>;
Verification verify_training(const Model& model, const Dataset& data,
                             const PrecomputedMatrices& precomputed = {},
                             const VerifyProgress& progress = {});

// Of a pool whose tasks have parts of their own: kernel values between samples of different parts count `across` times.
struct SampleParts {
  std::vector<Index> part;  // of every sample
  double across = 1;
};

// The check of the joint problem (1), for methods that are a form of it.
// `prepared_from`: the data that divisors come from, where it is other than the tasks of the model. `parts`: of the samples of each task.
Verification verify_main(const Model& model, const Dataset& data,
                         const PrecomputedMatrices& precomputed = {},
                         const VerifyProgress& progress = {},
                         const Dataset* prepared_from = nullptr,
                         const SampleParts* parts = nullptr);

inline constexpr double kMargin = 1e-9;

// The proof of one extension, from the data that it added. The weights of older tasks, the scaling and the divisors are numbers that its
// problem states.
Verification verify_extension(const Model& model, std::size_t number, const Dataset& data,
                              const VerifyProgress& progress = {});

}  // namespace coterie
