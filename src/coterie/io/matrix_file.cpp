#include "coterie/io/matrix_file.hpp"

#include <fmt/format.h>

#include "coterie/io/csv_reader.hpp"
#include "coterie/io/npy_file.hpp"
#include "coterie/io/row_buffer.hpp"
#include "coterie/io/text.hpp"

namespace coterie {

Matrix read_matrix(const std::string& path) {
  if (detail::is_npy_name(path) ||
      detail::first_bytes(path, detail::npy_magic.size()) == detail::npy_magic)
    return detail::NpyReader(path).numbers(memory_for_tables());
  detail::LineReader reader(path);
  if (!detail::next_row(reader)) reader.fail_file("the file is empty. It needs rows of numbers.");
  const char delimiter = detail::delimiter_of(reader);
  const std::size_t columns = detail::count_fields(reader, reader.begin(), delimiter);
  const double bytes_of_row = 8.0 * static_cast<double>(columns);
  reader.need(bytes_of_row);
  detail::RowBuffer rows(static_cast<Index>(columns));
  std::string scratch;
  do {
    if (rows.is_full()) {
      reader.need(bytes_of_row * static_cast<double>(rows.rows() + 1));
      rows.grow(reader.fraction_read(), reader.memory() / bytes_of_row);
    }
    double* row = rows.add_row();
    const char* p = reader.begin();
    for (std::size_t c = 0; c < columns; ++c) {
      const char* after = detail::read_number(p, reader.end(), row[c]);
      const bool plain = after != nullptr && (after == reader.end() || *after == delimiter);
      if (plain) {
        p = after;
      } else {
        const detail::Field field = detail::read_field(reader, p, delimiter, scratch);
        if (!detail::parse_number(field.text, row[c])) {
          reader.fail(
              p, fmt::format("column {} {}. {}", c + 1, detail::describe_bad_number(field.text),
                             rows.rows() == 1 ? "A matrix file has no header." : "Correct it."));
        }
        p = field.after;
      }
      if (c + 1 == columns) break;
      if (p == reader.end()) detail::fail_ragged(reader, p, c + 1, columns, "the first line");
      ++p;
    }
    if (p != reader.end()) {
      const std::size_t more = detail::count_fields(reader, p + 1, delimiter);
      detail::fail_ragged(reader, p, columns + more, columns, "the first line");
    }
  } while (detail::next_row(reader));
  return rows.take();
}

}  // namespace coterie
