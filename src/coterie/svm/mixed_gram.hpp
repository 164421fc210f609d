// The kernel of one task at given weights, docs/maths.md (2), on a set of its samples that grows:
//
//   K(theta) = sum_m theta_m K^m
//
// The roots of the kernels on the set (task_grams.hpp) are fetched once and kept. An SVM touches few rows of K(theta) (those of
// support vectors and of samples near the margin), so a row is mixed when it is first asked for.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "coterie/kernel/task_grams.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/svm/mixed_rows.hpp"

namespace coterie {

class MixedGram {
 public:
  // Keeps a reference to the base matrices: they must outlive it. The set is empty at first. Where the roots of the set and the mixed
  // rows would take more than `bytes`, the roots are fetched row by row when they are needed and only the mixed rows that were
  // used last are kept, but never fewer than kLeastRows. That changes no bit of any result.
  static constexpr Index kLeastRows = 16;
  explicit MixedGram(const TaskGrams& base, double bytes = std::numeric_limits<double>::infinity());

  // The set becomes what stands at the places of it that are kept, in that order, and the samples that join, which are not in it.
  void change(std::span<const Index> kept, std::span<const Index> joining);
  void add(std::span<const Index> joining);
  void set_weights(ConstVectorRef theta);  // costs nothing where they are so

  // Asked now and then by all that takes long.
  void watch(KeepGoing keep_going) { keep_going_ = std::move(keep_going); }

  Index size() const { return std::ssize(samples_); }
  const std::vector<Index>& samples() const { return samples_; }
  bool is_stored() const { return base_.n() > 0 && base_.stored_row(0, 0) != nullptr; }
  double work_of_task() const;  // multiplications, about, to compute the roots of the whole task
  bool contains(Index sample) const { return inside_[static_cast<std::size_t>(sample)]; }

  // Memory for rows, which its owner takes back when no row is needed any more. Without a loan the first row brings its own.
  void lend(std::unique_ptr<MixedRows> rows);
  std::unique_ptr<MixedRows> take_back() { return std::move(rows_); }

  // Row k of the set: size() values, then zeros up to a multiple of the lanes. Valid until the set or the weights change, or
  // kLeastRows - 1 other rows were asked for.
  const double* row(Index k);
  Vector diagonal() const;

  // out(k, m) = sum over l in support of K^m(wanted_k, l) beta_l.
  void products(std::span<const Index> wanted, std::span<const Index> support, const double* beta,
                Matrix& out);

  // sum over l in support of K(theta)(j, l) beta_l for samples j of the task.
  Vector decisions(std::span<const Index> samples, std::span<const Index> support,
                   const double* beta);

 private:
  void fetch(Index begin);  // the roots of the samples that joined after `begin`
  const double* root_row(std::size_t root, Index k) const {
    return whole_ ? base_.stored_row(static_cast<Index>(root), k)
                  : roots_[root].get() + k * capacity_;
  }

  // Counts multiplications, about, and asks whether to go on after some tens of milliseconds of them.
  void work(double multiplications) {
    worked_ += multiplications;
    if (worked_ < 3e7) return;
    worked_ = 0;
    ask(keep_going_);
  }

  Vector decisions_in_place(std::span<const Index> support, const double* beta);
  std::size_t rows_of_tile(std::size_t columns) const;
  void forget_rows();

  const TaskGrams& base_;
  double bytes_;
  std::vector<Index> samples_;  // of the task, in the order in which they joined
  std::vector<bool> inside_;
  Vector weights_;
  KernelPowers::Recipe recipe_;
  KeepGoing keep_going_;
  double worked_ = 0;
  Index capacity_ = 0;                          // of the rows, in number and in length
  std::vector<std::vector<double>> diagonals_;  // [root]
  bool roots_kept_ = true;
  bool whole_ = false;  // the set is the task, whose roots are stored: nothing to fetch
  std::vector<std::unique_ptr<double[]>> roots_;  // [root], capacity x capacity; or one row
  Index slots_ = 0;                               // of mixed rows
  std::unique_ptr<MixedRows> rows_;
  std::vector<const double*> values_;  // work space: a row per root
};

}  // namespace coterie
