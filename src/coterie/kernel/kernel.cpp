#include "coterie/kernel/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace coterie {
namespace {

constexpr std::string_view kGrammar =
    "Kernels are linear, poly:degree[:offset], gauss:width,..., laplace:width,..., chi2, "
    "precomputed:FILE and paper; :raw may follow, then @ and columns such as f1-f8+f12; kernels "
    "are "
    "separated by spaces.";

// The range in which neither s^2 nor 1 / s^2 leaves the numbers.
constexpr double kSmallestWidth = 1e-100;
constexpr double kLargestWidth = 1e100;
constexpr double kLargestDegree = 1000;

[[noreturn]] void fail(std::string_view word, std::string_view what) {
  throw InputError(fmt::format("kernel '{}': {}. {}", word, what, kGrammar));
}

bool is_space(char c) { return std::string_view(" \t\r\n\f\v").find(c) != std::string_view::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// A comma ends a word when a kernel can follow; within a list of widths a digit follows.
bool ends_word(std::string_view text, std::size_t i) {
  if (is_space(text[i]) || text[i] == ';') return true;
  if (text[i] != ',' || i + 1 == text.size()) return false;
  return is_letter(text[i + 1]) || is_space(text[i + 1]);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t begin = i;
    const bool file = text.substr(begin).starts_with("precomputed:");
    while (i < text.size() && !(file ? is_space(text[i]) || text[i] == ';' : ends_word(text, i)))
      ++i;
    if (i > begin) words.push_back(text.substr(begin, i - begin));
    ++i;
  }
  return words;
}

std::optional<double> read_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

double read_degree(std::string_view word, std::string_view text) {
  const std::optional<double> degree = read_number(text);
  if (!degree || *degree != std::floor(*degree) || *degree < 1 || *degree > kLargestDegree)
    fail(word,
         fmt::format("the degree '{}' is not a whole number from 1 to {}", text, kLargestDegree));
  return *degree;
}

double read_offset(std::string_view word, std::string_view text) {
  const std::optional<double> offset = read_number(text);
  if (!offset || *offset < 0)
    fail(word, fmt::format("the offset '{}' is not a number of at least 0", text));
  return *offset + 0.0;  // -0 becomes 0
}

double read_width(std::string_view word, std::string_view text) {
  const std::optional<double> width = read_number(text);
  if (!width || *width < kSmallestWidth || *width > kLargestWidth)
    fail(word, fmt::format("the width '{}' is not a positive number (from {} to {})", text,
                           kSmallestWidth, kLargestWidth));
  return *width;
}

Kernel read_precomputed(std::string_view word) {
  std::string_view file = word.substr(std::string_view("precomputed:").size());
  const bool raw = file.ends_with(":raw");
  if (raw) file.remove_suffix(4);
  if (file.empty()) fail(word, "no file follows 'precomputed:'");
  return {.kind = Kernel::Kind::precomputed, .raw = raw, .file = std::string(file)};
}

// One word makes several kernels when it has a list of widths, or is `paper`.
std::vector<Kernel> read_word(std::string_view word) {
  if (word.starts_with("precomputed:")) return {read_precomputed(word)};
  if (word == "precomputed") fail(word, "no file follows; write precomputed:FILE");

  const std::size_t at = word.find('@');
  const std::string_view block = at == word.npos ? std::string_view() : word.substr(at + 1);
  if (at != word.npos && block.empty()) fail(word, "no columns follow '@'");

  std::vector<std::string_view> fields = split(word.substr(0, at), ':');
  const bool raw = fields.size() > 1 && fields.back() == "raw";
  if (raw) fields.pop_back();
  const std::string_view name = fields[0];

  std::vector<Kernel> kernels;
  if (name == "linear" || name == "chi2" || name == "paper") {
    if (fields.size() > 1)
      fail(word, fmt::format("'{}' takes no parameter, but '{}' follows it", name, fields[1]));
    if (name == "paper")
      kernels = paper_kernels().list();
    else
      kernels.push_back({.kind = name == "linear" ? Kernel::Kind::linear : Kernel::Kind::chi2});
  } else if (name == "poly") {
    if (fields.size() < 2) fail(word, "'poly' needs a degree, such as poly:2");
    if (fields.size() > 3)
      fail(word, "'poly' takes a degree and at most one offset, such as poly:2:1");
    const double degree = read_degree(word, fields[1]);
    const double offset = fields.size() == 3 ? read_offset(word, fields[2]) : 0;
    kernels.push_back({.kind = Kernel::Kind::poly, .parameter = degree, .offset = offset});
  } else if (name == "gauss" || name == "laplace") {
    if (fields.size() != 2)
      fail(word, fmt::format("'{0}' needs one list of widths, such as {0}:1,2,4", name));
    const Kernel::Kind kind = name == "gauss" ? Kernel::Kind::gauss : Kernel::Kind::laplace;
    for (const std::string_view width : split(fields[1], ','))
      kernels.push_back({.kind = kind, .parameter = read_width(word, width)});
  } else {
    fail(word, fmt::format("there is no kernel '{}'", name));
  }
  for (Kernel& kernel : kernels) {
    kernel.raw = raw;
    kernel.block = block;
  }
  return kernels;
}

std::optional<Index> find_column(std::string_view name, const std::vector<std::string>& features) {
  const auto found = std::find(features.begin(), features.end(), name);
  if (found == features.end()) return {};
  return found - features.begin();
}

std::string describe_columns(const std::vector<std::string>& features) {
  if (features.empty()) return "The data have no named columns.";
  constexpr std::size_t shown = 6;
  const bool many = features.size() > shown;
  std::string text =
      many ? fmt::format("The {} columns are ", features.size()) : "The columns are ";
  for (std::size_t k = 0; k + 1 < std::min(shown, features.size()); ++k)
    text.append(features[k]).append(", ");
  return text.append(many ? "..., " : "").append(features.back()).append(".");
}

// A part of a block: a column, or a range "first-last" of columns in the order of the data.
std::vector<Index> read_columns(const std::string& kernel, std::string_view part,
                                const std::vector<std::string>& features) {
  if (const std::optional<Index> column = find_column(part, features)) return {*column};

  std::optional<std::pair<Index, Index>> range;
  for (std::size_t dash = part.find('-'); dash != part.npos; dash = part.find('-', dash + 1)) {
    const std::optional<Index> first = find_column(part.substr(0, dash), features);
    const std::optional<Index> last = find_column(part.substr(dash + 1), features);
    if (!first || !last) continue;
    if (range)
      throw InputError(
          fmt::format("kernel '{}': the range '{}' can be read in two ways, because column names "
                      "contain '-'. List its columns one by one, joined by '+'.",
                      kernel, part));
    range = {*first, *last};
  }
  if (!range) {
    const std::string_view advice = part.ends_with(":raw") ? " Write ':raw' before '@'." : "";
    throw InputError(
        fmt::format("kernel '{}': '{}' is neither a column nor a range first-last of columns. {}{}",
                    kernel, part, describe_columns(features), advice));
  }
  if (range->first > range->second)
    throw InputError(fmt::format(
        "kernel '{}': the range '{}' runs backwards; its first column is number {} in the data, "
        "its last number {}. Swap the two.",
        kernel, part, range->first + 1, range->second + 1));
  std::vector<Index> columns(range->second - range->first + 1);
  std::iota(columns.begin(), columns.end(), range->first);
  return columns;
}

// The value before division by the norms.
double raw_value(const Kernel& kernel, const Vector& x, const Vector& z) {
  double sum = 0;
  switch (kernel.kind) {
    case Kernel::Kind::linear:
    case Kernel::Kind::poly:
      for (Index j = 0; j < x.size(); ++j) sum += x[j] * z[j];
      if (kernel.kind == Kernel::Kind::linear) return sum;
      return std::pow(sum + kernel.offset, kernel.parameter);
    case Kernel::Kind::gauss:
      for (Index j = 0; j < x.size(); ++j) sum += (x[j] - z[j]) * (x[j] - z[j]);
      return std::exp(-sum / (2 * kernel.parameter * kernel.parameter));
    case Kernel::Kind::laplace:
      for (Index j = 0; j < x.size(); ++j) sum += std::abs(x[j] - z[j]);
      return std::exp(-sum / kernel.parameter);
    case Kernel::Kind::chi2:
      for (Index j = 0; j < x.size(); ++j) {
        if (x[j] < 0 || z[j] < 0)
          throw InputError(fmt::format(
              "kernel '{}' needs features of at least 0, but one is {}. Use `scale` minmax, or "
              "another kernel.",
              to_string(kernel), std::min(x[j], z[j])));
        if (x[j] + z[j] > 0) sum += 2 * x[j] * z[j] / (x[j] + z[j]);
      }
      return sum;
    case Kernel::Kind::precomputed:
      break;
  }
  throw InputError(fmt::format(
      "kernel '{}' has values only for the rows of its file, not for other points. Use kernels of "
      "the features.",
      to_string(kernel)));
}

}  // namespace

