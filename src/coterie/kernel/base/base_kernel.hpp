// What the house knows of a base kernel: its entry in the table of kernels (list.hpp). docs/maths.md (6)-(10).
// Private to this room.
//
// A kernel is a function of one quantity of two points, a sum over the columns: an inner product, a distance, a similarity.
//
//   OfSimilarity    k(x,z) = (sum + offset)^power, divided by sqrt(k(x,x) k(z,z)) unless it is raw
//   OfDistance      k(x,z) = value(sum) with value(0) = 1: there is nothing to divide by
//
// Each kernel is a struct in a file of its own, derived from one of these two; gauss.hpp shows all that there can be. The quantity says
// how the sums of many pairs are computed at once, the struct what is made of them. Nothing here is called for a single value of a
// Gram matrix, but for rows of them.
//
// Every kernel is written twice. `term` and `value` are the definition: plain, for any type of number, and what certificates and the
// checker use. `pairs`, `diagonal` and `values` make Gram matrices fast. Neither calls the other.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "coterie/kernel/kernel.hpp"
#include "coterie/kernel/pairwise.hpp"

namespace coterie {

// --- The grammar ---------------------------------------------------------------------------------------------------------------------

struct KernelWord {
  const BaseKernel* base;
  std::string_view word;                    // as written, for messages
  std::vector<std::string_view> arguments;  // between colons, without "raw"
};

// What follows the name of a kernel.
struct Arguments {
  std::vector<Kernel> (*read)(const KernelWord& word);  // throws by fail_at_word
  std::string (*write)(const Kernel& kernel);           // ":2:0.5", which `read` reads back
  bool listed;  // the first argument may be a list, such as 1,2,4: a kernel for each
};

std::string kernel_grammar();  // "Kernels are linear, ...": ends every message
// "kernel 'word': what. Kernels are linear, ..."
[[noreturn]] void fail_at_word(std::string_view word, std::string_view what);

std::optional<double> read_argument(std::string_view text);  // a finite number and nothing else
std::vector<std::string_view> split(std::string_view text, char separator);
void expect_no_arguments(const KernelWord& word, std::string_view name);
std::vector<Kernel> read_no_arguments(const KernelWord& word);
std::string write_no_arguments(const Kernel& kernel);
std::vector<Kernel> read_widths(const KernelWord& word);
std::string write_width(const Kernel& kernel);

constexpr Arguments kNoArguments = {read_no_arguments, write_no_arguments, false};
constexpr Arguments kWidths = {read_widths, write_width, true};  // Kernel::parameter is the width

// --- Quantities ----------------------------------------------------------------------------------------------------------------------

// sum_j term(x_j, z_j) over the columns of a kernel.
template <typename Real>
using Sum = Real (*)(const double* x, const double* z, Index d, const std::vector<Index>& columns);

struct Quantity {
  enum class From {
    products,   // inner products: one product of matrices per block of columns
    distances,  // squared distances, from the same products
    pairs,      // a function of its own
  };
  From from;
  Matrix (*pairs)(const Matrix& A,
                  const Matrix& B);  // rows of A by rows of B; null unless From::pairs
  Sum<double> sum;
  Sum<long double> exact_sum;
};

template <typename Q, typename Real>
Real sum_of(const double* x, const double* z, Index d, const std::vector<Index>& columns) {
  Real sum = 0;
  const auto add = [&](Index j) {
    sum += Q::term(static_cast<Real>(x[j]), static_cast<Real>(z[j]));
  };
  if (columns.empty())
    for (Index j = 0; j < d; ++j) add(j);
  for (const Index j : columns) add(j);
  return sum;
}

// Kernels of one quantity on the same columns share its sums: their entries point to the same place.
template <typename Q>
inline constexpr Quantity quantity_of = {Q::from, Q::pairs, sum_of<Q, double>,
                                         sum_of<Q, long double>};

struct InnerProduct {
  static constexpr Quantity::From from = Quantity::From::products;
  static constexpr Matrix (*pairs)(const Matrix&, const Matrix&) = nullptr;
  template <typename Real>
  static Real term(Real x, Real z) {
    return x * z;
  }
};

struct SquaredDistance {
  static constexpr Quantity::From from = Quantity::From::distances;
  static constexpr Matrix (*pairs)(const Matrix&, const Matrix&) = nullptr;
  template <typename Real>
  static Real term(Real x, Real z) {
    return (x - z) * (x - z);
  }
};

struct AbsoluteDistance {
  static constexpr Quantity::From from = Quantity::From::pairs;
  static Matrix pairs(const Matrix& A, const Matrix& B) { return absolute_distances(A, B); }
  template <typename Real>
  static Real term(Real x, Real z) {
    using std::abs;
    return abs(x - z);
  }
};

// --- The table -----------------------------------------------------------------------------------------------------------------------

struct BaseKernel {
  std::string_view name;
  std::string_view grammar;  // how it is written: "gauss:width,..."
  Arguments arguments;

