#include "cli/options/options.h"

#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>

#include "base/cpu_info.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/to_size.h"
#include "chat/chat_template.h"
#include "cli/options/find_model.h"
#include "cli/options/named_templates.h"
#include "cli/options/nearest.h"
#include "cli/terminal/progress.h"
#include "convert/type_mix.h"
#include "engine/load/generation_config.h"
#include "model/vision_config.h"
#include "source/open_model.h"
#include "template/template.h"

namespace octavo::cli {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;
constexpr int kMaxContext = 1 << 30;
constexpr int kMaxChunk = 1 << 16;

std::vector<std::pair<std::string, std::string>> isa_choices() {
  std::vector<std::pair<std::string, std::string>> choices = {{"auto", "auto"}};
  for (int i = 0; i < kNumIsaLevels; ++i) {
    const std::string level(isa_name(static_cast<IsaLevel>(i)));
    choices.emplace_back(level, level);
  }
  return choices;
}

Result<int> parse_block_size(const std::string& text) {
  const auto value = parse_integer(text, 1, 256);
  if (!value || (*value & (*value - 1)) != 0) return fail("found '{}', expected a power of two from 1 to 256", text);
  return static_cast<int>(*value);
}

/// Parses --kv-memory, where 0 is an error: to the engine it means the default.
Result<std::uint64_t> parse_kv_memory(const std::string& text) {
  OCTAVO_TRY(const std::uint64_t bytes, parse_size(text));
  if (bytes == 0) return fail("found '{}', expected more than 0 bytes", text);
  return bytes;
}

/// Reads all of `in`. Error: it cannot be read, or has more than kMaxTextBytes.
Result<std::string> read_all(std::istream& in, const std::string& name) {
  std::string text;
  std::vector<char> piece(1 << 16);
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), to_size(in.gcount()));
    if (text.size() > kMaxTextBytes) return fail("{}: found more than {} of text", name, format_bytes(kMaxTextBytes));
  }
  if (in.bad()) return fail("{}: cannot read: {}", name, std::strerror(errno));
  return text;
}

Result<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail("{}: is a directory, expected a file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot open: {}", path, std::strerror(errno));
  return read_all(file, path);
}

Result<std::string> read_template(const std::string& path) {
  OCTAVO_TRY(std::string text, read_file(path));
  if (text.empty()) return fail("{}: found nothing in it, expected a chat template", path);
  const auto compiled = jinja::Template::compile(text);
  if (!compiled) return fail("{}: {}", path, compiled.error().message);
  return text;
}

/// The value of --draft.
struct DraftSource {
  DraftMode mode = DraftMode::kAuto;
  std::filesystem::path path = {};  // a draft file, or its name on the hub
};

void add_picture_bounds(Command& command, PictureBounds& bounds) {
  constexpr int kMostPixels = 1 << 30, kMostPictures = 100'000;
  add_parsed(command, "--max-picture-size", "SIZE", parse_kv_memory, store_in(bounds.bytes),
             "The file of a picture at most; default 20MiB");
  add_integer(command, "--max-picture-pixels", bounds.pixels, 1, kMostPixels,
              "Pixels of a picture at most; default 64000000");
  add_integer(command, "--max-pictures", bounds.pictures, 0, kMostPictures,
              "Pictures of a request at most; default 100");
}

}  // namespace

void add_device_options(Command& command, Device& device, int& gpu_layers, const std::string& text) {
  const std::vector<std::pair<std::string, Device>> devices = {
      {"cpu", Device::kCpu}, {"cuda", Device::kCuda}, {"auto", Device::kAuto}};
  add_choice(command, "--device", "NAME", devices, store_in(device), text)->per_model();
  const auto parse = [](const std::string& number) -> Result<int> {
    if (number == "auto" || number == "all") return -1;
    const auto layers = parse_integer(number, 0, std::numeric_limits<int>::max());
    if (!layers) return fail("{}; or auto, or all", layers.error().message);
    return static_cast<int>(*layers);
  };
  add_parsed(command, "--gpu-layers", "N", parse, store_in(gpu_layers),
             "Layers on the card at most, the first ones; more than the model has: the output matrix, too; auto or all "
             "(default): as many as it has room for")
      ->per_model();
}

