#include "coterie/io/model_file_extensions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace coterie::detail {
namespace {

template <typename... Parts>
void require(bool holds, fmt::format_string<Parts...> otherwise, Parts&&... parts) {
  if (!holds) throw InputError(fmt::format(otherwise, std::forward<Parts>(parts)...));
}

// Where the list of each extension ends in a joined list; the first number is 0.
void check_offsets(const std::vector<Index>& offsets, Index end, std::string_view path) {
  require(offsets.front() == 0 && offsets.back() == end && std::ranges::is_sorted(offsets),
          "{} does not run from 0 to {}", path, end);
}

}  // namespace

void write_extensions(Hdf5Writer& file, const std::vector<Extension>& extensions, Index kernels,
                      bool bounded) {
  if (extensions.empty()) return;
  const Index K = std::ssize(extensions);
  std::vector<Index> base_tasks, tasks, rows, complete, outer_steps, edge_t, edge_s;
  std::vector<Index> edge_offsets = {0}, nu_offsets = {0};
  std::vector<std::string> fingerprint, status;
  std::vector<double> weights;
  Vector tolerance(K), primal(K), dual(K), gap(K), lambda(K), bound(K), scale_floor(K);
  for (const Extension& added : extensions) {
    const Certificate& proof = added.certificate;
    const Index k = std::ssize(tasks);
    base_tasks.push_back(added.base_tasks);
    tasks.push_back(added.tasks);
    rows.push_back(added.rows);
    tolerance[k] = added.tolerance;
    fingerprint.push_back(added.fingerprint);
    primal[k] = proof.primal;
    dual[k] = proof.dual;
    gap[k] = proof.gap;
    lambda[k] = proof.lambda;
    bound[k] = proof.bound;
    scale_floor[k] = proof.scale_floor;
    complete.push_back(proof.complete);
    status.push_back(proof.status);
    outer_steps.push_back(proof.outer_steps);
    for (const Edge& edge : proof.graph) {
      edge_t.push_back(edge.t);
      edge_s.push_back(edge.s);
      weights.push_back(edge.weight);
    }
    edge_offsets.push_back(std::ssize(edge_t));
    nu_offsets.push_back(nu_offsets.back() + proof.nu.rows());
  }
  Matrix nu(nu_offsets.back(), kernels);
  for (Index k = 0; k < K; ++k) {
    const Matrix& part = extensions[static_cast<std::size_t>(k)].certificate.nu;
    if (part.rows() > 0) nu.middleRows(nu_offsets[static_cast<std::size_t>(k)], part.rows()) = part;
  }
  file.add_group("/extensions");
  file.add("/extensions/base_tasks", base_tasks);
  file.add("/extensions/tasks", tasks);
  file.add("/extensions/rows", rows);
  file.add("/extensions/tolerance", tolerance);
  file.add("/extensions/fingerprint", fingerprint);
  file.add("/extensions/primal", primal);
  file.add("/extensions/dual", dual);
  file.add("/extensions/gap", gap);
  file.add("/extensions/lambda", lambda);
  if (bounded) {
    file.add("/extensions/bound", bound);
    file.add("/extensions/scale_floor", scale_floor);
  }
  file.add("/extensions/complete_graph", complete);
  file.add("/extensions/edge_offsets", edge_offsets);
  file.add("/extensions/edge_t", edge_t);
  file.add("/extensions/edge_s", edge_s);
  file.add("/extensions/edge_weight",
           Vector(Eigen::Map<const Vector>(weights.data(), std::ssize(weights))));
  file.add("/extensions/nu_offsets", nu_offsets);
  file.add("/extensions/nu", nu);
  file.add("/extensions/status", status);
  file.add("/extensions/outer_steps", outer_steps);
}

