// The one place that writes SVG: shapes, text that is always valid XML and knows its width, colours, axes and their ticks.
// Bytes depend on the arguments only: numbers have a fixed form, whatever the locale.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::svg {

// ---- Text ------------------------------------------------------------------------------------------------------------------

// Any bytes as text within an XML element or attribute: & < > " ' escaped; line breaks and tabs become spaces; what XML or
// a reader's eye cannot bear (control characters, changes of writing direction, bytes that are not UTF-8) becomes U+FFFD.
std::string escape(std::string_view words);

// Width in pixels: an estimate from above for the usual sans-serif fonts, so that what is placed by it does not overlap.
double text_width(std::string_view words, double size, bool bold = false);

// The beginning of the words with an ellipsis, such that it is not wider than asked for; the words themselves if they fit.
std::string shorten(std::string_view words, double width, double size, bool bold = false);

// A number for people: 0.001, 25, 1e-5, inf.
std::string number_text(double value, int digits = 4);

// A coordinate: at most two digits after the point, none that are not needed.
std::string coordinate(double value);

// Numbers of an axis, all with as many digits after the point as the one that needs most.
std::vector<std::string> tick_texts(const std::vector<double>& values);

// ---- Colours ---------------------------------------------------------------------------------------------------------------

inline constexpr std::string_view ink = "#222";    // text, axes
inline constexpr std::string_view quiet = "#666";  // remarks
inline constexpr std::string_view grid = "#ddd";
inline constexpr std::string_view missing =
    "#ececec";  // behind the hatching of what was not evaluated

// From light (0) to dark (1) in one hue; lightness falls evenly, so that the order survives grey print and colour blindness.
std::string ramp(double share);
// White or ink, whichever reads better on the ramp at this share.
std::string_view ink_on_ramp(double share);

// The k-th line of a kind: colours that differ also in lightness; after they are used up they return with other dashes.
std::string_view colour(Index k);
std::string_view dashes(Index k);

// ---- Shapes ----------------------------------------------------------------------------------------------------------------

struct Point {
  double x = 0, y = 0;
};

struct Stroke {
  std::string_view colour = ink;
  double width = 1;
  std::string_view dashes = {};
  double opacity = 1;
};
inline constexpr Stroke mark_stroke = {.colour = "#b0156b",
                                       .width = 1.2};  // of a lambda to look at

enum class Anchor { start, middle, end };

struct Font {
  double size = 12;
  Anchor anchor = Anchor::start;
  std::string_view colour = ink;
  bool bold = false;
  bool upwards = false;  // turned by a quarter, read from below
  bool halo = false;     // a white rim, where lines may pass behind
};

// Shapes in the order in which they are painted.
class Drawing {
 public:
  void line(Point from, Point to, const Stroke& stroke = {});
  void polyline(std::span<const Point> points, const Stroke& stroke = {});
  // A tip is shown while the pointer rests on the shape, and read aloud.
  void rectangle(Point corner, double width, double height, std::string_view fill,
                 std::string_view tip = {});
  void frame(Point corner, double width, double height, const Stroke& stroke = {});
  // A path in SVG's own words: "M1 2h3z".
  void area(std::string_view path, std::string_view fill);
  void circle(Point centre, double radius, std::string_view fill,
              const Stroke& stroke = {.width = 0}, std::string_view tip = {});
  void text(Point at, std::string_view words, const Font& font = {}, std::string_view tip = {});
  // Shortened to a width; then the tip says it in full.
  void text_within(double width, Point at, std::string_view words, const Font& font = {});
  // What follows until the end is one group with a name (a class, for style sheets and tests).
  // Cells are crisp: no seams show between them.
  void begin(std::string_view name, bool crisp = false);
  void end();

  // The whole picture, on white. The title is what the picture is called, for those who cannot see it.
  std::string finish(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

// ---- Axes ------------------------------------------------------------------------------------------------------------------

// From values to pixels.
struct Axis {
  double low = 0, high = 1;    // values at the ends, low < high; positive when logarithmic
  double first = 0, last = 1;  // their pixels
  bool logarithmic = false;
  double pixel(double value) const;
};

// Round values within the axis, about `most` at most: 1, 2 or 5 times a power of ten apart, or powers of ten (with 2 and 5 times
// them when there is room) on a logarithmic axis.
std::vector<double> ticks(const Axis& axis, Index most);

// Names at places along a level axis, centred, with their tops at y: those that fit between low and high and do not touch an
// earlier one of the list.
struct TickName {
  double x;
  std::string words;
};
void draw_tick_names(Drawing& drawing, const std::vector<TickName>& names, double y, double low,
                     double high, double size = 11);

// Names of rows or columns in a line, at equal distances. Ordered ones (numbers) explain those between them and are thinned out
// when they are dense; names are rather turned upwards first.
enum class LabelKind { ordered, names };
struct LabelPlan {
  Index stride = 1;  // every stride-th is shown
  bool upwards = false;
  double extent = 0;    // pixels that the labels need across the axis
  double overhang = 0;  // pixels that they may need before the first and behind the last place
};
inline constexpr double longest_label = 300;  // pixels; longer ones are shortened
LabelPlan plan_columns(const std::vector<std::string>& labels, double step, double size,
                       LabelKind kind);
LabelPlan plan_rows(const std::vector<std::string>& labels, double step, double size,
                    LabelKind kind);

// Draws the labels: columns below y, centred at x + (i + 1/2) step; rows to the left of x, centred at y + (i + 1/2) step.
void draw_columns(Drawing& drawing, const LabelPlan& plan, const std::vector<std::string>& labels,
                  Point from, double step, double size);
void draw_rows(Drawing& drawing, const LabelPlan& plan, const std::vector<std::string>& labels,
               Point from, double step, double size);

// A stroke across a cell (of the colour `missing`) where nothing is known.
void draw_hatch(Drawing& drawing, Point corner, double width, double height);

// Many cells in little text: shares of the ramp, to a hundredth of it; what is not finite is plain grey.
void draw_mosaic(Drawing& drawing, Point corner, double cell, ConstMatrixRef shares);

// What stands over a picture: its title, and below it in a quiet tone what it shows. Both may be empty.
struct Heading {
  std::string title = {}, remark = {};
  double height() const;
  double width() const;  // that it would like; it is shortened to what it gets
  void draw(Drawing& drawing, Point corner, double width) const;
};
inline constexpr double margin = 14;  // around a picture

// An upright bar of the ramp's colours with numbers to its right; dark at the high end unless reversed.
// Returns the width that it takes, with its numbers.
double draw_colour_bar(Drawing& drawing, Point corner, double height, double low, double high,
                       bool reversed);

}  // namespace coterie::svg
