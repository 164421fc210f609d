#include "coterie/baseline/group_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "coterie/baseline/partition.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/kmeans.hpp"
#include "coterie/math/random.hpp"
#include "coterie/math/spectrum.hpp"
#include "coterie/svm/task_svm.hpp"

namespace coterie {

namespace {

constexpr Index kMostRounds = 30;  // of a start; five were the most on the data sets of the study
constexpr Index kMostOfClass =
    500;  // samples that one SVM of the search sees: it only has to tell groups apart
constexpr double kGap = 1e-2;         // of its SVMs, relative: losses to two digits
constexpr double kLossOfNothing = 1;  // hinge loss of f = 0
constexpr Index kMostOfMean = 200;    // samples that the mean of a task is taken of
constexpr Index kStartsOfMeans = 20;  // of k-means, which costs next to nothing

using Members = std::vector<Index>;

// C n / (2 n_class), so that both classes weigh the same.
Vector balanced_costs(const Vector& y, double C) {
  const double n = static_cast<double>(y.size());
  const double positive = static_cast<double>((y.array() > 0).count());
  Vector costs(y.size());
  for (Index i = 0; i < y.size(); ++i)
    costs[i] = C * n / (2 * (y[i] > 0 ? positive : n - positive));
  return costs;
}

class Search {
 public:
  Search(const PooledSamples& pool, const Vector& theta, double C, const GroupSearch& how,
         int threads, double memory)
      : pool_(pool),
        theta_(theta),
        C_(C),
        k_(std::min(how.clusters, std::ssize(pool.sizes))),
        threads_(threads),
        memory_(memory / thread_count(threads)),
        random_(how.seed) {
    Index first = 0;
    for (const Index size : pool.sizes) {
      std::vector<Index>& own = samples_.emplace_back(static_cast<std::size_t>(size));
      std::iota(own.begin(), own.end(), first);
      first += size;
    }
    // The same blocks in all starts: their losses are compared.
    blocks_ = std::min(how.blocks, T());
    block_ = deal_tasks(blocks_);
  }

  Index T() const { return std::ssize(samples_); }

  // Tasks whose samples look alike.
  std::vector<Index> alike(std::uint64_t seed) const {
    std::vector<std::vector<Index>> some;
    for (const std::vector<Index>& own : samples_) some.push_back(thin_out(own, kMostOfMean));
    Eigen::MatrixXd between(T(), T());  // mean kernel values
    parallel_for(T(), threads_, [&](Index t) {
      const std::vector<Index>& own = some[static_cast<std::size_t>(t)];
      const Vector share = Vector::Constant(std::ssize(own), 1 / static_cast<double>(own.size()));
      for (Index s = t; s < T(); ++s)
        between(t, s) = between(s, t) =
            cross_decisions(pool_.grams, some[static_cast<std::size_t>(s)], own, theta_, share)
                .mean();
    });
    between.colwise() -= between.rowwise().mean().eval();
    between.rowwise() -= between.colwise().mean().eval();
    const Spectrum spectrum = spectrum_of(between);
    const Matrix means = spectrum.vectors * spectrum.values.cwiseMax(0).cwiseSqrt().asDiagonal();
    return kmeans(means, k_, kStartsOfMeans, seed).label;
  }

  std::vector<Index> random_groups() { return deal_tasks(k_); }

  // losses(t, j): of task t under the model of group j without the block of t.
  Matrix losses(const std::vector<Index>& group) {
    std::vector<std::pair<Index, Members>>
        wanted;  // block, and the tasks that a model is fitted to
    for (Index b = 0; b < blocks_; ++b)
      for (Index j = 0; j < k_; ++j) wanted.emplace_back(b, members_without(group, j, b));
    std::vector<const std::pair<Index, Members>*> missing;
    for (const auto& key : wanted)
      if (known_.emplace(key, Vector()).second) missing.push_back(&key);
    parallel_for(std::ssize(missing), threads_, [&](Index i) {
      const auto& [block, members] = *missing[static_cast<std::size_t>(i)];
      known_.at({block, members}) = judge(block, members);
    });
    Matrix out(T(), k_);
    for (Index t = 0; t < T(); ++t)
      for (Index j = 0; j < k_; ++j) {
        const Index b = block_[static_cast<std::size_t>(t)];
        out(t, j) = known_.at(wanted[static_cast<std::size_t>(b * k_ + j)])[t];
      }
    return out;
  }

 private:
  // Per task one of `count` parts, of about equal size.
  std::vector<Index> deal_tasks(Index count) {
    std::vector<Index> part(samples_.size());
    for (std::size_t t = 0; t < part.size(); ++t) part[t] = static_cast<Index>(t) % count;
    random_.shuffle(part);
    return part;
  }

  Members members_without(const std::vector<Index>& group, Index j, Index block) const {
    Members out;
    for (Index t = 0; t < T(); ++t)
      if (group[static_cast<std::size_t>(t)] == j && block_[static_cast<std::size_t>(t)] != block)
        out.push_back(t);
    return out;
  }

