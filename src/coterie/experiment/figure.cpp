#include "coterie/experiment/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace coterie {

namespace {

// Letters, digits and points of a text, others as hyphens: a name of a file on every system.
std::string file_name(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '-');
  return text;
}

Figure figure_of(const Choice& choice) {
  const Model& model = choice.trained.model;
  Figure out;
  out.chosen = choice.text;
  out.score = choice.validation;
  out.gap = model.certificate().gap;
  out.groups = model.groups();
  for (const Kernel& kernel : model.kernels) out.kernels.push_back(to_string(kernel));
  out.theta.resize(std::ssize(model.tasks), std::ssize(model.kernels));
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    out.tasks.push_back(model.tasks[t].name);
    out.theta.row(static_cast<Index>(t)) = model.tasks[t].theta().transpose();
  }
  return out;
}

}  // namespace

std::vector<Figure> run_figures(const Plan& plan, const ExperimentRun& run) {
  Run each;
  each.threads = run.threads;
  each.memory_bytes = run.memory_bytes;
  each.share = [&](Index, Index) { return !run.progress || run.progress(0, 0); };
  each.progress = [&](const Progress&) { return each.share(0, 0); };
  std::vector<Figure> out;
  for (const DatasetPlan& dataset : plan.datasets) {
    std::optional<Samples> samples;
    for (const FigurePlan& figure : plan.figures) {
      if (!figure.runs_on(dataset)) continue;
      for (const double share : figure.shares.empty() ? dataset.shares : figure.shares) {
        const std::string name = fmt::format("{} {:.4g} % #{} {}", dataset.name, 100 * share,
                                             figure.repetition, figure.name);
        if (name.find(run.only) == std::string::npos) continue;
        if (!samples) samples = planned_samples(run.read(dataset), dataset, plan.seed);
        const Parts parts = planned_parts(*samples, dataset, plan.seed, share, figure.repetition);
        const std::optional<Choice> choice =
            choose_and_train(*samples, parts, dataset, figure, each);
        if (!choice) return out;
        out.push_back(figure_of(*choice));
        out.back().name = name;
        out.back().file =
            file_name(fmt::format("{}-{}-{:.4g}", figure.name, dataset.name, 100 * share));
      }
    }
  }
  return out;
}

}  // namespace coterie
