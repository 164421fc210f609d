#include "coterie/svm/mixed_rows.hpp"

#include <algorithm>
#include <utility>

namespace coterie {

void MixedRows::reset(Index rows, Index width, Index slots) {
  width_ = width;
  slots_ = slots;
  if (slots * width > capacity_) {
    numbers_.reset();  // before the larger one is there
    numbers_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(slots * width));
    capacity_ = slots * width;
  }
  slot_.assign(static_cast<std::size_t>(rows), -1);
  owner_.clear();
  owner_.reserve(static_cast<std::size_t>(slots));
  used_.assign(slots < rows ? static_cast<std::size_t>(slots) : 0, 0);
  clock_ = 0;
}

MixedRows::Place MixedRows::find(Index k) {
  Index& slot = slot_[static_cast<std::size_t>(k)];
  const bool filled = slot >= 0;
  if (!filled && std::ssize(owner_) < slots_) {
    slot = std::ssize(owner_);
    owner_.push_back(k);
  } else if (!filled) {
    slot = std::min_element(used_.begin(), used_.end()) - used_.begin();
    slot_[static_cast<std::size_t>(std::exchange(owner_[static_cast<std::size_t>(slot)], k))] = -1;
  }
  if (!used_.empty()) used_[static_cast<std::size_t>(slot)] = ++clock_;
  return {numbers_.get() + slot * width_, filled};
}

std::unique_ptr<MixedRows> RowPool::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<MixedRows>();
  std::unique_ptr<MixedRows> rows = std::move(idle_.back());
  idle_.pop_back();
  return rows;
}

void RowPool::give_back(std::unique_ptr<MixedRows> rows) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(rows));
}

}  // namespace coterie
