#include "coterie/data/fingerprint.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

namespace coterie {
namespace {

// FNV-1a over 64-bit words instead of bytes, with the high bits folded down, which a word-wise product would never reach.
class Hash {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001b3U;
    state_ ^= state_ >> 29;
  }
  void add(Index number) { add(static_cast<std::uint64_t>(number)); }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(const std::string& text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  void add(const std::vector<std::string>& names) {
    add(static_cast<std::uint64_t>(names.size()));
    for (const std::string& name : names) add(name);
  }
  std::uint64_t value() const {
    std::uint64_t x = state_;
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
    return x ^ (x >> 33);
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace

std::string fingerprint(const Dataset& data) {
  Hash hash;
  hash.add(data.X.rows());
  hash.add(data.X.cols());
  for (Index i = 0; i < data.X.rows(); ++i) {
    for (Index j = 0; j < data.X.cols(); ++j) hash.add(data.X(i, j));
  }
  hash.add(data.features);
  hash.add(static_cast<Index>(data.tasks.size()));
  for (const Task& task : data.tasks) {
    hash.add(task.name);
    hash.add(task.negative);
    hash.add(task.positive);
    hash.add(task.size());
    for (const Index row : task.rows) hash.add(row);
    for (const double y : task.y) hash.add(y);
  }
  hash.add(data.classes);
  hash.add(static_cast<Index>(data.casting));
  for (const double weight : data.weight) hash.add(weight);
  return fmt::format("{:016x}", hash.value());
}

}  // namespace coterie
