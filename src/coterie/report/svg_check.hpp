// For tests: reads SVG back with a small, strict reader of XML, separate from what writes it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "coterie/report/svg.hpp"

namespace coterie {

struct Element {
  std::string name = {};
  std::map<std::string, std::string> attributes = {};
  std::string text = {};                 // directly within, unescaped
  std::vector<std::string> inside = {};  // classes of the groups around it, outermost first

  bool has(const std::string& key) const { return attributes.count(key) > 0; }
  double number(const std::string& key, double otherwise = 0) const {
    if (!has(key)) return otherwise;
    const std::string& words = attributes.at(key);
    char* end = nullptr;
    const double value = std::strtod(words.c_str(), &end);
    if (words.empty() || *end != 0 || !std::isfinite(value))
      throw std::runtime_error(key + " is no number: " + words);
    return value;
  }
  bool is_in(const std::string& group) const {
    return std::find(inside.begin(), inside.end(), group) != inside.end();
  }
};

// The elements in order of their opening tags. Throws where the text is not well-formed XML of the kind that a picture needs.
class XmlReader {
 public:
  explicit XmlReader(std::string text) : text_(std::move(text)) {}

  std::vector<Element> read() {
    read_element({});
    while (at_ < text_.size()) need(text_[at_] == '\n', "text after the root"), ++at_;
    return std::move(elements_);
  }

 private:
  void need(bool good, const std::string& words) const {
    if (!good)
      throw std::runtime_error("byte " + std::to_string(at_) + ": " + words + ": " +
                               text_.substr(at_ < 40 ? 0 : at_ - 40, 80));
  }
  bool skip(const std::string& words) {
    if (text_.compare(at_, words.size(), words) != 0) return false;
    at_ += words.size();
    return true;
  }
  std::string read_name() {
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-'))
      ++at_;
    need(at_ > from, "a name is missing");
    return text_.substr(from, at_ - from);
  }
  // Up to a stop character; no raw < or control character, no & but of an entity.
  std::string read_text(const std::string& stop) {
    std::string out;
    while (at_ < text_.size() && stop.find(text_[at_]) == stop.npos) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      need(c != '<' && (c >= 0x20 || c == '\n') && c != 0x7F,
           "a character that must not stand here");
      if (c == '&') {
        bool known = false;
        for (const auto& [entity, meaning] : std::map<std::string, char>{
                 {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}})
          if (!known && skip(entity)) {
            out += meaning;
            known = true;
          }
        need(known, "an unknown entity");
        continue;
      }
      // UTF-8: the length that the first byte promises.
      const std::size_t length = c < 0x80   ? 1
                                 : c < 0xC2 ? 0
                                 : c < 0xE0 ? 2
                                 : c < 0xF0 ? 3
                                 : c < 0xF5 ? 4
                                            : 0;
      need(length > 0 && at_ + length <= text_.size(), "not UTF-8");
      for (std::size_t i = 1; i < length; ++i)
        need((static_cast<unsigned char>(text_[at_ + i]) & 0xC0) == 0x80, "not UTF-8");
      out += text_.substr(at_, length);
      at_ += length;
    }
    return out;
  }
  void read_element(std::vector<std::string> inside) {
    need(skip("<"), "an element is missing");
    const std::size_t own = elements_.size();
    const std::string name = read_name();
    elements_.push_back({.name = name, .inside = inside});
    while (skip(" ")) {
      const std::string key = read_name();
      need(skip("=\""), "an attribute without value");
      need(!elements_[own].has(key), "an attribute twice");
      const std::string value = read_text("\"");
      need(skip("\""), "an open attribute");
      elements_[own].attributes[key] = value;
    }
    if (skip("/>")) return;
    need(skip(">"), "an open tag");
    if (elements_[own].has("class")) inside.push_back(elements_[own].attributes.at("class"));
    for (;;) {
      elements_[own].text += read_text("<");
      if (skip("</")) break;
      read_element(inside);
    }
    need(read_name() == name, "tags cross");
    need(skip(">"), "an open end");
  }

