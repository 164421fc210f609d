#include "coterie/io/model_file_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "coterie/io/hdf5_reader.hpp"
#include "coterie/io/hdf5_writer.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/io/model_file_fields.hpp"
#include "coterie/io/model_file_old.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 20;  // bytes

// Values as a file has them: 0 and 1 for truth, names for choices, all others as they are.
template <typename Value>
decltype(auto) stored(const Value& value) {
  if constexpr (std::is_enum_v<Value>)
    return to_string(value);
  else if constexpr (std::is_same_v<Value, bool>)
    return Index{value};
  else
    return (value);
}
template <typename Value>
using Stored = std::decay_t<decltype(stored(std::declval<const Value&>()))>;

std::optional<Casting> choice(const std::string& text, Casting) { return casting_from(text); }
std::optional<Claim> choice(const std::string& text, Claim) { return claim_from(text); }
std::optional<Status> choice(const std::string& text, Status) { return status_from(text); }
std::optional<Scaling::Kind> choice(const std::string& text, Scaling::Kind) {
  return scaling_kind_from(text);
}
std::optional<Calibration::Kind> choice(const std::string& text, Calibration::Kind) {
  return calibration_kind_from(text);
}

template <typename Value>
void restore(Stored<Value> from, Value& value, const std::string& path) {
  if constexpr (std::is_same_v<Value, bool>) {
    if (from != 0 && from != 1) throw InputError(fmt::format("{} has {}, not 0 or 1", path, from));
    value = from == 1;
  } else if constexpr (std::is_enum_v<Value>) {
    const auto known = choice(from, value);
    if (!known) throw InputError(fmt::format("{} is unknown", path));
    value = *known;
  } else {
    value = std::move(from);
  }
}

constexpr Index single = -1;

// A value of the list at `path`, or the single one there.
std::string place(const std::string& path, Index at) {
  return at == single ? path : fmt::format("{}[{}]", path, at);
}

void check(const std::string& path, Index at, double value, const Range& range) {
  if (!range.holds(value))
    throw InputError(fmt::format("{} is {}, not {}", place(path, at), value, range.text()));
}

void check(const std::string& path, Index at, std::string text, Text rule) {
  if (text.empty() && rule != Text::name) return;
  if (text.size() > kLongestText)
    throw InputError(fmt::format("{} is longer than {} bytes", place(path, at), kLongestText));
  if (rule == Text::words)
    for (char& c : text)
      if (std::string_view("\t\n\v\f\r").find(c) != std::string_view::npos) c = ' ';
  const std::string problem = describe_bad_name(text);
  if (!problem.empty()) throw InputError(fmt::format("{} {}", place(path, at), problem));
}

template <typename Value>
void check(const std::string&, Index, const Value&, OneOfAFew) {}

template <typename List, typename Rule>
void check_all(const std::string& path, const List& list, const Rule& rule, Index at = 0) {
  for (const auto& value : list) check(path, at++, value, rule);
}

void require_length(std::string_view path, Index found, Index wanted) {
  if (found != wanted)
    throw InputError(fmt::format("{} has {} values, not {}", path, found, wanted));
}

template <typename List>
Index length_of(const List& list) {
  if constexpr (requires { list.rows(); })
    return list.rows();
  else
    return std::ssize(list);
}

enum class Mode { write, read, check };

template <Mode mode>
class Pass {
 public:
  static constexpr bool reads = mode == Mode::read;
  static constexpr bool writes = mode == Mode::write;
  using File = std::conditional_t<reads, const Hdf5Reader, Hdf5Writer>;

  // `is_old`: what the file lacks stays as it is.
  explicit Pass(File* file, bool is_old = false, std::string prefix = "")
      : file_(file), is_old_(is_old), prefix_(std::move(prefix)) {}

  // The same for a model within the model.
  Pass within(const std::string& group) const { return Pass(file_, is_old_, prefix_ + group); }

  void group(const std::string& name) {
    if constexpr (writes) file_->add_group(prefix_ + name);
  }

