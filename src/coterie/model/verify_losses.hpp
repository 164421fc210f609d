// Losses of linear methods and their pulls, which give a dual point, docs/methods.md (22).
#pragma once

#include "coterie/model/verify_features.hpp"

namespace coterie::linear_check {

struct Losses {
  Known primal;
  Known dual;        // - sum c phi*(-s), with balanced pulls s
  Table Z;           // T x d
  double Z_off = 0;  // length
};
Losses losses_of(const Model& model, const Stated& stated, Verification& check);

}  // namespace coterie::linear_check
