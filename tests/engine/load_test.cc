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

/// The refusal of a model with a draft file, with both files' names replaced.
std::string refusal_beside(const test::TinyModel& model, const test::TinyModel& draft) {
  const test::TempFile file(model.bytes(), ".gguf"), draft_file(draft.bytes(), ".gguf");
  std::string text = refusal(
      {.model_path = file.path(), .num_threads = 1, .kv_memory_bytes = 4U << 20, .draft_path = draft_file.path()});
  for (const auto& [path, name] : {std::pair{file.path(), "MODEL"}, std::pair{draft_file.path(), "DRAFT"}})
    for (std::size_t at = text.find(path.string()); at != std::string::npos; at = text.find(path.string()))
      text.replace(at, path.string().size(), name);
  return text;
}

std::string with_name(std::string text) {  // a tiny model has its file's
  const std::size_t begin = text.find("octavo"), end = text.find(" has", begin);
  return begin == std::string::npos || end == std::string::npos ? text : text.replace(begin, end - begin, "NAME");
}

TEST(EngineLoad, ADraftFileOfAnotherModelIsOneLineOfError) {
  const test::TinyModel model{.arch = "gemma4", .layers = 3};
  const test::TinyModel whole{
      .arch = "gemma4-assistant", .layers = 3, .width = 32, .per_layer_width = 0, .model_width = 64};
  EXPECT_EQ(refusal_beside(model, whole), "loaded");
  const auto edited = [&](const std::function<void(test::TinyModel&)>& edit) {
    test::TinyModel draft = whole;
    edit(draft);
    return with_name(refusal_beside(model, draft));
  };
  const std::string another = "DRAFT: an assistant of another model: ";
  EXPECT_EQ(edited([](auto& draft) { draft.vocab = 96; }), another + "a vocabulary of 96, expected 80 as NAME has");
  EXPECT_EQ(edited([](auto& draft) { draft.model_width = 96; }),
            another + "hidden rows of 96, expected 64 as NAME has");
  EXPECT_EQ(edited([](auto& draft) { draft.head_dim = 16; }),
            another + "layers with a window have heads of 16, expected 32 as NAME has");
  EXPECT_EQ(edited([](auto& draft) { draft.kv_heads = 1; }),
            another + "KV heads of layers with a window: 1, expected 2 as NAME has");
  EXPECT_EQ(edited([](auto& draft) { draft.window = 8; }), another + "a window of 8, expected 24 as NAME has");
  EXPECT_EQ(edited([](auto& draft) { draft.without = {"nextn.post_projection.weight"}; }),
            "DRAFT: no tensor nextn.post_projection.weight, which architecture gemma4-assistant needs");
  EXPECT_EQ(edited([](auto& draft) { draft.without = {"gemma4-assistant.embedding_length_out"}; }),
            "DRAFT: metadata key 'gemma4-assistant.embedding_length_out' is missing");
  EXPECT_THAT(edited([](auto& draft) { draft.without = {"blk.1.attn_q.weight"}; }),
              HasSubstr("DRAFT: no tensor blk.1.attn_q.weight"));
  EXPECT_THAT(refusal_beside({}, whole),
              HasSubstr(another + "found gemma4-assistant, expected one of architecture llama"));
  EXPECT_THAT(refusal_beside(model, {}),
              HasSubstr("DRAFT: a file for another model: found llama, expected a draft head of "
                        "architecture gemma4 or an assistant"));
  EXPECT_THAT(refusal_beside({.arch = "gemma4", .layers = 2}, whole),
              HasSubstr(another + "found layers that see all, expected none"));
  EXPECT_THAT(refusal_of(whole, DraftMode::kAuto),
              HasSubstr("an assistant that only drafts for a model with rows of 64"));
}

/// The file that has the head of a model alone, beside its embedding and norm, as llama.cpp's converter writes it.
test::TinyModel head_of(test::TinyModel model) {
  const test::MemorySource whole = model.source();
  for (const SourceTensor& tensor : whole.tensors())
    if (tensor.name.starts_with("blk.") && !tensor.name.starts_with("blk." + std::to_string(model.layers)))
      model.without.emplace(tensor.name);
  return model;
}

constexpr test::TinyModel::Head kRandomHead = test::TinyModel::Head::kRandom;

