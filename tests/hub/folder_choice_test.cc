#include "hub/folder_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Paths = std::vector<std::string>;

Paths chosen(const Paths& paths) {
  Paths names;
  for (const std::size_t i : folder_files(paths)) names.push_back(paths[i]);
  return names;
}

TEST(FolderFiles, AreConfigWeightsAndWords) {
  EXPECT_THAT(chosen({"README.md", "config.json", "consolidated.safetensors", "model.safetensors",
                      "original/config.json", "tokenizer.json", "vocab.json"}),
              ElementsAre("config.json", "model.safetensors", "tokenizer.json"));
  EXPECT_THAT(
      chosen({"chat_template.jinja", "config.json", "generation_config.json", "model-00001-of-00002.safetensors",
              "model-00002-of-00002.safetensors", "model.safetensors.index.json", "tokenizer_config.json"}),
      ElementsAre("config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
                  "model-00002-of-00002.safetensors", "tokenizer_config.json", "chat_template.jinja",
                  "generation_config.json"));
}

TEST(FolderFiles, AreThoseOfModulesToo) {
  EXPECT_THAT(chosen({"1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "config.json",
                      "model.safetensors", "modules.json", "onnx/config.json", "sentence_bert_config.json"}),
              ElementsAre("config.json", "model.safetensors", "modules.json", "sentence_bert_config.json",
                          "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"));
}

TEST(FolderFiles, AreNoneWhereOneIsMissing) {
  EXPECT_THAT(chosen({"model.safetensors"}), IsEmpty());
  EXPECT_THAT(chosen({"config.json", "tokenizer.json"}), IsEmpty());
  EXPECT_THAT(chosen({"config.json", "model.safetensors.index.json", "model-00002-of-00002.safetensors"}), IsEmpty());
  EXPECT_THAT(chosen({"config.json", "model-00001-of-00001.safetensors"}), IsEmpty()) << "no index says what is in it";
  EXPECT_THAT(chosen({"config.json", "model.safetensors.index.json", "model-00003-of-00002.safetensors",
                      "model-x-of-00002.safetensors", "model-1-of-.safetensors", "model-.safetensors"}),
              IsEmpty());
}

TEST(ModelChoice, TakesAFolderWhereThereIsNoGgufFileOrItIsAskedFor) {
  const Paths both = {"config.json", "m-Q4_0.gguf", "model.safetensors"}, folder = {"config.json", "model.safetensors"};
  EXPECT_FALSE(choose_model(both, "")->is_folder);
  EXPECT_THAT(choose_model(both, "")->files, ElementsAre(1));
  EXPECT_THAT(choose_model(both, "safetensors")->files, ElementsAre(0, 2));
  EXPECT_THAT(choose_model(both, "SafeTensors")->files, ElementsAre(0, 2)) << "in any case, as types";
  EXPECT_TRUE(choose_model(folder, "")->is_folder);
  EXPECT_THAT(choose_model(folder, "")->files, ElementsAre(0, 1));
  EXPECT_THAT(choose_model(folder, "Q4_0")->files, IsEmpty());
  EXPECT_THAT(choose_model(Paths{"a-Q4_0.gguf", "b-Q4_0.gguf", "config.json", "model.safetensors"}, "").error().message,
              HasSubstr("means several files"));
}

}  // namespace
}  // namespace octavo::hub
