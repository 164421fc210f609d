// What the targets of data files have in common.
#pragma once

#include <string>

#include "coterie/io/table.hpp"
#include "target.hpp"

namespace coterie::fuzz {

// Options from a byte of flags, with names out of the file's first line.
TableOptions choose_options(std::uint8_t flags, Bytes file);

// The promises of Samples: lists fit the matrix, indices are in range, numbers finite, names printable.
void check_samples(const Samples& samples);

// Writes the samples as a CSV file and reads them again.
void check_csv_round_trip(const Samples& samples);

}  // namespace coterie::fuzz
