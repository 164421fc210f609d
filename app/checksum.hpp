// SHA-256, by OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace coterie::app {

std::string sha256(std::string_view bytes);  // 64 hexadecimal digits

}  // namespace coterie::app
