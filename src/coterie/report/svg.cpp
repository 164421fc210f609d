#include "coterie/report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>

namespace coterie::svg {

namespace {

constexpr char32_t replacement = 0xFFFD;

// The first character of the words, which are cut by it; U+FFFD for what is not UTF-8 (too long, surrogates, beyond Unicode).
char32_t take_character(std::string_view& words) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(words[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  char32_t value = length <= 1 ? first : first & (0x7Fu >> length);
  bool whole = length > 0 && length <= words.size();
  for (std::size_t i = 1; whole && i < length; ++i) {
    whole = (byte(i) & 0xC0u) == 0x80;
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  whole =
      whole && value >= least[length] && value <= 0x10FFFF && !(value >= 0xD800 && value < 0xE000);
  words.remove_prefix(whole ? length : 1);
  return whole ? value : replacement;
}

char32_t presentable(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029) return ' ';
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool direction =
      c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  const bool no_character = (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
  return control || direction || no_character ? replacement : c;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      put(0xE0 | (c >> 12));
    } else {
      put(0xF0 | (c >> 18));
      put(0x80 | ((c >> 12) & 0x3F));
    }
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

// Width in units of the font size. The classes bound the wide ones among the usual fonts (DejaVu Sans, Verdana) from above.
double character_width(char32_t c) {
  const auto is_one_of = [&](std::string_view set) {
    return c < 0x80 && set.find(static_cast<char>(c)) != set.npos;
  };
  if (is_one_of(" ijl|'.,I")) return 0.34;
  if (is_one_of("ft()[]/\\-:;!r")) return 0.42;
  if (is_one_of("MW@%")) return 1.0;
  if (is_one_of("m")) return 0.98;
  if (is_one_of("#+<=>^~w")) return 0.84;
  if (is_one_of("DGHNOQU&")) return 0.79;
  if (c >= 'A' && c <= 'Z') return 0.7;
  if (c < 0x80) return 0.645;
  if ((c >= 0x300 && c < 0x370) || (c >= 0x200B && c <= 0x200D))
    return 0;                  // drawn upon the character before
  if (c < 0x250) return 0.85;  // Latin with accents: as wide as capitals
  if (c < 0x1100) return 0.9;
  return 1.05;  // East Asian, symbols
}

[[maybe_unused]] bool is_plain(double value) {  // asserts ask
  return std::isfinite(value) && std::abs(value) < 1e7;
}

std::string stroke_attributes(const Stroke& stroke) {
  std::string out = fmt::format(" stroke=\"{}\"", stroke.colour);
  if (stroke.width != 1) out += fmt::format(" stroke-width=\"{}\"", coordinate(stroke.width));
  if (!stroke.dashes.empty()) out += fmt::format(" stroke-dasharray=\"{}\"", stroke.dashes);
  if (stroke.opacity != 1) out += fmt::format(" stroke-opacity=\"{}\"", coordinate(stroke.opacity));
  return out;
}

// The end of an element, with its tip inside.
std::string close(std::string_view name, std::string_view tip) {
  return tip.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escape(tip), name);
}

}  // namespace

// ---- Text ------------------------------------------------------------------------------------------------------------------

std::string escape(std::string_view words) {
  std::string out;
  while (!words.empty()) {
    const char32_t c = presentable(take_character(words));
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        append_utf8(out, c);
    }
  }
  return out;
}

double text_width(std::string_view words, double size, bool bold) {
  double width = 0;
  while (!words.empty()) width += character_width(presentable(take_character(words)));
  return width * size * (bold ? 1.15 : 1);
}

std::string shorten(std::string_view words, double width, double size, bool bold) {
  if (text_width(words, size, bold) <= width) return std::string(words);
  constexpr std::string_view ellipsis = "\u2026";
  const double unit = size * (bold ? 1.15 : 1);
  double used = text_width(ellipsis, size, bold);
  std::string_view rest = words;
  std::size_t kept = 0;
  while (!rest.empty()) {
    used += unit * character_width(presentable(take_character(rest)));
    if (used > width) break;
    kept = words.size() - rest.size();
  }
  while (kept > 0 && words[kept - 1] == ' ') --kept;
  return std::string(words.substr(0, kept)) + std::string(ellipsis);
}

namespace {

// 1e-05 as 1e-5, 1e+06 as 1e6.
std::string short_exponent(std::string words) {
  const std::size_t e = words.find('e');
  if (e == words.npos) return words;
  std::size_t digits = e + 1;
  const bool negative = words[digits] == '-';
  while (digits + 1 < words.size() &&
         (words[digits] == '-' || words[digits] == '+' || words[digits] == '0'))
    ++digits;
  return words.substr(0, e + 1) + (negative ? "-" : "") + words.substr(digits);
}

bool is_handy(double size) { return size == 0 || (size >= 1e-4 && size < 1e6); }

}  // namespace

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  // Digits before the point are always written out.
  if (is_handy(std::abs(value)))
    digits = std::max(digits, 1 + static_cast<int>(std::floor(std::log10(std::abs(value)))));
  return short_exponent(fmt::format("{:.{}g}", value, digits));
}

