// The text of a plan as TOML.
#pragma once

#include <string>

// toml++ takes some wrong texts, such as "[=]", for broken promises of its own: assertions, on which optimised code relies. Here they are
// errors of the plan, in every build.
namespace coterie::detail {
struct NotToml {};
[[noreturn]] inline void throw_not_toml() { throw NotToml(); }
}  // namespace coterie::detail
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : coterie::detail::throw_not_toml())
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

namespace coterie::detail {

// All that is said of a plan leaves here. Plans may hold any characters; messages must not.
[[noreturn]] void throw_shown(const std::string& text);

// `file` names the text in messages. Throws InputError "file:line: ...".
toml::table parse_toml(const std::string& text, const std::string& file);

}  // namespace coterie::detail
