// The front door: select among candidates. Methods, or one method with several sets of kernels, are judged on the same folds, each at
// the point of its own grid that is best there; the best of them is fitted on all rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coterie/front/select.hpp"

namespace coterie {

struct Candidate {
  Settings settings = {};  // those that the grid does not choose; its method is the grid's
  Grid grid = {};
};

// Among several candidates its kernels, and how features are smoothed, are named where others of its method differ in them.
std::string name_of(const Candidate& candidate, const std::vector<Candidate>& among);

struct Contender {
  std::size_t candidate = 0;
  Selection selection = {};  // never trained
  // The best score less this one (of log loss: this one less the best) and the standard error of that, paired by folds and tasks.
  double behind = 0, behind_error = 0;
};

struct Contest {
  std::vector<Candidate> candidates;
  std::vector<Contender> contenders;  // those that took part, in the order of the candidates
  struct LeftOut {
    std::size_t candidate = 0;
    std::string why;  // a sentence
  };
  std::vector<LeftOut> left_out;
  std::size_t best = 0;                 // of the contenders; of equal scores the first
  bool stopped = false;                 // nothing is chosen then
  std::optional<Trained> trained = {};  // on all rows; nothing when it was stopped before
  const Selection& chosen() const { return contenders[best].selection; }
  std::string name(const Contender& one) const {
    return name_of(candidates[one.candidate], candidates);
  }
};

// What a method has a use for: a task graph belongs to the main one, and C of single tasks to those that have one SVM per task.
Extras extras_for(const Method& method, Extras extras);

// Settings of the candidates replace those of `how`; a search from coarse to fine is one only where the method has a lambda. Candidates
// that do not apply, or cannot be searched on this data (memory), are left out; when that leaves none, InputError has the first reason.
std::vector<Contest::LeftOut> check_candidates(const Dataset& data,
                                               const std::vector<Candidate>& candidates,
                                               const SelectSettings& how, const Run& run = {},
                                               const Extras& extras = {});

// `hooks_of` is called when the search of a candidate begins, and gives its hooks.
using HooksOf = std::function<SearchHooks(std::size_t candidate)>;
Contest select_among(const Dataset& data, const std::vector<Candidate>& candidates,
                     const SelectSettings& how = {}, const Run& run = {}, const Extras& extras = {},
                     const HooksOf& hooks_of = {});
// The same without the fit of the best.
Contest judge_candidates(const Dataset& data, const std::vector<Candidate>& candidates,
                         const SelectSettings& how = {}, const Run& run = {},
                         const Extras& extras = {}, const HooksOf& hooks_of = {});

// How the search of one candidate runs.
SelectSettings how_of(const Candidate& candidate, const SelectSettings& how);

}  // namespace coterie