TEST(EngineLoad, AHeadInAFileOfItsOwnIsTheModelsOrOneLineOfError) {
  const std::string another = "DRAFT: a draft head of another model: ";
  for (const char* arch : {"qwen35", "qwen35moe"}) {
    const test::TinyModel model{.arch = arch, .layers = 4}, whole{.arch = arch, .layers = 4, .head = kRandomHead};
    EXPECT_EQ(refusal_beside(model, head_of(whole)), "loaded");
    EXPECT_EQ(refusal_beside(whole, head_of(whole)), "loaded") << "it takes the place of the model's own";
    EXPECT_EQ(refusal_beside(model, whole), "loaded") << "a whole model has the same tensors";
    const auto edited = [&](const std::function<void(test::TinyModel&)>& edit) {
      test::TinyModel draft = whole;
      edit(draft);
      return with_name(refusal_beside(model, head_of(draft)));
    };
    EXPECT_EQ(edited([](auto& draft) { draft.layers = 2; }),
              another + "layers in front of it: 2, expected 4 as NAME has");
    EXPECT_EQ(edited([](auto& draft) { draft.width = 96; }), another + "hidden rows of 96, expected 64 as NAME has");
    EXPECT_EQ(edited([](auto& draft) { draft.vocab = 96; }), another + "a vocabulary of 96, expected 80 as NAME has");
    for (const char* lacking : {"blk.4.nextn.hnorm.weight", "blk.4.attn_k.weight"})
      EXPECT_EQ(edited([&](auto& draft) { draft.without = {lacking}; }),
                std::string("MODEL with DRAFT: no tensor ") + lacking + ", which architecture " + arch + " needs");
    EXPECT_THAT(refusal_of(head_of(whole), DraftMode::kAuto), HasSubstr("a draft head alone, of a model of"));
  }
  EXPECT_EQ(refusal_beside({.arch = "qwen35"}, {.arch = "qwen35"}),
            "DRAFT: found 0 layers of prediction, expected one, of a family that has such");
}

TEST(EngineLoad, AHeadInAFileOfItsOwnGuessesAndChangesNoAnswer) {
  const test::TinyModel model{.arch = "qwen35", .layers = 4, .tied = false};
  const test::TempFile file(model.bytes(), ".gguf"),
      head(head_of({.arch = "qwen35", .layers = 4, .tied = false, .head = kRandomHead}).bytes(), ".gguf");
  std::vector<std::vector<TokenId>> answers;
  for (const bool repack : {true, false}) {
    for (const auto& [mode, path] :
         {std::pair{DraftMode::kOff, std::filesystem::path()}, std::pair{DraftMode::kAuto, head.path()}}) {
      auto engine = Engine::load({.model_path = file.path(),
                                  .num_threads = 1,
                                  .kv_memory_bytes = 4U << 20,
                                  .itl_target_ms = 0,
                                  .draft = mode,
                                  .draft_path = path,
                                  .repack = repack});
      ASSERT_TRUE(engine) << engine.error().message;
      std::vector<TokenId>& answer = answers.emplace_back();
      Request request;
      request.tokens = {3, 14, 15, 9, 26, 5};
      request.max_tokens = 40;
      request.ignore_eos = true;
      request.sampling.temperature = 0;
      ASSERT_TRUE(
          (*engine)->submit(std::move(request), [&](const TokenEvent& event) { answer.push_back(event.token); }));
      while ((*engine)->step()) {
      }
      EXPECT_EQ(answer.size(), 40U);
      EXPECT_EQ((*engine)->stats().drafted_tokens > 0, mode == DraftMode::kAuto);
      EXPECT_EQ(answer, answers.front());
    }
  }
}

TEST(EngineLoad, ADraftFileOfOtherWordsIsRefused) {
  const auto words = [](const char* third) {
    return [third](test::GgufWriter& writer) {
      std::vector<std::string> tokens(80, "x");
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = "w" + std::to_string(i);
      tokens[2] = third;
      writer.add_array("tokenizer.ggml.tokens", tokens);
    };
  };
  const test::TinyModel model{.arch = "gemma4", .layers = 3, .extra = words("a")};
  test::TinyModel draft{.arch = "gemma4-assistant", .layers = 3, .width = 32, .per_layer_width = 0, .model_width = 64};
  draft.extra = words("b");
  EXPECT_EQ(refusal_beside(model, draft),
            "DRAFT: a vocabulary of another model: token 2 is 'b', expected 'a' as in MODEL");
  draft.extra = words("a");
  EXPECT_EQ(refusal_beside(model, draft), "loaded");
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
