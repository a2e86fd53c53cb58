#include "source/encoder_name.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(EncoderName, HasMmprojInIt) {
  for (const char* name : {"mmproj-F16.gguf", "a/b/mmproj.gguf", "Qwen3VL-4B-mmproj-BF16.gguf", "MMPROJ-f16.GGUF"})
    EXPECT_TRUE(is_encoder_name(name)) << name;
  for (const char* name : {"m-Q4_0.gguf", "mmproj-F16.safetensors", "mmproj/m-Q4_0.gguf", ""})
    EXPECT_FALSE(is_encoder_name(name)) << name;
}

TEST(EncoderName, TellsTheBitsOfItsWeights) {
  EXPECT_EQ(bits_by_name("m-Q4_K_M.gguf"), 4);
  EXPECT_EQ(bits_by_name("m-iq2_xxs.gguf"), 2);
  EXPECT_EQ(bits_by_name("folder-Q4/mmproj-BF16.gguf"), 16);
  EXPECT_EQ(bits_by_name("mmproj-f32.gguf"), 32);
  EXPECT_EQ(bits_by_name("mmproj.gguf"), 16);
  EXPECT_EQ(bits_by_name("m-Q99999999999.gguf"), 16) << "no number of bits";
}

TEST(EncoderName, SuitsAModelOfNearlyItsBits) {
  EXPECT_TRUE(suits_better("mmproj-Q8_0.gguf", "mmproj-F16.gguf", 4));
  EXPECT_TRUE(suits_better("mmproj-F32.gguf", "mmproj-F16.gguf", 32));
  EXPECT_TRUE(suits_better("z/mmproj-BF16.gguf", "a/mmproj-F16.gguf", 16)) << "by the names of files";
  EXPECT_FALSE(suits_better("mmproj-F16.gguf", "mmproj-F16.gguf", 16));
}

}  // namespace
}  // namespace octavo
