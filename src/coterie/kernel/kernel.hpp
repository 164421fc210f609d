// Base kernels: what they are called, and their value at a pair of points. docs/maths.md (6)-(10), (11).
//
//   linear              x'z
//   poly:degree[:c]     (x'z + c)^degree
//   gauss:s             exp(-|x - z|^2 / (2 s^2))
//   laplace:s           exp(-|x - z|_1 / s)
//   chi2                sum_j 2 x_j z_j / (x_j + z_j),  for features >= 0
//   cauchy:s            1 / (1 + |x - z|^2 / s^2)
//   precomputed:FILE    a matrix of values over all pairs of rows
//
// Each is divided by sqrt(k(x,x) k(z,z)) unless it is `raw`.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// What all kernels of one name have in common (base/base_kernel.hpp).
struct BaseKernel;
const BaseKernel* find_base_kernel(std::string_view name);  // null: there is none

struct Kernel {
  const BaseKernel* base = find_base_kernel("linear");
  double parameter = 0;             // degree of poly, width s of gauss and others
  double offset = 0;                // c of poly
  bool raw = false;                 // not divided by sqrt(k(x,x) k(z,z))
  std::string block = {};           // columns, as written after '@'; empty: all
  std::vector<Index> columns = {};  // resolved from `block`; empty: all
  std::string file = {};            // of precomputed
  bool is_precomputed() const;
  bool is_for_each_column() const;  // written with "@each": to be expanded (expand_each)
  bool operator==(const Kernel&) const = default;
};

// Reads a list such as "linear poly:2 gauss:1,2,4@f1-f8 laplace:1:raw". Kernels are separated by spaces, ';' or a
// comma before a letter or a space; a list of widths makes one kernel each. "paper" stands for the ten kernels of the
// paper. ":raw" comes before '@'. Columns after '@' are names or ranges joined by '+': "@f1-f8+f12"; paper takes ":raw"
// and '@' too. "@each" stands for one kernel per column, and "#7" for column number 7. The FILE of a precomputed kernel runs to the next space or ';'. Throws InputError that quotes the faulty
// word and says what is allowed; a kernel that is listed twice is an error, because its two weights would mean nothing.
std::vector<Kernel> parse_kernels(std::string_view text);

const char* help_of_kernels();  // the list of them, in a sentence for people

// The kernels of a fit, as that text or put together:  {linear(), gauss({1, 2, 4}).on("f1-f8"), "cauchy:1,2"}
// Throws InputError for what that text cannot say.
class Kernels {
 public:
  Kernels() = default;
  explicit Kernels(std::vector<Kernel> list) : list_(std::move(list)) {}
  Kernels(std::initializer_list<Kernels> parts);  // one behind the other
  template <std::convertible_to<std::string_view> Text>
  // NOLINTNEXTLINE(google-explicit-constructor): kernels = "paper"
  Kernels(const Text& text) : list_(parse_kernels(text)) {}

  const std::vector<Kernel>& list() const { return list_; }
  Kernels on(const std::string& block) const;  // of these columns
  Kernels on_each() const;                     // one per column, as "@each"
  Kernels raw() const;                         // not divided by sqrt(k(x,x) k(z,z))
  bool operator==(const Kernels&) const = default;

 private:
  std::vector<Kernel> list_;
};
Kernels linear();
Kernels poly(Index degree, double offset = 0);
Kernels gauss(const std::vector<double>& widths);
Kernels laplace(const std::vector<double>& widths);
Kernels chi2();
Kernels precomputed(const std::string& file);
Kernels paper_kernels();

// As text that parse_kernels reads back: "paper", or the names, widths in one list.
std::string to_string(const Kernels& kernels);

// The name by which a kernel is written, such as "gauss:2@f1-f8"; parse_kernels gives it back.
std::string to_string(const Kernel& kernel);

// Throws InputError when two kernels have the same name.
void check_distinct(const std::vector<Kernel>& kernels);

// Every kernel of "@each" becomes one for each column that is not left out, such as "gauss:2@f7", or "gauss:2@#7" where the grammar would
// read the name of the column as something else. Throws InputError for what that makes twice, where all columns are left out, and where
// a column is called "each".
std::vector<Kernel> expand_each(const std::vector<Kernel>& kernels,
                                const std::vector<std::string>& features,
                                const std::vector<bool>& left_out = {});

// Blocks of columns that are not in the data: scores that other models give a row (model/first_stage.hpp). Their columns stand behind those of
// the data and are called '@' and the name of the block, then perhaps ':' and more. A column of the data that is called like a block hides it.
inline constexpr std::array<std::string_view, 3> kScoreBlocks = {"pooled", "others", "group"};
bool is_score(std::string_view feature);  // the name of such a column
// The blocks that kernels look at, in the order of kScoreBlocks, where the data has these columns.
std::vector<std::string> score_blocks(const std::vector<Kernel>& kernels,
                                      const std::vector<std::string>& features = {});
bool has_scores(const Kernel& kernel);  // looks at such a block, as its name says

// Fills `columns` from `block`, in the order written. Without a block all columns but scores are meant. A name that is a column as a whole is that column, even with '-' or
// '+' in it. Throws InputError for an unknown or repeated column, or a range that runs backwards or can be read two ways.
void resolve_columns(std::vector<Kernel>& kernels, const std::vector<std::string>& features);

// The definition, written for clarity: value at a pair of points, division by the norms included. This is the slow
// code that the certificate's checker uses; Gram matrices are computed elsewhere (gram.hpp). Throws InputError for a zero
// vector under a normalised kernel, for a negative feature under chi2, and for precomputed kernels.
double kernel_value(const Kernel& kernel, ConstVectorRef x, ConstVectorRef z);

}  // namespace coterie
