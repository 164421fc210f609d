// What holds of every model: the promises that code which uses one relies on. Internal to this room.
#pragma once

#include "coterie/model/model.hpp"

namespace coterie::detail {

// Sizes agree, indices are in range, numbers finite (lambda and norm may be infinite), names printable, groups a partition of the
// tasks, kernels what their names say. Throws InputError that says what is wrong, but not where: the caller does.
void check_model(const Model& model);

// Gaps are relative to the objective, as in all that is written since version 4. Throws like the above.
void check_scale(const Model& model);

}  // namespace coterie::detail
