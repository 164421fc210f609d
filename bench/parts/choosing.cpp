// What cross-validation chooses, and how good it is on rows that nobody saw: methods side by side, the same splits for all.
#include <algorithm>
#include <cmath>
#include <map>

#include "coterie/io/write_table.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/search/choice.hpp"
#include "parts.hpp"
#include "reference.hpp"

namespace coterie::bench {

namespace {

constexpr Index splits = 10, folds = 5;

// The lists of `coterie select --preset best`.
Grid grid_of_all() {
  return parse_grid(
      {"2^-4..2^10:8", "0,0.01max..1max:5,inf", "1,2,inf", "cosine,variance,tail:4,tail:8"});
}

// A method is a part of the grid.
struct Method {
  std::string name;
  std::function<bool(const Settings&)> has;
};

const std::vector<Method>& methods() {
  const auto paper = [](const Settings& s) {
    return s.norm == 1 && s.normalise == Normalisation::cosine();
  };
  static const std::vector<Method> all = {
      {"STL", [=](const Settings& s) { return paper(s) && s.lambda == 0; }},
      {"MTL", [=](const Settings& s) { return paper(s) && s.lambda == Lambda::infinite(); }},
      {"coterie, paper's form", paper},
      {"uniform weights",
       [](const Settings& s) {
         return std::isinf(s.norm) && s.normalise == Normalisation::cosine();
       }},
      {"coterie, everything open", [](const Settings&) { return true; }},
  };
  return all;
}
const std::string libsvm_name = "LIBSVM, one Gaussian";

// Where several settings are equally good, those near the middle would be a matter of taste: rank_points decides.
GridPoint best_of(const GridScores& scores, const Grid& grid, const Method& method) {
  for (const Ranked& one : rank_points(scores))
    if (method.has(settings_at({}, grid, one.point))) return one.point;
  throw InputError("the method " + method.name + " has no point in the grid");
}

double score_of(const Vector& f, const Vector& y, bool by_auc) {
  return by_auc ? auc(f, y) : accuracy(f, y);
}

// Mean over tasks on the held-out side of a fold.
double test_score(const SearchData& outer, const Fold& fold, const Settings& settings,
                  bool by_auc) {
  const Prepared& train = kernels_of(fold);
  const std::vector<Vector> C = sample_costs(train.set.data, settings, outer.extras);
  const Fitted fitted = fit_prepared(train, C, settings, outer.threads, {}, outer.memory);
  Matrix cells(1, std::ssize(outer.data.tasks));
  for (Index t = 0; t < cells.cols(); ++t) {
    const std::vector<Index>& rest = fold.held_out->split.rest[static_cast<std::size_t>(t)];
    cells(0, t) = score_of(held_out_decisions(fold, fitted.fit, t),
                           outer.data.tasks[static_cast<std::size_t>(t)].y(rest), by_auc);
  }
  return mean_score(cells);
}

// LIBSVM with kernel m of the fold at one C: the scores of its tasks.
Vector libsvm_scores(const Dataset& data, const Fold& fold, Index m, double C, bool by_auc) {
  Vector out(std::ssize(data.tasks));
  const auto& [set, grams] = kernels_of(fold);
  const Split& split = fold.held_out->split;
  Vector unit = Vector::Zero(std::ssize(grams.kernels));
  unit[m] = 1;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Matrix K = grams.tasks[t].kernel(m);
    const ReferenceRun run = libsvm_on_matrix(K, set.y[t], C, libsvm_epsilon);
    const Vector f =
        cross_decisions(fold.held_out->whole[t], split.rest[t], split.train[t], unit, run.beta)
            .array() +
        run.bias;
    out[static_cast<Index>(t)] = score_of(f, data.tasks[t].y(split.rest[t]), by_auc);
  }
  return out;
}

// C and width by the same folds, then the test score.
double libsvm_test(const SearchData& inner, const std::vector<Split>& inner_splits,
                   const Fold& outer_fold, const Dataset& whole, const Grid& grid, bool by_auc,
                   std::string& chosen) {
  GramCache cache;
  const std::vector<Fold> inside = make_folds(inner, inner_splits, Normalisation::cosine(), cache);
  std::vector<Index> widths;
  const std::vector<Kernel>& kernels = kernels_of(inside.front()).grams.kernels;
  for (Index m = 0; m < std::ssize(kernels); ++m)
    if (kernels[static_cast<std::size_t>(m)].base == find_base_kernel("gauss")) widths.push_back(m);
  const Index Cs = std::ssize(grid.C);
  const Index points = std::ssize(widths) * Cs;
  std::vector<Matrix> cells(static_cast<std::size_t>(points),
                            Matrix(std::ssize(inside), std::ssize(whole.tasks)));
  parallel_for(points * std::ssize(inside), inner.threads, [&](Index item) {
    const auto point = static_cast<std::size_t>(item / std::ssize(inside));
    const Index k = item % std::ssize(inside);
    cells[point].row(k) = libsvm_scores(inner.data, inside[static_cast<std::size_t>(k)],
                                        widths[point / static_cast<std::size_t>(Cs)],
                                        grid.C[point % static_cast<std::size_t>(Cs)], by_auc);
  });
  std::size_t best = 0;
  for (std::size_t p = 1; p < cells.size(); ++p)
    if (mean_score(cells[p]) > mean_score(cells[best]) + 1e-12) best = p;
  const Index m = widths[best / static_cast<std::size_t>(Cs)];
  const double C = grid.C[best % static_cast<std::size_t>(Cs)];
  chosen = fmt::format("{}, C {:.3g}", to_string(kernels[static_cast<std::size_t>(m)]), C);
  const Vector scores = libsvm_scores(whole, outer_fold, m, C, by_auc);
  return mean_score(Matrix(scores.transpose()));
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double error_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double n = static_cast<double>(values.size());
  return std::sqrt(squares / (n - 1) / n);
}

std::string most_often(const std::vector<std::string>& words) {
  std::map<std::string, int> count;
  for (const std::string& word : words) ++count[word];
  const auto best = std::max_element(
      count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} ({} of {})", best->first, best->second, words.size());
}

struct Outcome {
  std::map<std::string, std::vector<double>> score;  // [method][split]
  std::map<std::string, std::vector<std::string>> chosen;
};

Outcome run_study(const Study& study) {
  const Dataset data = study.load();
  const Grid grid = grid_of_all();
  Settings settings;
  settings.scale = study.scale;
  const Extras extras;
  Outcome out;
  for (Index s = 0; s < splits; ++s) {
    say(fmt::format("choosing: {}, split {} of {}", study.name, s + 1, splits));
    const auto seed = static_cast<std::uint64_t>(s + 1);
    const Split split = hold_out_tasks(data, 1 - study.train_share, seed);
    const Dataset training = subset(data, split.train);
    const std::vector<Split> inner_splits = fold_tasks(training, folds, seed);
    const SearchData inner{training, settings, extras, grid.C.back(), Storage::stored, 0};
    const GridScores scores =
        score_grid(inner, inner_splits, grid, study.by_auc ? Score::auc : Score::accuracy);

    const SearchData outer{data, settings, extras, grid.C.back(), Storage::stored, 0};
    std::map<Index, Fold> outer_fold;  // by normalisation
    GramCache outer_cache;
    for (Index n = 0; n < std::ssize(grid.normalise); ++n)
      outer_fold.emplace(
          n, std::move(make_folds(outer, {split}, grid.normalise[static_cast<std::size_t>(n)],
                                  outer_cache)
                           .front()));
    for (const Method& method : methods()) {
      const GridPoint point = best_of(scores, grid, method);
      const Settings best = settings_at(settings, grid, point);
      out.score[method.name].push_back(
          test_score(outer, outer_fold.at(point.normalise), best, study.by_auc));
      out.chosen[method.name].push_back(
          fmt::format("norm {}, {}", best.norm, text_of(best.normalise)));
    }
    std::string chosen;
    out.score[libsvm_name].push_back(
        libsvm_test(inner, inner_splits, outer_fold.at(0), data, grid, study.by_auc, chosen));
    out.chosen[libsvm_name].push_back(chosen);
  }
  return out;
}

}  // namespace

