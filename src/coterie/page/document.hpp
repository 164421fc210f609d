// The data of a page as JSON, and the page around it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "coterie/math/types.hpp"

namespace coterie::page {

using Json = nlohmann::ordered_json;

Json number(double value);  // "inf", "-inf" as text, NaN as null
Json numbers(ConstVectorRef values);
double rounded(double value, int decimals);

// The page with these data. They may hold any text: nothing in them ends the block they stand in.
std::string document(const std::string& title, const Json& data);

}  // namespace coterie::page