std::vector<std::string> tick_texts(const std::vector<double>& values) {
  std::vector<std::string> out;
  std::size_t decimals = 0;
  bool handy = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string words = number_text(values[i]);
    const std::size_t point = words.find('.');
    if (point != words.npos && words.find('e') == words.npos)
      decimals = std::max(decimals, words.size() - point - 1);
    // Neighbours must differ in what is written.
    const double step = i == 0 ? 1 : std::abs(values[i] - values[i - 1]);
    if (step > 1e-12)
      decimals = std::max(
          decimals, static_cast<std::size_t>(std::max(0.0, -std::floor(std::log10(step) + 1e-6))));
    handy = handy && is_handy(std::abs(values[i]));
  }
  for (const double value : values)
    out.push_back(handy ? fmt::format("{:.{}f}", value, decimals) : number_text(value));
  return out;
}

std::string coordinate(double value) {
  assert(is_plain(value));
  std::string out = fmt::format("{:.2f}", value);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

// ---- Colours ---------------------------------------------------------------------------------------------------------------

// Even steps of lightness, from 0.975 to 0.29 in the OKLab space, with the hue turning a little from sky to deep blue.
std::string ramp(double share) {
  using Colour = std::array<double, 3>;
  static constexpr std::array<Colour, 9> stops = {{{242, 248, 251},
                                                   {192, 224, 242},
                                                   {142, 199, 235},
                                                   {99, 172, 224},
                                                   {68, 144, 206},
                                                   {51, 116, 179},
                                                   {43, 89, 146},
                                                   {37, 65, 109},
                                                   {27, 42, 75}}};
  const double at = std::clamp(share, 0.0, 1.0) * (stops.size() - 1);
  const std::size_t k = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  const auto mix = [&](int i) {
    return static_cast<int>(
        std::lround(stops[k][i] + (at - static_cast<double>(k)) * (stops[k + 1][i] - stops[k][i])));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
}

std::string_view ink_on_ramp(double share) { return share > 0.52 ? "#fff" : ink; }

namespace {
constexpr std::array<std::string_view, 10> colours = {"#1f5fa8", "#d9641e", "#3b7d3b", "#8e4aa8",
                                                      "#c99a06", "#15a3a3", "#b3224e", "#6b4226",
                                                      "#6f7d8c", "#111111"};
constexpr std::array<std::string_view, 4> patterns = {"", "5 2.5", "1.5 2", "7 2 1.5 2"};
}  // namespace

std::string_view colour(Index k) { return colours[static_cast<std::size_t>(k) % colours.size()]; }
std::string_view dashes(Index k) {
  return patterns[static_cast<std::size_t>(k) / colours.size() % patterns.size()];
}

// ---- Shapes ----------------------------------------------------------------------------------------------------------------

void Drawing::line(Point from, Point to, const Stroke& stroke) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}/>\n", coordinate(from.x),
                       coordinate(from.y), coordinate(to.x), coordinate(to.y),
                       stroke_attributes(stroke));
}

void Drawing::polyline(std::span<const Point> points, const Stroke& stroke) {
  body_ += "<polyline points=\"";
  for (std::size_t i = 0; i < points.size(); ++i)
    body_ +=
        fmt::format("{}{},{}", i == 0 ? "" : " ", coordinate(points[i].x), coordinate(points[i].y));
  body_ +=
      fmt::format("\" fill=\"none\" stroke-linejoin=\"round\"{}/>\n", stroke_attributes(stroke));
}

