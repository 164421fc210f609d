// What a user chooses for one fit. visit_fields is the one list of the fields: validation, the command line, JSON, model files
// and the reference page walk it. Every type of a setting has one parser (`read_text`) and one printer (`text_of`).
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "coterie/baseline/loss.hpp"
#include "coterie/data/scaling.hpp"
#include "coterie/kernel/gram.hpp"
#include "coterie/model/method.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

// A setting that breaks its rule. In the text, as in those of other errors, members of settings stand between backquotes: a program
// shows its own names for them.
class SettingError : public InputError {
 public:
  SettingError(std::string of, std::string found, std::string allowed);
  std::string field;  // the member's name
  std::string value;
  std::string rule;  // in words: what is allowed
};

using Scale = Scaling::Kind;

enum class ClassWeight { none, balanced };

// What linear methods are linear in: the features, or features that stand for the mean of the kernels, at most `rank`.
struct Mapping {
  bool mapped = false;
  Index rank = 300;
  static Mapping none() { return {}; }
  static Mapping kernels(Index rank = 300) { return {true, rank}; }
  bool operator==(const Mapping&) const = default;
};

struct Settings {
  double C = 1;
  Lambda lambda = Lambda::share(0.1);
  double norm = 1;
  Kernels kernels = paper_kernels();
  Normalisation normalise = {};
  std::optional<Scale> scale = {};  // none given: what suits the method (in_full)
  Index smooth = 1;                 // columns that are averaged (data/scaling.hpp)
  ClassWeight class_weight = ClassWeight::none;
  double tolerance = 1e-4;
  Solver solver = Solver::newton;
  Index max_steps = 100;
  MethodRef method = {};  // what follows belongs to methods other than the main one
  Parameters parameters = {};
  Loss loss = Loss::squared_hinge;
  Mapping map = {};
  Parameters first_stage =
      {};  // of the models behind @pooled, @others and @group; those not given have defaults
  bool operator==(const Settings&) const = default;
};

// Calls f(name, member, help, rule) for every field: `rule` says in words what values are allowed.
template <typename AnySettings, typename F>
void visit_fields(AnySettings& s, F&& f) {
  f("C", s.C, "cost of a training error: larger fits the training rows more closely",
    "a number > 0");
  f("lambda", s.lambda, "how strongly tasks are drawn together; 0 trains each of them alone",
    "a number >= 0, 'inf' (one kernel for all tasks), or a share of lambda_max such as '0.1max'");
  f("norm", s.norm,
    "how many kernels a task mixes: 1 few, 2 more, inf all equally (p of ||theta||_p <= 1 for "
    "their weights)",
    "a number >= 1, or inf");
  f("kernels", s.kernels, help_of_kernels(),
    "a list such as 'linear poly:2 gauss:1,2,4@f1-f8', or 'paper'");
  f("normalise", s.normalise, "how kernels are brought to one scale",
    "'cosine', 'variance', 'tail:h' with h >= 1, or 'none'");
  f("scale", s.scale,
    "how features are scaled, learnt on the training rows; linear methods use 'standard' unless "
    "told otherwise, others 'none'",
    "'none', 'standard' or 'minmax'");
  f("smooth", s.smooth,
    "every feature becomes the mean of so many: itself, and those that rise and fall with it most "
    "in the training rows; good for pixels and other columns with neighbours",
    "a whole number from 1 to 1000");
  f("class-weight", s.class_weight, "'balanced' lets errors of the rarer class cost more",
    "'none' or 'balanced'");
  f("tolerance", s.tolerance,
    "the fit is done when it is this close to the optimum (relative duality gap)", "a number > 0");
  f("solver", s.solver, "algorithm",
    "'newton', or 'published' (the paper's, which does not converge)");
  f("max-steps", s.max_steps, "outer steps after which the solver gives up", "a whole number >= 1");
  f("method", s.method, "what is learnt: coterie, or a method to compare it with",
    "a name that `coterie methods` lists");
  f("parameters", s.parameters,
    "parameters of methods other than coterie; those not given have defaults",
    "such as 'lambda=0.1 clusters=3', as listed by `coterie methods`");
  f("loss", s.loss, "what an error costs in linear methods such as cmtl",
    "'squared-hinge', 'logistic' or 'square'");
  f("map", s.map,
    "what linear methods work on: the features ('none'), or new features made of the kernels' mean "
    "('kernels'), at most so many",
    "'none', or 'kernels[:rank]' with a whole rank >= 1, 300 unless given");
  f("first-stage", s.first_stage,
    "settings of the models whose scores are the columns @pooled, @others and @group: C (0: choose "
    "it), learnt (1: learn kernel weights), balanced (1: class weights), folds, clusters, "
    "restarts, seed",
    "such as 'C=1 folds=10'");
}

// The value of a setting as text, which `read_text` gives back.
std::string text_of(double value);
std::string text_of(Index value);
std::string text_of(const Lambda& lambda);
std::string text_of(const Kernels& kernels);
std::string text_of(const Normalisation& normalisation);
std::string text_of(const std::optional<Scale>& scale);  // nothing where none is given
std::string text_of(ClassWeight weight);
std::string text_of(Solver solver);
std::string text_of(const MethodRef& method);
std::string text_of(const Parameters& parameters);
std::string text_of(Loss loss);
std::string text_of(const Mapping& map);

// False for text that breaks the rule; the grammars of kernels and methods throw InputError that says more.
bool read_text(std::string_view text, double& value);
bool read_text(std::string_view text, Index& value);
bool read_text(std::string_view text, Lambda& lambda);
bool read_text(std::string_view text, Kernels& kernels);
bool read_text(std::string_view text, Normalisation& normalisation);
bool read_text(std::string_view text, std::optional<Scale>& scale);
bool read_text(std::string_view text, ClassWeight& weight);
bool read_text(std::string_view text, Solver& solver);
bool read_text(std::string_view text, MethodRef& method);
bool read_text(std::string_view text, Parameters& parameters);
bool read_text(std::string_view text, Loss& loss);
bool read_text(std::string_view text, Mapping& map);

// The member that a field of visit_fields is: "class_weight" of "class-weight".
std::string member_name(std::string_view field);

// Reads a field. Throws SettingError, or InputError of a grammar.
template <typename Value>
void read_field(std::string_view field, std::string_view text, std::string_view rule,
                Value& value) {
  if (!read_text(text, value))
    throw SettingError(member_name(field), std::string(text), std::string(rule));
}

// Throws SettingError for a value that breaks its rule, parameters of the method included.
void validate(const Settings& settings);

// The settings with all that the method decides: its lambda, parameters that were not given, the scaling that suits it.
Settings in_full(Settings settings);

// The method's parameters with the values of the settings over its defaults. Throws InputError for names that the method does not have
// and values that its rules forbid.
Parameters parameters_of(const Settings& settings);

// The parameters of first stages, with their defaults.
const std::vector<Parameter>& first_stage_parameters();

// Whether the problem at these settings is convex: the answer then does not depend on where a fit begins.
bool is_convex(const Settings& settings);

// The settings, by their names in visit_fields, that mean nothing for the method of these.
std::vector<std::string> unused_fields(const Settings& settings);

}  // namespace coterie
