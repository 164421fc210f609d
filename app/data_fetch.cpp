// coterie data fetch: public data sets, from where they are published.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "command.hpp"
#include "fetch.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "usage.hpp"

namespace coterie::app {
namespace {

struct FetchOptions {
  std::vector<std::string> names;
  std::string folder;
  FetchPlace place;
  OutputOptions output;
};

// A file that is to be in the folder.
struct FetchItem {
  const PublicData* data = nullptr;
  const PublicFile* file = nullptr;
  std::string path = {};
  bool there = false;     // with the right contents
  bool replaces = false;  // there is another file in its place
};

struct FetchOutcome {
  Json files = Json::array();
  Json failed = Json::array();
  std::vector<std::string> written;
  int code = exit_done;  // that of the first failure
};

std::vector<std::string> names_of_public_data() {
  std::vector<std::string> names;
  for (const PublicData& data : public_data()) names.push_back(data.name);
  return names;
}

void check_names(const std::vector<std::string>& names) {
  const std::vector<std::string> known = names_of_public_data();
  for (const std::string& name : names)
    if (name != "all" && std::ranges::find(known, name) == known.end()) {
      const std::string guess = did_you_mean(name, known);
      throw InputError(
          fmt::format("'{}' is no data set that can be fetched{} Choose among {}, or all.", name,
                      guess.empty() ? "." : guess, fmt::join(known, ", ")));
    }
}

std::string folder_for_data(const std::string& given) {
  if (!given.empty()) return given;
  const char* everywhere = std::getenv("COTERIE_DATA");
  return everywhere != nullptr && *everywhere != '\0' ? everywhere : "coterie-data";
}

void check_from(const std::string& from) {
  std::error_code ignored;
  if (from.empty() || is_web_address(from) || std::filesystem::is_directory(from, ignored)) return;
  throw InputError(fmt::format(
      "--from is '{}'; it must be an address that begins with http:// or https://, or a folder.",
      from));
}

// Before anything is fetched: can the file be made, perhaps with the folders around it?
void check_place(const std::string& path, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path folder = fs::absolute(path).parent_path();
  if (fs::exists(folder, ignored) && fs::is_directory(folder, ignored))
    return check_output(path, "the data", inputs);
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, ignored))
    throw InputError(
        fmt::format("--output: {} is no folder. Choose another place.", folder.string()));
  if (access(folder.c_str(), W_OK) != 0)
    throw InputError(fmt::format("--output: {} cannot be written: {}. Choose another place.",
                                 folder.string(), std::strerror(errno)));
}

std::vector<std::string> raw_paths(const FetchItem& item, const std::string& from) {
  std::vector<std::string> paths;
  for (const PublicRawFile& raw : item.file->raw)
    if (std::string path = raw_place(*item.data, raw, from); !is_web_address(path))
      paths.push_back(std::move(path));
  return paths;
}

// Each once, in the order of the list, and what is there already.
std::vector<FetchItem> items_of(const FetchOptions& options) {
  std::vector<FetchItem> items;
  for (const PublicData& data : public_data()) {
    if (std::ranges::none_of(options.names, [&](const std::string& name) {
          return name == "all" || name == data.name;
        }))
      continue;
    for (const PublicFile& file : data.files) {
      FetchItem item{.data = &data, .file = &file};
      item.path = (std::filesystem::path(options.folder) / data.name / file.name).string();
      item.there = is_there(file, item.path);
      item.replaces = !item.there && access(item.path.c_str(), F_OK) == 0;
      if (!item.there) check_place(item.path, raw_paths(item, options.place.from));
      items.push_back(std::move(item));
    }
  }
  return items;
}

FetchWatch watch_of(Monitor& monitor, const PublicData& data) {
  FetchWatch watch;
  watch.begin = [&](const std::string& from) {
    monitor.phase(fmt::format("{}: fetching {}", data.name, from));
  };
  watch.progress = [&](double done, double all) {
    constexpr double kilobyte = 1000;
    if (all >= kilobyte)
      monitor.share(static_cast<Index>(done / kilobyte), static_cast<Index>(all / kilobyte), "kB");
  };
  return watch;
}

