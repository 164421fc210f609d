// Penalties of linear methods: R(W), and R*(Z) or a bound of it from above, docs/methods.md (12)-(16).
#pragma once

#include "coterie/model/verify_features.hpp"

namespace coterie::linear_check {

// R* is the square of a norm, or as smooth as one, with R*(E) <= reach ||E||^2: docs/methods.md (22).
struct Charge {
  Known penalty, conjugate;
  double reach = 0;
};
Charge charge_cmtl(const Parameters& p, const Stated& stated, const Table& Z);
Charge charge_whom(const Parameters& p, const Groups& groups, const Stated& stated, const Table& Z);
Charge charge_flexclus(const Parameters& p, const Stated& stated, const Table& Z);
Charge charge_metag(const Parameters& p, const Stated& stated, const Table& Z, const Matrix& nu,
                    Verification& check);
Charge charge_coclus(const Parameters& p, const Stated& stated, const Table& Z);

}  // namespace coterie::linear_check
