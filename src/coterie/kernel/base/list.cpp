#include "coterie/kernel/base/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace coterie {
namespace {

// The range in which neither s^2 nor 1 / s^2 leaves the numbers.
constexpr double kSmallestWidth = 1e-100;
constexpr double kLargestWidth = 1e100;

std::string forms() {
  std::string text;
  for (const BaseKernel* base : BaseKernels::table)
    text.append(text.empty() ? "" : ", ").append(base->grammar);
  return text;
}

}  // namespace

const BaseKernel* find_base_kernel(std::string_view name) {
  const auto found = std::ranges::find(BaseKernels::table, name, &BaseKernel::name);
  return found == std::end(BaseKernels::table) ? nullptr : *found;
}

const char* help_of_kernels() {
  static const std::string text = fmt::format(
      "kernels to mix: {}, each with ':raw' (not normalised), '@f1-f8+f12' (only these columns) or "
      "'@each' (one kernel for every column) behind it",
      forms());
  return text.c_str();
}

std::string kernel_grammar() {
  return fmt::format(
      "Kernels are {} and paper; :raw may follow, then @ and columns such as f1-f8+f12, or @each; "
      "kernels are separated by spaces.",
      forms());
}

void fail_at_word(std::string_view word, std::string_view what) {
  throw InputError(fmt::format("kernel '{}': {}{} {}", word, what, what.ends_with('?') ? "" : ".",
                               kernel_grammar()));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> read_argument(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

void expect_no_arguments(const KernelWord& word, std::string_view name) {
  if (!word.arguments.empty())
    fail_at_word(word.word, fmt::format("'{}' takes no parameter, but '{}' follows it", name,
                                        word.arguments[0]));
}

std::vector<Kernel> read_no_arguments(const KernelWord& word) {
  expect_no_arguments(word, word.base->name);
  return {{.base = word.base}};
}

std::string write_no_arguments(const Kernel& /*kernel*/) { return ""; }

std::vector<Kernel> read_widths(const KernelWord& word) {
  if (word.arguments.size() != 1)
    fail_at_word(word.word,
                 fmt::format("'{0}' needs one list of widths, such as {0}:1,2,4", word.base->name));
  std::vector<Kernel> kernels;
  for (const std::string_view text : split(word.arguments[0], ',')) {
    const std::optional<double> width = read_argument(text);
    if (!width || *width < kSmallestWidth || *width > kLargestWidth)
      fail_at_word(word.word, fmt::format("the width '{}' is not a positive number (from {} to {})",
                                          text, kSmallestWidth, kLargestWidth));
    kernels.push_back({.base = word.base, .parameter = *width});
  }
  return kernels;
}

std::string write_width(const Kernel& kernel) { return fmt::format(":{}", kernel.parameter); }

}  // namespace coterie
