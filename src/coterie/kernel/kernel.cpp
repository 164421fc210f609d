#include "coterie/kernel/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "coterie/kernel/base/precomputed.hpp"

namespace coterie {
namespace {

constexpr std::string_view kEach = "each";  // instead of columns

bool is_space(char c) { return std::string_view(" \t\r\n\f\v").find(c) != std::string_view::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

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

Kernel read_precomputed(std::string_view word) {
  std::string_view file = word.substr(std::string_view("precomputed:").size());
  const bool raw = file.ends_with(":raw");
  if (raw) file.remove_suffix(4);
  if (file.empty()) fail_at_word(word, "no file follows 'precomputed:'");
  return {.base = &kPrecomputed, .raw = raw, .file = std::string(file)};
}

// What is wrong with the name, and what was meant perhaps.
std::string unknown_kernel(std::string_view word, std::string_view name) {
  if (name.empty())
    return fmt::format("it belongs to a kernel, without a blank between, as in linear{}", word);
  std::string meant(name);
  std::ranges::transform(meant, meant.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [other, ours] : {std::pair{"rbf", "gauss"},
                                    {"gaussian", "gauss"},
                                    {"polynomial", "poly"},
                                    {"laplacian", "laplace"}})
    if (meant == other) meant = ours;
  std::string text = fmt::format("there is no kernel '{}'", name);
  if (find_base_kernel(meant)) return text + fmt::format("; did you mean {}?", meant);
  const bool number = std::ranges::all_of(
      name, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == ','; });
  return number ? text + "; lists of widths have no blanks in them, as in gauss:1,2" : text;
}

// One word makes several kernels when it has a list of widths, or is `paper`.
std::vector<Kernel> read_word(std::string_view word) {
  if (word.starts_with("precomputed:")) return {read_precomputed(word)};
  if (word == "precomputed") fail_at_word(word, "no file follows; write precomputed:FILE");

  const std::size_t at = word.find('@');
  const std::string_view block = at == word.npos ? std::string_view() : word.substr(at + 1);
  if (at != word.npos && block.empty()) fail_at_word(word, "no columns follow '@'");

  std::vector<std::string_view> fields = split(word.substr(0, at), ':');
  const bool raw = fields.size() > 1 && fields.back() == "raw";
  if (raw) fields.pop_back();
  const std::string_view name = fields[0];
  const KernelWord parts{find_base_kernel(name), word, {fields.begin() + 1, fields.end()}};

  std::vector<Kernel> kernels;
  if (name == "paper") {
    expect_no_arguments(parts, name);
    kernels = paper_kernels().list();
  } else {
    if (!parts.base) fail_at_word(word, unknown_kernel(word, name));
    kernels = parts.base->arguments.read(parts);
  }
  for (Kernel& kernel : kernels) {
    kernel.raw = raw;
    kernel.block = block;
  }
  return kernels;
}

// By name, or as "#7" by number.
std::optional<Index> find_column(std::string_view name, const std::vector<std::string>& features) {
  const auto found = std::find(features.begin(), features.end(), name);
  if (found != features.end()) return found - features.begin();
  Index number = 0;
  const char* const last = name.data() + name.size();
  if (!name.starts_with('#') || name.size() < 2 || name[1] == '0') return {};
  const auto [end, error] = std::from_chars(name.data() + 1, last, number);
  if (error != std::errc() || end != last || number < 1 || number > std::ssize(features)) return {};
  return number - 1;
}

// The columns of a block of scores; none for other names.
std::vector<Index> columns_of_scores(std::string_view block,
                                     const std::vector<std::string>& features) {
  std::vector<Index> columns;
  if (std::ranges::find(kScoreBlocks, block) == kScoreBlocks.end()) return columns;
  for (std::size_t j = 0; j < features.size(); ++j)
    if (is_score(features[j]) && features[j].substr(1, features[j].find(':') - 1) == block)
      columns.push_back(static_cast<Index>(j));
  return columns;
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
  if (const std::vector<Index> scores = columns_of_scores(part, features); !scores.empty())
    return scores;

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

void check_features(const Kernel& kernel, ConstVectorRef x) {
  for (Index j = 0; j < x.size(); ++j)
    if (x[j] < 0)
      throw InputError(
          fmt::format("kernel '{}' needs features of at least 0, but one is {}. Use `scale` "
                      "minmax, or another kernel.",
                      to_string(kernel), x[j]));
}

}  // namespace

std::vector<Kernel> parse_kernels(std::string_view text) {
  std::vector<Kernel> kernels;
  for (const std::string_view word : split_words(text)) {
    const std::vector<Kernel> more = read_word(word);
    kernels.insert(kernels.end(), more.begin(), more.end());
  }
  if (kernels.empty())
    throw InputError(fmt::format("the list of kernels is empty. {}", kernel_grammar()));
  check_distinct(kernels);
  return kernels;
}

namespace {

// Names that would end a word, or mean something else in one, could not be read back from a model file.
bool reads_back(const Kernel& kernel) {
  const std::string name = to_string(kernel);
  return split_words(name) == std::vector<std::string_view>{name} &&
         read_word(name) == std::vector{kernel};
}

void check_text(const Kernel& kernel) {
  if (!reads_back(kernel)) fail_at_word(to_string(kernel), "as text this means other kernels");
}

// The same kernel of column j alone.
Kernel on_column(Kernel kernel, Index j, const std::vector<std::string>& features) {
  const std::string& name = features[static_cast<std::size_t>(j)];
  const auto is_named_by = [&](const std::string& block) {
    kernel.block = block;
    return !block.empty() && block != kEach && find_column(block, features) == j &&
           reads_back(kernel);
  };
  if (!is_named_by(name) && !is_named_by(fmt::format("#{}", j + 1)))
    throw InputError(fmt::format(
        "'@each': column number {} has no name of its own: '{}' cannot be written in a list of "
        "kernels, and another column is called '#{}'. Rename one of them.",
        j + 1, name, j + 1));
  return kernel;
}

Kernels of_widths(std::string_view name, const std::vector<double>& widths) {
  std::vector<Kernel> list;
  for (const double width : widths)
    list.push_back(parse_kernels(fmt::format("{}:{}", name, width)).front());
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

Kernels Kernels::on_each() const { return on(std::string(kEach)); }

Kernels Kernels::raw() const {
  Kernels out = *this;
  for (Kernel& kernel : out.list_) kernel.raw = true;
  return out;
}

Kernels linear() { return "linear"; }
Kernels poly(Index degree, double offset) {
  return offset == 0 ? fmt::format("poly:{}", degree) : fmt::format("poly:{}:{}", degree, offset);
}
Kernels gauss(const std::vector<double>& widths) { return of_widths("gauss", widths); }
Kernels laplace(const std::vector<double>& widths) { return of_widths("laplace", widths); }
Kernels chi2() { return "chi2"; }
Kernels precomputed(const std::string& file) {
  const Kernel kernel = {.base = &kPrecomputed, .file = file};
  check_text(kernel);
  return Kernels({kernel});
}
Kernels paper_kernels() { return {linear(), poly(2), gauss({1, 2, 4, 8, 16, 32, 64, 128})}; }

std::string to_string(const Kernels& kernels) {
  const std::vector<Kernel> paper = paper_kernels().list();
  std::string text;
  for (std::size_t k = 0; k < kernels.list().size(); ++k) {
    const std::span<const Kernel> rest = std::span(kernels.list()).subspan(k);
    if (rest.size() >= paper.size() && std::ranges::equal(rest.first(paper.size()), paper)) {
      text += (text.empty() ? "" : text.ends_with(',') ? ";" : " ") + std::string("paper");
      k += paper.size() - 1;
      continue;
    }
    Kernel kernel = kernels.list()[k];
    std::string widths;
    for (; kernel.base->arguments.listed && k + 1 < kernels.list().size(); ++k) {
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
  std::string text = std::string(kernel.base->name) + kernel.base->arguments.write(kernel);
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

std::vector<Kernel> expand_each(const std::vector<Kernel>& kernels,
                                const std::vector<std::string>& features,
                                const std::vector<bool>& left_out) {
  std::vector<Kernel> out;
  for (const Kernel& kernel : kernels) {
    if (!kernel.is_for_each_column()) {
      out.push_back(kernel);
      continue;
    }
    const std::string name = to_string(kernel);
    if (std::find(features.begin(), features.end(), kEach) != features.end())
      throw InputError(
          fmt::format("kernel '{}' can be read in two ways, because a column is called 'each'. "
                      "Rename the column, or write '@each-each' for it alone.",
                      name));
    const std::size_t before = out.size();
    for (Index j = 0; j < std::ssize(features); ++j)
      if (!is_score(features[static_cast<std::size_t>(j)]) &&
          (left_out.empty() || !left_out[static_cast<std::size_t>(j)]))
        out.push_back(on_column(kernel, j, features));
    if (out.size() == before)
      throw InputError(
          fmt::format("kernel '{}' has no column: {}.", name,
                      features.empty() ? "the data have none" : "all are constant in the data"));
  }
  check_distinct(out);
  return out;
}

bool is_score(std::string_view feature) {
  return feature == "@pooled" || feature == "@group" || feature.starts_with("@others:");
}

std::vector<std::string> score_blocks(const std::vector<Kernel>& kernels,
                                      const std::vector<std::string>& features) {
  std::vector<std::string> blocks;
  for (const std::string_view block : kScoreBlocks) {
    const bool named = std::ranges::any_of(kernels, [&](const Kernel& kernel) {
      if (find_column(kernel.block, features) || find_column(block, features)) return false;
      return std::ranges::count(split(kernel.block, '+'), block) > 0;
    });
    if (named) blocks.emplace_back(block);
  }
  return blocks;
}

bool has_scores(const Kernel& kernel) { return !score_blocks({kernel}).empty(); }

void resolve_columns(std::vector<Kernel>& kernels, const std::vector<std::string>& features) {
  for (Kernel& kernel : kernels) {
    kernel.columns.clear();
    if (kernel.block.empty()) {
      if (std::ranges::none_of(features, is_score)) continue;
      for (std::size_t j = 0; j < features.size(); ++j)
        if (!is_score(features[j])) kernel.columns.push_back(static_cast<Index>(j));
      continue;
    }
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

bool Kernel::is_precomputed() const { return base == &kPrecomputed; }
bool Kernel::is_for_each_column() const { return block == kEach; }

double kernel_value(const Kernel& kernel, ConstVectorRef x, ConstVectorRef z) {
  if (kernel.is_precomputed())
    throw InputError(fmt::format(
        "kernel '{}' has values only for the rows of its file, not for other points. Use kernels "
        "of the features.",
        to_string(kernel)));
  const bool all = kernel.columns.empty();
  const Vector a = all ? Vector(x) : Vector(x(kernel.columns));
  const Vector b = all ? Vector(z) : Vector(z(kernel.columns));
  const BaseKernel& base = *kernel.base;
  if (base.needs_nonnegative) {
    check_features(kernel, a);
    check_features(kernel, b);
  }
  const auto value = [&](const Vector& u, const Vector& v) {
    return base.value(kernel, base.quantity->sum(u.data(), v.data(), u.size(), {}));
  };
  double quotient = value(a, b);
  if (!kernel.raw && !base.is_one_at_equal_points) {
    const double norms = std::sqrt(value(a, a)) * std::sqrt(value(b, b));
    if (!(norms > 0))
      throw InputError(
          fmt::format("kernel '{}' cannot be normalised at a zero vector. Make the kernel raw "
                      "(':raw'), or use `normalise` none or `scale` standard.",
                      to_string(kernel)));
    quotient /= norms;
  }
  // The power comes last: that of a quotient stays within the numbers, where those of its parts may not.
  const Index power = base.power(kernel);
  return power == 1 ? quotient : std::pow(quotient, static_cast<double>(power));
}

}  // namespace coterie
