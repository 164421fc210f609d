#include "reference.hpp"

#include <libsvm/svm.h>

#include <algorithm>

#include "measure.hpp"

namespace coterie::bench {

namespace {

svm_parameter defaults(double C, double epsilon) {
  svm_set_print_string_function([](const char*) {});
  svm_parameter parameter{};
  parameter.svm_type = C_SVC;
  parameter.C = C;
  parameter.eps = epsilon;
  parameter.cache_size = 100;
  parameter.shrinking = 1;
  return parameter;
}

ReferenceRun train(std::vector<svm_node*>& rows, ConstVectorRef y, const svm_parameter& parameter) {
  std::vector<double> labels(y.begin(), y.end());
  const svm_problem problem{static_cast<int>(y.size()), labels.data(), rows.data()};
  const Watch watch;
  svm_model* model = svm_train(&problem, &parameter);
  ReferenceRun run;
  run.seconds = watch.seconds();
  // LIBSVM takes the label that it meets first for the positive class.
  const double sign = model->label[0] > 0 ? 1 : -1;
  run.bias = -sign * model->rho[0];
  run.beta = Vector::Zero(y.size());
  for (int k = 0; k < model->l; ++k)
    run.beta[model->sv_indices[k] - 1] = sign * model->sv_coef[0][k];
  svm_free_and_destroy_model(&model);
  return run;
}

}  // namespace

ReferenceRun libsvm_on_matrix(ConstMatrixRef K, ConstVectorRef y, double C, double epsilon) {
  const Index n = y.size();
  std::vector<svm_node> nodes(static_cast<std::size_t>(n * (n + 2)));
  std::vector<svm_node*> rows;
  for (Index i = 0; i < n; ++i) {
    svm_node* row = nodes.data() + i * (n + 2);
    rows.push_back(row);
    *row++ = {0, static_cast<double>(i + 1)};
    for (Index j = 0; j < n; ++j) *row++ = {static_cast<int>(j + 1), K(i, j)};
    *row = {-1, 0};
  }
  svm_parameter parameter = defaults(C, epsilon);
  parameter.kernel_type = PRECOMPUTED;
  parameter.cache_size = std::max(100.0, 8e-6 * static_cast<double>(n * n));
  return train(rows, y, parameter);
}

ReferenceRun libsvm_on_features(ConstMatrixRef X, const std::vector<Index>& rows, ConstVectorRef y,
                                double C) {
  std::vector<std::vector<svm_node>> nodes;
  std::vector<svm_node*> starts;
  for (const Index i : rows) {
    std::vector<svm_node>& row = nodes.emplace_back();
    for (Index j = 0; j < X.cols(); ++j)
      if (X(i, j) != 0) row.push_back({static_cast<int>(j + 1), X(i, j)});
    row.push_back({-1, 0});
  }
  for (std::vector<svm_node>& row : nodes) starts.push_back(row.data());
  svm_parameter parameter = defaults(C, libsvm_epsilon);
  parameter.kernel_type = RBF;
  parameter.gamma = 1 / static_cast<double>(X.cols());
  return train(starts, y, parameter);
}

}  // namespace coterie::bench
