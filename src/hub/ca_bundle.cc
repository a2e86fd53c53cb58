#include "hub/ca_bundle.h"

#include <fmt/ranges.h>

#include <array>
#include <string_view>

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;

/// The places below the root in Debian, Fedora, SUSE and Alpine, and systems like them.
constexpr std::array<std::string_view, 4> kFiles = {"etc/ssl/certs/ca-certificates.crt",
                                                    "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem",
                                                    "etc/ssl/cert.pem"};

}  // namespace

CaBundle find_ca_bundle(const Environment& environment, const fs::path& root) {
  CaBundle bundle = {.folder = environment("SSL_CERT_DIR").value_or("")};
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}) {
    if (auto named = environment(name)) {
      bundle.file = std::move(*named);
      return bundle;
    }
  }
  std::error_code ignored;
  for (const std::string_view file : kFiles) {
    if (const fs::path path = root / file; fs::exists(path, ignored)) {
      bundle.file = path.string();
      break;
    }
  }
  return bundle;
}

Error no_ca_bundle() {
  return Error{fmt::format(
      "found no certificates of authorities, expected one of /{}; name another file with SSL_CERT_FILE, or a "
      "folder with SSL_CERT_DIR",
      fmt::join(kFiles, ", /"))};
}

}  // namespace octavo::hub
