#include "coterie/math/isotonic.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace coterie {

namespace {

struct Block {
  Index first = 0;
  double sum = 0, weight = 0;  // of weight_i z_i, of weight_i
  double mean = 0;
};

}  // namespace

// Every entry begins as a block of its own. A block whose mean does not exceed that of the block before it joins it, and so on downwards.
// Hence means increase strictly from block to block, and z_first >= mean >= z_last in each: that mends the rounding of the mean.
Isotonic isotonic_regression(ConstVectorRef z, ConstVectorRef weight) {
  assert(z.size() == weight.size());
  std::vector<Block> blocks;
  for (Index i = 0; i < z.size(); ++i) {
    assert(weight[i] > 0);
    Block next{i, weight[i] * z[i], weight[i], z[i]};
    while (!blocks.empty() && blocks.back().mean >= next.mean) {
      const Block& last = blocks.back();
      next = {last.first, last.sum + next.sum, last.weight + next.weight, 0};
      next.mean = std::clamp(next.sum / next.weight, z[i], z[next.first]);
      blocks.pop_back();
    }
    blocks.push_back(next);
  }

  Isotonic out{Vector(z.size()), {}};
  Index end = z.size();
  for (std::size_t k = blocks.size(); k-- > 0;) {
    const Block& block = blocks[k];
    out.x.segment(block.first, end - block.first).setConstant(block.mean);
    end = block.first;
  }
  std::ranges::transform(blocks, std::back_inserter(out.first), &Block::first);
  return out;
}

}  // namespace coterie
