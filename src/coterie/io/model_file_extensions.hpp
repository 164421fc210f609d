// The group /extensions of a model file: tasks that were added to a fitted model. It is there only when there are any. Internal to this room.
#pragma once

#include "coterie/io/hdf5_reader.hpp"
#include "coterie/io/hdf5_writer.hpp"
#include "coterie/model/model.hpp"

namespace coterie::detail {

// The bound of a gap that versions before 4, which do not state one, were held to.
inline constexpr double kBoundBefore = 1e-7;

// `bounded`: with what came with version 4.
void write_extensions(Hdf5Writer& file, const std::vector<Extension>& extensions, Index kernels,
                      bool bounded);
std::vector<Extension> read_extensions(const Hdf5Reader& file);

// The extensions follow each other and end with the last task; the support vectors of a task come from the table it was trained on.
// For check_model, which looks at the certificates.
void check_extensions(const Model& model);

}  // namespace coterie::detail