namespace {

std::vector<Report> compare(const Options& options, const std::string& part,
                            const std::vector<Study>& cases) {
  Report report{
      part,
      fmt::format(
          "mean over tasks of the accuracy on rows that took no part in the choice, in per "
          "cent (landmine: 100 times the AUC), over {} splits, each method choosing by the same "
          "{}-fold cross-validation; standard errors over splits (which overlap, so they are "
          "too small rather than too large); difference: everything open minus this method, "
          "with the standard error of the paired difference",
          splits, folds),
      {{"splits", splits}, {"folds", folds}, {"gap_tolerance", 1e-4}}};
  const std::string open = methods().back().name;
  for (const Study& study : cases) {
    if (study.name.find(options.only) == std::string::npos) continue;
    const Outcome outcome = run_study(study);
    std::vector<std::string> names;
    for (const Method& method : methods()) names.push_back(method.name);
    names.insert(names.end() - 1, libsvm_name);
    double worst = 1e300;
    std::string where;
    for (const std::string& name : names) {
      const std::vector<double>& score = outcome.score.at(name);
      std::vector<double> difference;
      for (std::size_t s = 0; s < score.size(); ++s)
        difference.push_back(outcome.score.at(open)[s] - score[s]);
      Row row = {{"data", fmt::format("{} {:.0f}%", study.name, 100 * study.train_share)},
                 {"method", name},
                 {"test", fmt::format("{:.2f}", 100 * mean_of(score))},
                 {"std. error", fmt::format("{:.2f}", 100 * error_of(score))}};
      if (name == open) {
        row["difference"] = "";
        row["its error"] = "";
      } else {
        const double error = std::max(1e-12, error_of(difference));
        row["difference"] = fmt::format("{:+.2f}", 100 * mean_of(difference));
        row["its error"] = fmt::format("{:.2f}", 100 * error_of(difference));
        if (mean_of(difference) / error < worst) {
          worst = mean_of(difference) / error;
          where = name;
        }
      }
      row["chosen most often"] = most_often(outcome.chosen.at(name));
      report.rows.push_back(std::move(row));
    }
    report.notes.push_back(
        fmt::format("{}: everything open is nearest to losing against {}: {:+.1f} standard errors "
                    "of the paired "
                    "difference{}",
                    study.name, where, worst, worst < -2 ? " - significantly worse" : ""));
  }
  return {report};
}

}  // namespace