std::vector<Kernel> parse_kernels(std::string_view text) {
  std::vector<Kernel> kernels;
  for (const std::string_view word : split_words(text)) {
    const std::vector<Kernel> more = read_word(word);
    kernels.insert(kernels.end(), more.begin(), more.end());
  }
  if (kernels.empty()) throw InputError(fmt::format("the list of kernels is empty. {}", kGrammar));
  check_distinct(kernels);
  return kernels;
}

namespace {

// Names that would end a word, or mean something else in one, could not be read back from a model file.
void check_text(const Kernel& kernel) {
  const std::string name = to_string(kernel);
  const bool one_word = split_words(name) == std::vector<std::string_view>{name};
  if (!one_word || read_word(name) != std::vector{kernel})
    fail(name, "as text this means other kernels");
}

Kernels of_widths(Kernel::Kind kind, const std::vector<double>& widths) {
  std::vector<Kernel> list;
  for (const double width : widths) {
    read_width(kind == Kernel::Kind::gauss ? "gauss" : "laplace", fmt::to_string(width));
    list.push_back({.kind = kind, .parameter = width});
  }
  return Kernels(std::move(list));
}

}  // namespace

Kernels::Kernels(std::initializer_list<Kernels> parts) {
  for (const Kernels& part : parts) list_.insert(list_.end(), part.list_.begin(), part.list_.end());
  check_distinct(list_);
}

