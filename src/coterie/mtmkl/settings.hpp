// What a user chooses for one fit. visit_fields is the one list of the fields: validation, the command line, JSON, model files
// and the reference page walk it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct TrainSettings {
  double C = 1;
  std::string lambda = "0.1max";
  double norm = 1;
  std::string kernels = "paper";
  std::string normalise = "cosine";
  std::string scale = "none";
  std::string class_weight = "none";
  double tolerance = 1e-4;
  std::string solver = "newton";
  Index max_steps = 100;
  std::string method = "coterie";  // what follows belongs to other methods (baseline/method.hpp)
  std::string parameters;
  std::string loss = "squared-hinge";
  std::string map = "none";
  bool operator==(const TrainSettings&) const = default;
};

// Calls f(name, member, help, rule) for every field: `rule` says in words what values are allowed.
template <typename Settings, typename F>
void visit_fields(Settings& s, F&& f) {
  f("C", s.C, "cost of a training error: upper bound of every alpha", "a number > 0");
  f("lambda", s.lambda, "how strongly tasks are drawn together",
    "a number >= 0, 'inf' (one kernel for all tasks), or a share of lambda_max such as '0.1max'");
  f("norm", s.norm,
    "p of the constraint ||theta||_p <= 1 on kernel weights; 1 gives few kernels, inf equal "
    "weights",
    "a number >= 1, or inf");
  f("kernels", s.kernels,
    "base kernels: linear, poly:degree[:offset], gauss:width,..., laplace:width,..., chi2, "
    "precomputed:FILE, each with ':raw' (not normalised) and '@f1-f8+f12' (columns) as wanted",
    "a list such as 'linear poly:2 gauss:1,2,4@f1-f8', or 'paper'");
  f("normalise", s.normalise, "scale of the kernels",
    "'cosine', 'variance', 'tail:h' with h >= 1, or 'none'");
  f("scale", s.scale,
    "scaling of the features, learnt on the training data; linear methods have 'standard' unless "
    "one is given",
    "'none', 'standard' or 'minmax'");
  f("class-weight", s.class_weight, "weights of the two classes in C", "'none' or 'balanced'");
  f("tolerance", s.tolerance, "relative duality gap at which the fit is done", "a number > 0");
  f("solver", s.solver, "algorithm",
    "'newton', or 'published' (the paper's, which does not converge)");
  f("max-steps", s.max_steps, "outer steps after which the solver gives up", "a whole number >= 1");
  f("method", s.method, "what is learnt: coterie, or a method to compare it with",
    "a name that `coterie methods` lists");
  f("parameters", s.parameters, "of methods other than coterie; those not given have defaults",
    "such as 'lambda=0.1 clusters=3', as listed by `coterie methods`");
  f("loss", s.loss, "of linear methods", "'squared-hinge', 'logistic' or 'square'");
  f("map", s.map,
    "what linear methods are linear in: the features, or features that stand for the mean of the "
    "kernels, at most so many",
    "'none', or 'kernels[:rank]' with a rank of 300 unless given");
}

// Throws InputError naming the setting, its value and its rule.
void validate(const TrainSettings& settings);

// The lambda of a setting: either a number (possibly infinite) or a share of lambda_max.
struct LambdaChoice {
  double value = 0;
  bool relative = false;
};
LambdaChoice parse_lambda(const std::string& text);

}  // namespace coterie