  const Quantity* quantity;     // null: precomputed, which no rule below is for
  bool is_one_at_equal_points;  // k(x,x) = 1: derived from OfDistance
  bool needs_nonnegative;       // features

  // The definition: of the quantity, before a similarity is divided by the norms and raised to its power.
  double (*value)(const Kernel& kernel, double sum);
  long double (*exact_value)(const Kernel& kernel, long double sum);
  Index (*power)(const Kernel& kernel);

  // Which kernels are powers of others, (15).
  const BaseKernel* root;  // that this is `power` of; null: itself
  Index power_of_half;     // the kernel of half the width is this power of it; 0: of none

  // Fast values.
  Vector (*diagonal)(const Matrix& X);  // the quantity at (x,x) per row, of similarities
  void (*values)(const Kernel& kernel, const double* sums, Index count,
                 double* out);  // of distances; `out` may be `sums`

  // How many unit roundings a value may be off, relative to sqrt(k(x,x) k(z,z)), with d columns, docs/maths.md (41): fast values that are
  // `power` of their root, and the definition in long double.
  double (*roundings)(double power, double d);
  double (*exact_roundings)(const Kernel& kernel, double d);
};

struct OfSimilarity {
  static constexpr bool is_one_at_equal_points = false;
  static constexpr bool needs_nonnegative = false;
  static constexpr Index power_of_half = 0;
  using Root = void;
  static constexpr Arguments arguments = kNoArguments;
  template <typename Real>
  static Real value(const Kernel& kernel, Real sum) {
    return sum + static_cast<Real>(kernel.offset);
  }
  static Index power(const Kernel& /*kernel*/) { return 1; }
  static constexpr void (*values)(const Kernel&, const double*, Index, double*) = nullptr;
  static double roundings(double power, double d) { return power * (2 * d + 16); }
};

struct OfDistance {
  static constexpr bool is_one_at_equal_points = true;
  static constexpr bool needs_nonnegative = false;
  static constexpr Index power_of_half = 0;
  using Root = void;
  static constexpr Arguments arguments = kWidths;
  static Index power(const Kernel& /*kernel*/) { return 1; }
  static constexpr Vector (*diagonal)(const Matrix&) = nullptr;
};

// Sums of d terms, one rounding for each and a few more; a power multiplies them, and so does the division by two norms. Functions of
// a distance have x |value'(x)| <= 1, so that its relative error is the error of the value.
template <typename K>
double exact_roundings_of(const Kernel& kernel, double d) {
  const double sum = d + 8;
  if (K::is_one_at_equal_points) return sum;
  return (kernel.raw ? 1 : 2) * sum * static_cast<double>(K::power(kernel));
}

template <typename K>
constexpr const BaseKernel* root_of();

template <typename K>
inline constexpr BaseKernel base_kernel = {
    .name = K::name,
    .grammar = K::grammar,
    .arguments = K::arguments,
    .quantity = &quantity_of<typename K::Quantity>,
    .is_one_at_equal_points = K::is_one_at_equal_points,
    .needs_nonnegative = K::needs_nonnegative,
    .value = K::template value<double>,
    .exact_value = K::template value<long double>,
    .power = K::power,
    .root = root_of<typename K::Root>(),
    .power_of_half = K::power_of_half,
    .diagonal = K::diagonal,
    .values = K::values,
    .roundings = K::roundings,
    .exact_roundings = exact_roundings_of<K>,
};

template <typename K>
constexpr const BaseKernel* root_of() {
  if constexpr (std::is_void_v<K>)
    return nullptr;
  else
    return &base_kernel<K>;
}

// x^exponent for an exponent >= 0, by repeated squaring.
template <typename Real>
Real power_of(Real x, Index exponent) {
  Real result = 1;
  for (; exponent > 0; exponent /= 2, x *= x)
    if (exponent % 2 == 1) result *= x;
  return result;
}

}  // namespace coterie