Kernels Kernels::on(const std::string& block) const {
  Kernels out = *this;
  for (Kernel& kernel : out.list_) {
    kernel.block = block;
    check_text(kernel);
  }
  return out;
}

Kernels Kernels::raw() const {
  Kernels out = *this;
  for (Kernel& kernel : out.list_) kernel.raw = true;
  return out;
}

Kernels linear() { return Kernels({Kernel{.kind = Kernel::Kind::linear}}); }
Kernels poly(Index degree, double offset) {
  read_degree("poly", fmt::to_string(degree));
  read_offset("poly", fmt::to_string(offset));
  const double power = static_cast<double>(degree);
  return Kernels({Kernel{.kind = Kernel::Kind::poly, .parameter = power, .offset = offset}});
}
Kernels gauss(const std::vector<double>& widths) { return of_widths(Kernel::Kind::gauss, widths); }
Kernels laplace(const std::vector<double>& widths) {
  return of_widths(Kernel::Kind::laplace, widths);
}
Kernels chi2() { return Kernels({Kernel{.kind = Kernel::Kind::chi2}}); }
Kernels precomputed(const std::string& file) {
  const Kernel kernel = {.kind = Kernel::Kind::precomputed, .file = file};
  check_text(kernel);
  return Kernels({kernel});
}
Kernels paper_kernels() { return {linear(), poly(2), gauss({1, 2, 4, 8, 16, 32, 64, 128})}; }

