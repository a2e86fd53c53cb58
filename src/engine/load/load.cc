// Puts an engine together: the file, its vocabulary, the threads, the model.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <optional>
#include <system_error>

#include "base/cpu_info.h"
#include "base/stop_check.h"
#include "base/text.h"
#include "chat/named_prompts.h"
#include "engine/engine_impl.h"
#include "engine/load/draft_file.h"
#include "engine/load/embedding_info.h"
#include "engine/load/fingerprint.h"
#include "engine/load/generation_config.h"
#include "engine/load/matrix_types.h"
#include "engine/load/model_file.h"
#include "engine/load/picture_loader.h"
#include "engine/load/runner_factory.h"
#include "kv/kv_element.h"
#include "model/model_work.h"
#include "source/open_model.h"
#include "toolcalls/tool_format.h"

namespace octavo {
namespace {

constexpr int kMaxStepTokens = 65536;  // rows of a step, for all of which activations are held
constexpr double kMaxTargetMs = 60'000;
constexpr double kMaxIdleSeconds = 1e9;

Result<void> check_range(std::string_view field, int value, int low, int high) {
  if (value >= low && value <= high) return {};
  if (high == std::numeric_limits<int>::max()) return fail("{}: found {}, expected at least {}", field, value, low);
  return fail("{}: found {}, expected {} to {}", field, value, low, high);
}

Result<void> check_options(const EngineOptions& options) {
  OCTAVO_TRY_VOID(check_range("num_threads", options.num_threads, 0, kMaxThreads));
  OCTAVO_TRY_VOID(check_range("block_size", options.block_size, 1, kMaxBlockSize));
  if (!std::has_single_bit(static_cast<unsigned>(options.block_size))) {
    return fail("block_size: found {}, expected a power of two from 1 to {}", options.block_size, kMaxBlockSize);
  }
  OCTAVO_TRY_VOID(check_type(options.kv_type));
  OCTAVO_TRY_VOID(check_range("bits", static_cast<int>(options.bits), 0, 1));
  OCTAVO_TRY_VOID(check_range("device", static_cast<int>(options.device), 0, 2));
  OCTAVO_TRY_VOID(check_range("gpu_layers", options.gpu_layers, -1, std::numeric_limits<int>::max()));
  OCTAVO_TRY_VOID(check_range("kv_layout", static_cast<int>(options.kv_layout), 0, 1));
  OCTAVO_TRY_VOID(check_range("policy", static_cast<int>(options.policy), 0, 2));
  OCTAVO_TRY_VOID(check_range("draft", static_cast<int>(options.draft), 0, 4));
  OCTAVO_TRY_VOID(check_range("max_drafts", options.max_drafts, 1, kMaxDraftTokens));
  OCTAVO_TRY_VOID(check_range("max_context", options.max_context, 0, std::numeric_limits<int>::max()));
  if (options.max_context == 1) return fail("max_context: found 1, expected 0 (the model's) or at least 2");
  OCTAVO_TRY_VOID(check_range("max_step_tokens", options.max_step_tokens, 1, kMaxStepTokens));
  OCTAVO_TRY_VOID(check_range("max_queued", options.max_queued, 0, std::numeric_limits<int>::max()));
  if (options.max_queued_tokens < 0 || options.max_queued_tokens > QueueBound::kMost)
    return fail("max_queued_tokens: found {}, expected 0 (no bound) to {}", options.max_queued_tokens,
                QueueBound::kMost);
  if (!(options.itl_target_ms >= 0 && options.itl_target_ms <= kMaxTargetMs)) {
    return fail("itl_target_ms: found {}, expected 0 (no target) to {}", options.itl_target_ms, kMaxTargetMs);
  }
  if (!(options.idle_release_s >= 0 && options.idle_release_s <= kMaxIdleSeconds)) {
    return fail("idle_release_s: found {}, expected 0 (never) to {}", options.idle_release_s, kMaxIdleSeconds);
  }
  return check_range("max_sequences", options.max_sequences, 1, kMaxStepTokens);
}

/// The facts about the model that callers are told, as far as its file and its runner say.
ModelInfo info_of(const ModelSource& source, const ModelConfig& config, const RunnerInfo& runner, IsaLevel isa,
                  const EngineOptions& options) {
  const std::string file_hash = hex_of(runner.content_hash.hash);
  const bool is_long = config.rope_factors() == RopeFactors::kOfLongContexts;
  const std::string computed = is_long ? file_hash + "\nlong RoPE factors" : file_hash;
  return {.name = config.name,
          .file_name = printable(source.path().filename().string()),
          .file_hash = file_hash,
          .fingerprint = system_fingerprint(options.bits, isa, kv_type_name(options.kv_type), computed),
          .architecture = config.architecture,
          .file = model_file(source, config, options.quantize),
          .embedding = embedding_info(config, options.pooling),
          .vocab_size = runner.vocab_size,
          .num_layers = config.num_layers(),
          .max_context = runner.max_context,
          .weight_bytes = runner.weight_bytes,
          .mapped_weight_bytes = runner.mapped_weight_bytes,
          .weight_bytes_per_token = runner.weight_bytes_per_token,
          .kv_bytes_per_token = runner.room.layout.bytes_per_token(),
          .block_size = runner.room.layout.block_size,
          .kv_arena_bytes = runner.room.bytes(),
          .kv_memory_bytes = runner.kv_memory_bytes,
          .device = runner.device,
          .device_has_all = runner.device_has_all,
          .isa = std::string(isa_name(isa)),
          .bits = options.bits};
}

/// The resources that the options give, or new ones.
Result<std::shared_ptr<Resources>> resources_for(const EngineOptions& options) {
  if (options.resources == nullptr) return Resources::create({.num_threads = options.num_threads});
  if (options.num_threads != 0)
    return fail("num_threads: found {} beside resources, which have {}; expected 0", options.num_threads,
                options.resources->num_threads());
  return options.resources;
}

/// The sampling defaults of the file. Those of a generation_config.json go before them.
Result<SamplingDefaults> sampling_defaults_of(const ModelSource& source, const ModelTokenizer& words,
                                              std::string_view generation_config) {
  OCTAVO_TRY(SamplingDefaults of_file, SamplingDefaults::read(source));
  if (generation_config.empty()) return of_file;
  const auto of_config = parse_generation_config(generation_config, words.num_tokens());
  if (!of_config) return fail("generation_config: {}", of_config.error().message);
  return of_file.behind(*of_config);
}

/// Lists the weights that the model needs. Where drafts are to come from its draft head, that becomes a part of
/// `config`. A head that is incomplete is an error where it was asked for.
Result<WeightList> list_weights(const ModelSource& source, const EngineOptions& options, bool is_head_in_file,
                                ModelConfig& config) {
  OCTAVO_TRY(const MatrixTypes types, matrix_types(source, options.quantize));
  const bool must_have = is_head_in_file || (options.draft == DraftMode::kMtp && options.draft_path.empty());
  if (must_have && !config.prediction_layer)
    return fail("draft: found mtp, but {} carries {} layers of prediction; expected one, of a family that has such",
                source.name(), config.num_skipped_layers);
  const bool may_have = options.draft == DraftMode::kAuto && options.draft_path.empty();
  if ((must_have || may_have) && config.prediction_layer) {
    ModelConfig with_head = config;
    with_head.add_draft_head();
    Result<WeightList> list = WeightList::create(source, with_head, types);
    if (list || must_have) {
      config = std::move(with_head);
      return list;
    }
  }
  return WeightList::create(source, config, types);
}

/// Sets an encoder's options: each sequence is computed in one step, and no part of it is found or continued later.
void be_encoder(const EngineOptions& options, EngineParts& parts) {
  parts.prefix_cache = false;
  parts.draft.mode = DraftMode::kOff;
  parts.limits.grouped_tokens = options.max_step_tokens;
  parts.limits.max_step_tokens = parts.runner->info().max_rows;
}

/// Loads the encoder of pictures. It joins what answers depend on.
Result<void> add_pictures(PictureFile file, const EngineOptions& options, const ModelConfig& config, IsaLevel isa,
                          EngineParts& parts) {
  const bool was_found = file.was_found;
  if (config.num_deepstack > 0 && parts.runner->info().device != RunnerInfo().device) {
    if (was_found) return {};
    return fail(
        "{}: its pictures have vectors for the first layers, which a card does not add: found --device {}, "
        "expected cpu",
        options.mmproj_path.string(), parts.runner->info().device);
  }
  Result<LoadedPictures> loaded =
      load_pictures(std::move(file), options, config, parts.text.words, isa, parts.resources->impl().threads);
  ModelInfo& info = parts.text.info;
  if (!loaded && was_found) {  // it is another model's, or damaged: nobody asked for it
    info.vision.passed_over.push_back(loaded.error().message);
    return {};
  }
  OCTAVO_TRY(LoadedPictures pictures, std::move(loaded));
  pictures.info.passed_over = std::move(info.vision.passed_over);
  info.vision = std::move(pictures.info);
  info.fingerprint = system_fingerprint(options.bits, isa, kv_type_name(options.kv_type),
                                        info.file_hash + pictures.rules.encoder_hash);
  parts.text.sampling_defaults.suppressed.push_back(pictures.rules.row_token());
  parts.text.pictures = std::move(pictures.rules);
  parts.encoder = std::move(pictures.encoder);
  constexpr double kUntimedPieceMs = 20;
  parts.picture_memory = {.max_bytes = options.picture_memory_bytes,
                          .piece_ms = options.itl_target_ms > 0 ? options.itl_target_ms / 4 : kUntimedPieceMs};
  return {};
}

/// Sets how many rows of a picture see each other. A card does not compute such rows: an encoder that was found beside
/// the model, and not named, is then left out.
void find_joint_rows(const EngineOptions& options, FoundPictures& pictures, ModelConfig& config) {
  if (!pictures.file || !config.joins_pictures()) return;
  if (pictures.file->was_found && options.device == Device::kCuda) {
    pictures.passed_over.push_back(
        fmt::format("{}: the rows of a picture see each other, which a card does not compute: found --device cuda, "
                    "expected cpu",
                    pictures.file->source->path().string()));
    pictures.file.reset();
    return;
  }
  config.joint_rows = pictures.file->most_tokens();
}

/// Loads the model on its device, with what callers are told of it.
Result<void> load_model(const EngineOptions& options, IsaLevel isa, FoundPictures pictures, EngineParts& parts) {
  const ModelSource& source = *parts.source;
  Resources::Impl& resources = parts.resources->impl();
  OCTAVO_TRY(ModelConfig config, ModelConfig::load(source, Math(options.bits), options.max_context));
  OCTAVO_TRY_VOID(refuse_draft_file(source, config));
  if (options.pooling == Pooling::kRank && config.head.num_scores == 0)
    return fail("pooling: found rank, expected none, mean, cls or last: {} has no ranking head", source.name());
  find_joint_rows(options, pictures, config);
  std::optional<AssistantRequest> assistant;
  const ModelSource* with_head = nullptr;  // the model's file with a head from a draft file
  if (!options.draft_path.empty() && options.draft != DraftMode::kOff) {
    OCTAVO_TRY(DraftFile file, DraftFile::open(options.draft_path, source, config,
                                               {.quantize = options.quantize,
                                                .math = Math(options.bits),
                                                .max_context = options.max_context,
                                                .stop = options.stop}));
    parts.draft_source = std::move(file.source);
    if (file.assistant) {
      assistant.emplace(*parts.draft_source, std::move(*file.assistant), std::move(file.weights));
    } else {
      with_head = parts.draft_source.get();
    }
  }
  const ModelSource& weight_source = with_head != nullptr ? *with_head : source;
  OCTAVO_TRY(WeightList weights, list_weights(weight_source, options, with_head != nullptr, config));
  auto work = std::make_shared<const ModelWork>(model_work(config, weights, options.repack, options.kv_type));
  OCTAVO_TRY(parts.runner, make_runner({.source = weight_source,
                                        .config = config,
                                        .weights = std::move(weights),
                                        .options = options,
                                        .isa = isa,
                                        .pool = resources.threads,
                                        .kv_budget = resources.kv_memory,
                                        .assistant = std::move(assistant)}));
  ModelInfo& info = parts.text.info;
  info = info_of(source, config, parts.runner->info(), isa, options);
  OCTAVO_TRY_VOID(read_named_prompts(source, config.architecture, config.name, info.embedding));
  parts.text.info.vision.passed_over = std::move(pictures.passed_over);
  if (pictures.file) OCTAVO_TRY_VOID(add_pictures(std::move(*pictures.file), options, config, isa, parts));
  if (config.is_encoder) be_encoder(options, parts);
  info.work = std::move(work);
  info.num_threads = parts.resources->num_threads();
  return {};
}

/// Tells callers of the vocabulary.
void tell_of_words(TextParts& text) {
  ModelInfo& info = text.info;
  if (const ChatTokenizer* chat = text.words.chat()) {
    const std::span<const EndToken> ends = chat->tokenizer().end_tokens();
    info.end_tokens.assign(ends.begin(), ends.end());
    if (const ToolFormat* format = chat->tool_format()) info.tool_format = format->name;
    if (const ThinkingSwitch* thinking = chat->thinking())
      info.thinking = {.name = std::string(thinking->name()),
                       .efforts = {thinking->efforts().begin(), thinking->efforts().end()}};
    info.chat_template = chat->chat_template();
    info.fills_gaps = chat->infill_marks() != nullptr;
  }
  if (const ReasoningMarks* marks = text.words.reasoning()) info.reasoning = marks->family().name;
  info.num_tokens = std::min(info.vocab_size, text.words.num_tokens());
}

Result<std::unique_ptr<Engine>> load_parts(EngineOptions options) {
  OCTAVO_TRY_VOID(check_options(options));
  OCTAVO_TRY(const IsaLevel isa, parse_isa(options.isa));
  EngineParts parts;
  OCTAVO_TRY(parts.source, open_model(options.model_path, options.stop, Math(options.bits)));
  OCTAVO_TRY_VOID(refuse_encoder_file(*parts.source));
  FoundPictures pictures;
  if (!options.mmproj_path.empty()) {
    OCTAVO_TRY(pictures.file, PictureFile::open(options));
  } else if (options.finds_mmproj) {
    pictures = FoundPictures::find(options, *parts.source);
  }
  TextParts& text = parts.text;
  OCTAVO_TRY(text.words,
             ModelTokenizer::load(*parts.source, options.require_words, options.chat_template, options.tokenizer_path,
                                  options.stop, pictures.file ? pictures.file->marks() : PictureMarks()));
  OCTAVO_TRY(text.sampling_defaults, sampling_defaults_of(*parts.source, text.words, options.generation_config));
  OCTAVO_TRY(text.rank_template, RankTemplate::load(*parts.source));
  text.words.add_end_tokens(text.sampling_defaults.end_tokens);
  OCTAVO_TRY(parts.resources, resources_for(options));
  parts.prefix_cache = options.prefix_cache;
  parts.kv_store = options.kv_store;
  parts.kv_events = options.kv_events;
  parts.profile = options.profile;
  parts.limits = {.max_step_tokens = options.max_step_tokens,
                  .max_sequences = options.max_sequences,
                  .step_ms = options.itl_target_ms,
                  .policy = options.policy};
  parts.draft = {.mode = options.draft, .max_tokens = options.max_drafts};
  parts.idle.all = std::chrono::duration<double>(options.idle_release_s);
  parts.queue_bounds = {.requests = {options.max_queued}, .tokens = {options.max_queued_tokens}};

  OCTAVO_TRY_VOID(load_model(options, isa, std::move(pictures), parts));
  tell_of_words(text);
  if (options.repack) {  // nothing reads the file any more
    parts.source.reset();
    parts.draft_source.reset();
  }
  OCTAVO_TRY(std::unique_ptr<EngineImpl> engine, EngineImpl::create(std::move(parts)));
  if (options.itl_target_ms > 0 || !options.kv_store.folder.empty()) {
    engine->calibrate(options.stop);
    engine->release_memory(true);  // the memory that made-up tokens have touched
  }
  OCTAVO_TRY_VOID(check_stop(options.stop, "loading"));
  return engine;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(EngineOptions options) {
  const std::string path = options.model_path.string();
  try {
    return load_parts(std::move(options));
  } catch (const std::bad_alloc&) {
    return fail("{}: found no memory left while loading, expected room for the weights and the KV memory", path);
  } catch (const std::system_error& error) {  // the system refuses another thread
    return fail("{}: starting threads: {}", path, error.what());
  }
}

}  // namespace octavo
