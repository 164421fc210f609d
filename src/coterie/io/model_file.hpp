// Models to files and back. docs/model-file.md describes the format for readers in other languages.
//
// A model file is an HDF5 file behind a block of 512 bytes of text with version, size and checksum. Equal models give equal bytes.
// Reading takes nothing on trust: whatever the bytes, the result is a model that passes every check of consistency, or an InputError.
#pragma once

#include <string>
#include <string_view>

#include "coterie/model/model.hpp"

namespace coterie {

inline constexpr int kModelVersion = 7;  // what is written; older ones are read

// Throws InputError when the model contradicts itself, so that no file is written that could not be read.
std::string model_to_bytes(const Model& model);

// `name` stands for the file in errors: "model.h5: is damaged: ...".
Model model_from_bytes(std::string_view bytes, std::string_view name);

// Written whole or not at all. Throws OutputError.
void write_model(const Model& model, const std::string& path);

Model read_model(const std::string& path);

}  // namespace coterie