Option* add_integers(Command& command, const std::string& name, std::vector<int>& values, int low, int high,
                     const std::string& description) {
  return add_parsed(
      command, name, "N,...", [=](const std::string& text) { return parse_integers(text, low, high); },
      store_in(values), description);
}

std::string refuse_empty(const std::string& text) { return text.empty() ? "found an empty value" : ""; }

Result<std::size_t> find_choice(const std::string& text, std::span<const std::string> words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return to_size(found - words.begin());
  return fail("found '{}', expected one of {}{}", text, fmt::join(words, ", "), did_you_mean(text, words));
}

bool names_model(const std::string& word) { return word.ends_with(".gguf") || begins_as_model(word); }

void add_model_option(Command& command, std::string& model, std::string_view words_shown,
                      std::vector<std::string>& words) {
  const Option* option =
      command
          .add_option(
              "-m,--model", model,
              "GGUF file, or ORG/REPO[:TYPE] of the hub, fetched if it is not there; default: SmolLM2-135M-Instruct")
          ->check(refuse_empty)
          ->type_name("MODEL");
  command.accept_words(words_shown);
  command.on_parsed([&command, &model, &words, option]() -> Result<void> {
    words = command.words();
    const bool is_named = option->count() > 0 && !option->is_from_file();
    if (words.empty() || is_named || !names_model(words.front())) return {};
    model = words.front();
    words.erase(words.begin());
    return {};
  });
}

void add_model_option(Command& command, std::string& model) {
  const auto words = std::make_shared<std::vector<std::string>>();
  add_model_option(command, model, "[MODEL.gguf]", *words);
  command.on_parsed([words]() -> Result<void> {
    if (words->empty()) return {};
    return fail("found the word '{}', expected at most one, the name of a GGUF file", words->front());
  });
}

void add_kv_type_option(Command& command, KvType& type) {
  std::vector<std::pair<std::string, KvType>> choices;
  for (const KvType t : {KvType::kI16, KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF32})
    choices.emplace_back(kv_type_name(t), t);
  add_choice(command, "--kv-type", "TYPE", choices, store_in(type),
             "Element type of the KV cache: i16 (default), f16, bf16, q8_0, f32")
      ->per_model();
}

void add_kv_memory_option(Command& command, std::uint64_t& bytes) {
  add_parsed(
      command, "--kv-memory", "SIZE", parse_kv_memory, [&bytes](std::uint64_t given) { bytes = given; },
      "Memory for the KV cache, such as 512MiB or 4GiB; default: half of what is free after loading")
      ->per_model();
}

void add_context_option(Command& command, int& max_context) {
  add_integer(command, "-c,--max-context,--ctx-size", max_context, 1, kMaxContext,
              "Tokens of prompt and answer together at most; default: what the model was trained for")
      ->per_model();
}

void add_quantize_option(Command& command, std::string& mix) {
  const auto name_of = [](const std::string& text) -> Result<std::string> {
    OCTAVO_TRY(const TypeMix found, parse_type_mix(text));
    return std::string(found.name);
  };
  add_parsed(
      command, "--quantize", "TYPE", name_of, store_in(mix),
      "Make weights that are floats this type while loading: Q8_0, Q4_0, Q4_1, Q4_K_M, Q6_K and others of `octavo "
      "quantize`; default: as they are")
      ->per_model();
}

void add_log_level_option(Command& command, Context& context) {
  const std::vector<std::pair<std::string, spdlog::level::level_enum>> levels = {{"debug", spdlog::level::debug},
                                                                                 {"info", spdlog::level::info},
                                                                                 {"warning", spdlog::level::warn},
                                                                                 {"error", spdlog::level::err},
                                                                                 {"off", spdlog::level::off}};
  command.group("General");
  add_choice(
      command, "--log-level", "LEVEL", levels,
      [&context](spdlog::level::level_enum level) { context.log->set_level(level); },
      "What is logged to standard error: debug, info, warning (default), error, off");
}

