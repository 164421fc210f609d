// Records of a journal as numbers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "coterie/io/journal.hpp"
#include "coterie/mtmkl/problem.hpp"

namespace coterie {

// A row of numbers, put together piece by piece.
class Numbers {
 public:
  void add(double value) { values_.push_back(value); }
  void add(Index value) { values_.push_back(static_cast<double>(value)); }
  void add(const double* values, Index count) {
    values_.insert(values_.end(), values, values + count);
  }
  void add(const Groups& groups) {
    add(std::ssize(groups));
    for (const std::vector<Index>& group : groups) {
      add(std::ssize(group));
      for (const Index t : group) add(t);
    }
  }
  std::string bytes() const {
    std::string out(values_.size() * sizeof(double), '\0');
    std::memcpy(out.data(), values_.data(), out.size());
    return out;
  }

 private:
  std::vector<double> values_;
};

// Gives them back in the same order. A checksum says that a record is what was written, but not by whom: whatever a number is used for, it
// is checked here first. Throws InputError that says what is wrong with the record.
class NumberReader {
 public:
  explicit NumberReader(const std::string& bytes) : values_(bytes.size() / sizeof(double)) {
    if (bytes.empty() || bytes.size() % sizeof(double) != 0) fail("it is no row of numbers");
    std::memcpy(values_.data(), bytes.data(), bytes.size());
  }

  double number() {
    if (left() < 1) fail("it ends too early");
    return values_[next_++];
  }
  // In [least, most]; never NaN.
  double between(double least, double most, const char* what) {
    const double value = number();
    if (!(value >= least && value <= most)) fail(fmt::format("{} is {}", what, value));
    return value;
  }
  double share_or_none(const char* what) {  // in [0, 1], or NaN
    const double value = number();
    if (!std::isnan(value) && !(value >= 0 && value <= 1))
      fail(fmt::format("{} is {}", what, value));
    return value;
  }
  Index whole(Index least, Index most, const char* what) {
    const double value = between(static_cast<double>(least), static_cast<double>(most), what);
    if (value != std::floor(value)) fail(fmt::format("{} is {}", what, value));
    return static_cast<Index>(value);
  }
  Index count(const char* what) { return whole(0, Index{1} << 50, what); }
  void expect(Index expected, const char* what) {
    const double found = number();
    if (found != static_cast<double>(expected))
      fail(fmt::format("{} is {}, not {}", what, found, expected));
  }
  Vector vector(Index count, double least, double most, const char* what) {
    need(count);
    Vector out(count);
    for (double& value : out) value = between(least, most, what);
    return out;
  }
  Matrix matrix(Index rows, Index cols, double least, double most, const char* what) {
    need(rows, cols);
    Matrix out(rows, cols);
    for (Index i = 0; i < out.size(); ++i) out.data()[i] = between(least, most, what);
    return out;
  }
  // That every task is in exactly one of.
  Groups groups(Index tasks) {
    Groups out(static_cast<std::size_t>(whole(1, tasks, "the number of groups")));
    std::vector<bool> seen(static_cast<std::size_t>(tasks), false);
    Index members = 0;
    for (std::vector<Index>& group : out) {
      group.resize(static_cast<std::size_t>(whole(1, tasks, "the size of a group")));
      members += std::ssize(group);
      for (Index& t : group) {
        t = whole(0, tasks - 1, "a task of a group");
        if (seen[static_cast<std::size_t>(t)]) fail("a task is in two groups");
        seen[static_cast<std::size_t>(t)] = true;
      }
      if (!std::ranges::is_sorted(group)) fail("a group is not in the order of tasks");
    }
    if (members != tasks) fail("a task is in no group");
    return out;
  }
  // Throws unless so many numbers are left: before room is made for them.
  void need(Index count, Index each = 1) const {
    if (count < 0 || each < 1 || count > left() / each) fail("it ends too early");
  }
  void expect_end() const {
    if (left() > 0) fail("it is too long");
  }
  [[noreturn]] static void fail(const std::string& what) { throw InputError(what); }

 private:
  Index left() const { return std::ssize(values_) - static_cast<Index>(next_); }

  std::vector<double> values_;
  std::size_t next_ = 0;
};

// Calls read(number, record) for every record of the journal; what it throws becomes a message that names file and place.
template <typename Read>
void read_journal(const Journal& journal, const Read& read) {
  for (std::size_t i = 0; i < journal.records().size(); ++i) {
    try {
      read(i, journal.records()[i]);
    } catch (const InputError& error) {
      journal.refuse(i, error.what());
    }
  }
}

}  // namespace coterie
