#include "fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "checksum.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/byte_output.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_contents = std::size_t{128} << 20;  // MNIST has 47 MB

// As it is stored; gzip stays gzip.
std::string bytes_of_file(const std::string& path, double most_bytes) {
  std::error_code problem;
  if (!fs::exists(path, problem))
    throw InputError(
        fmt::format("{}: there is no such file. Put it there, or check --from.", path));
  if (!fs::is_regular_file(path, problem))
    throw InputError(fmt::format("{}: this is no file. Check --from.", path));
  if (static_cast<double>(fs::file_size(path, problem)) > most_bytes)
    throw InputError(
        fmt::format("{}: has more than {:.0f} MB. It is not the file that was asked for.", path,
                    most_bytes / (1 << 20)));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (file.peek() != std::ifstream::traits_type::eof()) bytes << file.rdbuf();
  if (!file.is_open() || file.bad())
    throw InputError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
  return std::move(bytes).str();
}

// Servers that have lost a file often send a page that says so, as if it were the file.
bool is_web_page(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf"), bytes.size()));
  const auto begins_with = [&](std::string_view tag) {
    return std::ranges::equal(tag, bytes.substr(0, tag.size()), {}, {},
                              [](unsigned char c) { return std::tolower(c); });
  };
  return begins_with("<!doctype") || begins_with("<html") || begins_with("<?xml");
}

void check_sum(const std::string& what, std::string_view bytes, const std::string& expected) {
  const std::string found = sha256(bytes);
  if (found != expected)
    throw InputError(
        fmt::format("{} is not the data that was asked for: {} bytes with SHA-256 {}, not {}. "
                    "Nothing of it is kept. Try another source with --from.",
                    what, bytes.size(), found, expected));
}

RawFile fetch_raw(const PublicData& data, const PublicRawFile& raw, const FetchPlace& place,
                  const FetchWatch& watch) {
  RawFile file{raw_place(data, raw, place.from), ""};
  if (watch.begin) watch.begin(file.from);
  const bool web = is_web_address(file.from);
  file.bytes = web ? download(file.from, place.limits, watch.progress)
                   : bytes_of_file(file.from, place.limits.most_bytes);
  if (is_web_page(file.bytes))
    throw InputError(fmt::format(
        "{}: is a web page, not the data. The file may have moved; try another source with --from.",
        file.from));
  if (!raw.sha256.empty()) check_sum(file.from + ":", file.bytes, raw.sha256);
  return file;
}

}  // namespace

std::string raw_place(const PublicData& data, const PublicRawFile& raw, const std::string& from) {
  if (from.empty()) return fmt::format("{}/{}", raw.address, raw.name);
  if (!is_web_address(from)) return (fs::path(from) / data.name / raw.name).string();
  const std::string base = from.substr(0, from.find_last_not_of('/') + 1);
  return fmt::format("{}/{}/{}", base, data.name, raw.name);
}

bool is_there(const PublicFile& file, const std::string& path) {
  std::error_code problem;
  if (!fs::is_regular_file(path, problem)) return false;
  try {
    const RawFile stored{path, bytes_of_file(path, largest_contents)};
    return sha256(inflated(stored, largest_contents)) == file.sha256;
  } catch (const InputError&) {  // damaged, or not ours to read
    return false;
  }
}

FetchedFile fetch_file(const PublicData& data, const PublicFile& file, const FetchPlace& place,
                       const FetchWatch& watch) {
  std::vector<RawFile> raw;
  for (const PublicRawFile& each : file.raw) raw.push_back(fetch_raw(data, each, place, watch));
  if (!file.convert) {
    check_sum(raw.front().from + ":", inflated(raw.front(), largest_contents), file.sha256);
    return {std::move(raw.front().bytes), true};
  }
  std::string table = file.convert(raw);
  check_sum(fmt::format("{}: the table made of {}", raw.front().from,
                        raw.size() == 1 ? "it" : fmt::format("it and {} more", raw.size() - 1)),
            table, file.sha256);
  return {std::move(table), false};
}

void write_fetched(const FetchedFile& file, const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code problem;
  if (!folder.empty()) fs::create_directories(folder, problem);
  if (problem)
    throw OutputError(
        fmt::format("{}: the folder cannot be made: {}.", folder.string(), problem.message()));
  if (file.compressed) return write_file_atomically(path, file.bytes);
  detail::write_bytes(path, [&](const ByteSink& sink) { sink(file.bytes); });
}

}  // namespace coterie::app