std::vector<Extension> read_extensions(const Hdf5Reader& file) {
  if (!file.has("/extensions/tasks")) return {};
  const Index K = file.length("/extensions/tasks");
  const std::vector<Index> base_tasks = file.integers("/extensions/base_tasks", K);
  const std::vector<Index> tasks = file.integers("/extensions/tasks", K);
  const std::vector<Index> rows = file.integers("/extensions/rows", K);
  const Vector tolerance = file.reals("/extensions/tolerance", K);
  std::vector<std::string> fingerprint = file.texts("/extensions/fingerprint", K);
  const Vector primal = file.reals("/extensions/primal", K);
  const Vector dual = file.reals("/extensions/dual", K);
  const Vector gap = file.reals("/extensions/gap", K);
  const Vector lambda = file.reals("/extensions/lambda", K);
  const bool bounded = file.has("/extensions/bound");
  const Vector bound =
      bounded ? file.reals("/extensions/bound", K) : Vector::Constant(K, kBoundBefore);
  const Vector scale_floor = bounded ? file.reals("/extensions/scale_floor", K) : Vector::Ones(K);
  const std::vector<Index> complete = file.integers("/extensions/complete_graph", K);
  std::vector<std::string> status = file.texts("/extensions/status", K);
  const std::vector<Index> outer_steps = file.integers("/extensions/outer_steps", K);
  const Index edges = file.length("/extensions/edge_t");
  const std::vector<Index> edge_offsets = file.integers("/extensions/edge_offsets", K + 1);
  check_offsets(edge_offsets, edges, "/extensions/edge_offsets");
  const std::vector<Index> edge_t = file.integers("/extensions/edge_t", edges);
  const std::vector<Index> edge_s = file.integers("/extensions/edge_s", edges);
  const Vector edge_weight = file.reals("/extensions/edge_weight", edges);
  const Matrix nu = file.matrix("/extensions/nu");
  const std::vector<Index> nu_offsets = file.integers("/extensions/nu_offsets", K + 1);
  check_offsets(nu_offsets, nu.rows(), "/extensions/nu_offsets");
  std::vector<Extension> extensions;
  for (Index i = 0; i < K; ++i) {
    const auto k = static_cast<std::size_t>(i);
    require(complete[k] == 0 || complete[k] == 1, "/extensions/complete_graph has {}, not 0 or 1",
            complete[k]);
    Extension added;
    added.base_tasks = base_tasks[k];
    added.tasks = tasks[k];
    added.rows = rows[k];
    added.tolerance = tolerance[i];
    added.fingerprint = std::move(fingerprint[k]);
    Certificate& proof = added.certificate;
    proof.primal = primal[i];
    proof.dual = dual[i];
    proof.gap = gap[i];
    proof.lambda = lambda[i];
    proof.bound = bound[i];
    proof.scale_floor = scale_floor[i];
    proof.complete = complete[k] == 1;
    for (Index e = edge_offsets[k]; e < edge_offsets[k + 1]; ++e)
      proof.graph.push_back({edge_t[static_cast<std::size_t>(e)],
                             edge_s[static_cast<std::size_t>(e)], edge_weight[e]});
    proof.nu = nu.middleRows(nu_offsets[k], nu_offsets[k + 1] - nu_offsets[k]);
    proof.status = std::move(status[k]);
    proof.outer_steps = outer_steps[k];
    extensions.push_back(std::move(added));
  }
  return extensions;
}

void check_extensions(const Model& model) {
  if (model.extensions.empty()) return;
  const Index tasks = std::ssize(model.tasks);
  Index next = model.extensions.front().base_tasks;
  Index rows = model.training_rows;
  require(next >= 1 && next < tasks, "an extension begins at task {} of {}", next, tasks);
  for (const Extension& added : model.extensions) {
    require(added.base_tasks == next && added.tasks >= 1 && added.tasks <= tasks - next,
            "an extension of {} tasks behind {} is not one of {} tasks", added.tasks,
            added.base_tasks, tasks);
    next += added.tasks;
    require(added.rows >= 1 && added.rows <= rows, "an extension has {} of {} rows", added.rows,
            rows);
    rows -= added.rows;
    require(added.tolerance > 0 && std::isfinite(added.tolerance),
            "an extension has the tolerance {}", added.tolerance);
    for (const Edge& edge : added.certificate.graph)
      require(edge.s >= added.base_tasks, "edge {}-{} does not lead to an added task", edge.t,
              edge.s);
  }
  require(next == tasks, "the extensions end at task {} of {}", next, tasks);

  // From here on `rows` counts the rows of the first table, then of all up to a task's.
  Index begin = 0, end = rows;
  auto added = model.extensions.begin();
  for (Index t = 0; t < tasks; ++t) {
    if (added != model.extensions.end() && t == added->base_tasks) {
      begin = end;
      end += added->rows;
      ++added;
    }
    for (const Index place : model.tasks[static_cast<std::size_t>(t)].support) {
      const Index row = model.training_row[static_cast<std::size_t>(place)];
      require(row >= begin && row < end, "task number {} has a support vector of another table", t);
    }
  }
}

}  // namespace coterie::detail