void Drawing::rectangle(Point corner, double width, double height, std::string_view fill,
                        std::string_view tip) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}",
                       coordinate(corner.x), coordinate(corner.y), coordinate(width),
                       coordinate(height), fill, close("rect", tip));
}

void Drawing::frame(Point corner, double width, double height, const Stroke& stroke) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\"{}/>\n",
                       coordinate(corner.x), coordinate(corner.y), coordinate(width),
                       coordinate(height), stroke_attributes(stroke));
}

void Drawing::area(std::string_view path, std::string_view fill) {
  body_ += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", path, fill);
}

void Drawing::circle(Point centre, double radius, std::string_view fill, const Stroke& stroke,
                     std::string_view tip) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"{}{}", coordinate(centre.x),
                       coordinate(centre.y), coordinate(radius), fill,
                       stroke.width > 0 ? stroke_attributes(stroke) : "", close("circle", tip));
}

void Drawing::text(Point at, std::string_view words, const Font& font, std::string_view tip) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"", coordinate(at.x), coordinate(at.y));
  if (font.size != Font{}.size) body_ += fmt::format(" font-size=\"{}\"", coordinate(font.size));
  if (font.anchor != Anchor::start)
    body_ += fmt::format(" text-anchor=\"{}\"", font.anchor == Anchor::end ? "end" : "middle");
  if (font.colour != ink) body_ += fmt::format(" fill=\"{}\"", font.colour);
  if (font.bold) body_ += " font-weight=\"bold\"";
  if (font.halo)
    body_ += " stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
  if (font.upwards)
    body_ += fmt::format(" transform=\"rotate(-90 {} {})\"", coordinate(at.x), coordinate(at.y));
  body_.append(">").append(escape(words));
  if (!tip.empty()) body_ += fmt::format("<title>{}</title>", escape(tip));
  body_ += "</text>\n";
}

void Drawing::text_within(double width, Point at, std::string_view words, const Font& font) {
  const std::string shown = shorten(words, width, font.size, font.bold);
  text(at, shown, font, shown == words ? std::string_view() : words);
}

void Drawing::begin(std::string_view name, bool crisp) {
  body_ +=
      fmt::format("<g class=\"{}\"{}>\n", name, crisp ? " shape-rendering=\"crispEdges\"" : "");
}

void Drawing::end() { body_ += "</g>\n"; }

std::string Drawing::finish(double width, double height, std::string_view title) const {
  const std::string w = coordinate(std::ceil(width)), h = coordinate(std::ceil(height));
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\" role=\"img\" "
             "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"{2}\" "
             "fill=\"{3}\">\n"
             "<title>{4}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
             w, h, coordinate(Font{}.size), ink, escape(title)) +
         body_ + "</svg>\n";
}

// ---- Axes ------------------------------------------------------------------------------------------------------------------

double Axis::pixel(double value) const {
  const double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return first + (last - first) * share;
}

namespace {

// digit 10^power as the nearest double: what a reader of "2e-05" would get.
double round_number(int digit, int power) {
  return power >= 0 ? digit * std::pow(10.0, power) : digit / std::pow(10.0, -power);
}

std::vector<double> linear_ticks(const Axis& axis, Index most) {
  const double least_step = (axis.high - axis.low) / static_cast<double>(std::max<Index>(most, 1));
  const int power = static_cast<int>(std::floor(std::log10(least_step)));
  for (const auto& [digit, up] : {std::pair{1, 0}, {2, 0}, {5, 0}, {1, 1}, {2, 1}}) {
    const double step = round_number(digit, power + up);
    if (step < least_step * (1 - 1e-9)) continue;
    std::vector<double> out;
    const double rim = 1e-9 * (axis.high - axis.low);
    const double first = std::ceil((axis.low - rim) / step) + 0.0;  // not -0
    for (double k = first; k * step <= axis.high + rim; ++k)
      out.push_back(power + up >= 0 ? k * step
                                    : k * digit / std::pow(10.0, -(power + up)));  // rounded once
    return out;
  }
  return {};
}

std::vector<double> logarithmic_ticks(const Axis& axis, Index most) {
  const int low = static_cast<int>(std::floor(std::log10(axis.low) - 1e-9));
  const int high = static_cast<int>(std::ceil(std::log10(axis.high) + 1e-9));
  const auto inside = [&](double value) {
    return value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9);
  };
  std::vector<double> fine, powers;
  for (int power = low; power <= high; ++power)
    for (const int digit : {1, 2, 5}) {
      const double value = round_number(digit, power);
      if (!inside(value)) continue;
      fine.push_back(value);
      if (digit == 1) powers.push_back(value);
    }
  if (std::ssize(fine) <= most) return fine;
  const Index stride = (std::ssize(powers) + most - 1) / std::max<Index>(most, 1);
  std::vector<double> out;
  for (Index i = (std::ssize(powers) - 1) % std::max<Index>(stride, 1); i < std::ssize(powers);
       i += stride)
    out.push_back(powers[i]);
  return out.empty() ? fine : out;
}

