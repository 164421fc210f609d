#include "download.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <memory>

#include "coterie/math/types.hpp"

namespace coterie::app {
namespace {

constexpr long most_redirections = 5;
constexpr long slowest = 100;  // bytes a second

struct Transfer {
  std::string bytes = {};
  double most_bytes = 0;
  bool too_large = false;
  const DownloadProgress* progress = nullptr;
};

std::size_t on_bytes(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.too_large = static_cast<double>(transfer.bytes.size() + count) > transfer.most_bytes;
  if (transfer.too_large) return 0;  // ends the transfer
  transfer.bytes.append(bytes, count);
  return count;
}

int on_progress(void* user, curl_off_t all, curl_off_t done, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(user);
  if (*transfer.progress) (*transfer.progress)(static_cast<double>(done), static_cast<double>(all));
  return 0;
}

struct CurlLibrary {
  CurlLibrary() {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::bad_alloc();
  }
  ~CurlLibrary() { curl_global_cleanup(); }
  CurlLibrary(const CurlLibrary&) = delete;
  CurlLibrary& operator=(const CurlLibrary&) = delete;
};

using Curl = std::unique_ptr<CURL, void (*)(CURL*)>;

Curl prepared_transfer(const std::string& address, const DownloadLimits& limits,
                       Transfer& transfer) {
  Curl curl(curl_easy_init(), curl_easy_cleanup);
  if (!curl) throw std::bad_alloc();
  const auto seconds = static_cast<long>(std::ceil(std::min(limits.patience_seconds, 1e6)));
  curl_easy_setopt(curl.get(), CURLOPT_URL, address.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "coterie/" COTERIE_VERSION);
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, most_redirections);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);  // signals are ours
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, seconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, slowest);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, seconds);
  curl_easy_setopt(curl.get(), CURLOPT_MAXFILESIZE_LARGE,
                   static_cast<curl_off_t>(limits.most_bytes));
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  return curl;
}

std::string host_of(const std::string& address) {
  const std::size_t begin = address.find("://") + 3;
  return address.substr(begin, address.find_first_of("/:?", begin) - begin);
}

// What went wrong, in words; `detail` are those of libcurl.
std::string transfer_problem(CURLcode code, const std::string& address, const Transfer& transfer,
                             const DownloadLimits& limits, const std::string& detail) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("the name {} cannot be looked up. Is this machine online?",
                         host_of(address));
    case CURLE_COULDNT_RESOLVE_PROXY:
      return fmt::format("the proxy cannot be looked up ({}). Check http_proxy and https_proxy.",
                         detail);
    case CURLE_COULDNT_CONNECT:
      return fmt::format("no connection ({}). Is this machine online?", detail);
    case CURLE_OPERATION_TIMEDOUT:
      return fmt::format(
          "gave up after {} bytes: the server was silent, or all but silent, for {:g} s. Try "
          "later, "
          "or raise --timeout.",
          transfer.bytes.size(), limits.patience_seconds);
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
      return fmt::format("the transfer broke off after {} bytes. Try again.",
                         transfer.bytes.size());
    case CURLE_TOO_MANY_REDIRECTS:
      return fmt::format("is sent on to other addresses more than {} times. It may have moved.",
                         most_redirections);
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "is sent on to an address that does not begin with http:// or https://.";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return fmt::format(
          "the server's certificate does not hold ({}). Check the clock of this machine, and "
          "that the package ca-certificates is installed.",
          detail);
    default:
      return fmt::format("cannot be fetched: {}.", detail);
  }
}

std::string status_problem(long status) {
  switch (status) {
    case 401:
    case 403:
      return fmt::format("the server refuses it (status {}).", status);
    case 404:
    case 410:
      return fmt::format("the server has no such file (status {}). It may have moved.", status);
    default:
      return fmt::format("the server answers with status {} instead of the file.{}", status,
                         status >= 500 ? " Try later." : "");
  }
}

}  // namespace

bool is_web_address(const std::string& text) {
  const auto begins_with = [&](std::string_view prefix) {
    return text.size() > prefix.size() &&
           std::ranges::equal(prefix, std::string_view(text).substr(0, prefix.size()), {}, {},
                              [](unsigned char c) { return std::tolower(c); });
  };
  return begins_with("http://") || begins_with("https://");
}

std::string download(const std::string& address, const DownloadLimits& limits,
                     const DownloadProgress& progress) {
  static const CurlLibrary library;
  Transfer transfer{.most_bytes = limits.most_bytes, .progress = &progress};
  const Curl curl = prepared_transfer(address, limits, transfer);
  std::array<char, CURL_ERROR_SIZE> detail{};
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail.data());
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED)
    throw InputError(
        fmt::format("{}: sends more than {:.0f} MB. It is not the file that was asked for.",
                    address, limits.most_bytes / (1 << 20)));
  if (code == CURLE_URL_MALFORMAT)
    throw InputError(fmt::format("{}: is no address of the web. Check --from.", address));
  if (code != CURLE_OK) {
    const std::string words = detail[0] != '\0' ? detail.data() : curl_easy_strerror(code);
    throw DownloadError(
        fmt::format("{}: {}", address, transfer_problem(code, address, transfer, limits, words)));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) throw DownloadError(fmt::format("{}: {}", address, status_problem(status)));
  return std::move(transfer.bytes);
}

}  // namespace coterie::app
