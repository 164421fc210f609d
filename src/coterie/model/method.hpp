// The methods: the main one and those to compare it with. One table; whatever differs between methods stands in its entry: facts, how it
// is fitted, how its certificate is checked, what is searched. Settings, the command line, documentation and tests walk it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coterie/baseline/group_search.hpp"
#include "coterie/baseline/linear.hpp"
#include "coterie/model/lambda.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

struct Model;
struct Dataset;
struct Verification;

using Parameters = std::map<std::string, double>;

struct Parameter {
  std::string name;
  double value;  // by default
  std::string help, rule;
  double least, most;     // what is allowed
  bool whole = false;     // whole numbers only
  std::string grid = {};  // that `select` searches by default; empty: the default value alone
  bool larger_is_simpler = false;  // a larger value shares or regularises more
};

struct Method {
  enum class Family { kernel, linear };  // learns kernel weights, or weights of features
  std::string name, title, source;
  std::string about;  // what it does, and what an honest person says of it
  Family family = Family::kernel;
  std::vector<Parameter> parameters = {};

  // Of methods that learn kernel weights.
  std::optional<Lambda> lambda = {};  // that it has by definition; none: the setting counts
  bool joint = false;                 // a form of the joint problem, with any norm
  bool pools = false;                 // one model for the samples of many tasks
  // Of methods that pool the tasks of a group: how groups are found. None: all tasks are one group.
  GroupSearch (*search_groups)(const Parameters&) = nullptr;
  // Of methods that pool all tasks, each with a part of its own: how large that is. None: there is no such part.
  double (*own_part)(const Parameters&) = nullptr;
  using FitKernel = Fit (*)(const MtmklProblem&, const Parameters&, const FitSettings&,
                            const ProgressCallback&, const WarmStart&);
  FitKernel fit_kernel = nullptr;  // where it is not joint

  // Of methods that learn weights of features.
  using FitLinear = LinearFit (*)(const LinearProblem&, const Parameters&, const LinearSettings&,
                                  const LinearStart&, const ProgressCallback&);
  FitLinear fit_linear = nullptr;
  bool has_shared = false;         // a part of the weights that tasks share
  bool has_pairs = false;          // duals of all pairs of tasks
  bool exact_groups = false;       // groups are tasks of equal weights; else a reading of them
  bool clusters_features = false;  // into as many clusters as the tasks

  bool (*convex)(const Parameters&) = nullptr;  // none: always
  // The separate check of a model's certificate, from raw data (model/verify_method.hpp, model/verify_linear.hpp).
  using Verify = Verification (*)(const Model&, const Dataset&, const PrecomputedMatrices&,
                                  const std::function<void(Index done, Index samples)>&);
  Verify verify = nullptr;

  bool is_linear() const { return family == Family::linear; }
  std::string shared_in_group() const;  // what the tasks of a group have in common, in words
  bool walks_lambda() const { return joint && !pools; }        // a search goes along lambda
  bool is_main() const { return joint && !pools && !lambda; }  // the method of this library
};

const std::vector<Method>& methods();

// One of the methods; without more, the main one.
class MethodRef {
 public:
  MethodRef();
  // NOLINTNEXTLINE(google-explicit-constructor): a setting is assigned its value
  MethodRef(const Method& method) : method_(&method) {}
  template <std::convertible_to<std::string_view> Text>
  // NOLINTNEXTLINE(google-explicit-constructor): method = "cmtl"
  MethodRef(const Text& name) : method_(&find(name)) {}
  const Method* operator->() const { return method_; }
  const Method& operator*() const { return *method_; }
  bool operator==(const MethodRef&) const = default;

 private:
  static const Method& find(std::string_view name);  // throws InputError that lists the names
  const Method* method_;
};

// "lambda=0.1 clusters=3" as names and texts, in that order.
std::vector<std::pair<std::string, std::string>> split_parameters(std::string_view text);
const Parameter& parameter_named(const Method& method, const std::string& name);  // or InputError
// Throws InputError that quotes `text` unless the value is one that the rule allows.
void check_parameter(const Method& method, const Parameter& parameter, double value,
                     const std::string& text);

}  // namespace coterie
