// Probabilities learnt from cross-validated scores, judged on rows that nobody saw.
#include "coterie/search/choice.hpp"
#include "coterie/search/cross_validation.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr Index splits = 5, folds = 5;
constexpr double train_share = 0.5;

struct Losses {
  double log_loss = 0, brier = 0;
};

Losses operator+(const Losses& a, const Losses& b) {
  return {a.log_loss + b.log_loss, a.brier + b.brier};
}

}  // namespace

std::vector<Report> part_calibration(const Options& options) {
  Report report{"calibration",
                fmt::format("mean over tasks on the half that was not trained on, {} splits; C 1, "
                            "0.1 lambda_max, norm 1, tail:8; calibrated on {}-fold cross-validated "
                            "scores of the other half; labels are the same for all three",
                            splits, folds),
                {{"splits", splits}, {"folds", folds}}};
  for (const Study& study : studies()) {
    if (study.name.find(options.only) == std::string::npos) continue;
    const Dataset data = study.load();
    Settings settings;
    settings.scale = study.scale;
    settings.normalise = Normalisation::tail(8);
    const Extras extras;
    const Calibration::Kind kinds[] = {Calibration::Kind::none, Calibration::Kind::platt,
                                       Calibration::Kind::isotonic};
    std::vector<Losses> sums(std::size(kinds));
    double samples = 0;
    for (Index s = 0; s < splits; ++s) {
      say(fmt::format("calibration: {}, split {} of {}", study.name, s + 1, splits));
      const auto seed = static_cast<std::uint64_t>(s + 1);
      const Split split = hold_out_tasks(data, 1 - train_share, seed);
      const Dataset training = subset(data, split.train);
      const SearchData inner{training, settings, extras, 1, Storage::stored, 0};
      const std::vector<Vector> scores =
          cross_validated_scores(inner, fold_tasks(training, folds, seed));
      const SearchData outer{data, settings, extras, 1, Storage::stored, 0};
      GramCache cache;
      const Fold fold = std::move(make_folds(outer, {split}, settings.normalise, cache).front());
      const Fitted fitted = fit_prepared(kernels_of(fold), settings, 0);
      const double tasks = static_cast<double>(data.tasks.size());
      for (std::size_t t = 0; t < data.tasks.size(); ++t) {
        const std::vector<Index>& rest = split.rest[t];
        const Vector f = held_out_decisions(fold, fitted.fit, static_cast<Index>(t));
        const Vector y = data.tasks[t].y(rest);
        samples += static_cast<double>(training.tasks[t].size()) / tasks / splits;
        for (std::size_t k = 0; k < std::size(kinds); ++k) {
          const Vector p =
              probabilities(fit_calibration(kinds[k], scores[t], training.tasks[t].y), f);
          const double share = 1 / tasks / splits;
          sums[k] = sums[k] + Losses{share * log_loss(p, y), share * brier_score(p, y)};
        }
      }
    }
    report.rows.push_back({{"data", study.name},
                           {"samples per task", samples},
                           {"log loss, plain sigmoid", sums[0].log_loss},
                           {"platt", sums[1].log_loss},
                           {"isotonic", sums[2].log_loss},
                           {"Brier, plain sigmoid", sums[0].brier},
                           {"platt ", sums[1].brier},
                           {"isotonic ", sums[2].brier}});
  }
  return {report};
}

}  // namespace coterie::bench
