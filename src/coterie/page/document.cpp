#include "coterie/page/document.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

extern "C" const char coterie_page_begin[], coterie_page_end[];

namespace coterie::page {
namespace {

// Where the page has gaps to fill.
constexpr std::string_view kTitleMark = "<!--coterie-title-->", kDataMark = "<!--coterie-data-->";

// Text between tags.
std::string escaped_text(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '<')
      out += "&lt;";
    else if (letter == '>')
      out += "&gt;";
    else if (letter == '&')
      out += "&amp;";
    else
      out += letter;
  }
  return out;
}

// These letters occur in strings only, where JSON takes their numbers instead.
std::string escaped_json(const Json& data) {
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size() + text.size() / 64);
  for (const char letter : text) {
    if (letter == '<')
      out += "\\u003c";
    else if (letter == '>')
      out += "\\u003e";
    else if (letter == '&')
      out += "\\u0026";
    else
      out += letter;
  }
  return out;
}

// Bytes that are no UTF-8 are replaced, as in the data.
std::string valid_text(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace

Json number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json numbers(ConstVectorRef values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

double rounded(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  const double unit = std::pow(10.0, decimals);
  return std::round(value * unit) / unit;
}

std::string document(const std::string& title, const Json& data) {
  const std::string_view shell(coterie_page_begin,
                               static_cast<std::size_t>(coterie_page_end - coterie_page_begin));
  const std::size_t name = shell.find(kTitleMark), block = shell.find(kDataMark);
  if (name == shell.npos || block == shell.npos || block < name)
    throw std::logic_error("page.html lacks its marks");
  std::string out(shell.substr(0, name));
  out += escaped_text(valid_text(title));
  out += shell.substr(name + kTitleMark.size(), block - name - kTitleMark.size());
  out += escaped_json(data);
  out += shell.substr(block + kDataMark.size());
  return out;
}

}  // namespace coterie::page
