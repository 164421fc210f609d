#include "coterie/experiment/section.hpp"

#include <algorithm>

namespace coterie::detail {

namespace {

std::string found(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("'{}'", text->get());
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return node.is_array() ? "a list" : node.is_table() ? "a table" : "a date";
}

}  // namespace

void Section::fail(const toml::node& at, const std::string& what) const {
  throw_shown(fmt::format("{}:{}: {}{}", file_, at.source().begin.line,
                          name_.empty() ? "" : name_ + ": ", what));
}

void Section::refuse(const std::string& key, const toml::node& node,
                     const std::string& rule) const {
  fail(node, fmt::format("'{}' is {}; it must be {}.", key, found(node), rule));
}

void Section::lacks(const std::string& key, const std::string& rule) const {
  fail(table_, fmt::format("'{}' is missing; give {}.", key, rule));
}

const toml::node* Section::find(const std::string& key) {
  asked_.push_back(key);
  return table_.get(key);
}

std::optional<std::string> Section::text(const std::string& key, const std::string& rule) {
  const toml::node* node = find(key);
  if (!node) return {};
  if (!node->is_string() || node->as_string()->get().empty()) refuse(key, *node, rule);
  return node->as_string()->get();
}

std::string Section::name(const std::string& key) {
  const std::optional<std::string> given = text(key, "a text");
  if (!given) lacks(key, "it a text that tells it from others");
  if (std::ranges::any_of(*given, [](char c) { return static_cast<unsigned char>(c) < 32; }))
    refuse(key, *table_.get(key), "a text without control characters");
  return *given;
}

bool Section::truth(const std::string& key) {
  const toml::node* node = find(key);
  if (node && !node->is_boolean()) refuse(key, *node, "true or false");
  return node && node->as_boolean()->get();
}

std::optional<Index> Section::whole(const std::string& key, Index least,
                                    std::optional<Index> most) {
  const toml::node* node = find(key);
  if (!node) return {};
  if (!node->is_integer() || node->as_integer()->get() < least ||
      (most && node->as_integer()->get() > *most))
    refuse(key, *node,
           most ? fmt::format("a whole number from {} to {}", least, *most)
                : fmt::format("a whole number >= {}", least));
  return node->as_integer()->get();
}

std::vector<std::string> Section::texts(const std::string& key, const std::string& rule) {
  return list<std::string>(key, rule, [&](const toml::node& node) {
    if (!node.is_string() || node.as_string()->get().empty()) refuse(key, node, rule);
    return node.as_string()->get();
  });
}

std::vector<std::string> Section::values(const std::string& key, const std::string& rule) {
  return list<std::string>(key, rule, [&](const toml::node& node) {
    if (node.is_string()) return node.as_string()->get();
    if (!node.is_number()) refuse(key, node, rule);
    return fmt::format("{}", *node.value<double>());
  });
}

void Section::done() const {
  for (const auto& [key, node] : table_)
    if (std::ranges::find(asked_, key.str()) == asked_.end())
      fail(node, fmt::format("there is no key '{}' here; the keys are {}.", key.str(),
                             fmt::join(asked_, ", ")));
}

// Settings stand between backquotes in texts of the library; a plan names them as they are.
std::string Section::plain(std::string text) {
  std::ranges::replace(text, '`', '\'');
  return text;
}

}  // namespace coterie::detail
