// How the kernel weights theta_t^m move with lambda: small panels, one line for each weight.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// A panel for each task with a line for each kernel, or a panel for each kernel with a thin line for each task.
// Automatic: by task as long as there are at most 48 panels.
enum class WeightPanels { automatic, by_task, by_kernel };

struct WeightPaths {
  std::string title = {};
  std::string lambda_name = "lambda / lambda_max";
  Vector lambda =
      {};  // increasing; 0 and infinity may be its ends and stand in columns beside the logarithmic axis
  std::vector<Matrix> theta =
      {};  // of each task: lambda by kernels; a line pauses where a value is not finite
  std::vector<std::string> tasks = {};
  std::vector<std::string> kernels = {};
  std::vector<double> merges =
      {};  // values of lambda where groups merge; those off the axis are not drawn
  std::optional<double> mark = {};  // a lambda to look at
  std::string mark_words = {};      // and why
  WeightPanels panels = WeightPanels::automatic;
};

// The picture as SVG text. Throws InputError where the sizes do not fit each other or lambda does not increase.
std::string as_svg(const WeightPaths& paths);

}  // namespace coterie
