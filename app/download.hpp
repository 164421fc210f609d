// A file from a web server, by libcurl.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace coterie::app {

// A file that could not be got: no network, no such file, a server that gives up. The text stands alone.
class DownloadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DownloadLimits {
  double most_bytes = 32 << 20;  // the largest file, images of MNIST, has 10 MB
  double patience_seconds =
      30;  // to connect; and to go on while fewer than 100 bytes a second come
};

// Called now and then with the bytes that came and those that will come (0: the server does not say).
using DownloadProgress = std::function<void(double done, double all)>;

bool is_web_address(const std::string& text);  // http:// or https://

// The bytes at an address, after at most five redirections to others of the web. Throws DownloadError, or InputError when the address is
// none, or more bytes come than the limit.
std::string download(const std::string& address, const DownloadLimits& limits,
                     const DownloadProgress& progress);

}  // namespace coterie::app
