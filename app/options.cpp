#include "options.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "coterie/io/atomic_file.hpp"
#include "coterie/io/matrix_file.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/io/table.hpp"
#include "embedded.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

template <typename Number>
CLI::Option& add_checked_number(CLI::App& command, const std::string& flags, Number& value,
                                const std::string& help, const std::string& rule, Number smallest,
                                const std::string& type) {
  const std::string name = flags.substr(flags.find("--"));
  const auto read = [&value, name, rule, smallest](const std::string& text) {
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), value);
    bool good = problem == std::errc{} && end == text.data() + text.size();
    if constexpr (std::is_floating_point_v<Number>) good = good && !std::isnan(value);
    good = good && value >= smallest;
    if (!good) throw InputError(fmt::format("{} is '{}'; it must be {}.", name, text, rule));
  };
  CLI::Option& option =
      *command.add_option_function<std::string>(flags, read, fmt::format("{} ({})", help, rule));
  option.type_name(type)->default_str(fmt::format("{}", value))->run_callback_for_default(false);
  return option;
}

bool is_model(const std::string& path) {
  try {
    read_model(path);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

bool is_embedded(const std::string& path) { return path == embedded_name && !fs::exists(path); }

}  // namespace

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

CLI::Option& add_number(CLI::App& command, const std::string& flags, double& value,
                        const std::string& help, const std::string& rule, double smallest) {
  return add_checked_number(command, flags, value, help, rule, smallest, "NUMBER");
}

CLI::Option& add_number(CLI::App& command, const std::string& flags, Index& value,
                        const std::string& help, const std::string& rule, Index smallest) {
  return add_checked_number(command, flags, value, help, rule, smallest, "N");
}

void add_paths(CLI::App& command, DataOptions& options) {
  command
      .add_option("DATA", options.paths,
                  "CSV, TSV, LIBSVM, NumPy or IDX files, plain or gzip, or MATLAB files; FILE:NAME "
                  "names a file's task; 'digits' is the embedded set")
      ->required()
      ->type_name("");
}

void add_model(CLI::App& command, std::string& path) {
  command.add_option("MODEL", path, "model file, as `coterie train` writes it")
      ->required()
      ->type_name("");
}

Model read_model_before(const std::vector<std::string>& data, const std::string& path) {
  try {
    return read_model(path);
  } catch (const InputError&) {
    if (data.size() != 1 || !is_model(data.front())) throw;
    throw InputError(fmt::format("the model comes before the data: {} {} instead of {} {}.",
                                 data.front(), path, path, data.front()));
  }
}

void add_precomputed(CLI::App& command, std::vector<std::string>& files, const char* help) {
  command.add_option("--precomputed", files, help)
      ->type_name("NAME=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_columns(CLI::App& command, DataOptions& options) {
  command
      .add_option("--label", options.label,
                  "column that holds the labels; of a MATLAB file the variable; of X.npy a .npy "
                  "file (default: X-labels.npy beside it)")
      ->type_name("NAME")
      ->default_str("label");
  command
      .add_option("--task", options.task,
                  "column that says which task a row belongs to; of a MATLAB file the variable; of "
                  "X.npy a .npy file (default: 'task' if there is one; X-tasks.npy)")
      ->type_name("NAME");
}

void add_model_columns(CLI::App& command, DataOptions& options) {
  command
      .add_option("--label", options.label,
                  "column that holds the labels; of a MATLAB file the variable (default: as the "
                  "model was trained)")
      ->type_name("NAME");
  command
      .add_option("--task", options.task,
                  "column that says which task a row belongs to; of a MATLAB file the variable "
                  "(default: as the model was trained)")
      ->type_name("NAME");
}

void add_column_choice(CLI::App& command, DataOptions& options) {
  command.add_option("--drop", options.drop, "columns to leave out (default: none)")
      ->type_name("NAME,...");
  command.add_option("--features", options.features, "columns to learn from (default: all others)")
      ->type_name("NAME,...");
}

void add_json(CLI::App& command, OutputOptions& options) {
  command.add_flag("--json", options.json,
                   "print one JSON document instead of text (default: off)");
}

void add_quiet(CLI::App& command, OutputOptions& options) {
  command.add_flag("--quiet", options.quiet, "no progress on standard error (default: off)");
}

void add_threads(CLI::App& command, int& threads) {
  add_checked_number(command, "--threads", threads,
                     "number of threads; the result is the same with any",
                     "a whole number >= 1, or 0 for all cores", 0, "N");
}

void add_new_task(CLI::App& command, std::string& text) {
  command
      .add_option("--new-task", text,
                  "how to score rows of a task that the model does not know: by the mean of the "
                  "tasks in group N (as numbered by inspect), in the group of a task, or of all "
                  "tasks; so with probabilities, if all these tasks have them (default: an error)")
      ->type_name("group:N|task:NAME|common");
}

NewTask new_task_of(const std::string& text) {
  NewTask out;
  read_field("new-task", text, "group:N, task:NAME or common", out);
  return out;
}

void add_seed(CLI::App& command, Index& seed) {
  add_number(command, "--seed", seed, "seed of the random numbers", "a whole number");
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    if (end > start) names.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

std::string file_list(const std::vector<std::string>& paths) {
  if (paths.size() <= 3) return fmt::format("{}", fmt::join(paths, ", "));
  return fmt::format("{}, {}, ... ({} files)", paths[0], paths[1], paths.size());
}

std::string note_on_tasks(const WrittenFiles& written, const Samples& samples) {
  if (!written.file_per_task) return "";
  return fmt::format("one file for each of the {} tasks: this format holds one task a file\n",
                     samples.tasks.size());
}

Samples read_data(const DataOptions& options, const ReadRule& rule) {
  TableOptions table;
  table.label = options.label;
  table.task = options.task;
  table.trained = rule.trained;
  table.drop = split_names(options.drop);
  table.features = rule.features.empty() ? split_names(options.features) : rule.features;
  table.label_required = rule.label_required;
  table.blank_labels = rule.blank_labels;
  table.memory = rule.memory;

  std::vector<std::string> paths = options.paths;
  std::optional<EmbeddedFile> embedded;
  for (std::string& path : paths) {
    if (!is_embedded(path)) continue;
    if (!embedded) embedded.emplace();
    path = embedded->path() + (paths.size() > 1 ? ":" + embedded_name : "");
  }
  try {
    return read_samples(paths, table);
  } catch (const InputError& error) {  // in words that the user has seen
    std::string text = error.what();
    if (embedded) text = replace_all(text, embedded->path(), embedded_name);
    if (!rule.features.empty()) {
      text = replace_all(text, "which `features` asks for", "which the model needs");
      const std::size_t advice = text.find("Correct it, or take ");
      if (advice != std::string::npos) text.resize(advice + 10);
      if (advice != std::string::npos) text += "; the model needs this column.";
    }
    throw InputError(text);
  }
}

std::vector<std::string> input_files(const DataOptions& data,
                                     const std::vector<std::string>& others) {
  std::vector<std::string> files;
  for (const std::string& path : data.paths) {
    if (is_embedded(path)) continue;
    const std::vector<std::string> behind = files_behind(path);
    files.insert(files.end(), behind.begin(), behind.end());
  }
  for (const std::string& name : {data.label.value_or(""), data.task.value_or("")})
    if (name.ends_with(".npy") || name.ends_with(".npy.gz")) files.push_back(name);
  for (const std::string& path : others)
    if (!path.empty()) files.push_back(path);
  return files;
}

std::vector<std::string> kernel_files(const Kernels& kernels) {
  std::vector<std::string> files;
  for (const Kernel& kernel : kernels.list())
    if (kernel.is_precomputed()) files.push_back(kernel.file);
  return files;
}

std::vector<std::string> matrix_files(const std::vector<std::string>& precomputed) {
  std::vector<std::string> files;
  for (const std::string& text : precomputed)
    if (const std::size_t equals = text.find('='); equals != std::string::npos)
      files.push_back(text.substr(equals + 1));
  return files;
}

bool same_place(const std::string& a, const std::string& b) {
  struct stat of_a {
  }, of_b{};
  const bool a_exists = stat(a.c_str(), &of_a) == 0, b_exists = stat(b.c_str(), &of_b) == 0;
  if (a_exists && b_exists)  // a terminal may be both, and is neither overwritten
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino && !S_ISCHR(of_a.st_mode);
  if (a_exists || b_exists) return false;
  const auto place = [](const std::string& path) {
    std::error_code ignored;
    const fs::path target = fs::absolute(output_target(path), ignored);
    const fs::path folder = fs::weakly_canonical(target.parent_path(), ignored);
    return (folder / target.filename()).lexically_normal();
  };
  return place(a) == place(b);
}

void check_extra_output(const std::string& path, const std::string& option,
                        const std::vector<std::string>& endings,
                        const std::vector<std::string>& others) {
  if (path.empty()) return;
  const bool known = std::ranges::any_of(
      endings, [&](const std::string& ending) { return path.ends_with(ending); });
  if (!known)
    throw InputError(fmt::format("{} is '{}'; the name must end in {}.", option, path,
                                 fmt::join(endings, " or ")));
  check_output(path, option, others, option + ": ");
}

void check_not_input(const std::string& path, const std::vector<std::string>& inputs,
                     const std::string& option) {
  for (const std::string& input : inputs)
    if (same_place(path, input))
      throw InputError(fmt::format("{}{} is also an input{}; choose another name.", option, path,
                                   path == input ? "" : fmt::format(" (as {})", input)));
}

void check_distinct_outputs(const std::vector<std::string>& outputs, const std::string& options) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!outputs[i].empty() && !outputs[j].empty() && same_place(outputs[i], outputs[j]))
        throw InputError(fmt::format("two outputs would go to {}; {} need names of their own.",
                                     outputs[i], options));
}

void check_output(const std::string& path, const std::string& what,
                  const std::vector<std::string>& inputs, const std::string& option) {
  if (path.empty())
    throw InputError(fmt::format("--output is missing: say with -o FILE where {} goes.", what));
  std::string target;
  try {
    target = output_target(path);
  } catch (const OutputError& error) {
    throw InputError(fmt::format("{}{} Choose another place.", option, error.what()));
  }
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw InputError(fmt::format("{}{} is a folder; give the name of a file in it.", option, path));
  const fs::path parent = fs::path(target).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const bool exists = fs::exists(path, ignored);
  const bool is_file =  // /dev/stdout may be one, but is written as it is
      !is_device(path) && (!exists || fs::is_regular_file(path, ignored));
  if (is_file && !fs::is_directory(folder, ignored))
    throw InputError(fmt::format(
        "{}{}the folder {} does not exist; make it first, or choose another place.", option,
        target == path ? "" : fmt::format("{} is a link to {}: ", path, target), folder));
  if (access(is_file ? folder.c_str() : path.c_str(), W_OK) != 0 ||
      (exists && access(path.c_str(), W_OK) != 0))
    throw InputError(fmt::format("{}{} cannot be written: {}. Choose another place.", option, path,
                                 std::strerror(errno)));
  check_not_input(path, inputs, option);
}

PrecomputedMatrices read_precomputed(const std::vector<Kernel>& kernels,
                                     const std::vector<std::string>& given, bool own_files) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels)
    if (kernel.is_precomputed()) names.push_back(kernel.file);
  PrecomputedMatrices matrices;
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    if (std::ranges::find(names, name) == names.end())
      throw InputError(fmt::format(
          "--precomputed is '{}'; it must be NAME=FILE, with NAME a precomputed kernel of the "
          "model{}.",
          text,
          names.empty() ? " (which has none)" : fmt::format(" ({})", fmt::join(names, ", "))));
    matrices[name] = read_matrix(text.substr(equals + 1));
  }
  for (const std::string& name : names) {
    if (matrices.contains(name)) continue;
    if (!own_files)
      throw InputError(
          fmt::format("the model uses the kernel precomputed:{0}; give its values between the new "
                      "rows and the training rows with "
                      "--precomputed {0}=FILE.",
                      name));
    matrices[name] = read_matrix(name);
  }
  return matrices;
}

}  // namespace coterie::app
