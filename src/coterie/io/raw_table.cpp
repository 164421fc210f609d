#include "coterie/io/raw_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "coterie/io/byte_input.hpp"
#include "coterie/io/memory_file.hpp"
#include "coterie/io/table.hpp"

namespace coterie {
namespace {

constexpr std::size_t largest_text = std::size_t{64} << 20;  // letter, the largest, has 15 MB

// Calls read(path) with the bytes as a file; its errors name where they are from.
template <typename Read>
auto read_as_file(const RawFile& raw, Read read) {
  detail::MemoryFile file;
  file.append(raw.bytes);
  const std::string path = file.path();
  try {
    return read(path);
  } catch (const InputError& error) {
    std::string text = error.what();
    if (const std::size_t at = text.find(path); at != std::string::npos)
      text.replace(at, path.size(), raw.from);
    throw InputError(text);
  }
}

std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view between = ", \t\r";
  std::vector<std::string_view> fields;
  for (std::size_t at = line.find_first_not_of(between); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(between, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(between, end);
  }
  return fields;
}

void add_lines(std::string& table, const RawFile& file, const TableLayout& layout) {
  const std::string text = inflated(file, largest_text);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto fields = fields_of(std::string_view(text).substr(at, end - at));
    at = end + 1;
    ++number;
    if (fields.empty()) continue;
    if (fields.size() != layout.field.size())
      throw InputError(fmt::format(
          "{}:{}: has {} fields where {} are expected. It is not the file that was asked for.",
          file.from, number, fields.size(), layout.field.size()));
    for (std::size_t k = 0; k < layout.field.size(); ++k) {
      if (k > 0) table += ',';
      table += fields[layout.field[k]];
    }
    table += '\n';
  }
}

}  // namespace

TableLayout label_last(Index features) {
  TableLayout layout;
  for (Index j = 0; j < features; ++j) layout.header.push_back(fmt::format("f{}", j + 1));
  layout.header.emplace_back("label");
  for (std::size_t k = 0; k < layout.header.size(); ++k) layout.field.push_back(k);
  return layout;
}

TableLayout letter_layout() {
  TableLayout layout = label_last(128);
  layout.header.insert(layout.header.end(), {"id", "next_id", "word_id", "position", "fold"});
  layout.field.clear();
  for (std::size_t pixel = 0; pixel < 128; ++pixel) layout.field.push_back(6 + pixel);
  layout.field.insert(layout.field.end(), {1, 0, 2, 3, 4, 5});
  return layout;
}

std::string table_of_lines(const std::vector<RawFile>& files, const TableLayout& layout) {
  std::string table = fmt::format("{}\n", fmt::join(layout.header, ","));
  for (const RawFile& file : files) add_lines(table, file, layout);
  return table;
}

std::string table_of_mat(const RawFile& file) {
  const Samples samples =
      read_as_file(file, [](const std::string& path) { return read_samples({path}); });
  if (samples.tasks.empty())
    throw InputError(
        fmt::format("{}: has no tasks, which are cells of a MATLAB file. It is not the file that "
                    "was asked for.",
                    file.from));
  std::string table = fmt::format("{},label,task\n", fmt::join(samples.features, ","));
  for (Index i = 0; i < samples.X.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (const double value : samples.X.row(i))
      fmt::format_to(std::back_inserter(table), "{},", value);
    table += samples.labels[static_cast<std::size_t>(samples.label[row])] + ',' +
             samples.tasks[static_cast<std::size_t>(samples.task[row])] + '\n';
  }
  return table;
}

std::string inflated(const RawFile& file, std::size_t most_bytes) {
  return read_as_file(file, [&](const std::string& path) {
    detail::ByteInput input(path);
    std::string bytes, part(std::size_t{1} << 18, '\0');
    while (const std::size_t count = input.read(part.data(), part.size())) {
      if (bytes.size() + count > most_bytes)
        input.fail(fmt::format("unpacks to more than {} MB. It is not the file that was asked for.",
                               most_bytes >> 20));
      bytes.append(part, 0, count);
    }
    return bytes;
  });
}

}  // namespace coterie