void add_engine_options(Command& command, EngineOptions& options, Context& context) {
  command.group("Engine");
  add_integer(command, "-t,--threads", options.num_threads, 1, kMaxThreads,
              "Threads that compute; default: one for each physical core, within a container's quota");
  add_choice(command, "--isa", "NAME", isa_choices(), store_in(options.isa),
             "Instruction set: auto (default), scalar, avx2, avxvnni, avx512vnni, amx, amxbf16, neon");
  const std::vector<std::pair<std::string, Bits>> bits = {{"native", Bits::kNative}, {"portable", Bits::kPortable}};
  add_choice(
      command, "--bits", "PROFILE", bits, store_in(options.bits),
      "Last digits of results: native (default), those of this machine at its full speed, or portable, the same on "
      "every machine and with every --isa");
  add_device_options(
      command, options.device, options.gpu_layers,
      "Where layers are computed: cpu (default); cuda: an NVIDIA card; auto: a card, where one is there; "
      "changes speed, never the answer");
  add_kv_type_option(command, options.kv_type);
  const std::vector<std::pair<std::string, KvLayout>> layouts = {{"paged", KvLayout::kPaged},
                                                                 {"contiguous", KvLayout::kContiguous}};
  add_choice(
      command, "--kv-layout", "LAYOUT", layouts, store_in(options.kv_layout),
      "Where the KV cache lies: paged (default), or contiguous: one growing piece; changes memory, never the answer");
  const Option* block_size =
      add_parsed(command, "--block-size", "N", parse_block_size, store_in(options.block_size),
                 "Tokens in a KV block of the paged layout: a power of two up to 256; default 16");
  command.on_parsed([&options, block_size]() -> Result<void> {
    if (options.kv_layout == KvLayout::kContiguous && block_size->count() > 0)
      return fail("--block-size: the contiguous layout has no blocks");
    return {};
  });
  add_kv_memory_option(command, options.kv_memory_bytes);
  command.add_flag_callback(
      "--no-prefix-cache", [&options] { options.prefix_cache = false; },
      "Compute every prompt from its beginning; changes speed and memory, never the answer");
  command.add_flag_callback(
      "--no-repack", [&options] { options.repack = false; },
      "Leave weights in the file's pages, which processes share; less memory, slower, never another answer");
  add_quantize_option(command, options.quantize);
  add_context_option(command, options.max_context);
  add_integer(command, "--chunk", options.max_step_tokens, 1, kMaxChunk,
              "Tokens read in one step at most; changes speed, never the answer; default 512");
  add_log_level_option(command, context);
}

void add_draft_options(Command& command, EngineOptions& options, std::string_view usual) {
  const std::vector<std::pair<std::string, DraftMode>> modes = {{"auto", DraftMode::kAuto},
                                                                {"off", DraftMode::kOff},
                                                                {"ngram", DraftMode::kNgram},
                                                                {"suffix", DraftMode::kSuffix},
                                                                {"mtp", DraftMode::kMtp}};
  command.group("Engine");
  std::vector<std::string> words;
  words.reserve(modes.size());
  for (const auto& [word, mode] : modes) words.push_back(word);
  const auto parse = [modes, words](const std::string& text) -> Result<DraftSource> {
    const Result<std::size_t> index = find_choice(text, words);
    if (index) return DraftSource{.mode = modes[*index].second};
    std::error_code ignored;
    const bool is_path = text.ends_with(".gguf") && !text.contains(':');
    if (std::filesystem::exists(text, ignored) || (!is_path && hub::ModelRef::parse(text)))
      return DraftSource{.path = text};
    return fail("{}, or a draft file, or ORG/REPO[:TYPE] of the hub", index.error().message);
  };
  const auto store = [&options](DraftSource source) {
    options.draft = source.mode;
    options.draft_path = std::move(source.path);
  };
  add_parsed(
      command, "--draft", "MODE|FILE", parse, store,
      fmt::format(
          "Where tokens of an answer are guessed ahead, which one step verifies: ngram: what followed the last "
          "tokens before, in prompt and answer; suffix: in earlier answers too; mtp: the draft head in the "
          "model's file, or else a file mtp-*.gguf beside it; auto: suffix, and mtp where the model's file has a "
          "head; a file, or ORG/REPO[:TYPE] of the hub: suffix, and the head or the assistant in that file; off; "
          "default {}; changes speed, never the answer",
          usual))
      ->per_model();
  add_integer(command, "--draft-max", options.max_drafts, 1, kMaxDraftTokens,
              "Tokens that an answer guesses ahead at most; default 16")
      ->per_model();
}