  std::string text_;
  std::size_t at_ = 0;
  std::vector<Element> elements_;
};

struct TextBox {
  double left, top, right, bottom;
  std::string words;
};

// Where a text stands: its letters without descenders, which may touch what is below.
inline TextBox box_of(const Element& text) {
  const double size = text.number("font-size", 12);
  const double width = svg::text_width(text.text, size, text.has("font-weight"));
  const std::string anchor = text.has("text-anchor") ? text.attributes.at("text-anchor") : "start";
  const double before = anchor == "end" ? width : anchor == "middle" ? width / 2 : 0;
  const double x = text.number("x"), y = text.number("y");
  if (text.has("transform")) return {x - 0.74 * size, y - width + before, x, y + before, text.text};
  return {x - before, y - 0.74 * size, x - before + width, y, text.text};
}

// Well-formed, with a title and a viewBox; everything lies inside, and no two texts lie on each other. Returns the elements.
inline std::vector<Element> check_picture(const std::string& picture) {
  std::vector<Element> elements;
  try {
    elements = XmlReader(picture).read();
    const Element& root = elements.front();
    EXPECT_EQ(root.name, "svg");
    EXPECT_EQ(elements.at(1).name, "title");
    const double width = root.number("width"), height = root.number("height");
    EXPECT_EQ(root.attributes.at("viewBox"),
              "0 0 " + root.attributes.at("width") + " " + root.attributes.at("height"));
    const auto inside = [&](double left, double top, double right, double bottom) {
      return left >= -0.01 && top >= -0.01 && right <= width + 0.01 && bottom <= height + 0.01;
    };
    std::vector<TextBox> texts;
    for (const Element& e : elements) {
      if (e.name == "rect") {
        EXPECT_TRUE(inside(e.number("x"), e.number("y"), e.number("x") + e.number("width"),
                           e.number("y") + e.number("height")));
        EXPECT_TRUE(e.number("width") > 0 && e.number("height") > 0);
      } else if (e.name == "line") {
        EXPECT_TRUE(inside(
            std::min(e.number("x1"), e.number("x2")), std::min(e.number("y1"), e.number("y2")),
            std::max(e.number("x1"), e.number("x2")), std::max(e.number("y1"), e.number("y2"))));
      } else if (e.name == "circle") {
        const double r = e.number("r");
        EXPECT_TRUE(
            inside(e.number("cx") - r, e.number("cy") - r, e.number("cx") + r, e.number("cy") + r));
      } else if (e.name == "polyline") {
        const std::string& points = e.attributes.at("points");
        for (std::size_t at = 0; at < points.size();) {
          const std::size_t comma = points.find(',', at),
                            end = std::min(points.find(' ', at), points.size());
          const double x = std::stod(points.substr(at, comma - at)),
                       y = std::stod(points.substr(comma + 1, end - comma - 1));
          EXPECT_TRUE(inside(x, y, x, y));
          at = end + 1;
        }
      } else if (e.name == "text") {
        texts.push_back(box_of(e));
        const TextBox& box = texts.back();
        EXPECT_TRUE(inside(box.left, box.top, box.right, box.bottom))
            << "\"" << e.text << "\" at " << box.left << ", " << box.top;
      }
    }
    for (std::size_t i = 0; i < texts.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const TextBox &a = texts[i], &b = texts[j];
        const bool apart = a.left >= b.right - 0.01 || b.left >= a.right - 0.01 ||
                           a.top >= b.bottom - 0.01 || b.top >= a.bottom - 0.01;
        EXPECT_TRUE(apart) << "\"" << a.words << "\" lies on \"" << b.words << "\" at " << a.left
                           << ", " << a.top;
      }
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  return elements;
}

inline Index count(const std::vector<Element>& elements, const std::string& name,
                   const std::string& group) {
  return std::count_if(elements.begin(), elements.end(),
                       [&](const Element& e) { return e.name == name && e.is_in(group); });
}

}  // namespace coterie
