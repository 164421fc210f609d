// Tables of long doubles, and what their sums and singular values may be off by: what the checks of linear methods are made of.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::linear_check {

using Real = long double;
using Numbers = std::vector<Real>;
using Table = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double u = std::numeric_limits<double>::epsilon() / 2;
constexpr double u_long = static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2;

inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }
inline double small(Real x) { return static_cast<double>(x); }

// A number and what it may be off by.
struct Known {
  Real value = 0;
  double off = 0;
};
Real product(const Table& A, Index i, const Table& B, Index j);  // of row i and row j
Real squares(const Table& A);
double length(const Table& A);

// How far the square of a norm, now `value`, may change when what it is of moves by `distance` in terms of that norm.
double moved(Real value, double distance);

// What singular values may be off by: every turn of the rows rounds them.
double error_of_singular_values(const Table& A);

// A = sum_i sigma_i u_i v_i', descending: pairs of rows are turned until all are orthogonal; then they are the sigma_i v_i.
struct Singular {
  Numbers sigma;  // as many as A has rows
  Table u, v;     // a row each; v_i = 0 where sigma_i is nothing but rounding
};
Singular singular(Table A);

// As many as A has rows, of which those beyond its columns are 0.
Numbers singular_values(const Table& A);

}  // namespace coterie::linear_check