void add_picture_options(Command& command, EngineOptions& options) {
  constexpr int kMostTokens = 1 << 16;
  command.group("Engine");
  Option* file =
      add_parsed(
          command, "--mmproj", "FILE",
          [](const std::string& text) -> Result<std::filesystem::path> {
            if (text.empty()) return fail("found an empty value");
            return text;
          },
          store_in(options.mmproj_path),
          "The encoder of pictures of a model that sees, which must fit it: a file, or one of the hub as -m takes it; "
          "default: the one beside the model")
          ->per_model();
  command
      .add_flag_callback(
          "--no-mmproj", [&options] { options.finds_mmproj = false; }, "No encoder: the model reads text only")
      ->per_model()
      ->excludes(file);
  add_integer(command, "--image-min-tokens", options.image_min_tokens, 1, kMostTokens,
              "Tokens that a picture becomes at least, where a request does not say; default: the model's")
      ->per_model();
  add_integer(command, "--image-max-tokens", options.image_max_tokens, 1, kMostTokens,
              "And at most: more show small text, and take longer; default: the model's")
      ->per_model();
  command.on_parsed([&options]() -> Result<void> {
    const int least = options.image_min_tokens, most = options.image_max_tokens;
    if (most == 0 || most >= least) return {};
    return fail("--image-max-tokens: found {}, expected at least --image-min-tokens, {}", most, least);
  });
  add_parsed(command, "--picture-memory", "SIZE", parse_kv_memory, store_in(options.picture_memory_bytes),
             "Memory for pictures that were encoded, so that each is encoded once; one that has no room is refused; "
             "default 256MiB")
      ->per_model();
  add_picture_bounds(command, options.picture_bounds);
}

void add_kv_store_options(Command& command, KvStoreSettings& store, Context& context) {
  constexpr float kMostSeconds = 1e6F, kAll = 100;
  command.group("Engine");
  const auto take = [&store, &context](std::filesystem::path folder) {
    store.folder = std::move(folder);
    store.on_warning = [log = context.log](const std::string& words) { log->warn("{}", words); };
  };
  add_parsed(
      command, "--kv-store", "DIR", [](const std::string& text) { return Result<std::filesystem::path>(text); }, take,
      "A directory that keeps the keys and values of prompts and answers, to be read after a restart in place of being "
      "computed; what was said lies there as it is, so that its mode must be 0700; changes speed, never the answer")
      ->per_model();
  add_parsed(
      command, "--kv-store-size", "SIZE", parse_kv_memory, [&store](std::uint64_t bytes) { store.max_bytes = bytes; },
      "Bytes of all files in it at most, such as 20GiB: those go first that were not used for longest; default: any")
      ->per_model();
  add_parsed(
      command, "--kv-store-min", "SECONDS", [](const std::string& text) { return parse_real(text, 0, kMostSeconds); },
      [&store](float seconds) { store.min_compute_s = double{seconds}; },
      "What takes less time to compute again is not kept there; 0: all is kept, and always read; default 1")
      ->per_model();
  add_parsed(
      command, "--kv-store-cpu", "PERCENT", [](const std::string& text) { return parse_real(text, 0, kAll); },
      [&store](float percent) { store.write_share = double{percent} / kAll; },
      "Processor time that writes to it take at most while requests are computed, as a share of one processor's; what "
      "would take more is not kept; 100: no bound; default 0.5")
      ->per_model();
  add_parsed(
      command, "--kv-store-ttl", "AGE", [](const std::string& text) { return parse_age(text); },
      [&store](std::chrono::seconds age) { store.ttl = age; },
      "A file goes that was not used for so long, such as 30d or 12h; default: never")
      ->per_model();
}

