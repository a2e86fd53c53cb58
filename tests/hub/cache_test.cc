// The cache's layout. That huggingface_hub finds what lies in it, and the other way round, is in tests/e2e/test_hub.py.
#include "hub/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "hub/pull.h"
#include "support/temp_folder.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kOld(40, '1'), kNew(40, '2'), kHash(64, 'a');

std::string file_text(const fs::path& path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  return text;
}

/// A cache with a blob.
struct Cache {
  test::TempFolder folder;
  CachedRepo repo{folder.path(), "org/repo"};
  Settings settings{.cache = folder.path()};
  Cache() { folder.write("models--org--repo/blobs/" + kHash, "bytes"); }
  fs::path link(const std::string& commit, const std::string& path) const {
    return repo.link(commit, path, kHash).value();
  }
};

TEST(HubCache, ALinkInASnapshotLeadsToTheBlob) {
  const Cache cache;
  const fs::path link = cache.link(kNew, "folder/m.gguf");
  EXPECT_EQ(link, cache.folder.path() / "models--org--repo/snapshots" / kNew / "folder/m.gguf");
  EXPECT_EQ(fs::read_symlink(link), fs::path("../../../blobs") / kHash);
  EXPECT_EQ(file_text(link), "bytes");
  EXPECT_EQ(cache.link(kNew, "folder/m.gguf"), link) << "once more";
}

TEST(HubCache, MainsSnapshotIsTheFirst) {
  const Cache cache;
  cache.link(kOld, "m.gguf");
  cache.link(kNew, "m.gguf");
  ASSERT_TRUE(cache.repo.set_main(kOld));
  EXPECT_EQ(file_text(cache.repo.folder() / "refs/main"), kOld);
  EXPECT_THAT(cache.repo.snapshots(), ElementsAre(cache.repo.snapshot(kOld), cache.repo.snapshot(kNew)));
  ASSERT_TRUE(cache.repo.set_main(kNew));
  EXPECT_THAT(cache.repo.snapshots(), ElementsAre(cache.repo.snapshot(kNew), cache.repo.snapshot(kOld)));
}

TEST(HubCache, MainIsSetThroughNoLink) {
  const Cache cache;
  cache.link(kNew, "m.gguf");
  const fs::path precious = cache.folder.write("precious", "precious");
  const fs::path main = cache.repo.folder() / "refs/main";
  fs::create_directories(main.parent_path());
  for (const fs::path& link : {main, fs::path(main.string() + "." + std::to_string(::getpid()) + ".new")})
    fs::create_symlink(precious, link);
  ASSERT_TRUE(cache.repo.set_main(kNew));
  EXPECT_EQ(file_text(precious), "precious");
  EXPECT_EQ(file_text(main), kNew);
}

TEST(HubCache, AModelIsFoundByItsTypeWhereAllOfItIsThere) {
  const Cache cache;
  EXPECT_EQ(find_cached(cache.settings, {"org/repo"}).value(), std::nullopt);
  cache.link(kOld, "m-Q8_0.gguf");
  cache.link(kNew, "m-Q4_0-00001-of-00002.gguf");
  ASSERT_TRUE(cache.repo.set_main(kNew));
  EXPECT_EQ(find_cached(cache.settings, {"org/repo", "Q4_0"}).value(), std::nullopt);
  EXPECT_EQ(find_cached(cache.settings, {"org/repo"}).value(), cache.repo.snapshot(kOld) / "m-Q8_0.gguf");
  const fs::path second = cache.link(kNew, "m-Q4_0-00002-of-00002.gguf");
  EXPECT_EQ(find_cached(cache.settings, {"org/repo"}).value(),
            cache.repo.snapshot(kNew) / "m-Q4_0-00001-of-00002.gguf");
  fs::remove(second);
  fs::create_symlink("../../blobs/gone", second);
  EXPECT_EQ(find_cached(cache.settings, {"org/repo", "Q4_0"}).value(), std::nullopt) << "a link to nothing";
  EXPECT_EQ(find_cached({}, {"org/repo"}).value(), std::nullopt) << "no cache is known";
}

TEST(HubCache, FilesThatNoModelIsMadeOfHideNone) {
  const test::TempFolder folder;
  constexpr int kMany = 4200;  // more than are looked at
  for (int i = 0; i < kMany; ++i) folder.write(std::to_string(i) + ".json", "");
  folder.write("m.gguf", "");
  folder.write("model.safetensors", "");
  folder.write("chat_template.jinja", "");
  EXPECT_THAT(files_in(folder.path()), ElementsAre("chat_template.jinja", "m.gguf", "model.safetensors"));
}

TEST(HubCache, ManySettingsHideNoWeights) {
  const test::TempFolder folder;
  constexpr int kMany = 4200;
  for (int i = 0; i < kMany; ++i) folder.write(std::to_string(i) + "/config.json", "");
  for (const char* name : {"0/m.gguf", "2000/m.gguf", "4199/m.gguf", "z.gguf"}) folder.write(name, "");
  std::vector<std::string> files = files_in(folder.path());
  EXPECT_LT(files.size(), static_cast<std::size_t>(kMany)) << "there is a bound";
  std::erase_if(files, [](const std::string& name) { return name.ends_with(".json"); });
  EXPECT_THAT(files, ElementsAre("0/m.gguf", "2000/m.gguf", "4199/m.gguf", "z.gguf"));
}

TEST(HubCache, OfflineNothingIsFetched) {
  const Cache cache;
  Settings settings = cache.settings;
  settings.offline = true;
  EXPECT_THAT(pull(settings, {"org/repo", "Q4_0"}, {}).error().message,
              testing::AllOf(HasSubstr("org/repo:Q4_0"), HasSubstr("HF_HUB_OFFLINE")));
  settings = {};
  EXPECT_THAT(pull(settings, {"org/repo"}, {}).error().message, HasSubstr("HF_HOME"));
}

TEST(HubCache, FoldersOfModelsTellTheirRepository) {
  EXPECT_EQ(repo_of_folder("models--org--repo-1.5"), "org/repo-1.5");
  for (const char* name : {"models--gpt2", "datasets--a--b", "models--", ".locks", "models--a--../b"})
    EXPECT_EQ(repo_of_folder(name), std::nullopt) << name;
}

}  // namespace
}  // namespace octavo::hub