  // Samples of some tasks, not too many of either class, spread evenly.
  std::vector<Index> samples_of(const Members& tasks) const {
    std::array<std::vector<Index>, 2> of_class;
    for (const Index t : tasks)
      for (const Index i : samples_[static_cast<std::size_t>(t)])
        of_class[pool_.y[i] > 0 ? 1 : 0].push_back(i);
    std::vector<Index> out;
    for (std::vector<Index>& samples : of_class) {
      const std::vector<Index> some = thin_out(std::move(samples), kMostOfClass);
      out.insert(out.end(), some.begin(), some.end());
    }
    std::ranges::sort(out);
    return out;
  }

  // The loss of every task of a block under the SVM of some tasks, none of them in it; of other tasks it is not known.
  Vector judge(Index block, const Members& tasks) const {
    Vector out = Vector::Constant(T(), kLossOfNothing);
    if (tasks.empty()) return out;
    const std::vector<Index> trained = samples_of(tasks);
    const Vector y = pool_.y(trained);
    const TaskGrams grams = slice(pool_.grams, trained);
    const SvmResult svm = train_svm(grams, theta_, y, Vector::Ones(y.size()), balanced_costs(y, C_),
                                    {.gap_tolerance = kGap}, 0, memory_);
    std::vector<Index> support;
    std::vector<double> beta;
    for (Index i = 0; i < y.size(); ++i) {
      if (!(svm.alpha[i] > 0)) continue;
      support.push_back(trained[static_cast<std::size_t>(i)]);
      beta.push_back(svm.alpha[i] * y[i]);
    }
    for (Index t = 0; t < T(); ++t) {
      if (block_[static_cast<std::size_t>(t)] != block) continue;
      const std::vector<Index>& own = samples_[static_cast<std::size_t>(t)];
      const Vector f = cross_decisions(pool_.grams, own, support, theta_,
                                       Eigen::Map<const Vector>(beta.data(), std::ssize(beta)));
      const Vector own_y = pool_.y(own);
      const Vector c = balanced_costs(own_y, 1);
      const Vector hinge = (1 - own_y.array() * (f.array() + svm.bias)).max(0.0);
      out[t] = c.dot(hinge) / c.sum();
    }
    return out;
  }

  const PooledSamples& pool_;
  const Vector& theta_;
  double C_;
  Index k_;
  int threads_;
  double memory_;  // of one SVM
  Random random_;
  std::vector<std::vector<Index>> samples_;  // [task], of the pool
  std::vector<Index> block_;                 // of every task
  Index blocks_ = 1;
  std::map<std::pair<Index, Members>, Vector> known_;  // losses that were computed already
};

// Where a start ends, and the best that it has seen.
struct SearchEnd {
  std::vector<Index> group;
  double loss = std::numeric_limits<double>::infinity();
};

SearchEnd as_they_are(Search& search, std::vector<Index> group) {
  const Matrix losses = search.losses(group);
  double sum = 0;
  for (Index t = 0; t < losses.rows(); ++t) sum += losses(t, group[static_cast<std::size_t>(t)]);
  return {std::move(group), sum / static_cast<double>(losses.rows())};
}

SearchEnd alternate(Search& search, std::vector<Index> group, const KeepGoing& keep_going) {
  SearchEnd best;
  std::vector<std::vector<Index>> seen;
  for (Index round = 0; round < kMostRounds; ++round) {
    ask(keep_going);
    const Matrix losses = search.losses(group);
    double sum = 0;
    std::vector<Index> next = group;
    for (Index t = 0; t < losses.rows(); ++t) {
      Index& own = next[static_cast<std::size_t>(t)];
      sum += losses(t, own);
      for (Index j = 0; j < losses.cols(); ++j)
        if (losses(t, j) < losses(t, own)) own = j;  // of equal losses where it is
    }
    if (sum / static_cast<double>(losses.rows()) < best.loss)
      best = {group, sum / static_cast<double>(losses.rows())};
    seen.push_back(std::move(group));
    if (std::ranges::find(seen, next) != seen.end()) break;
    group = std::move(next);
  }
  return best;
}

}  // namespace

FoundGroups find_groups(const PooledSamples& pool, const Vector& theta, double C,
                        const GroupSearch& how, int threads, const KeepGoing& keep_going,
                        double memory) {
  const SingleThreadedBlas guard;
  Search search(pool, theta, C, how, threads, memory);
  const bool alone = how.clusters == 1 || search.T() == 1;
  const Index starts = alone ? 1 : how.restarts;
  std::vector<SearchEnd> ends;
  try {
    if (starts == 0) {
      ask(keep_going);
      ends.push_back(as_they_are(search, search.alike(how.seed)));
    }
    while (std::ssize(ends) < starts)
      ends.push_back(alternate(search, search.random_groups(), keep_going));
  } catch (const Stopped&) {  // what other starts have found counts
  }
  FoundGroups out{groups_of(std::vector<Index>(pool.sizes.size(), 0))};
  if (ends.empty()) return out;
  const SearchEnd& best = *std::ranges::min_element(ends, {}, &SearchEnd::loss);
  out.groups = groups_of(best.group);
  out.loss = best.loss;
  out.starts = std::ssize(ends);
  out.agreeing = std::ranges::count(ends, out.groups,
                                    [](const SearchEnd& end) { return groups_of(end.group); });
  return out;
}

}  // namespace coterie