std::string to_string(const Kernels& kernels) {
  if (kernels == paper_kernels()) return "paper";
  std::string text;
  for (std::size_t k = 0; k < kernels.list().size(); ++k) {
    Kernel kernel = kernels.list()[k];
    const bool wide = kernel.kind == Kernel::Kind::gauss || kernel.kind == Kernel::Kind::laplace;
    std::string widths;
    for (; wide && k + 1 < kernels.list().size(); ++k) {
      Kernel next = kernels.list()[k + 1];
      const double width = std::exchange(next.parameter, kernel.parameter);
      if (next != kernel) break;
      widths += fmt::format(",{}", width);
    }
    std::string name = to_string(kernel);
    if (!widths.empty()) {
      const std::size_t colon = name.find(':');
      name.insert(std::min(name.find_first_of(":@", colon + 1), name.size()), widths);
    }
    text += (text.empty() ? "" : text.ends_with(',') ? ";" : " ") + name;  // ", " ends a word
  }
  return text;
}

std::string to_string(const Kernel& kernel) {
  std::string text;
  switch (kernel.kind) {
    case Kernel::Kind::linear:
      text = "linear";
      break;
    case Kernel::Kind::poly:
      text = fmt::format("poly:{}", kernel.parameter);
      if (kernel.offset != 0) text += fmt::format(":{}", kernel.offset);
      break;
    case Kernel::Kind::gauss:
      text = fmt::format("gauss:{}", kernel.parameter);
      break;
    case Kernel::Kind::laplace:
      text = fmt::format("laplace:{}", kernel.parameter);
      break;
    case Kernel::Kind::chi2:
      text = "chi2";
      break;
    case Kernel::Kind::precomputed:
      text = fmt::format("precomputed:{}", kernel.file);
      break;
  }
  if (kernel.raw) text += ":raw";
  if (!kernel.block.empty()) text += fmt::format("@{}", kernel.block);
  return text;
}

void check_distinct(const std::vector<Kernel>& kernels) {
  std::set<std::string> names;
  for (const Kernel& kernel : kernels) {
    const std::string name = to_string(kernel);
    if (!names.insert(name).second)
      throw InputError(
          fmt::format("kernel '{}' is listed twice; the weights of two equal kernels have no "
                      "meaning. Remove one of them.",
                      name));
  }
}

void resolve_columns(std::vector<Kernel>& kernels, const std::vector<std::string>& features) {
  for (Kernel& kernel : kernels) {
    kernel.columns.clear();
    if (kernel.block.empty()) continue;
    const std::string name = to_string(kernel);
    const std::vector<std::string_view> parts = find_column(kernel.block, features)
                                                    ? std::vector<std::string_view>{kernel.block}
                                                    : split(kernel.block, '+');
    for (const std::string_view part : parts) {
      for (const Index column : read_columns(name, part, features)) {
        if (std::find(kernel.columns.begin(), kernel.columns.end(), column) != kernel.columns.end())
          throw InputError(
              fmt::format("kernel '{}': column '{}' is listed twice. Name each column once.", name,
                          features[column]));
        kernel.columns.push_back(column);
      }
    }
  }
}

double kernel_value(const Kernel& kernel, ConstVectorRef x, ConstVectorRef z) {
  const bool all = kernel.columns.empty();
  const Vector a = all ? Vector(x) : Vector(x(kernel.columns));
  const Vector b = all ? Vector(z) : Vector(z(kernel.columns));
  if (kernel.raw) return raw_value(kernel, a, b);
  // The power of poly comes last: that of a quotient stays within the numbers, where those of its parts may not.
  Kernel base = kernel;
  if (kernel.kind == Kernel::Kind::poly) base.parameter = 1;
  const double value = raw_value(base, a, b);
  const double norms = std::sqrt(raw_value(base, a, a)) * std::sqrt(raw_value(base, b, b));
  if (!(norms > 0))
    throw InputError(
        fmt::format("kernel '{}' cannot be normalised at a zero vector. Make the kernel raw "
                    "(':raw'), or use `normalise` none or `scale` standard.",
                    to_string(kernel)));
  const double quotient = value / norms;
  return kernel.kind == Kernel::Kind::poly ? std::pow(quotient, kernel.parameter) : quotient;
}

}  // namespace coterie
