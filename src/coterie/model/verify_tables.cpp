#include "coterie/model/verify_tables.hpp"

#include <algorithm>
#include <functional>

namespace coterie::linear_check {

Real product(const Table& A, Index i, const Table& B, Index j) {
  Real sum = 0;
  for (Index k = 0; k < A.cols(); ++k) sum += A(i, k) * B(j, k);
  return sum;
}

Real squares(const Table& A) {
  Real sum = 0;
  for (Index i = 0; i < A.rows(); ++i) sum += product(A, i, A, i);
  return sum;
}

double length(const Table& A) { return small(std::sqrt(squares(A))); }

double moved(Real value, double distance) {
  return 2 * std::sqrt(std::max(0.0, small(value))) * distance + distance * distance;
}

double error_of_singular_values(const Table& A) {
  return (100 * static_cast<double>(A.rows() + 4) + static_cast<double>(A.cols())) * u_long *
         length(A);
}

Singular singular(Table A) {
  const Index T = A.rows();
  Table turns = Table::Identity(T, T);
  const auto turn = [](Table& B, Index p, Index q, Real cosine, Real sine) {
    for (Index k = 0; k < B.cols(); ++k) {
      const Real x = B(p, k), y = B(q, k);
      B(p, k) = cosine * x - sine * y;
      B(q, k) = sine * x + cosine * y;
    }
  };
  const Real rounding = 1e-40L * squares(A);
  bool turned = true;
  for (int sweep = 0; turned && sweep < 100; ++sweep) {
    turned = false;
    for (Index p = 0; p < T; ++p)
      for (Index q = p + 1; q < T; ++q) {
        const Real a = product(A, p, A, p), b = product(A, q, A, q), c = product(A, p, A, q);
        if (std::abs(c) <= 1e-18L * std::sqrt(a * b) || std::min(a, b) <= rounding) continue;
        turned = true;
        const Real zeta = (b - a) / (2 * c);
        const Real tangent = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const Real cosine = 1 / std::sqrt(1 + tangent * tangent);
        turn(A, p, q, cosine, cosine * tangent);
        turn(turns, p, q, cosine, cosine * tangent);
      }
  }
  std::vector<Index> order;
  for (Index i = 0; i < T; ++i) order.push_back(i);
  std::ranges::stable_sort(order, std::greater<>(), [&](Index i) { return product(A, i, A, i); });
  Singular out{{}, Table(T, T), Table::Zero(T, A.cols())};
  const double noise = error_of_singular_values(A);
  for (Index i = 0; i < T; ++i) {
    const Index from = order[at(i)];
    out.sigma.push_back(std::sqrt(product(A, from, A, from)));
    out.u.row(i) = turns.row(from);
    if (out.sigma.back() > noise) out.v.row(i) = A.row(from) / out.sigma.back();
  }
  return out;
}

Numbers singular_values(const Table& A) {
  if (A.rows() <= A.cols()) return singular(A).sigma;
  Numbers sigma = singular(A.transpose()).sigma;
  sigma.resize(at(A.rows()), 0);
  return sigma;
}

}  // namespace coterie::linear_check
