// Errors of Engine::load before it takes any memory. Loading of real models is tested end to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "octavo/engine.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(EngineOptions options) {
  const auto engine = Engine::load(std::move(options));
  return engine ? "loaded" : engine.error().message;
}

TEST(EngineLoad, OptionsOutOfRangeNameFieldFoundAndExpected) {
  EXPECT_THAT(refusal({.num_threads = -1}), AllOf(HasSubstr("num_threads"), HasSubstr("-1"), HasSubstr("0 to 1024")));
  EXPECT_THAT(refusal({.block_size = 24}), AllOf(HasSubstr("block_size"), HasSubstr("24"), HasSubstr("power of two")));
  EXPECT_THAT(refusal({.block_size = 512}), AllOf(HasSubstr("block_size"), HasSubstr("1 to 256")));
  EXPECT_THAT(refusal({.max_context = -5}), AllOf(HasSubstr("max_context"), HasSubstr("at least 0")));
  EXPECT_THAT(refusal({.max_step_tokens = 0}), HasSubstr("max_step_tokens: found 0"));
  EXPECT_THAT(refusal({.max_sequences = 0}), HasSubstr("max_sequences: found 0"));
  EXPECT_THAT(refusal({.idle_release_s = -1}), AllOf(HasSubstr("idle_release_s: found -1"), HasSubstr("0 (never)")));
  EXPECT_THAT(refusal({.isa = "sse9"}), HasSubstr("sse9"));
  EXPECT_THAT(refusal({.max_context = 1}), AllOf(HasSubstr("max_context: found 1"), HasSubstr("at least 2")));
  EXPECT_THAT(refusal({.kv_type = static_cast<KvType>(99)}),
              AllOf(HasSubstr("KV type: found number 99"), HasSubstr("i16")));
  EXPECT_THAT(refusal({.kv_layout = static_cast<KvLayout>(9)}), HasSubstr("kv_layout: found 9, expected 0 to 1"));
  EXPECT_THAT(refusal({.draft = static_cast<DraftMode>(5)}), HasSubstr("draft: found 5, expected 0 to 4"));
  EXPECT_THAT(refusal({.policy = static_cast<PrefillPriority>(3)}), HasSubstr("policy: found 3, expected 0 to 2"));
}

TEST(EngineLoad, FilesThatAreNoModelsAreErrorsThatNameThem) {
  EXPECT_THAT(refusal({.model_path = "/nonexistent/model.gguf"}), HasSubstr("/nonexistent/model.gguf"));
  const test::TempFile text("This is not a model.");
  EXPECT_THAT(refusal({.model_path = text.path()}), HasSubstr(text.path().string()));
}

TEST(EngineLoad, AStopThatIsAskedForEndsItAtTheNextPiece) {
  const test::TempFile file(test::TinyModel{}.bytes(), ".gguf");
  std::stop_source stop;
  std::vector<std::uint64_t> done;
  EngineOptions options{
      .model_path = file.path(), .num_threads = 1, .kv_memory_bytes = 1U << 20, .stop = stop.get_token()};
  options.on_load_progress = [&](const LoadProgress& progress) {
    done.push_back(progress.done_bytes);
    stop.request_stop();
  };
  EXPECT_EQ(refusal(options), "loading was stopped");
  EXPECT_THAT(done, ::testing::ElementsAre(0U)) << "no weight was packed";
  done.clear();
  EXPECT_EQ(refusal(options), "loading was stopped");
  EXPECT_THAT(done, ::testing::IsEmpty()) << "it was asked for before";
  options.stop = {};
  EXPECT_EQ(refusal(options), "loaded");
}

std::string refusal_of(const test::TinyModel& model, DraftMode draft) {
  const test::TempFile file(model.bytes(), ".gguf");
  const std::string text =
      refusal({.model_path = file.path(), .num_threads = 1, .kv_memory_bytes = 4U << 20, .draft = draft});
  const std::size_t name = text.find(file.path().string());
  return name == std::string::npos ? text
                                   : text.substr(0, name) + "FILE" + text.substr(name + file.path().string().size());
}

TEST(EngineLoad, ADraftHeadThatIsNotWholeIsAnErrorWhereItWasAskedFor) {
  const test::TinyModel whole{.arch = "qwen35", .head = test::TinyModel::Head::kRandom};
  test::TinyModel cut = whole, wide = whole;
  cut.without = {"blk.2.nextn.hnorm.weight"};
  wide.transposed = {"blk.2.nextn.eh_proj.weight"};
  for (const DraftMode mode : {DraftMode::kMtp, DraftMode::kAuto}) EXPECT_EQ(refusal_of(whole, mode), "loaded");
  for (const DraftMode mode : {DraftMode::kAuto, DraftMode::kSuffix, DraftMode::kOff})
    for (const test::TinyModel& model : {cut, wide}) EXPECT_EQ(refusal_of(model, mode), "loaded");
  EXPECT_EQ(refusal_of(cut, DraftMode::kMtp),
            "FILE: no tensor blk.2.nextn.hnorm.weight, which architecture qwen35 needs");
  EXPECT_EQ(
      refusal_of(wide, DraftMode::kMtp),
      "FILE: tensor blk.2.nextn.eh_proj.weight has 128 rows of 64, expected 64 rows of 128 by the metadata of qwen35");
  EXPECT_EQ(refusal_of({.arch = "qwen35"}, DraftMode::kMtp),
            "draft: found mtp, but FILE carries 0 layers of prediction; expected one, of a family that has such");
  EXPECT_EQ(refusal_of({}, DraftMode::kAuto), "loaded");
}

TEST(EngineLoad, NamesOfKvTypesGoThereAndBack) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF32, KvType::kI16}) {
    const auto parsed = parse_kv_type(kv_type_name(type));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, type);
  }
  const auto unknown = parse_kv_type("f64");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("f64"), HasSubstr("f16, bf16, q8_0 or f32")));
}

TEST(EngineLoad, FinishReasonsHaveTheNamesOfTheInterface) {
  EXPECT_EQ(finish_reason_name(FinishReason::kNone), "");
  EXPECT_EQ(finish_reason_name(FinishReason::kStop), "stop");
  EXPECT_EQ(finish_reason_name(FinishReason::kLength), "length");
  EXPECT_EQ(finish_reason_name(FinishReason::kContext), "context");
  EXPECT_EQ(finish_reason_name(FinishReason::kCancelled), "cancelled");
  EXPECT_EQ(finish_reason_name(FinishReason::kDeadline), "deadline");
  EXPECT_EQ(finish_reason_name(FinishReason::kFailed), "failed");
  EXPECT_EQ(finish_reason_name(FinishReason::kNotFinite), "not_finite");
}

}  // namespace
}  // namespace octavo
