// The ten Gram matrices of every task, against the least that one Gaussian matrix costs: a BLAS product and an exp per entry.
#include <cblas.h>

#include <cmath>

#include "measure.hpp"
#include "ours.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

void product_and_exp(const Matrix& X, Matrix& K) {
  const int n = static_cast<int>(X.rows());
  const int d = static_cast<int>(X.cols());
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 1, X.data(), d, X.data(), d, 0,
              K.data(), n);
  for (double& value : K.reshaped()) value = std::exp(-1e-3 * value);
}

// One buffer that is used again.
double seconds_of_one_buffer(const std::vector<Matrix>& X, Matrix& K) {
  double seconds = 0;
  for (const Matrix& one : X) {
    if (K.rows() != one.rows()) K.setZero(one.rows(), one.rows());
    const Watch watch;
    product_and_exp(one, K);
    seconds += watch.seconds();
  }
  return seconds;
}

// A matrix of its own per task.
double seconds_of_kept(const std::vector<Matrix>& X) {
  std::vector<Matrix> all;
  const Watch watch;
  for (const Matrix& one : X) {
    all.emplace_back(one.rows(), one.rows());
    product_and_exp(one, all.back());
  }
  return watch.seconds();
}

}  // namespace

std::vector<Report> part_gram(const Options& options) {
  Report report{
      "gram",
      fmt::format(
          "compute_grams of the paper's ten kernels for all tasks, stored as the two matrices of "
          "which all are powers (the powers are made when they are used), over one dgemm X X' (all "
          "n x n entries) plus one std::exp per entry of that matrix, per task, on samples "
          "already gathered, into one buffer that is used again for every task; 'kept': "
          "the same into a matrix of its own per task, as one who keeps them must; one "
          "thread, interleaved, {}",
          how_often(options)),
      {{"threads", 1}, {"kernels", "paper"}, {"storage", gram_storage()}}};
  for (const Work& work : chosen_work(options)) {
    say("gram: " + work.name);
    Dataset data = work.load();
    const Settings settings = work.settings();
    data.X = apply_scaling(learn_scaling(settings.scale.value_or(Scale::none), data), data.X);
    const Normalisation normalisation = settings.normalise;
    const std::vector<Kernel> kernels =
        prepare_kernels(settings.kernels, normalisation, data.features);
    std::vector<Matrix> X;
    Index samples = 0;
    for (const Task& task : data.tasks) {
      X.push_back(data.X(task.rows, Eigen::all));
      samples += task.size();
    }
    const auto ours = [&] {
      const Watch watch;
      const Grams grams = compute_grams(data, kernels, normalisation, {}, 1);
      return watch.seconds();
    };
    Matrix K;
    const Timing timing = interleave(
        options.runs,
        {ours, [&] { return seconds_of_one_buffer(X, K); }, [&] { return seconds_of_kept(X); }});
    report.rows.push_back({{"data", work.name},
                           {"tasks", X.size()},
                           {"mean samples", static_cast<double>(samples) / std::ssize(X)},
                           {"features", data.X.cols()},
                           {"roots of ten s", timing.seconds[0]},
                           {"product + exp s", timing.seconds[1]},
                           {"ratio", timing.seconds[0] / timing.seconds[1]},
                           {"kept s", timing.seconds[2]},
                           {"ratio to kept", timing.seconds[0] / timing.seconds[2]}});
  }
  report.notes.push_back(extreme(report, "ratio", true));
  return {report};
}

}  // namespace coterie::bench