constexpr double label_gap = 6;  // between labels and what they name

}  // namespace

std::vector<double> ticks(const Axis& axis, Index most) {
  assert(axis.low < axis.high && is_plain(std::log10(axis.high - axis.low)));
  return axis.logarithmic ? logarithmic_ticks(axis, most) : linear_ticks(axis, most);
}

void draw_tick_names(Drawing& drawing, const std::vector<TickName>& names, double y, double low,
                     double high, double size) {
  std::vector<std::pair<double, double>> taken;
  for (const TickName& name : names) {
    const double half = text_width(name.words, size) / 2;
    const double left = name.x - half, right = name.x + half;
    const bool meets = std::any_of(taken.begin(), taken.end(), [&](const auto& other) {
      return left < other.second + 5 && other.first < right + 5;
    });
    if (meets || left < low || right > high) continue;
    taken.emplace_back(left, right);
    drawing.text({name.x, y + 0.8 * size}, name.words, {.size = size, .anchor = Anchor::middle});
  }
}

namespace {

double label_width(const std::string& label, double size) {
  return std::min(text_width(label, size), longest_label);
}

double widest_label(const std::vector<std::string>& labels, double size) {
  double out = 0;
  for (const std::string& label : labels) out = std::max(out, label_width(label, size));
  return out;
}

// The smallest stride at which labels of this extent do not touch.
Index find_stride(double extent, double step) {
  return std::max<Index>(1, static_cast<Index>(std::ceil(extent / step - 1e-9)));
}

constexpr double line_height = 1.15;  // in units of the font size

// Of ordered labels the first and the last are worth showing: a somewhat larger stride that meets both, if there is one.
Index meet_both_ends(Index stride, Index labels) {
  for (Index larger = stride; larger < 2 * stride; ++larger)
    if ((labels - 1) % larger == 0) return larger;
  return stride;
}

}  // namespace

LabelPlan plan_columns(const std::vector<std::string>& labels, double step, double size,
                       LabelKind kind) {
  const bool ordered = kind == LabelKind::ordered;
  const Index n = std::ssize(labels);
  const double widest = widest_label(labels, size), tall = size * line_height;
  const auto choose = [&](double extent) {
    return ordered ? meet_both_ends(find_stride(extent, step), n) : find_stride(extent, step);
  };
  const Index level = choose(widest + 6);
  if (level == 1 || (ordered && n / level >= 3))
    return {level, false, size + label_gap, std::max(0.0, (widest - step) / 2)};
  return {choose(tall), true, widest + label_gap, std::max(0.0, (tall - step) / 2)};
}

LabelPlan plan_rows(const std::vector<std::string>& labels, double step, double size,
                    LabelKind kind) {
  const double tall = size * line_height;
  const Index stride = find_stride(tall, step);
  return {kind == LabelKind::ordered ? meet_both_ends(stride, std::ssize(labels)) : stride, false,
          widest_label(labels, size) + label_gap, std::max(0.0, (tall - step) / 2)};
}

void draw_columns(Drawing& drawing, const LabelPlan& plan, const std::vector<std::string>& labels,
                  Point from, double step, double size) {
  for (Index i = 0; i < std::ssize(labels); i += plan.stride) {
    const double x = from.x + (static_cast<double>(i) + 0.5) * step;
    if (plan.upwards)
      drawing.text_within(longest_label, {x + 0.36 * size, from.y + label_gap}, labels[i],
                          {.size = size, .anchor = Anchor::end, .upwards = true});
    else
      drawing.text_within(longest_label, {x, from.y + label_gap + 0.8 * size}, labels[i],
                          {.size = size, .anchor = Anchor::middle});
  }
}

