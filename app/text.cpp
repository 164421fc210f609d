#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "messages.hpp"

namespace coterie::app {

std::string as_word(const std::string& name) {
  return name.find(' ') == name.npos ? name : in_quotes(name);
}

std::string wrap(const std::vector<std::string>& words, std::size_t indent, std::size_t width) {
  std::string out, line(indent, ' ');
  std::size_t used = indent;
  for (const std::string& name : words) {
    const std::string word = as_word(name);
    const std::size_t size = display_width(word);
    if (used > indent && used + 1 + size > width) {
      out += line + "\n";
      line.assign(indent, ' ');
      used = indent;
    }
    if (used > indent) {
      line += ' ';
      ++used;
    }
    line += word;
    used += size;
  }
  return out + line + "\n";
}

std::string seconds_text(double seconds) { return fmt::format("{:.2f} s", seconds); }

std::string weights_text(const Vector& theta, const std::vector<Kernel>& kernels) {
  std::vector<Index> order(kernels.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index a, Index b) { return theta[a] > theta[b]; });
  constexpr Index most = 10;
  std::string out;
  Index shown = 0, more = 0, small = 0;
  double rest = 0;
  for (const Index m : order) {
    if (theta[m] >= 0.005 && shown < most) {
      out += fmt::format("{}{} {:.2f}", out.empty() ? "" : "  ",
                         to_string(kernels[static_cast<std::size_t>(m)]), theta[m]);
      ++shown;
    } else if (shown == most && theta[m] > 0) {
      ++more;
      rest += theta[m];
    } else if (theta[m] >= 1e-4) {
      ++small;
    }
  }
  if (rest >= 0.005) return fmt::format("{}  ({} more: {:.2f})", out, more, rest);
  small += more;
  if (small > 0) out += fmt::format("{}({} below 0.005)", out.empty() ? "" : "  ", small);
  return out.empty() ? "no kernel" : out;
}

std::string proof_text(double objective, double gap, double bound, Claim claim) {
  const double size = std::max(gap, 0.0);
  if (claim == Claim::stationary)
    return fmt::format(
        "objective {:.8g}, stationary to {:.1e} (relative; the global optimum may be lower)",
        objective, size + bound);
  const bool known = bound < size || bound < 1e-9;  // else the rounding is worth a word
  return fmt::format("objective {:.8g}, certified within {:.1e} of the optimum{} (relative gap{})",
                     objective, size + bound,
                     claim == Claim::given_clusters ? " for these clusters" : "",
                     known ? "" : fmt::format(", {:.1e} of it for rounding", bound));
}

std::string proof_text(const Certificate& proof) {
  return proof_text(proof.primal, proof.gap, proof.bound, proof.claim);
}

Json json_number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json json_vector(const Vector& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

Json json_matrix(const Matrix& values) {
  Json rows = Json::array();
  for (Index i = 0; i < values.rows(); ++i) rows.push_back(json_vector(values.row(i)));
  return rows;
}

void print_json(const Json& document) {
  print_text(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace coterie::app
