#include "hub/url.h"

#include <curl/curl.h>

#include <cctype>
#include <charconv>
#include <memory>
#include <optional>

#include "base/text.h"

namespace octavo::hub {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

class Url {
 public:
  Url() : handle_(curl_url()) {}
  /// False: it is no address.
  bool set(const std::string& url) { return curl_url_set(handle_.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK; }
  std::optional<std::string> part(CURLUPart part, unsigned flags = 0) const {
    char* text = nullptr;
    if (curl_url_get(handle_.get(), part, &text, flags) != CURLUE_OK) return std::nullopt;
    std::string out(text);
    curl_free(text);
    return out;
  }
  bool is_web() const {
    const auto scheme = part(CURLUPART_SCHEME);
    return scheme && (*scheme == "http" || *scheme == "https");
  }

 private:
  std::unique_ptr<CURLU, FreeUrl> handle_;
};

}  // namespace

Result<std::string> origin_of(const std::string& url) {
  Url parsed;
  if (!parsed.set(url) || !parsed.is_web()) return fail("{}: expected an address of http or https", printable(url));
  return *parsed.part(CURLUPART_SCHEME) + "://" + parsed.part(CURLUPART_HOST).value_or("") + ":" +
         parsed.part(CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("");
}

Result<std::string> redirected(const std::string& url, const std::string& location) {
  Url parsed;
  if (!parsed.set(url) || !parsed.is_web()) return fail("{}: expected an address of http or https", printable(url));
  const bool was_secure = parsed.part(CURLUPART_SCHEME) == "https";
  if (!parsed.set(location) || !parsed.is_web())
    return fail("{}: redirected to {}, expected an address of http or https", printable(url), printable(location));
  if (was_secure && parsed.part(CURLUPART_SCHEME) == "http")
    return fail("{}: redirected to {}, expected https as before", printable(url), printable(location));
  return parsed.part(CURLUPART_URL).value_or(location);
}

Result<WebAddress> parse_web_address(const std::string& url) {
  Url parsed;
  if (!parsed.set(url) || !parsed.is_web()) return fail("{}: expected an address of http or https", printable(url));
  if (parsed.part(CURLUPART_USER) || parsed.part(CURLUPART_PASSWORD))
    return fail("{}: expected an address without a user's name in it", printable(url));
  WebAddress address{.url = parsed.part(CURLUPART_URL).value_or(url), .host = parsed.part(CURLUPART_HOST).value_or("")};
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  const std::string port = parsed.part(CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("");
  std::from_chars(port.data(), port.data() + port.size(), address.port);
  address.is_secure = parsed.part(CURLUPART_SCHEME) == "https";
  return address;
}

std::string url_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte < 0x80 && (std::isalnum(byte) != 0 || std::string_view("-._~/").contains(c));
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

std::string file_name_of(const std::string& url) {
  Url parsed;
  if (!parsed.set(url)) return {};
  const std::string path = parsed.part(CURLUPART_PATH, CURLU_URLDECODE).value_or("");
  return path.substr(path.rfind('/') + 1);
}

}  // namespace octavo::hub
