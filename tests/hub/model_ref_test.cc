#include "hub/model_ref.h"

#include <gtest/gtest.h>

namespace octavo::hub {
namespace {

TEST(ModelRef, IsARepositoryAndWhatIsWantedOfIt) {
  const auto ref = ModelRef::parse("Qwen/Qwen3-0.6B-GGUF:Q4_K_M");
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->repo, "Qwen/Qwen3-0.6B-GGUF");
  EXPECT_EQ(ref->wanted, "Q4_K_M");
  EXPECT_EQ(ref->text(), "Qwen/Qwen3-0.6B-GGUF:Q4_K_M");
  EXPECT_EQ(ModelRef::parse("a/b")->wanted, "");
  EXPECT_EQ(ModelRef::parse("a/b:folder/x.gguf")->wanted, "folder/x.gguf");
}

TEST(ModelRef, TheHubsHostMayStandInFront) {
  for (const char* host : {"hf.co/", "huggingface.co/", "https://hf.co/", "https://huggingface.co/"}) {
    const auto ref = ModelRef::parse(std::string(host) + "Qwen/Qwen3-0.6B-GGUF:Q8_0");
    ASSERT_TRUE(ref) << host;
    EXPECT_EQ(ref->text(), "Qwen/Qwen3-0.6B-GGUF:Q8_0") << host;
  }
  EXPECT_EQ(ModelRef::parse("hf.co/model")->repo, "hf.co/model") << "an organisation of that name";
  for (const char* text : {"example.org/a/b", "https://example.org/a/b", "http://hf.co/a/b", "https://hf.co/a",
                           "hf.co/a/b/c", "hf.co/hf.co/a/b", "https://hf.co.example.org/a/b"})
    EXPECT_FALSE(ModelRef::parse(text)) << text;
}

TEST(ModelRef, TheAddressOfAFileNamesIt) {
  for (const char* address : {"https://huggingface.co/a/b/resolve/main/c/mmproj-F16.gguf",
                              "https://hf.co/a/b/blob/main/c/mmproj-F16.gguf?download=true"}) {
    const auto ref = ModelRef::parse(address);
    ASSERT_TRUE(ref) << address;
    EXPECT_EQ(ref->text(), "a/b:c/mmproj-F16.gguf") << address;
  }
  for (const char* text : {"a/b/resolve/main/c.gguf", "https://example.org/a/b/resolve/main/c.gguf",
                           "https://hf.co/a/b/resolve/other/c.gguf", "https://hf.co/a/b/resolve/main/../c.gguf",
                           "https://hf.co/a/b/resolve/main/"})
    EXPECT_FALSE(ModelRef::parse(text)) << text;
}

TEST(ModelRef, OtherTextsAreNone) {
  for (const char* text : {"", "model", "/a/b", "a/b/c", "./b", "../b", "a/", "/b", "a/b:", "a/b:../c", "a b/c",
                           "a--b/c", "a/b..c", "-a/b", "a/b-", "a/.b", "http://a/b", "a/b:x:y", "a/b:/etc/passwd"})
    EXPECT_FALSE(ModelRef::parse(text)) << text;
  EXPECT_FALSE(ModelRef::parse(std::string(97, 'a').append("/b")));
}

TEST(SafePath, StaysInItsFolder) {
  for (const char* path : {"a.gguf", "folder/a.gguf", "a b.gguf", "\xC3\xA4.gguf", ".gitattributes"})
    EXPECT_TRUE(is_safe_path(path)) << path;
  for (const char* path : {"", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\\b", "a\nb", "\xFF", "c:a"})
    EXPECT_FALSE(is_safe_path(path)) << path;
  EXPECT_FALSE(is_safe_path(std::string(1025, 'a')));
}

}  // namespace
}  // namespace octavo::hub
