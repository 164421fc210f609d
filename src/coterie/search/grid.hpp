// What a search chooses among: lists of C, lambda, norms and normalisations.
//
//   0.5,1,2          these numbers                    2^-10..2^10      all powers of 2 in between
//   0.01max..1max:9  9 points, evenly in logarithm    0,0.1max,inf     shares of lambda_max, separate tasks, one kernel for all
#pragma once

#include <string>
#include <vector>

#include "coterie/mtmkl/settings.hpp"

namespace coterie {

struct Grid {
  std::vector<double> C;               // increasing
  std::vector<std::string> lambda;     // as TrainSettings::lambda, from strong sharing to none
  std::vector<double> norm;            // as given
  std::vector<std::string> normalise;  // as given
  bool operator==(const Grid&) const = default;
};

// Lists as users write them. Throws InputError that names the option, what was found and what is allowed. Either all lambdas are numbers or
// all are shares of lambda_max; 0 and inf go with both.
struct GridText {
  std::string C = "2^-10..2^10";
  std::string lambda = "2^-10..2^10";
  std::string norm = "1";
  std::string normalise = "cosine";
};
Grid parse_grid(const GridText& text);

// The list of numbers behind a text, in the order written; `option` names it in messages. "max" after a number is dropped, and
// `relative` says of which it was there.
struct NumberList {
  std::vector<double> values;
  std::vector<bool> relative;
};
NumberList parse_numbers(const std::string& text, const std::string& option);

// One choice of the grid, as indices into its lists.
struct GridPoint {
  Index norm = 0, normalise = 0, C = 0, lambda = 0;
  auto operator<=>(const GridPoint&) const = default;
};

// Equal weights leave nothing to share: with norm = inf every lambda gives the same fit, and only lambda = inf is a point.
bool has_lambda(const Grid& grid, Index norm);

TrainSettings settings_at(const TrainSettings& base, const Grid& grid, const GridPoint& point);

}  // namespace coterie
