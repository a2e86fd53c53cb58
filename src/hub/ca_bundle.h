// The certificate authorities that are trusted: those that the environment names, or those of the distribution. A
// library that was built elsewhere knows only the places of its builder.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "hub/environment.h"

namespace octavo::hub {

struct CaBundle {
  std::string file = {};    // certificates in PEM; empty: none
  std::string folder = {};  // certificates under names that `openssl rehash` gives; empty: none

  bool is_empty() const { return file.empty() && folder.empty(); }
  bool operator==(const CaBundle&) const = default;
};

/// The file of SSL_CERT_FILE, CURL_CA_BUNDLE or REQUESTS_CA_BUNDLE, or else the first of the usual places below `root`
/// that is there; with it the folder of SSL_CERT_DIR.
CaBundle find_ca_bundle(const Environment& environment, const std::filesystem::path& root = "/");

/// The error of https without any certificates; it names the usual places, and the variables that name others.
Error no_ca_bundle();

}  // namespace octavo::hub
