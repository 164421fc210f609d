// Pages to look at: one HTML file that any browser opens without a network. The page itself (page/, TypeScript) is in the library as it
// was built; here its data are written, docs/page.md. Nothing on a page is not in the results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/experiment/experiment.hpp"
#include "coterie/front/contest.hpp"
#include "coterie/model/evaluation.hpp"
#include "coterie/search/merge_tree.hpp"
#include "coterie/search/stability.hpp"

namespace coterie {

// The tasks of a model, their kernels and groups, and its certificate.
struct ModelPage {
  std::string title;
  const Model& model;
  const Evaluation* held_out = nullptr;  // scores of the tasks, and
  std::string held_out_name = {};        // of which rows
};

// The tree of the tasks, and their weights along lambda.
struct PathPage {
  std::string title;
  const Dataset& data;
  const Settings& settings;
  const std::vector<std::string>& kernels;  // names of the columns of theta
  const LambdaPath& path;
  const MergeTree& tree;
  const Stability* stability = nullptr;
  std::optional<std::size_t> chosen = {};  // the point to begin at
  // Shell command that trains on the same data with the same settings, but for lambda and the place of the model; empty: none is shown.
  std::string command = {};
  bool held_out = false;  // the path is not that of all rows
};

// The scores of a search, and the model that it gives.
struct SelectionPage {
  std::string title;
  const Contest& contest;
  const Model& model;
};

// Scores, ranks and differences of a study.
struct StudyPage {
  std::string title;
  const Experiment& experiment;
};

std::string as_page(const ModelPage& page);
std::string as_page(const PathPage& page);
std::string as_page(const SelectionPage& page);
std::string as_page(const StudyPage& page);

// What is put into a page at most; of more it says what was left out.
struct PageLimits {
  Index task_points = 120'000;     // tasks times points of a path
  Index least_points = 40;         // however many tasks there are
  Index exact_numbers = 200'000;   // of weights; of more, each has four decimals
  Index matrix_side = 240;         // rows of the matrix; of more tasks, neighbours are averaged
  Index kernels = 30;              // of more, the largest and the sum of the others
  Index kept_kernels = 19;         // which then stay
  Index tasks_in_likeness = 3000;  // of more tasks, a model's matrix is in the order of the groups
};
inline constexpr PageLimits kPageLimits;

}  // namespace coterie