void add_stop_option(Command& command, std::vector<std::string>& stop) {
  const auto not_empty = [](const std::string& text) {
    return text.empty() ? std::string("expected at least one character") : std::string();
  };
  command.add_option("--stop", stop, "End the answer before this text; may be given up to 64 times")->check(not_empty);
}

void add_constraint_options(Command& command, std::optional<ConstraintSource>& constraint) {
  const auto store = [&constraint](ConstraintKind kind) {
    return
        [&constraint, kind](std::string text) { constraint = ConstraintSource{.kind = kind, .text = std::move(text)}; };
  };
  const auto take = [](const std::string& text) -> Result<std::string> {
    if (text.empty()) return fail("found an empty value");
    return text;
  };
  const Option* regex = add_parsed(command, "--regex", "PATTERN", take, store(ConstraintKind::kRegex),
                                   "A regular expression that the whole answer must match");
  const Option* grammar = add_parsed(command, "--grammar", "FILE", read_file, store(ConstraintKind::kGrammar),
                                     "A grammar in GBNF that the answer must follow");
  const Option* schema = add_parsed(command, "--json-schema", "FILE", read_file, store(ConstraintKind::kJsonSchema),
                                    "A JSON schema that the answer, a value in JSON, must fulfil");
  command.on_parsed([given = std::array{regex, grammar, schema}]() -> Result<void> {
    if (std::ranges::count_if(given, [](const Option* option) { return option->count() > 0; }) > 1)
      return fail("found two of --regex, --grammar and --json-schema, expected one constraint of the answer");
    return {};
  });
}

void add_additional_properties_option(Command& command, bool& closes_objects, std::string_view of_whom) {
  const std::vector<std::pair<std::string, bool>> readings = {{"closed", true}, {"as_written", false}};
  add_choice(command, "--additional-properties", "READING", readings, store_in(closes_objects),
             fmt::format(
                 "Members that {} does not name: closed (default): none, where it names properties and says nothing of "
                 "others; as_written: any",
                 of_whom));
}

void add_reasoning_budget_option(Command& command, int& budget) {
  constexpr int kMaxBudget = 1 << 30;
  add_integer(
      command, "--reasoning-budget", budget, -1, kMaxBudget,
      "Tokens of reasoning in an answer, where the request names none; 0: it is closed at once; default -1: any "
      "number");
}

void add_reasoning_format_option(Command& command, ReasoningMode& mode) {
  const std::vector<std::pair<std::string, ReasoningMode>> formats = {
      {"auto", ReasoningMode::kSplit}, {"deepseek", ReasoningMode::kSplit}, {"none", ReasoningMode::kLeftIn}};
  add_choice(command, "--reasoning-format", "FORMAT", formats, store_in(mode),
             "Where a chat names none: auto (default), deepseek: reasoning apart from the content; none: left in it");
}

int usable_reasoning_budget(const Engine& engine, int budget, const Context& context) {
  if (budget == -1 || !engine.info().reasoning.empty()) return budget;
  context.log->warn("--reasoning-budget has no effect: this model has no marks of reasoning that are known");
  return -1;
}

void add_generation_config_option(Command& command, std::string& generation_config) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    OCTAVO_TRY(std::string text, read_file(path));
    const auto config = parse_generation_config(text, 0);
    if (!config) return fail("{}: {}", path, config.error().message);
    return text;
  };
  add_parsed(command, "--generation-config", "FILE", read, store_in(generation_config),
             "A generation_config.json of the model: its sampling and end tokens, before those of the model's file")
      ->per_model();
}

void add_tokenizer_option(Command& command, std::filesystem::path& path) {
  const auto check = [](const std::string& text) -> Result<std::filesystem::path> {
    if (text.empty()) return fail("found an empty value");
    return std::filesystem::path(text);
  };
  add_parsed(command, "--tokenizer", "FILE", check, store_in(path),
             "A tokenizer.json, whose words are used instead of the model's own")
      ->per_model();
}

