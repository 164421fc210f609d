// Records of a journal as numbers.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "coterie/mtmkl/problem.hpp"

namespace coterie::app {

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

// Gives them back in the same order. Records of a journal have a checksum, and so are what was written.
class NumberReader {
 public:
  explicit NumberReader(const std::string& bytes) : values_(bytes.size() / sizeof(double)) {
    std::memcpy(values_.data(), bytes.data(), values_.size() * sizeof(double));
  }
  double number() { return values_.at(next_++); }
  Index whole() { return static_cast<Index>(number()); }
  Vector vector(Index count) {
    Vector out(count);
    for (double& value : out) value = number();
    return out;
  }
  Matrix matrix(Index rows, Index cols) {
    Matrix out(rows, cols);
    for (Index i = 0; i < out.size(); ++i) out.data()[i] = number();
    return out;
  }
  Groups groups() {
    Groups out(static_cast<std::size_t>(whole()));
    for (std::vector<Index>& group : out) {
      group.resize(static_cast<std::size_t>(whole()));
      for (Index& t : group) t = whole();
    }
    return out;
  }

 private:
  std::vector<double> values_;
  std::size_t next_ = 0;
};

}  // namespace coterie::app
