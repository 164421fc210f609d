// The methods: their names, their parameters, and what is to be said of each. One list, which the command line, documentation and tests walk.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coterie/mtmkl/settings.hpp"

namespace coterie {

struct Parameter {
  std::string name;
  double value;  // by default
  std::string help, rule;
  double least, most;  // what is allowed
  bool whole = false;  // whole numbers only
  std::string grid;    // that `select` searches by default; empty: the default value alone
  bool larger_is_simpler = false;  // a larger value shares or regularises more
};

struct Method {
  enum class Family { kernel, linear };  // learns kernel weights, or weights of features
  std::string name, title, source;
  Family family = Family::kernel;
  bool convex = true;  // at all parameters
  std::string about;   // what it does, and what an honest person says of it
  std::vector<Parameter> parameters;
};

const std::vector<Method>& methods();
const Method& method_named(const std::string& name);  // throws InputError that lists the names

// "lambda=0.1 clusters=3" as names and texts, in that order.
std::vector<std::pair<std::string, std::string>> split_parameters(const std::string& text);
const Parameter& parameter_named(const Method& method, const std::string& name);  // or InputError
// Throws InputError that quotes `text` unless the value is one that the rule allows.
void check_parameter(const Method& method, const Parameter& parameter, double value,
                     const std::string& text);

// The method's parameters with the values of settings.parameters ("lambda=0.1 clusters=3") over its defaults. Throws InputError for
// names that the method does not have and values that its rules forbid.
using Parameters = std::map<std::string, double>;
Parameters parameters_of(const TrainSettings& settings);

// The setting `map`: features that stand for the mean of the kernels, at most `rank`, instead of those of the data.
struct MapChoice {
  bool mapped = false;
  Index rank = 300;
};
MapChoice parse_map(const std::string& text);

// Throws InputError unless all settings, those of methods too, are ones that their rules allow.
void validate_method(const TrainSettings& settings);

// The scaling that suits the method when the user asks for none in particular: linear methods on features as they are have standardised
// ones.
std::string usual_scale(const TrainSettings& settings);

// Whether the problem at these parameters is convex: the answer then does not depend on where a fit begins.
bool is_convex(const TrainSettings& settings);

// As text that parameters_of reads back.
std::string parameters_text(const Parameters& parameters);

}  // namespace coterie
