#include "convert/type_plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/memory_source.h"
#include "support/source_dir.h"

namespace octavo {
namespace {

using test::MemorySource;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::uint64_t> dims_of(std::string text) {
  std::ranges::replace(text, 'x', ' ');
  std::vector<std::uint64_t> dims;
  for (const std::string& dim : words_of(text)) dims.push_back(std::stoull(dim));
  return dims;
}

DType type_named(std::string_view name) {
  for (const DType type : kAllDTypes)
    if (dtype_info(type).name == name) return type;
  throw std::runtime_error("no type " + std::string(name));
}

/// A model of tests/data/type_mixes.txt, which tools/make_type_mixes.py wrote with llama.cpp.
struct Facts {
  std::string name;
  MemorySource source;
  std::map<std::string, std::vector<DType>, std::less<>> types;  // of each tensor, in the order of the mixes
};

struct AllFacts {
  std::vector<std::string> mixes;
  std::deque<Facts> models;

  AllFacts() {
    std::ifstream in(test::source_dir() + "/tests/data/type_mixes.txt");
    for (std::string line; std::getline(in, line);) {
      const std::vector<std::string> words = words_of(line);
      if (words.front() == "mixes") mixes.assign(words.begin() + 1, words.end());
      if (words.front() == "model") add_model(words);
      if (words.front() == "tensor") add_tensor(words);
    }
  }

