// The problem of coterie, docs/maths.md (1):
//
//   minimise   sum_t J_t(theta_t)  +  lambda sum_{(t,s)} w_ts ||theta_t - theta_s||        theta_t in D
//
// over T tasks with M base kernels, J_t(theta) the optimal value of task t's SVM with kernel sum_m theta^m K_t^m.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/kernel/gram.hpp"
#include "coterie/math/simplex.hpp"

namespace coterie {

// A pair of tasks that are drawn together, t < s.
struct Edge {
  Index t = 0;
  Index s = 0;
  double weight = 1;
  bool operator==(const Edge&) const = default;
};
using TaskGraph = std::vector<Edge>;

// Every pair of tasks with weight 1: the graph of the paper.
TaskGraph complete_graph(Index tasks);

struct MtmklProblem {
  const std::vector<TaskGrams>& grams;  // [task]
  const std::vector<Vector>& y;         // [task], -1 or +1
  const std::vector<Vector>& C;         // [task], upper bound of every alpha
  double lambda =
      0;  // 0: separate tasks; infinity: one theta for every connected part of the graph
  const TaskGraph& graph;
  WeightSet weights;  // D
  Index T() const { return static_cast<Index>(grams.size()); }
  Index M() const { return grams.empty() ? 0 : grams.front().M(); }
};

// A task without support vectors, whatever the kernel: the better of the two answers, and what it costs.
struct ConstantAnswer {
  double bias = 0, objective = 0;
};
ConstantAnswer constant_answer(const Vector& y, const Vector& C);

// Disjoint sets of tasks, each in increasing order, ordered by their first member.
using Groups = std::vector<std::vector<Index>>;

// Connected parts of the graph with the edges for which `joined` holds.
Groups connected_parts(Index tasks, const TaskGraph& graph, const std::vector<bool>& joined);

// The same where no part may have two of the first `fixed` tasks: there shorter edges count first, and those that would join two such parts do not.
Groups parts_around(Index fixed, Index tasks, const TaskGraph& graph,
                    const std::vector<bool>& joined, const std::function<double(Index)>& length);

// The coarsest partition that refines both.
Groups common_refinement(Index tasks, const Groups& a, const Groups& b);

// Rows that are equal bit for bit: tasks that share a kernel.
Groups equal_rows(const Matrix& theta);

// sum over edges of w_ts ||theta_t - theta_s||, theta as rows.
double pairwise_distance(const TaskGraph& graph, ConstMatrixRef theta);

// The weights of every group replaced by their mean, which lies in D because D is convex; by those of its first member where that is one of the first `fixed` tasks.
Matrix mean_of_groups(const Matrix& theta, const Groups& groups, Index fixed = 0);

}  // namespace coterie
