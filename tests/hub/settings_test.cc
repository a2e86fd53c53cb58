#include "hub/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/temp_folder.h"

namespace octavo::hub {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Settings settings_of(const Variables& variables) {
  return read_settings([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(HubSettings, WithoutVariablesAllLiesInTheHome) {
  const Settings settings = settings_of({{"HOME", "/me"}});
  EXPECT_EQ(settings.endpoint, "https://huggingface.co");
  EXPECT_EQ(settings.cache, "/me/.cache/huggingface/hub");
  EXPECT_EQ(settings.token_file, "/me/.cache/huggingface/token");
  EXPECT_EQ(settings.models, "/me/.cache/octavo/models");
  EXPECT_EQ(settings.llama_cpp, "/me/.cache/llama.cpp");
  EXPECT_FALSE(settings.offline);
  EXPECT_TRUE(settings_of({}).cache.empty());
  EXPECT_TRUE(settings_of({}).token_file.empty());
}

TEST(HubSettings, VariablesOfTheHubsToolsAreHeeded) {
  const Settings settings = settings_of({{"HOME", "/me"},
                                         {"HF_ENDPOINT", "http://127.0.0.1:8000/"},
                                         {"HF_HOME", "~/hf"},
                                         {"HF_TOKEN", "secret"},
                                         {"HF_HUB_OFFLINE", "yes"},
                                         {"HF_HUB_DOWNLOAD_TIMEOUT", "3"},
                                         {"SSL_CERT_FILE", "/ca.pem"}});
  EXPECT_EQ(settings.endpoint, "http://127.0.0.1:8000");
  EXPECT_EQ(settings.cache, "/me/hf/hub");
  EXPECT_EQ(settings.token_file, "/me/hf/token");
  EXPECT_EQ(settings.token, "secret");
  EXPECT_TRUE(settings.offline);
  EXPECT_EQ(settings.stall, std::chrono::seconds(3));
  EXPECT_EQ(settings.ca_bundle.file, "/ca.pem");
  EXPECT_EQ(settings_of({{"HF_HOME", "/hf"}, {"HF_HUB_CACHE", "/elsewhere"}}).cache, "/elsewhere");
  EXPECT_EQ(settings_of({{"XDG_CACHE_HOME", "/cache"}}).cache, "/cache/huggingface/hub");
  EXPECT_EQ(settings_of({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).cache, "/h/.cache/huggingface/hub");
  EXPECT_FALSE(settings_of({{"HF_HUB_OFFLINE", "0"}}).offline);
}

TEST(HubSettings, ATokenIsReadFromItsVariableOrItsFile) {
  const test::TempFolder folder;
  const auto file = folder.write("token", "  from-file\n");
  EXPECT_EQ(read_token({.token_file = file}), "from-file");
  EXPECT_EQ(read_token({.token = "from-variable\n", .token_file = file}), "from-variable");
  EXPECT_EQ(read_token({.token_file = folder.path() / "absent"}), "");
  EXPECT_EQ(read_token({}), "");
}

TEST(HubSettings, ATokenThatCannotStandInAHeadIsRefusedAndNotShown) {
  const test::TempFolder folder;
  const auto file = folder.write("token", "secret\r\nX-Other: 1");
  const std::string message = read_token({.token_file = file}).error().message;
  EXPECT_THAT(message, HasSubstr(file.string()));
  EXPECT_THAT(message, testing::Not(HasSubstr("secret")));
  EXPECT_FALSE(read_token({.token = "two words"}));
  EXPECT_FALSE(read_token({.token = std::string(5000, 'x')}));
}

}  // namespace
}  // namespace octavo::hub
