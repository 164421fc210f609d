#include "reference.hpp"

#include <libsvm/svm.h>

#include <cmath>
#include <vector>

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

}  // namespace

ReferenceRun libsvm_on_matrix(ConstMatrixRef K, ConstVectorRef y, double C, double epsilon) {
  const Index n = y.size();
  std::vector<svm_node> nodes(static_cast<std::size_t>(n * (n + 2)));
  std::vector<svm_node*> rows;
  std::vector<double> labels(y.begin(), y.end());
  for (Index i = 0; i < n; ++i) {
    svm_node* row = nodes.data() + i * (n + 2);
    rows.push_back(row);
    *row++ = {0, static_cast<double>(i + 1)};
    for (Index j = 0; j < n; ++j) *row++ = {static_cast<int>(j + 1), K(i, j)};
    *row = {-1, 0};
  }
  svm_problem problem{static_cast<int>(n), labels.data(), rows.data()};
  svm_parameter parameter = defaults(C, epsilon);
  parameter.kernel_type = PRECOMPUTED;
  parameter.cache_size = std::max(100.0, 8e-6 * static_cast<double>(n * n));
  const Watch watch;
  svm_model* model = svm_train(&problem, &parameter);
  ReferenceRun run;
  run.seconds = watch.seconds();
  Vector beta = Vector::Zero(n);
  for (int k = 0; k < model->l; ++k) beta[model->sv_indices[k] - 1] = model->sv_coef[0][k];
  run.objective = beta.cwiseAbs().sum() - 0.5 * beta.dot(K * beta);
  svm_free_and_destroy_model(&model);
  return run;
}

}  // namespace coterie::bench
