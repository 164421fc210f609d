// What a study says of its methods: ranks over data sets, and differences on each of them. The tests are those of stats/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/experiment/experiment.hpp"
#include "coterie/stats/comparison.hpp"

namespace coterie {

// The control and another method on the repetitions of a data set that both have.
struct Difference {
  std::string dataset, method;
  Score score = Score::accuracy;
  Index repetitions = 0;
  double test_train_ratio =
      0;         // test rows to those that the method sees, validation rows among them
  PairedT gain;  // of the control, positive where it is better
};

// One share, or all of them: then the scores of a data set are its means at the shares, because shares of one data set are no separate
// evidence.
struct StudyBlock {
  std::string name;                  // "10 %", "all shares"
  std::optional<double> share = {};  // none: all
  std::string control;
  // What is ranked: the methods that the plan runs on every data set, the data sets that all of them have done, and of those the repetitions
  // that all have. Losses are negated: higher is better.
  ResultBlock results = {};
  std::vector<std::vector<Index>> repetitions = {};  // of the data sets, one number for each share
  std::optional<Comparison> comparison = {};  // none where there is too little, as the notes say
  std::vector<std::string> notes = {};        // what is left out, and why
  std::vector<Difference> differences = {};   // of a share
  double alpha = 0.05;                        // level of the tests; intervals are of 1 - alpha
};

// Of every share, and of all where there are several. `alpha`: level of the tests; intervals are of 1 - alpha.
std::vector<StudyBlock> study_statistics(const Experiment& experiment, double alpha = 0.05);

}  // namespace coterie
