#include "hub/local_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/cache.h"
#include "support/temp_folder.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOld(40, '1'), kNew(40, '2'), kHash(64, 'a'), kOther(64, 'b');

/// A machine with models in every place.
struct Machine {
  test::TempFolder folder;
  Settings settings{.cache = folder.path() / "hf",
                    .models = folder.path() / "octavo",
                    .llama_cpp = folder.path() / "llama.cpp",
                    .lm_studio = {folder.path() / "lm"},
                    .ollama = {folder.path() / "ollama"}};
  CachedRepo repo{settings.cache, "org/repo"};

  Machine() {
    folder.write("hf/models--org--repo/blobs/" + kHash, "12345");
    folder.write("hf/models--org--repo/blobs/" + kOther, "1");
    repo.link(kOld, "m-Q4_0.gguf", kHash).value();
    repo.link(kNew, "m-Q4_0.gguf", kHash).value();
    repo.link(kNew, "m-Q8_0.gguf", kOther).value();
    repo.set_main(kNew).value();
    folder.write("octavo/small.Q4_1.gguf", "123");
    folder.write("llama.cpp/big-00001-of-00002.gguf", "12");
    folder.write("llama.cpp/big-00002-of-00002.gguf", "1234");
    folder.write("llama.cpp/half-00001-of-00002.gguf", "12");
    folder.write("lm/publisher/repo/m.gguf", "1");
    folder.write("lm/publisher/repo/mmproj-m.gguf", "1");
    folder.write("ollama/blobs/sha256-" + kHash, "1234567");
    folder.write(
        "ollama/manifests/registry.ollama.ai/library/tiny/3b",
        R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" + kHash + "\"}]}");
    folder.write(
        "ollama/manifests/registry.ollama.ai/library/gone/3b",
        R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" + kOther + "\"}]}");
  }
  std::vector<LocalModel> list() const { return list_local_models(settings, {}); }
};

std::vector<std::string> names_of(const std::vector<LocalModel>& models) {
  std::vector<std::string> names;
  for (const LocalModel& model : models) names.push_back(model.name);
  return names;
}
std::vector<std::string> found(const std::vector<LocalModel>& models, std::string_view text) {
  std::vector<std::string> names;
  for (const LocalModel* model : find_local_models(models, text)) names.push_back(model->name);
  return names;
}

TEST(LocalModels, AreListedFromEveryPlaceOnceAndWhole) {
  const Machine machine;
  const auto models = machine.list();
  EXPECT_THAT(names_of(models), ElementsAre("small.Q4_1", "org/repo:m-Q4_0.gguf", "org/repo:m-Q8_0.gguf", "big",
                                            "publisher/repo/m", "tiny:3b"));
  EXPECT_THAT(
      std::vector<std::string>({models[0].place, models[1].place, models[3].place, models[4].place, models[5].place}),
      ElementsAre("octavo", "hub", "llama.cpp", "LM Studio", "ollama"));
  EXPECT_EQ(models[1].files, std::vector{machine.repo.snapshot(kNew) / "m-Q4_0.gguf"});
  EXPECT_EQ(models[1].bytes, 5U);
  EXPECT_EQ(models[3].files.size(), 2U);
  EXPECT_EQ(models[3].bytes, 6U);
  EXPECT_EQ(models[5].bytes, 7U);
}

TEST(LocalModels, TheUsersOwnFoldersGoFirst) {
  const Machine machine;
  const test::TempFolder own;
  own.write("deep/mine.gguf", "1");
  own.write("small.Q4_1.gguf", "another");
  const auto models = list_local_models(machine.settings, std::vector{own.path()});
  EXPECT_EQ(models[0].name, "deep/mine");
  EXPECT_EQ(models[1].name, "small.Q4_1");
  EXPECT_EQ(models[1].bytes, 7U);
  EXPECT_EQ(models.size(), 7U);
}

TEST(LocalModels, FoldersOfSafetensorsHaveTheNamesOfTheirPlaces) {
  const Machine machine;
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    machine.repo.link(kNew, name, kOther).value();
    machine.folder.write(std::string("own/org/Model-0.6B/") + name, "12");
  }
  machine.folder.write("own/org/half/config.json", "12");
  const auto models = list_local_models(machine.settings, std::vector{machine.folder.path() / "own"});
  EXPECT_EQ(models[0].name, "org/Model-0.6B");
  EXPECT_EQ(models[0].path, machine.folder.path() / "own/org/Model-0.6B");
  EXPECT_EQ(models[0].bytes, 6U);
  EXPECT_THAT(found(models, "safetensors"), ElementsAre("org/repo:safetensors"));
  const LocalModel& of_hub = *find_local_models(models, "org/repo:safetensors").front();
  EXPECT_EQ(of_hub.path, machine.repo.snapshot(kNew));
  ASSERT_TRUE(remove_local_model(machine.settings, of_hub));
  EXPECT_FALSE(fs::exists(machine.repo.snapshot(kNew) / "config.json"));
  EXPECT_TRUE(fs::exists(machine.repo.snapshot(kNew) / "m-Q4_0.gguf"));
}

TEST(LocalModels, FoldersOfModulesAreAPartOfTheirModel) {
  const test::TempFolder own;
  for (const char* name : {"e/config.json", "e/model.safetensors", "e/modules.json", "e/1_Pooling/config.json",
                           "e/2_Dense/config.json", "e/2_Dense/model.safetensors"})
    own.write(name, "12");
  const Machine machine;
  const auto models = list_local_models(machine.settings, std::vector{own.path()});
  EXPECT_EQ(models[0].name, "e");
  EXPECT_EQ(models[0].bytes, 12U);
  EXPECT_THAT(found(models, "2_Dense"), IsEmpty());
}