void draw_rows(Drawing& drawing, const LabelPlan& plan, const std::vector<std::string>& labels,
               Point from, double step, double size) {
  for (Index i = 0; i < std::ssize(labels); i += plan.stride)
    drawing.text_within(
        longest_label,
        {from.x - label_gap, from.y + (static_cast<double>(i) + 0.5) * step + 0.36 * size},
        labels[i], {.size = size, .anchor = Anchor::end});
}

void draw_hatch(Drawing& drawing, Point corner, double width, double height) {
  const double side = std::min(width, height);  // one stroke at 45 degrees through the middle
  const Point middle = {corner.x + width / 2, corner.y + height / 2};
  drawing.line({middle.x - side / 2, middle.y + side / 2},
               {middle.x + side / 2, middle.y - side / 2}, {.colour = "#aaa", .width = 0.8});
}

// One path for each colour; neighbours of one colour in a row are one piece.
void draw_mosaic(Drawing& drawing, Point corner, double cell, ConstMatrixRef shares) {
  constexpr int levels = 100;
  const auto level = [&](Index i, Index j) {
    const double share = shares(i, j);
    return std::isfinite(share)
               ? static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * levels))
               : levels + 1;
  };
  std::array<std::string, levels + 2> paths;
  const std::string height = coordinate(cell);
  for (Index i = 0; i < shares.rows(); ++i)
    for (Index j = 0, end = 0; j < shares.cols(); j = end) {
      for (end = j + 1; end < shares.cols() && level(i, end) == level(i, j);) ++end;
      const std::string width = coordinate(static_cast<double>(end - j) * cell);
      paths[level(i, j)] +=
          fmt::format("M{} {}h{}v{}h-{}z", coordinate(corner.x + static_cast<double>(j) * cell),
                      coordinate(corner.y + static_cast<double>(i) * cell), width, height, width);
    }
  for (int k = 0; k <= levels + 1; ++k)
    if (!paths[k].empty())
      drawing.area(paths[k],
                   k > levels ? std::string(missing) : ramp(k / static_cast<double>(levels)));
}

namespace {
constexpr double title_size = 13, remark_size = 12;
}  // namespace

double Heading::height() const { return (title.empty() ? 0 : 22) + (remark.empty() ? 0 : 18); }

double Heading::width() const {
  return std::min(700.0,
                  std::max(text_width(title, title_size, true), text_width(remark, remark_size)));
}

void Heading::draw(Drawing& drawing, Point corner, double width) const {
  double y = corner.y;
  if (!title.empty())
    drawing.text_within(width, {corner.x, (y += 11)}, title, {.size = title_size, .bold = true});
  if (!remark.empty())
    drawing.text_within(width, {corner.x, y + (title.empty() ? 11 : 18)}, remark,
                        {.size = remark_size, .colour = quiet});
}

double draw_colour_bar(Drawing& drawing, Point corner, double height, double low, double high,
                       bool reversed) {
  constexpr double width = 14;
  constexpr Index steps = 64;
  drawing.begin("colour-bar", true);
  // Each strip reaches to the bottom, so that no seams show between neighbours.
  for (Index i = 0; i < steps; ++i) {
    const double share = (static_cast<double>(steps - 1 - i)) / (steps - 1);
    const double y = height * static_cast<double>(i) / steps;
    drawing.rectangle({corner.x, corner.y + y}, width, height - y,
                      ramp(reversed ? 1 - share : share));
  }
  drawing.end();
  drawing.begin("axis");
  drawing.frame(corner, width, height, {.colour = "#999", .width = 0.5});
  const Axis axis{low, high, corner.y + height, corner.y};
  double widest = 0;
  const std::vector<double> values =
      ticks(axis, std::clamp<Index>(static_cast<Index>(height / 22), 3, 10));
  const std::vector<std::string> words = tick_texts(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = axis.pixel(values[i]);
    drawing.line({corner.x + width, y}, {corner.x + width + 4, y}, {.colour = "#999"});
    drawing.text({corner.x + width + 8, y + 4}, words[i], {.size = 11});
    widest = std::max(widest, text_width(words[i], 11));
  }
  drawing.end();
  return width + 8 + widest;
}

}  // namespace coterie::svg
