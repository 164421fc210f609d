// Rows of a mixed kernel while an SVM is solved. They are of use until the weights change, so tasks that are solved one after
// another take turns with the same memory, which stays in the caches.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

class MixedRows {
 public:
  // Forgets all. From now on there are `rows` rows of `width` numbers, of which `slots` can be here at a time.
  void reset(Index rows, Index width, Index slots);

  struct Place {
    double* row;
    bool filled;  // else the caller fills it
  };
  // Where row k is, or shall be: then instead of the one that was asked for longest ago.
  Place find(Index k);

 private:
  Index width_ = 0;
  Index slots_ = 0;
  std::unique_ptr<double[]> numbers_;
  Index capacity_ = 0;               // of `numbers_`
  std::vector<Index> slot_;          // [row], -1: not here
  std::vector<Index> owner_;         // [slot], -1: free
  std::vector<std::uint64_t> used_;  // [slot], when it was asked for last
  std::uint64_t clock_ = 0;
};

// As many of them as there are threads at work.
class RowPool {
 public:
  std::unique_ptr<MixedRows> take();
  void give_back(std::unique_ptr<MixedRows> rows);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<MixedRows>> idle_;
};

}  // namespace coterie
