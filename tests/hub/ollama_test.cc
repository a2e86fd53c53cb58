#include "hub/ollama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace octavo::hub {
namespace {

using testing::HasSubstr;

const std::string kHash(64, 'a');

std::string manifest(const std::string& type, const std::string& digest) {
  return R"({"schemaVersion": 2, "config": {"digest": "sha256:00"}, "layers": [{"mediaType":
    "application/vnd.ollama.image.template", "digest": "sha256:11"}, {"mediaType": ")" +
         type + R"(", "digest": ")" + digest + R"(", "size": 5}]})";
}
const std::string kModel = "application/vnd.ollama.image.model";

TEST(Ollama, AManifestNamesTheModelsBlob) {
  EXPECT_EQ(parse_ollama_manifest(manifest(kModel, "sha256:" + kHash)).value(), kHash);
}

TEST(Ollama, OtherManifestsAreErrors) {
  const auto error = [](const std::string& text) { return parse_ollama_manifest(text).error().message; };
  EXPECT_THAT(error("x"), HasSubstr("no JSON"));
  EXPECT_THAT(error("{}"), HasSubstr("no 'layers'"));
  EXPECT_THAT(error(R"({"layers": [5, {}]})"), HasSubstr("no layer of the type"));
  EXPECT_THAT(error(manifest("text/plain", "sha256:" + kHash)), HasSubstr("no layer of the type"));
  EXPECT_THAT(error(manifest(kModel, "sha256:../../etc/passwd")), HasSubstr("no SHA-256"));
  EXPECT_THAT(error(manifest(kModel, kHash)), HasSubstr("no SHA-256"));
  EXPECT_THAT(error(R"({"layers": [)" + std::string(40000, '[')), HasSubstr("deeper"));
}

TEST(Ollama, ModelsHaveTheNamesThatOllamaGivesThem) {
  const test::TempFolder folder;
  const std::string text = manifest(kModel, "sha256:" + kHash);
  folder.write("manifests/registry.ollama.ai/library/tiny/3b", text);
  folder.write("manifests/registry.ollama.ai/someone/tiny/latest", text);
  folder.write("manifests/hf.co/org/repo/Q4_0", text);
  folder.write("manifests/registry.ollama.ai/library/broken/1b", "{}");
  folder.write("manifests/registry.ollama.ai/library/too/deep/1b", text);
  folder.write("manifests/registry.ollama.ai/shallow", text);
  folder.write("manifests/registry.ollama.ai/library/huge/1b", std::string((1 << 20) + 1, ' '));
  std::vector<std::string> names;
  for (const OllamaModel& model : list_ollama(folder.path())) {
    names.push_back(model.name);
    EXPECT_EQ(model.blob, folder.path() / "blobs" / ("sha256-" + kHash));
  }
  EXPECT_THAT(names, testing::ElementsAre("hf.co/org/repo:Q4_0", "someone/tiny:latest", "tiny:3b"));
  EXPECT_TRUE(list_ollama("/no/such/folder").empty());
}

}  // namespace
}  // namespace octavo::hub
