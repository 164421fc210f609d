// From decision values to probabilities of the positive class.
//
//   none       p(f) = 1 / (1 + exp(-f)): what stands in for a probability when nothing was learnt
//   platt      p(f) = 1 / (1 + exp(-(slope f + offset)))
//   isotonic   p(f) is piecewise linear through knots
//
// All three grow with f, or are constant. Both fits need decision values of samples that the SVM was not trained on, from
// cross-validation: on its own training samples an SVM looks better than it is.
#pragma once

#include <optional>
#include <string>

#include "coterie/math/types.hpp"

namespace coterie {

struct Calibration {
  enum class Kind { none, platt, isotonic };
  Kind kind = Kind::none;
  double slope = 1, offset = 0;  // of platt, slope >= 0; 1 and 0 for the others
  Vector score, value;           // knots of isotonic: scores increase, values do not decrease
  bool operator==(const Calibration& other) const;
};

std::string to_string(Calibration::Kind kind);
std::optional<Calibration::Kind> calibration_kind_from(const std::string& text);

// Platt's sigmoid (Platt 2000): slope and offset minimise the cross-entropy
//
//   F = - sum_i t_i log p_i + (1 - t_i) log(1 - p_i),    t_i = (n_+ + 1) / (n_+ + 2) for y_i = +1,  1 / (n_- + 2) for y_i = -1
//
// subject to slope >= 0: scores that rank the samples worse than chance tell nothing, so all get the same probability.
// The targets t_i keep p off 0 and 1 even where the classes are separated, and the minimum unique unless all scores are equal.
//
// Newton's method with a line search, as Lin, Lin and Weng (2007) advise, until the decrease it still predicts is below rounding.
Calibration fit_platt(ConstVectorRef f, ConstVectorRef y);

// Isotonic regression: the nondecreasing step function with the least sum of (p(f_i) - [y_i = +1])^2, by pooling adjacent violators.
// A pool spans the scores of its samples. p is constant on a pool, linear between pools, constant beyond the outermost, and kept within
// [1/(n+2), 1 - 1/(n+2)] so that no label is impossible.
Calibration fit_isotonic(ConstVectorRef f, ConstVectorRef y);

// Either of the two, or none. Whatever the sizes and scores, the result is finite. Throws InputError for a score that is not.
Calibration fit_calibration(Calibration::Kind kind, ConstVectorRef f, ConstVectorRef y);

// Of the positive class.
double probability(const Calibration& calibration, double f);
Vector probabilities(const Calibration& calibration, ConstVectorRef f);

}  // namespace coterie