TEST(LocalModels, APartOfANameMeansAllThatHaveIt) {
  const Machine machine;
  const auto models = machine.list();
  EXPECT_THAT(found(models, "SMALL"), ElementsAre("small.Q4_1"));
  EXPECT_THAT(found(models, "m-q"), ElementsAre("org/repo:m-Q4_0.gguf", "org/repo:m-Q8_0.gguf"));
  EXPECT_THAT(found(models, "big"), ElementsAre("big"));
  EXPECT_THAT(found(models, "absent"), IsEmpty());
}

TEST(LocalModels, AWholeNameGoesBeforeAPart) {
  const std::vector<LocalModel> models = {{.name = "tiny:3b-text", .place = "", .files = {}},
                                          {.name = "Tiny:3b", .place = "", .files = {}}};
  EXPECT_THAT(found(models, "tiny:3b"), ElementsAre("Tiny:3b"));
}

TEST(LocalModels, RemovingOneLeavesTheOthers) {
  const Machine machine;
  for (const char* name : {"org/repo:m-Q4_0.gguf", "big", "small.Q4_1"}) {
    const auto models = machine.list();
    ASSERT_TRUE(remove_local_model(machine.settings, *find_local_models(models, name).front())) << name;
  }
  EXPECT_THAT(names_of(machine.list()), ElementsAre("org/repo:m-Q8_0.gguf", "publisher/repo/m", "tiny:3b"));
  EXPECT_FALSE(fs::exists(machine.repo.blob(kHash)));
  EXPECT_FALSE(fs::is_symlink(machine.repo.snapshot(kOld) / "m-Q4_0.gguf"));
  EXPECT_TRUE(fs::exists(machine.repo.blob(kOther)));
  EXPECT_FALSE(fs::exists(machine.settings.llama_cpp / "big-00002-of-00002.gguf"));
}

/// Removes the model of the hub's cache that has this name.
Result<RemovedModel> removed(const Machine& machine, const std::string& name) {
  const auto models = machine.list();
  return remove_local_model(machine.settings, *find_local_models(models, name).front());
}

TEST(LocalModels, WhatLiesOutsideOfTheCacheIsKeptAndNamed) {
  const Machine machine;
  const fs::path snapshot = machine.repo.snapshot(kNew);
  // A folder called blobs elsewhere, one of the same place in a cache whose path only begins alike, one of another
  // repository, and one below the repository's own.
  for (const char* place : {"else/blobs/precious", "hf-2/models--org--repo/blobs/precious",
                            "hf/models--org--other/blobs/precious", "hf/models--org--repo/blobs/deep/precious"}) {
    const fs::path precious = machine.folder.write(place, "precious");
    const fs::path link = snapshot / "linked.gguf", at_other_time = machine.repo.snapshot(kOld) / "linked.gguf";
    fs::create_symlink(precious, link);
    fs::create_symlink(precious, at_other_time);
    const auto done = removed(machine, "org/repo:linked.gguf");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(fs::exists(precious)) << place;
    EXPECT_THAT(done->kept, ElementsAre(fs::canonical(precious)));
    EXPECT_THAT(done->removed, ElementsAre(link, at_other_time));
    EXPECT_FALSE(fs::is_symlink(link) || fs::is_symlink(at_other_time));
  }
}

TEST(LocalModels, BlobsThatAreALinkOutOfTheCacheAreKept) {
  const Machine machine;
  const fs::path blobs = machine.repo.folder() / "blobs", moved = machine.folder.path() / "blobs";
  fs::rename(blobs, moved);
  fs::create_directory_symlink(moved, blobs);
  const auto done = removed(machine, "org/repo:m-Q8_0.gguf");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->kept, ElementsAre(fs::canonical(moved / kOther)));
}

TEST(LocalModels, AModelWhoseFolderIsALinkOutOfTheCacheIsLeft) {
  const Machine machine;
  const fs::path snapshot = machine.repo.snapshot(kNew), moved = machine.folder.path() / "moved";
  fs::rename(snapshot, moved);
  fs::remove(moved / "m-Q8_0.gguf");
  machine.folder.write("moved/own.gguf", "1");
  fs::create_directory_symlink(moved, snapshot);
  const auto done = removed(machine, "org/repo:own.gguf");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr((snapshot / "own.gguf").string() + ": lies in " + moved.string()));
  EXPECT_TRUE(fs::exists(moved / "own.gguf"));
}

TEST(LocalModels, ACacheThatIsALinkItselfIsTheCache) {
  Machine machine;
  const fs::path linked = machine.folder.path() / "linked";
  fs::create_directory_symlink(machine.settings.cache, linked);
  machine.settings.cache = linked;
  const auto done = removed(machine, "org/repo:m-Q8_0.gguf");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->kept, IsEmpty());
  EXPECT_FALSE(fs::exists(machine.repo.blob(kOther)));
}

TEST(LocalModels, OfALinkInAFolderTheLinkAloneIsRemoved) {
  const Machine machine;
  const fs::path precious = machine.folder.write("else/precious.gguf", "precious");
  fs::create_symlink(precious, machine.settings.models / "mine.gguf");
  const auto done = removed(machine, "mine");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->removed, ElementsAre(machine.settings.models / "mine.gguf"));
  EXPECT_THAT(done->kept, ElementsAre(fs::canonical(precious)));
  EXPECT_TRUE(fs::exists(precious));
}

TEST(LocalModels, OllamasAreLeftToOllama) {
  const Machine machine;
  const auto models = machine.list();
  EXPECT_THAT(remove_local_model(machine.settings, *find_local_models(models, "tiny:3b").front()).error().message,
              HasSubstr("ollama rm tiny:3b"));
  EXPECT_EQ(machine.list().size(), models.size());
}

}  // namespace
}  // namespace octavo::hub