 private:
  void add_model(const std::vector<std::string>& words) {
    Facts& facts = models.emplace_back();
    facts.name = words.at(1);
    const std::string& architecture = words.at(2);
    facts.source.add("general.architecture", architecture);
    constexpr std::string_view kNumbers[] = {"block_count", "expert_count", "attention.head_count",
                                             "attention.head_count_kv"};
    for (std::size_t i = 0; i < std::size(kNumbers); ++i)
      facts.source.add(architecture + "." + std::string(kNumbers[i]),
                       static_cast<std::uint32_t>(std::stoul(words.at(3 + i))));
  }
  void add_tensor(const std::vector<std::string>& words) {
    models.back().source.add_tensor(words.at(1), dims_of(words.at(3)), type_named(words.at(2)), "");
    std::vector<DType>& types = models.back().types[words.at(1)];
    for (std::size_t i = 0; i < mixes.size(); ++i) types.push_back(type_named(words.at(4 + i)));
  }
};

TEST(TypePlan, GivesEachTensorTheTypeThatLlamaCppDoes) {
  const AllFacts facts;
  ASSERT_GE(facts.models.size(), 7U);
  for (const Facts& model : facts.models) {
    ASSERT_FALSE(model.types.empty()) << model.name;
    for (std::size_t m = 0; m < facts.mixes.size(); ++m) {
      const auto mix = find_type_mix(facts.mixes[m]);
      ASSERT_TRUE(mix) << facts.mixes[m];
      const auto plan = plan_types(model.source, {.mix = *mix});
      ASSERT_TRUE(plan) << plan.error().message;
      for (const PlannedTensor& planned : *plan)
        EXPECT_EQ(dtype_info(planned.type).name, dtype_info(model.types.find(planned.tensor->name)->second[m]).name)
            << model.name << ", " << facts.mixes[m] << ", " << planned.tensor->name;
    }
  }
}

MemorySource small_model() {
  MemorySource source;
  source.add("general.architecture", "llama").add("llama.block_count", 2U);
  source.add_tensor("token_embd.weight", {256, 8}, DType::kF16, "");
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    source.add_tensor(layer + "attn_norm.weight", {256}, DType::kF32, "");
    source.add_tensor(layer + "attn_v.weight", {256, 4}, DType::kF16, "");
    source.add_tensor(layer + "ffn_down.weight", {288, 4}, DType::kF16, "");
  }
  source.add_tensor("output.weight", {256, 8}, DType::kF16, "");
  return source;
}

std::map<std::string, std::string> types_of(const MemorySource& source, const TypeRequest& request) {
  const auto plan = plan_types(source, request);
  EXPECT_TRUE(plan) << plan.error().message;
  std::map<std::string, std::string> types;
  for (const PlannedTensor& planned : *plan) types[std::string(planned.tensor->name)] = dtype_info(planned.type).name;
  return types;
}

TypeOverride override_of(const std::string& text) {
  auto parsed = TypeOverride::parse(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

TEST(TypePlan, PureGivesEveryMatrixTheTypeItself) {
  const auto types = types_of(small_model(), {.mix = *find_type_mix("Q4_K_M"), .pure = true});
  EXPECT_EQ(types.at("output.weight"), "Q4_K");
  EXPECT_EQ(types.at("blk.1.attn_v.weight"), "Q4_K");
  EXPECT_EQ(types.at("blk.0.attn_norm.weight"), "F32");
  EXPECT_EQ(types.at("blk.0.ffn_down.weight"), "Q5_0") << "rows of 288 are no whole blocks of 256";
}

TEST(TypePlan, TheFirstOverrideThatMatchesCounts) {
  const auto types = types_of(
      small_model(),
      {.mix = *find_type_mix("Q8_0"), .overrides = {override_of("blk\\.1\\.=q4_0"), override_of("attn_v=Q5_1")}});
  EXPECT_EQ(types.at("blk.0.attn_v.weight"), "Q5_1");
  EXPECT_EQ(types.at("blk.1.attn_v.weight"), "Q4_0");
  EXPECT_EQ(types.at("blk.1.attn_norm.weight"), "F32") << "norms keep their types";
  EXPECT_EQ(types.at("output.weight"), "Q8_0");
}

TEST(TypePlan, OverridesFallBackAsTheMixDoes) {
  const auto plan =
      plan_types(small_model(), {.mix = *find_type_mix("Q8_0"), .overrides = {override_of("ffn_down=Q6_K")}});
  ASSERT_TRUE(plan);
  int fell_back = 0;
  for (const PlannedTensor& planned : *plan) fell_back += planned.fell_back ? 1 : 0;
  EXPECT_EQ(fell_back, 2);
}

TEST(TypePlan, RefusesAnOverrideThatMatchesNothing) {
  const MemorySource source = small_model();
  for (const std::string pattern : {"attn_vv=Q6_K", "attn_norm=Q6_K"}) {
    const auto plan = plan_types(source, {.mix = *find_type_mix("Q8_0"), .overrides = {override_of(pattern)}});
    ASSERT_FALSE(plan) << pattern;
    EXPECT_NE(plan.error().message.find("no tensor whose type can change"), std::string::npos) << plan.error().message;
  }
}

TEST(TypePlan, RefusesOverridesThatAreNone) {
  for (const std::string text :
       {"", "Q6_K", "=Q6_K", "attn_v=", "attn_v=Q4_K_M", "attn_v=IQ2_S", "attn_v=Q9", "(=Q6_K"})
    EXPECT_FALSE(TypeOverride::parse(text)) << text;
  EXPECT_FALSE(TypeOverride::parse(std::string(2000, 'x') + "=Q6_K"));
}

TEST(TypeMix, IsFoundByNameWhateverItsCase) {
  EXPECT_EQ(find_type_mix("q4_k_m")->file_type, 15U);
  EXPECT_EQ(find_type_mix("Q4_K")->file_type, 15U);
  EXPECT_EQ(find_type_mix("bf16")->base, DType::kBF16);
  EXPECT_FALSE(find_type_mix("Q4_K_L"));
  EXPECT_FALSE(find_type_mix(""));
  EXPECT_NE(type_mix_names().find("Q5_K_M"), std::string::npos);
}

TEST(TypeMix, OfAModelWithFloatWeightsIsThatOfMostOfThem) {
  EXPECT_EQ(float_mix_of(small_model())->name, "F16");
  MemorySource quantized;
  quantized.add_tensor("token_embd.weight", {256, 8}, DType::kQ4_K, "");
  EXPECT_FALSE(float_mix_of(quantized));
  EXPECT_FALSE(float_mix_of(MemorySource()));
}

TEST(TypeMix, FallsBackToF16WhereNoBlockFits) {
  EXPECT_EQ(fitting_type(DType::kQ4_K, 100), DType::kF16);
  EXPECT_EQ(fitting_type(DType::kQ4_0, 100), DType::kF16);
  EXPECT_EQ(fitting_type(DType::kQ6_K, 96), DType::kQ8_0);
  EXPECT_EQ(fitting_type(DType::kQ6_K, 512), DType::kQ6_K);
}

// In dense models of 80 layers whose heads share values, these are small and worth more bits.
TEST(TypeMix, KeepsTheSharedValuesOfA70bModelBetter) {
  const MixModel model{.num_layers = 80, .num_heads = 64, .num_kv_heads = 8, .num_value_tensors = 80};
  const MixTensor tensor{.name = "blk.20.attn_v.weight", .cols = 8192, .layer = 20, .value_index = 20};
  EXPECT_EQ(mixed_type(*find_type_mix("Q4_K_M"), model, tensor), DType::kQ5_K);
  MixModel other = model;
  other.num_layers = 64;
  EXPECT_EQ(mixed_type(*find_type_mix("Q4_K_M"), other, tensor), DType::kQ4_K);
}

TEST(TypePlan, PatchesAndPositionsOfAVisionEncoderKeepTheirTypes) {
  MemorySource source;
  source.add("general.architecture", "clip");
  const auto add = [&](std::string_view name, const std::vector<std::uint64_t>& dims) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : dims) count *= dim;
    source.add_tensor(name, dims, DType::kF32, std::string(count * sizeof(float), '\0'));
  };
  add("v.patch_embd.weight", {32, 32, 3, 32});
  add("v.patch_embd.weight.1", {32, 32, 3, 32});
  add("v.position_embd.weight", {32, 4});
  add("v.blk.0.attn_qkv.weight", {32, 96});
  add("mm.0.weight", {128, 128});
  const auto plan = plan_types(source, {.mix = *find_type_mix("Q8_0")}).value();
  ASSERT_EQ(plan.size(), 5U);
  for (std::size_t i = 0; i < plan.size(); ++i)
    EXPECT_EQ(plan[i].type, i < 3 ? DType::kF32 : DType::kQ8_0) << plan[i].tensor->name;
}

}  // namespace
}  // namespace octavo
