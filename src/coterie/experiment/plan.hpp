// The plan of a study: data sets, training shares, repetitions, and methods with what they choose among. A TOML file, docs/experiments.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coterie/front/select.hpp"

namespace coterie {

// Clean: settings are chosen on rows of their own, and the choice meets the test rows once. Published: the paper's iteration, and the
// largest test score over its iterates (published.hpp).
enum class Protocol { clean, published };
std::string to_string(Protocol protocol);

struct DatasetPlan {
  std::string name;
  std::vector<std::string> files;  // relative to the folder of the data
  std::string label = "label";
  std::optional<std::string> task = {};
  std::vector<std::string> drop = {};
  Casting casting = Casting::binary;
  std::vector<std::pair<std::string, std::string>> pairs = {};  // of one-vs-one; none: all
  std::optional<Index> per_class = {};                          // at most so many rows
  double divide = 1;                                            // every feature, by this
  std::optional<Scale> scale = {};                              // of methods that do not say
  bool equal_classes = false;
  std::vector<double> shares;
  Score score = Score::accuracy;
};

// What is tried: the grid, under every one of some settings.
struct MethodPlan {
  std::string name;
  std::vector<Settings> settings;      // the product of the lists that the grid does not have
  std::vector<std::string> open = {};  // those lists, by their names in visit_fields
  Grid grid;
  bool coarse = false;
  std::vector<std::string> datasets = {};  // that it is run on; none: all
  bool runs_on(const DatasetPlan& dataset) const;
};

// A picture of the weights of two kernels, by the choice of a method on one split of every data set and share.
struct FigurePlan : MethodPlan {
  std::vector<double> shares;  // none: all of the data set
  Index repetition = 1;
};

struct Plan {
  std::uint64_t seed = 1;
  Index repetitions = 1;
  Protocol protocol = Protocol::clean;
  std::optional<std::string> data = {};  // folder of the data
  std::vector<DatasetPlan> datasets;
  std::vector<MethodPlan> methods;
  std::optional<std::string> control = {};  // the method that others are compared with
  std::vector<FigurePlan> figures = {};
  bool quick = false;
};

// The plan's control, or the first entry of the main method, or the first of all.
std::string control_of(const Plan& plan);

// `file` names the plan in messages. `quick`: as the plan's section [quick] says, for a trial. Throws InputError "file:line: ...".
Plan parse_plan(const std::string& text, const std::string& file, bool quick = false);
Plan read_plan(const std::string& path, bool quick = false);

// At most `most` values of every list, its ends among them.
Grid thinned(Grid grid, Index most);

}  // namespace coterie
