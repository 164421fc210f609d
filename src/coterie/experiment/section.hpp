// A table of a plan, whose values are asked for by name. Errors name file, line, key, what was found and what is allowed.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coterie/experiment/toml.hpp"
#include "coterie/math/types.hpp"

namespace coterie::detail {

// Every key is asked for by name; those that nobody asked for are errors.
class Section {
 public:
  Section(const toml::table& table, std::string file, std::string name)
      : table_(table), file_(std::move(file)), name_(std::move(name)) {}

  [[noreturn]] void fail(const toml::node& at, const std::string& what) const;
  [[noreturn]] void refuse(const std::string& key, const toml::node& node,
                           const std::string& rule) const;
  [[noreturn]] void lacks(const std::string& key, const std::string& rule) const;

  const toml::node* find(const std::string& key);
  bool has(const std::string& key) const { return table_.contains(key); }

  std::optional<std::string> text(const std::string& key, const std::string& rule);
  // A name that goes into tables and messages.
  std::string name(const std::string& key);
  bool truth(const std::string& key);
  std::optional<Index> whole(const std::string& key, Index least,
                             std::optional<Index> most = std::nullopt);
  std::vector<std::string> texts(const std::string& key, const std::string& rule);
  // Numbers and texts as the texts that settings are read from.
  std::vector<std::string> values(const std::string& key, const std::string& rule);
  std::optional<double> number(const std::string& key, const std::string& rule, auto&& allowed) {
    const toml::node* node = find(key);
    if (!node) return {};
    return number_of(key, *node, rule, allowed);
  }
  double number_of(const std::string& key, const toml::node& node, const std::string& rule,
                   auto&& allowed) const {
    const std::optional<double> value =
        node.is_number() ? node.value<double>() : std::optional<double>();
    if (!value || !allowed(*value)) refuse(key, node, rule);
    return *value;
  }
  // One or a list, each read by read(node).
  template <typename Value>
  std::vector<Value> list(const std::string& key, const std::string& rule, auto&& read) {
    std::vector<Value> out;
    const toml::node* node = find(key);
    if (!node) return out;
    if (!node->is_array()) return {read(*node)};
    for (const toml::node& entry : *node->as_array()) out.push_back(read(entry));
    if (out.empty()) refuse(key, *node, rule);
    return out;
  }
  template <typename Value>
  std::optional<Value> one_of(const std::string& key, const std::string& rule, auto&& from) {
    const std::optional<std::string> given = text(key, rule);
    if (!given) return {};
    const std::optional<Value> value = from(*given);
    if (!value) refuse(key, *table_.get(key), rule);
    return value;
  }
  // What the library says of a value, at its place.
  template <typename Action>
  auto at(const std::string& key, Action&& action) {
    try {
      return action();
    } catch (const InputError& error) {
      const toml::node* node = table_.get(key);
      fail(node ? *node : table_, plain(error.what()));
    }
  }
  // Throws where the table has a key that nobody asked for.
  void done() const;

 private:
  static std::string plain(std::string text);

  const toml::table& table_;
  std::string file_, name_;
  std::vector<std::string> asked_;
};

}  // namespace coterie::detail
