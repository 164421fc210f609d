// The options of `coterie select`, and what they ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration.hpp"
#include "coterie/front/contest.hpp"
#include "problem.hpp"

namespace coterie::app {

struct SelectOptions {
  ProblemOptions problem;
  Settings settings;
  std::vector<MethodRef> methods = {MethodRef()};
  std::vector<Kernels> kernels = {Settings().kernels};  // sets of them
  std::vector<Index> smooth = {};                       // none given: by the preset
  std::optional<std::string> C, lambda, norm, normalise;
  std::string parameters;
  std::string preset = "paper";
  Index folds = 5;
  std::optional<double> hold_out;
  std::string validation;
  std::string score = "accuracy";
  std::string search = "grid";
  bool one_se = false, resume = false;
  std::string alternatives = "cheap";
  Index seed = 1;
  CalibrationOptions calibration;
  std::string model_path, table_path, picture_path, page_path;
  OutputOptions output;
  const CLI::App* command = nullptr;  // to tell what was given from what is a default
};

// Who is judged, and how.
struct SelectPlan {
  SelectSettings how;
  std::vector<Candidate> candidates;
  bool several() const { return candidates.size() > 1; }
};

SelectPlan plan_of(const SelectOptions& options);  // throws InputError

Kernels all_kernels(const SelectOptions& options);  // of all sets, to find the files that they name

void add_select_options(CLI::App& command, SelectOptions& options);

}  // namespace coterie::app
