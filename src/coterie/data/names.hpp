// Names of classes, tasks and features: their order, and how a message lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coterie {

// The order of labels: numbers by value, then other text by its bytes. So 0 comes before 1, -1 before +1, 9 before 10.
bool label_before(std::string_view a, std::string_view b);

// "bus, opel, saab, van"; a list longer than `limit` ends in "..." and the number of names.
std::string list_names(const std::vector<std::string>& names, std::size_t limit = 10);

// In quotes, those within doubled, as tables have it.
std::string in_quotes(std::string_view name);
// The same only where a field of a table needs it.
std::string csv_field(const std::string& text);

}  // namespace coterie
