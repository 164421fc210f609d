// What a search chooses among: lists of C, lambda, norms and normalisations, and of a method's own parameters.
//
//   0.5,1,2          these numbers                    2^-10..2^10      all powers of 2 in between
//   0.01max..1max:9  9 points, evenly in logarithm    0,0.1max,inf     shares of lambda_max, separate tasks, one kernel for all
//   1..5             1,2,3,4,5, where a parameter is a whole number
#pragma once

#include <string>
#include <vector>

#include "coterie/model/settings.hpp"

namespace coterie {

// Values of one of the method's own parameters, from simple to complex (Parameter::larger_is_simpler).
struct ParameterList {
  std::string name;
  std::vector<double> values;
  bool given = true;  // or by default
  bool operator==(const ParameterList&) const = default;
};

struct Grid {
  std::vector<double> C;                 // increasing
  std::vector<Lambda> lambda;            // from strong sharing to none
  std::vector<double> norm;              // as given
  std::vector<Normalisation> normalise;  // as given
  MethodRef method = {};
  std::vector<ParameterList> parameters = {};
  // The settings that the method has, in the order of tables. Lists of others have one entry.
  std::vector<std::string> columns = {"norm", "normalise", "C", "lambda"};
  bool operator==(const Grid&) const = default;
};

// Lists as users write them; without more, the grid of the paper. Throws InputError that names the setting, what was found and what is allowed. Either all lambdas are numbers or
// all are shares of lambda_max; 0 and inf go with both.
struct GridText {
  std::string C = "2^-10..2^10";
  std::string lambda = "2^-10..2^10";
  std::string norm = "1";
  std::string normalise = "cosine";
};
Grid parse_grid(const GridText& text);

// The grid of any method. `parameters` has lists such as "lambda=2^-10..2^10 clusters=1..5"; those that are not named are searched as
// the method suggests. Of the texts only what the method has is read.
Grid parse_method_grid(const Settings& method, const GridText& text, const std::string& parameters);

// Lists of clusters that were not given end at half the number of tasks, or at 1.
void limit_clusters(Grid& grid, Index tasks);

// The list of numbers behind a text, in the order written; `setting` names it in messages. "max" after a number is dropped, and
// `relative` says of which it was there.
struct NumberList {
  std::vector<double> values;
  std::vector<bool> relative;
};
NumberList parse_numbers(const std::string& text, const std::string& setting);

// One choice of the grid, as indices into its lists.
struct GridPoint {
  Index norm = 0, normalise = 0, C = 0, lambda = 0;
  std::vector<Index> parameters = {};
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 behind a defaulted <=> for a pointer
  auto operator<=>(const GridPoint&) const = default;
};

// Equal weights leave nothing to share: with norm = inf every lambda gives the same fit, and only lambda = inf is a point.
bool has_lambda(const Grid& grid, Index norm);

// All points of a grid, in the order of the lists.
std::vector<GridPoint> all_points(const Grid& grid);

Settings settings_at(const Settings& base, const Grid& grid, const GridPoint& point);

// The value of a column at a point, as text.
std::string value_at(const Grid& grid, const GridPoint& point, const std::string& column);

}  // namespace coterie
