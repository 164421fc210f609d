// For tests of messages: what the InputError that a call throws says.
#pragma once

#include <string>

#include "coterie/math/types.hpp"

namespace coterie {

template <typename Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace coterie
