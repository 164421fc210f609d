// What a fit needs of memory, known before it starts.
//
// Kernel values are computed where they are needed and kept while there is room (mixed_gram.hpp); with less room they are
// computed more often. The answer has the same bits either way.
#pragma once

#include <limits>

#include "coterie/data/dataset.hpp"
#include "coterie/model/extend.hpp"
#include "coterie/model/train.hpp"

namespace coterie {

struct MemoryPlan {
  double fixed = 0;  // bytes: data, model, pair duals, work space, the program itself
  double pairs =
      0;  // of these, bytes for pairs of tasks: every fit that runs beside another has as many
  double least = 0;    // bytes for kernel values without which nothing goes
  double all = 0;      // bytes of the kernel values if every sample mattered
  double kernels = 0;  // bytes that kernel values may take beyond that: what the budget leaves
  // The same while models of a first stage are fitted, whose memory is asked for one after another and before that of the fit.
  double first_stage = std::numeric_limits<double>::infinity();
  bool keeps_all() const { return kernels >= all; }
};

// Of the tasks, whatever the method makes of them. Throws InputError, with the estimate, when the budget (bytes) is too small for any way.
MemoryPlan plan_memory(const Dataset& data, const Settings& settings, const Extras& extras,
                       int threads, double budget);

// The same for the tasks of `data` beside the model, whose memory is part of the plan.
MemoryPlan plan_extension(const Model& model, const Dataset& data, const ExtendSettings& settings,
                          int threads, double budget);

// That less than all kernel values are kept, in a sentence.
std::string room_text(const MemoryPlan& plan, double budget);

// "512 MB", "1.5 GB".
std::string bytes_text(double bytes);

}  // namespace coterie