Option* add_chat_template_option(Command& command, std::string& chat_template) {
  const auto read = [](const std::string& value) -> Result<std::string> {
    std::error_code ignored;
    const bool is_file = std::filesystem::exists(value, ignored);
    if (const auto named = named_chat_template(value); named && !is_file) return std::string(*named);
    if (!is_template_text(value) || is_file) return read_template(value);
    const auto compiled = jinja::Template::compile(value);
    if (!compiled) return fail("the text given: {}", compiled.error().message);
    return value;
  };
  return add_parsed(
             command, "--chat-template", "FILE", read, store_in(chat_template),
             "A chat template in Jinja, used instead of the model's own: a file, the text itself, or a name such as "
             "chatml")
      ->per_model();
}

Option* add_chat_template_file_option(Command& command, std::string& chat_template) {
  return add_parsed(command, "--chat-template-file", "FILE", read_template, store_in(chat_template),
                    "The same, and always a file")
      ->per_model();
}

Result<void> check_chat_template(const std::filesystem::path& model, const std::string& instead) {
  if (!instead.empty()) return {};
  const auto source = open_model(model);
  if (!source) return {};
  OCTAVO_TRY_VOID(refuse_encoder_file(**source));
  OCTAVO_TRY_VOID(ChatTemplate::load(**source));
  return {};
}

Result<std::unique_ptr<Engine>> load_engine(EngineOptions options, const std::string& model, Context& context) {
  OCTAVO_TRY(options.model_path,
             resolve_model(model, context, options.stop,
                           options.require_words ? model_to_talk_to(options) : hub::PullKind::kModel));
  if (!options.mmproj_path.empty()) {
    OCTAVO_TRY(options.mmproj_path, resolve_encoder(options.mmproj_path.string(), context, options.stop));
  }
  if (!options.draft_path.empty()) {
    OCTAVO_TRY(options.draft_path, resolve_draft(options.draft_path.string(), context, options.stop));
  } else if (options.draft == DraftMode::kMtp) {
    options.draft_path = find_draft_beside(options.model_path, context).value_or(std::filesystem::path());
  }
  const bool has_words = options.require_words;  // set for commands that generate text
  const bool names_encoder = !options.mmproj_path.empty();
  ProgressBar bar(context.err, "loading " + options.model_path.filename().string());
  options.on_load_progress = [&bar](const LoadProgress& p) { bar.update(p.done_bytes, p.total_bytes); };
  OCTAVO_TRY(auto engine, context.load_engine(std::move(options)));
  bar.clear();
  const ModelInfo& info = engine->info();
  context.log->info("model: {} ({}), {} of weights{}, {} threads, isa {}, bits {}, device {}", info.name,
                    info.architecture, format_bytes(info.weight_bytes),
                    info.mapped_weight_bytes > 0 ? " in the file's pages" : "", info.num_threads, info.isa,
                    bits_name(info.bits), info.device);
  context.log->info("context: {} tokens, KV cache of up to {}, {} a token", info.max_context,
                    format_bytes(info.kv_arena_bytes), format_bytes(info.kv_bytes_per_token));
  for (const std::string& why : info.vision.passed_over)
    context.err << "octavo: an encoder of pictures was passed over: " << printable(why) << '\n' << std::flush;
  if (!names_encoder && info.vision.sees() && info.vision.file_name != info.file_name)
    context.err << "octavo: pictures are read by " << printable(info.vision.file_name)
                << ", beside the model; --no-mmproj leaves it alone\n"
                << std::flush;
  if (has_words && info.end_tokens.empty())
    context.err << "octavo: this model names no token that ends an answer: answers end at a limit or at a stop text\n"
                << std::flush;
  return engine;
}

Result<std::string> read_text(const std::string& path, Context& context) {
  if (path.empty()) {
    if (context.in_is_terminal)
      context.err << "octavo: reading from standard input, Ctrl-D ends it" << '\n' << std::flush;
    return read_all(context.in, "the standard input");
  }
  return read_file(path);
}

}  // namespace octavo::cli
