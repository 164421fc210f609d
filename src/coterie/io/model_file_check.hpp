// What holds of every model: the promises that code which uses one relies on. Internal to this room.
#pragma once

#include <string>
#include <string_view>

#include "coterie/model/model.hpp"

namespace coterie::detail {

// Sizes agree, indices are in range, numbers finite (lambda and norm may be infinite), names printable, groups a partition of the
// tasks, kernels what their names say. Throws InputError that says what is wrong, but not where: the caller does.
void check_model(const Model& model);

// Free text: may be empty, and hold the white space that separates kernels; else printable. Throws InputError that names it.
void check_text(std::string text, std::string_view what);

}  // namespace coterie::detail
