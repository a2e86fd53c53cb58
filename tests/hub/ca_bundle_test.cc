#include "hub/ca_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "hub/http_client.h"
#include "support/temp_folder.h"

namespace octavo::hub {
namespace {

using testing::HasSubstr;

CaBundle bundle_of(const std::map<std::string, std::string>& variables, const std::filesystem::path& root) {
  const auto environment = [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return find_ca_bundle(environment, root);
}

void place(const test::TempFolder& folder, const std::string& file) {
  std::filesystem::create_directories((folder.path() / file).parent_path());
  folder.write(file, "certificates");
}

TEST(HubCaBundle, TheFirstUsualPlaceThatIsThereIsTaken) {
  const test::TempFolder folder;
  EXPECT_TRUE(bundle_of({}, folder.path()).is_empty());
  for (const char* file : {"etc/ssl/cert.pem", "etc/ssl/ca-bundle.pem", "etc/pki/tls/certs/ca-bundle.crt",
                           "etc/ssl/certs/ca-certificates.crt"}) {
    place(folder, file);  // each stands before the ones so far
    EXPECT_EQ(bundle_of({}, folder.path()), (CaBundle{.file = (folder.path() / file).string()}));
  }
}

TEST(HubCaBundle, VariablesGoBeforeTheUsualPlaces) {
  const test::TempFolder folder;
  place(folder, "etc/ssl/cert.pem");
  EXPECT_EQ(bundle_of({{"REQUESTS_CA_BUNDLE", "/r"}, {"CURL_CA_BUNDLE", "/c"}, {"SSL_CERT_FILE", "/s"}}, folder.path()),
            (CaBundle{.file = "/s"}));
  EXPECT_EQ(bundle_of({{"REQUESTS_CA_BUNDLE", "/r"}, {"CURL_CA_BUNDLE", "/c"}}, folder.path()).file, "/c");
  EXPECT_EQ(bundle_of({{"REQUESTS_CA_BUNDLE", "/r"}}, folder.path()).file, "/r");
}

TEST(HubCaBundle, AFolderOfCertificatesStandsBesideTheFile) {
  const test::TempFolder folder;
  EXPECT_EQ(bundle_of({{"SSL_CERT_DIR", "/certs"}}, folder.path()), (CaBundle{.folder = "/certs"}));
  EXPECT_EQ(bundle_of({{"SSL_CERT_DIR", "/certs"}, {"SSL_CERT_FILE", "/s"}}, folder.path()),
            (CaBundle{.file = "/s", .folder = "/certs"}));
}

TEST(HubCaBundle, HttpsWithoutCertificatesIsAnErrorThatNamesThePlaces) {
  HttpClient client({});
  const HttpSink sink = {.on_head = [](const HttpHead&) { return Result<void>(); },
                         .on_body = [](std::span<const std::byte>) { return Result<void>(); }};
  const HttpResult result = client.get("HTTPS://127.0.0.1:1/", {}, sink);
  ASSERT_TRUE(result.error);
  EXPECT_FALSE(result.is_transient);
  for (const char* words : {"/etc/ssl/certs/ca-certificates.crt, ", "/etc/pki/tls/certs/ca-bundle.crt",
                            "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "SSL_CERT_FILE", "SSL_CERT_DIR"})
    EXPECT_THAT(result.error->message, HasSubstr(words));
  // Without TLS there is nothing to trust: the error is of the network.
  EXPECT_TRUE(client.get("http://127.0.0.1:1/", {}, sink).is_transient);
}

}  // namespace
}  // namespace octavo::hub
