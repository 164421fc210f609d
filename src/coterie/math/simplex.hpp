// The set D of admissible kernel weights, docs/maths.md (4):
//
//   p = 1     D = { theta >= 0, sum theta = 1 }            the simplex
//   p > 1     D = { theta >= 0, ||theta||_p <= 1 }
//   p = inf   D = { theta >= 0, max theta <= 1 }           whose best point is always theta = 1
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

// The nearest point of the simplex, by sorting.
Vector project_onto_simplex(ConstVectorRef v);

// The nearest point of { theta >= 0, ||theta||_p <= 1 }, 1 < p.
Vector project_onto_norm_ball(ConstVectorRef v, double p);

class WeightSet {
 public:
  explicit WeightSet(double p);  // p >= 1, may be infinite

  double p() const { return p_; }
  Vector project(ConstVectorRef v) const;
  double smallest(ConstVectorRef c)
      const;  // min over D of c'theta: min_m c_m, or -||max(-c, 0)||_{p*} for p > 1
  Vector minimiser(ConstVectorRef c) const;  // a theta of D with c'theta = smallest(c)
  Vector uniform(Index M) const;             // equal weights on the outer boundary of D
  bool contains(ConstVectorRef theta, double slack) const;

 private:
  double p_;
};

}  // namespace coterie