  // A single value, a list or a matrix. Returns whether it is there.
  template <typename Value, typename Rule>
  bool value(const std::string& name, Value& value, const Rule& rule, Index length = any_length) {
    const std::string path = prefix_ + name;
    using Plain = std::remove_const_t<Value>;
    constexpr bool is_single =
        std::is_arithmetic_v<Plain> || std::is_enum_v<Plain> || std::is_same_v<Plain, std::string>;
    if (lacks(path)) return false;
    if constexpr (writes) {
      file_->add(path, stored(value));
    } else if constexpr (reads) {
      if constexpr (is_single)
        restore(read_single<Stored<Plain>>(path), value, path);
      else if constexpr (std::is_same_v<Plain, Matrix>)
        value = file_->matrix(path);
      else
        value = read_list<Plain>(path, file_->length(path));
    } else if constexpr (is_single) {
      check(path, single, value, rule);
    } else {
      if (length != any_length) require_length(path, length_of(value), length);
      if constexpr (std::is_same_v<Plain, Matrix>)
        check_all(path, value.template reshaped<Eigen::RowMajor>(), rule);
      else
        check_all(path, value, rule);
    }
    return true;
  }

  // As many items as the list has values.
  template <typename Items>
  void count(const std::string& name, Items& items) {
    const std::string path = prefix_ + name;
    if constexpr (reads)
      if (!lacks(path)) items.resize(static_cast<std::size_t>(file_->length(path)));
  }

  // A value of every item.
  template <typename Items, typename Get, typename Rule>
  void column(const std::string& name, Items& items, Get get, const Rule& rule) {
    const std::string path = prefix_ + name;
    using Value = std::decay_t<std::invoke_result_t<Get, decltype(items[0])>>;
    exchange<Value>(path, std::ssize(items), rule, [&](auto&& take) {
      for (auto& item : items) take(std::invoke(get, item));
    });
  }

  // Where the list of each item begins in the joined list; the last number is its end.
  template <typename Items, typename Get>
  std::vector<Index> offsets(const std::string& name, Items& items, Get get) {
    const std::string path = prefix_ + name;
    std::vector<Index> ends(items.size() + 1, 0);
    if constexpr (reads) {
      if (!lacks(path)) ends = file_->integers(path, std::ssize(ends));
      if (ends.front() != 0 || !std::ranges::is_sorted(ends))
        throw InputError(fmt::format("{} does not rise from 0", path));
    } else {
      for (std::size_t i = 0; i < items.size(); ++i)
        ends[i + 1] = ends[i] + length_of(std::invoke(get, items[i]));
      if constexpr (writes) file_->add(path, ends);
    }
    return ends;
  }

