// Text for people (beside report/text.hpp) and for machines (JSON).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coterie/data/names.hpp"
#include "coterie/model/model.hpp"
#include "coterie/report/text.hpp"

namespace coterie::app {

using Json = nlohmann::ordered_json;

// A name among others with blanks between them: in quotes where it has some of its own.
std::string as_word(const std::string& name);
// Such names in lines of at most `width` characters, each after `indent` spaces.
std::string wrap(const std::vector<std::string>& words, std::size_t indent, std::size_t width = 88);

std::string seconds_text(double seconds);  // "0.42 s"

// "gauss:2 0.61  linear 0.39": the largest weights first, ten at most and the others summed; those below 0.005 only counted, from 1e-4 on.
std::string weights_text(const Vector& theta, const std::vector<Kernel>& kernels);

// "objective 12.345678, certified within 3.1e-05 of the optimum (relative gap)", or what else the gap claims.
std::string proof_text(double objective, double gap, double bound, Claim claim);
std::string proof_text(const Certificate& proof);
// What helps where rounding hides whether the tolerance is met.
inline constexpr std::string_view kPrecisionAdvice =
    "The numbers are too large for the precision of double: scale the features (--scale standard), "
    "use a smaller C or normalised kernels, or ask for a larger --tolerance.";
inline constexpr std::string_view kLinearPrecisionAdvice =
    "The numbers are too unlike for the precision of double: scale the features (--scale "
    "standard), use larger penalties, or ask for a larger --tolerance.";

Json json_number(double value);  // "inf", "-inf" as text, NaN as null
Json json_vector(const Vector& values);
Json json_matrix(const Matrix& values);  // a list per row
void print_json(const Json& document);   // to standard output

// The value of every field of the settings, under its name.
template <typename AnySettings>
Json json_settings(const AnySettings& settings) {
  Json fields;
  visit_fields(settings, [&](const char* name, const auto& value, const char*, const char*) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, double>)
      fields[name] = json_number(value);
    else if constexpr (std::is_same_v<Value, Index>)
      fields[name] = value;
    else
      fields[name] = text_of(value);
  });
  return fields;
}

}  // namespace coterie::app
