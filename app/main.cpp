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
#include "usage.hpp"

namespace coterie::app {
namespace {

void add_commands(CLI::App& program, Action& chosen) {
  add_train(program, chosen);
  add_select(program, chosen);
  add_path(program, chosen);
  add_predict(program, chosen);
  add_evaluate(program, chosen);
  add_bound(program, chosen);
  add_extend(program, chosen);
  add_methods(program, chosen);
  add_stats(program, chosen);
  add_inspect(program, chosen);
  add_verify(program, chosen);
  add_page(program, chosen);
  add_experiment(program, chosen);
  add_data(program, chosen);
  add_demo(program, chosen);
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
    if (error.get_exit_code() != 0) {
      tell("error: {}\n", usage_text(program, error));
      return exit_bad_input;
    }
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
