// Which tasks share a classifier, docs/methods.md (25), (26): k groups of tasks, one SVM for the samples of each, and every task in the
// group whose SVM suits it best.
//
//   minimise over groups g   L(g) = 1/T sum_t l_t(f_g(t))        f_j: the SVM of the samples of group j, without the block of t
//
// A model that has seen the samples of a task would always suit it. So tasks are dealt into blocks, and a task is judged by models without
// its block only: those of all groups, its own and the others, alike. Alternation from random groups: fit, move every task to the group
// of the smallest loss, until no task moves or groups come back; the smallest L of all starts and rounds wins.
//
// Without any start, groups are tasks whose samples look alike: k-means of the means of their samples in the space of the kernel,
// |mu_t - mu_s|^2 = mean K_tt + mean K_ss - 2 mean K_ts. Labels have no part in that, so it serves where what makes tasks differ, such as the
// ground that a sensor looks at, shows in the samples themselves.
//
// l_t is the mean hinge loss on the samples of t, both classes weighing the same. A group without other tasks is the model f = 0 of loss 1: so a
// task is alone when every other model is worse than none, and there may be fewer groups than asked for. Nothing is certified here but that the
// models were fitted; the certificate of a fit is for given groups.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "coterie/math/parallel.hpp"
#include "coterie/mtmkl/problem.hpp"

namespace coterie {

struct GroupSearch {
  Index clusters = 2;  // at most
  Index restarts = 5;  // 0: tasks whose samples look alike
  Index blocks = 5;    // of tasks; as many as tasks, where there are fewer
  std::uint64_t seed = 1;
};

struct FoundGroups {
  Groups groups;       // of tasks
  double loss = 1;     // L
  Index agreeing = 0;  // starts that ended in these groups
  Index starts = 0;
};

// The samples of all tasks, one task behind the other.
struct PooledSamples {
  const TaskGrams& grams;
  const Vector& y;
  const std::vector<Index>& sizes;  // of the tasks
};

// SVMs have kernel weights theta and cost C, classes weighing the same; `memory` bounds the bytes that their kernel values take, and changes no
// bit. Ends with the best groups so far when `keep_going` says so.
FoundGroups find_groups(const PooledSamples& pool, const Vector& theta, double C,
                        const GroupSearch& how, int threads = 1, const KeepGoing& keep_going = {},
                        double memory = std::numeric_limits<double>::infinity());

}  // namespace coterie