std::string text_of_kept(const std::vector<std::string>& written) {
  return fmt::format("stopped; kept {}. The same command fetches the others.\n",
                     fmt::join(written, ", "));
}

void fetch_item(const FetchOptions& options, const FetchItem& item, Monitor& monitor,
                FetchOutcome& outcome) {
  if (!item.there) {
    const FetchedFile fetched =
        fetch_file(*item.data, *item.file, options.place, watch_of(monitor, *item.data));
    if (outcome.written.empty()) set_stage(Stage::replaceable);
    write_fetched(fetched, item.path);
    outcome.written.push_back(item.path);
    set_stage_kept(text_of_kept(outcome.written), exit_failed);
    monitor.clear();
    if (item.replaces && !options.output.quiet)
      tell("{} had other contents; it is replaced\n", item.path);
  }
  const std::string status = item.there ? "there" : "fetched";
  outcome.files.push_back({{"data", item.data->name},
                           {"path", item.path},
                           {"status", status},
                           {"sha256", item.file->sha256}});
  if (!options.output.json) fmt::print("{:8} {}\n", status, item.path);
}

// A data set that cannot be got does not keep the others away.
FetchOutcome fetch_items(const FetchOptions& options, const std::vector<FetchItem>& items) {
  Monitor monitor(options.output.quiet);
  FetchOutcome outcome;
  const PublicData* failed = nullptr;
  for (const FetchItem& item : items) {
    if (interrupted()) break;
    if (item.data == failed) continue;
    const auto fail = [&](const std::string& message, ExitCode code) {
      monitor.clear();
      tell("error: {}: {}\n", item.data->name, message);
      outcome.failed.push_back({{"data", item.data->name}, {"message", message}});
      if (outcome.code == exit_done) outcome.code = code;
      failed = item.data;
    };
    try {
      fetch_item(options, item, monitor, outcome);
    } catch (const DownloadError& error) {
      fail(error.what(), exit_failed);
    } catch (const InputError& error) {
      fail(with_options(error.what()), exit_bad_input);
    }
  }
  return outcome;
}

int run_fetch(const FetchOptions& given) {
  FetchOptions options = given;
  options.folder = folder_for_data(given.folder);
  check_names(options.names);
  check_from(options.place.from);
  const FetchOutcome outcome = fetch_items(options, items_of(options));
  if (interrupted()) {
    tell("{}", text_of_kept(outcome.written));
    return exit_failed;
  }
  if (outcome.code == exit_failed)
    tell(
        "Raw files that came in another way can be used too: put them into a folder and name it "
        "with "
        "--from (docs/data-formats.md).\n");
  if (options.output.json)
    print_json({{"folder", options.folder}, {"files", outcome.files}, {"failed", outcome.failed}});
  else if (outcome.failed.empty())
    fmt::print("use them: COTERIE_DATA={} coterie data list\n", options.folder);
  return outcome.code;
}

}  // namespace

void add_data_fetch(CLI::App& data, Action& chosen) {
  const auto options = std::make_shared<FetchOptions>();
  CLI::App& command = add_command(
      data, "fetch", "Download public data sets, check them, and make tables of them",
      "coterie data fetch vehicle landmine -o ~/data\n  coterie data fetch all --from ~/downloads",
      options, run_fetch, chosen);
  command
      .add_option("NAME", options->names,
                  fmt::format("{}, or all", fmt::join(names_of_public_data(), ", ")))
      ->required()
      ->type_name("");
  command
      .add_option("-o,--output", options->folder,
                  "folder for them; each gets one of its own in it (default: COTERIE_DATA, else "
                  "coterie-data)")
      ->type_name("DIR");
  command
      .add_option("--from", options->place.from,
                  "another source: an address or a folder, with the raw files as NAME/FILE in it "
                  "(default: where they are published)")
      ->type_name("URL|DIR");
  add_number(command, "--timeout", options->place.limits.patience_seconds,
             "seconds to wait for a server that is silent", "a number >= 1", 1.0);
  add_json(command, options->output);
  add_quiet(command, options->output);
}

}  // namespace coterie::app