  // A list of every item, or a member of its elements, one behind the other.
  template <typename Items, typename Get, typename Rule, typename Element = std::identity>
  void joined(const std::string& name, Items& items, const std::vector<Index>& ends, Get get,
              const Rule& rule, Element element = {}) {
    const std::string path = prefix_ + name;
    using List = std::decay_t<std::invoke_result_t<Get, decltype(items[0])>>;
    using Value = std::decay_t<std::invoke_result_t<Element, decltype(std::declval<List&>()[0])>>;
    exchange<Value>(path, ends.back(), rule, [&](auto&& take) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        auto& list = std::invoke(get, items[i]);
        if constexpr (reads) list.resize(ends[i + 1] - ends[i]);
        require_length(path, std::ssize(list), ends[i + 1] - ends[i]);
        for (auto& entry : list) take(std::invoke(element, entry));
      }
    });
  }

  // A row of every item.
  template <typename Items, typename Get>
  void rows(const std::string& path, Items& items, Get get, const Range& range, Index length) {
    std::vector<Index> ends;
    for (Index i = 0; i <= std::ssize(items); ++i) ends.push_back(i);
    joined_rows(path, items, ends, get, range, length);
  }

  template <typename Items, typename Get>
  void joined_rows(const std::string& name, Items& items, const std::vector<Index>& ends, Get get,
                   const Range& range, Index length) {
    const std::string path = prefix_ + name;
    if (lacks(path)) return;
    Matrix all;
    if constexpr (reads) {
      all = file_->matrix(path);
      require_length(path, all.rows(), ends.back());
    } else if constexpr (writes) {
      all.resize(ends.back(), length);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto& own = std::invoke(get, items[i]);
      constexpr bool is_row = std::is_same_v<std::decay_t<decltype(own)>, Vector>;
      const Index count = ends[i + 1] - ends[i];
      if constexpr (mode == Mode::check) {
        if (count > 0) require_length(path, is_row ? own.size() : own.cols(), length);
        check_all(path, own.template reshaped<Eigen::RowMajor>(), range, ends[i] * length);
      } else if constexpr (reads && is_row) {
        own = all.row(ends[i]);
      } else if constexpr (reads) {
        own = all.middleRows(ends[i], count);
      } else if constexpr (is_row) {
        all.row(ends[i]) = own;
      } else if (count > 0) {
        all.middleRows(ends[i], count) = own;
      }
    }
    if constexpr (writes) file_->add(path, all);
  }

 private:
  bool lacks(const std::string& path) const {
    if constexpr (reads) return is_old_ && !file_->has(path);
    return false;
  }

  template <typename Value>
  Value read_single(const std::string& path) const {
    if constexpr (std::is_same_v<Value, double>)
      return file_->real(path);
    else if constexpr (std::is_same_v<Value, Index>)
      return file_->integer(path);
    else
      return file_->text(path);
  }

  template <typename List>
  List read_list(const std::string& path, Index length) const {
    if constexpr (std::is_same_v<List, Vector>)
      return file_->reals(path, length);
    else if constexpr (std::is_same_v<List, std::vector<Index>>)
      return file_->integers(path, length);
    else
      return file_->texts(path, length);
  }

  // `each` hands all values of a list over, one after the other.
  template <typename Value, typename Rule, typename Each>
  void exchange(const std::string& path, Index count, const Rule& rule, const Each& each) {
    using List = std::conditional_t<std::is_same_v<Stored<Value>, double>, Vector,
                                    std::vector<Stored<Value>>>;
    if (lacks(path)) return;
    Index at = 0;
    if constexpr (mode == Mode::check) {
      each([&](const Value& value) { check(path, at++, value, rule); });
    } else if constexpr (reads) {
      List list = read_list<List>(path, count);
      each([&](Value& value) { restore<Value>(std::move(list[at++]), value, path); });
    } else {
      List list(count);
      each([&](const Value& value) { list[at++] = stored(value); });
      file_->add(path, list);
    }
  }

  File* file_;
  bool is_old_;
  std::string prefix_;  // of all paths
};

}  // namespace

std::string Range::text() const {
  if (kind == Kind::ends) return fmt::format("{} or {}", low, high);
  if (kind == Kind::above_low) return fmt::format("a number > {}", low);
  if (low < -1e300) return "a finite number";
  if (high > 1e300) return fmt::format("a number >= {}", low);
  return high < low ? "any value" : fmt::format("from {} to {}", low, high);
}

std::string write_arrays(const Model& model) {
  Hdf5Writer file;
  Pass<Mode::write> pass(&file);
  visit_model(pass, model);
  return file.finish();
}

Model read_arrays(std::string_view bytes, int version) {
  Hdf5Reader file(bytes);
  const bool is_old = version < kFirstOfThisLayout;
  if (is_old) rearrange_old(file);
  // The version stands before what the checksum covers: it is not that of the contents.
  if (version < kFirstWithNeighbours && file.has("/features/neighbours"))
    throw InputError(fmt::format("its version {} has no /features/neighbours", version));
  Model model;
  Pass<Mode::read> pass(&file, version < kModelVersion);
  visit_model(pass, model);
  if (is_old) complete_old(file, model);
  return model;
}

void check_values(const Model& model) {
  Pass<Mode::check> pass(nullptr);
  visit_model(pass, model);
}

}  // namespace coterie::detail
