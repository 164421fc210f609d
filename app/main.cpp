// The program: reads the command line, runs the chosen command, and turns every failure into a message and an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <sstream>
#include <system_error>

#include "command.hpp"
#include "coterie/math/types.hpp"
#include "messages.hpp"
#include "progress.hpp"

namespace coterie::app {
namespace {

void add_commands(CLI::App& program, Action& chosen) {
  add_train(program, chosen);
  add_select(program, chosen);
  add_path(program, chosen);
  add_predict(program, chosen);
  add_evaluate(program, chosen);
  add_extend(program, chosen);
  add_methods(program, chosen);
  add_inspect(program, chosen);
  add_verify(program, chosen);
  add_experiment(program, chosen);
  add_data(program, chosen);
  add_demo(program, chosen);
}

// The innermost command that was named.
const CLI::App& command_of(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? command.get_name()
             : full_name(*command.get_parent()) + " " + command.get_name();
}

int usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = command_of(program);
  const std::vector<std::string> rest = command.remaining();
  const std::vector<const CLI::App*> choices =
      command.get_subcommands([](const CLI::App*) { return true; });
  std::string message = error.what();
  if (!choices.empty()) {
    std::string names;
    for (const CLI::App* choice : choices)
      names += (names.empty() ? "" : ", ") + choice->get_name();
    message =
        rest.empty() ? "a command is missing" : fmt::format("'{}' is not a command", rest.front());
    message += fmt::format("; choose one of {}", names);
  }
  tell("error: {}. See: {} --help\n", message, full_name(command));
  return exit_bad_input;
}

int run(int argc, char** argv) {
  guard_standard_streams();
  install_signal_handlers();
  CLI::App program(
      "Multi-task multiple-kernel SVMs that learn which tasks share a kernel, with a certificate "
      "of optimality.",
      "coterie");
  program.set_version_flag("--version", "coterie " COTERIE_VERSION, "print the version");
  program.set_help_flag("-h,--help", "print this help");
  program.get_formatter()->column_width(36);
  program.footer("Example:\n  coterie demo\n  coterie COMMAND --help");
  program.require_subcommand(1);
  Action chosen;
  add_commands(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return usage_error(program, error);
    std::ostringstream text;  // the help, or the version
    const int code = program.exit(error, text, text);
    print_text(text.str());
    check_standard_output();
    return code;
  }
  const int code = chosen();
  check_standard_output();
  return code;
}

int fail(const std::string& message, ExitCode code) {
  tell("error: {}\n", message);
  return code;
}

}  // namespace
}  // namespace coterie::app

int main(int argc, char** argv) {
  using namespace coterie::app;
  try {
    return run(argc, argv);
  } catch (const coterie::InputError& error) {
    return fail(with_options(error.what()), exit_bad_input);
  } catch (const BrokenPipe&) {
    return exit_failed;
  } catch (const std::bad_alloc&) {
    return fail("out of memory: use fewer rows, tasks or kernels.", exit_failed);
  } catch (const std::system_error& error) {  // fmt::print, for one
    const bool lost = std::ferror(stdout) != 0;
    if (lost && error.code() == std::errc::broken_pipe) return exit_failed;  // as `| head` wants it
    return fail(lost ? fmt::format("standard output cannot be written: {}.", error.code().message())
                     : error.what(),
                exit_failed);
  } catch (const std::exception& error) {
    return fail(with_options(error.what()), exit_failed);
  }
}