std::vector<Report> part_choosing(const Options& options) {
  return compare(options, "choosing", studies());
}

std::vector<Report> part_standardised(const Options& options) {
  std::vector<Study> all;
  for (Study& study : studies()) {
    if (study.scale == Scale::standard) continue;
    study.scale = Scale::standard;
    all.push_back(std::move(study));
  }
  return compare(options, "standardised", all);
}

// The table behind the pictures of docs/choosing.md.
std::vector<Report> part_letters(const Options& options) {
  for (const Work& work : chosen_work(options, {"letter 50%"})) {
    const Dataset data = work.load();
    Samples table;
    table.features = data.features;
    table.labels = {"first", "second"};
    std::vector<Index> rows;
    for (std::size_t t = 0; t < data.tasks.size(); ++t) {
      const Task& task = data.tasks[t];
      table.tasks.push_back(task.negative + "|" + task.positive);
      for (Index i = 0; i < task.size(); ++i) {
        rows.push_back(task.rows[static_cast<std::size_t>(i)]);
        table.label.push_back(task.y[i] > 0 ? 1 : 0);
        table.task.push_back(static_cast<Index>(t));
      }
    }
    table.X = data.X(rows, Eigen::all);
    write_csv(table, options.plots + "/letters.csv");
  }
  return {};
}

}  // namespace coterie::bench
