#include "cli/llama/llama_translator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/ascii.h"
#include "base/joined.h"
#include "base/text.h"
#include "cli/options/named_templates.h"
#include "cli/terminal/parse.h"
#include "octavo/draft.h"

namespace octavo::cli {
namespace {

using Action = LlamaTranslation::Action;

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int kMaxSequences = 4096;
constexpr int kMaxStep = 1 << 16;    // in tokens
constexpr int kUsualStep = 512;      // the default of -ub and of --chunk
constexpr int kMaxSeconds = 86'400;  // the limit of times in `octavo serve`

/// A value of --spec-type, and the value of --draft that it becomes.
struct DraftType {
  std::string_view name;
  std::string_view mode;
};
constexpr std::string_view kOthersDraft = "auto";  // drafts of another model, which there are not here
constexpr std::string_view kHeadDrafts = "draft-mtp";
constexpr DraftType kDraftTypes[] = {
    {"none", "off"},           {kHeadDrafts, "mtp"},           {"draft-simple", kOthersDraft},
    {"ngram-simple", "ngram"}, {"ngram-map-k", "ngram"},       {"draft-eagle3", kOthersDraft},
    {"ngram-mod", "ngram"},    {"ngram-map-k4v", "ngram"},     {"draft-dflash", kOthersDraft},
    {"ngram-cache", "ngram"},  {"draft-dspark", kOthersDraft},
};

class Translator {
 public:
  explicit Translator(const LlamaCommandLine& line) : line_(line) {}

  Result<LlamaTranslation> translate();

 private:
  const GivenArgument* find(std::string_view name) const { return line_.find(name); }
  void pass(std::string_view option, std::string_view value);
  void pass_each(std::string_view option, std::string_view list);
  void note(const GivenArgument& given, std::string_view why);

  Result<void> settle(const GivenArgument& given);
  Result<void> combine_model();
  void combine_projector();
  Result<void> combine_context();
  Result<void> combine_kv_type();
  void combine_store();
  Result<void> combine_step();
  Result<void> combine_device();
  Result<void> combine_template();
  Result<void> combine_reasoning();
  Result<void> combine_draft_types(const GivenArgument& types, const GivenArgument* file);
  Result<void> combine_drafts();
  Result<void> combine_network();
  Result<void> combine_log();

  const LlamaCommandLine& line_;
  LlamaTranslation made_;
};

/// Passes an option on, unless it is given under Octavo's own name.
void Translator::pass(std::string_view option, std::string_view value) {
  const auto own = std::ranges::find_if(line_.own_options, [&](const Option* o) { return o->has_name(option); });
  if (own != line_.own_options.end() && !(*own)->is_repeatable()) return;
  made_.args.push_back(fmt::format("{}={}", option, value));
}

void Translator::pass_each(std::string_view option, std::string_view list) {
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    if (const std::string_view value = trimmed(part, " "); !value.empty()) pass(option, value);
  }
}

void Translator::note(const GivenArgument& given, std::string_view why) {
  made_.notes.push_back(
      fmt::format("{}{}{} has no effect: {}", given.name, given.value.empty() ? "" : " ", printable(given.value), why));
}

Result<void> Translator::settle(const GivenArgument& given) {
  const LlamaArgument& row = *given.row;
  if (row.is_harmless(given.value)) return {};
  switch (row.fate) {
    case LlamaFate::kOption:
      if (row.is_flag()) {
        pass(row.text, "true");
      } else if (row.has_name("--dry-sequence-breaker") && given.value == "none") {
        return fail("{}: found none, expected a text", given.name);
      } else {
        pass(row.text, given.value);
      }
      return {};
    case LlamaFate::kIgnored: note(given, row.text); return {};
    case LlamaFate::kRefused: return fail("{} is refused: {}", given.name, row.text);
    case LlamaFate::kAction:
    case LlamaFate::kCombined:
    case LlamaFate::kBuiltIn: return {};
  }
  return {};
}

Result<void> Translator::combine_model() {
  const GivenArgument *file = find("--model"), *repo = find("--hf-repo"), *hub_file = find("--hf-file");
  if (file != nullptr && repo != nullptr) return fail("found {} and {}, expected one model", file->name, repo->name);
  if (hub_file != nullptr && repo == nullptr) return fail("{} needs -hf ORG/REPO", hub_file->name);
  if (file != nullptr) {
    // There, --model is always a file, and never a model's name.
    const bool is_plain = !file->value.starts_with('/') && !file->value.starts_with('.');
    pass("--model", (is_plain ? "./" : "") + file->value);
  }
  if (repo != nullptr) {
    const std::string name = repo->value.substr(0, repo->value.find(':'));
    pass("--model", hub_file == nullptr ? repo->value : name + ":" + hub_file->value);
  }
  if (const GivenArgument* alias = find("--alias")) pass_each("--served-model-name", alias->value);
  return {};
}

void Translator::combine_projector() {
  const GivenArgument *projector = find("--mmproj"), *address = find("--mmproj-url");
  if (find("--no-mmproj") != nullptr) return;  // llama-server heeds it first
  if (projector == nullptr) {
    if (address != nullptr) pass("--mmproj", address->value);
    return;
  }
  std::error_code ignored;
  const auto is_same = [&](const std::string& path) {
    return path == projector->value || std::filesystem::equivalent(path, projector->value, ignored);
  };
  const GivenArgument* model = find("--model");
  const bool is_own = (model != nullptr && is_same(model->value)) || std::ranges::any_of(line_.values, is_same);
  if (is_own) {
    note(*projector, "the encoder of pictures lies in a file of its own here");
  } else {
    pass("--mmproj", projector->value);
  }
}

Result<void> Translator::combine_context() {
  OCTAVO_TRY(const auto given_tokens, line_.integer("--ctx-size", 0, kMaxInt));
  OCTAVO_TRY(const auto own_part, line_.integer("--kv-unified-per-slot", 1, kMaxInt));
  OCTAVO_TRY(const auto given_parallel, line_.integer("--parallel", -1, kMaxSequences));
  const int tokens = given_tokens.value_or(0);                   // 0: the model's own
  const int parallel = std::max(given_parallel.value_or(0), 0);  // 0: the default
  if (parallel > 0) pass("--max-sequences", fmt::format("{}", parallel));
  const bool is_parted = parallel > 0 && find("--kv-unified") == nullptr;
  int context = is_parted ? tokens / parallel : tokens;
  if (context == 0 && tokens > 0)
    return fail("{} {}: found fewer tokens than the {} requests of --parallel that share them",
                find("--ctx-size")->name, tokens, parallel);
  context = own_part.value_or(context);
  if (context > 0) pass("--max-context", fmt::format("{}", context));
  return {};
}

Result<void> Translator::combine_kv_type() {
  constexpr std::string_view kTypes[] = {"q8_0", "f16", "bf16", "f32"};  // from coarse to fine
  constexpr std::string_view kCoarser[] = {"q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"};
  const GivenArgument *keys = find("--cache-type-k"), *values = find("--cache-type-v");
  if (keys == nullptr && values == nullptr) return {};
  std::ptrdiff_t finest = 0;
  for (const GivenArgument* given : {keys, values}) {
    const std::string type = given == nullptr ? "f16" : given->value;
    const auto known = std::ranges::find(kTypes, type);
    const bool is_coarser = std::ranges::find(kCoarser, type) != std::end(kCoarser);
    if (known == std::end(kTypes) && !is_coarser)
      return fail("{}: found '{}', expected {} or {}", given->name, type, fmt::join(kTypes, ", "),
                  fmt::join(kCoarser, ", "));
    if (is_coarser)
      made_.notes.push_back(fmt::format("{} {} is taken as q8_0, the coarsest type here", given->name, type));
    // A type that is not given is f16, which is as fine as bf16 in the other place.
    if (!is_coarser) finest = std::max(finest, known - std::begin(kTypes));
  }
  pass("--kv-type", kTypes[finest]);
  return {};
}

/// Makes a folder of its own in the given one, which others may read.
void Translator::combine_store() {
  if (const GivenArgument* folder = find("--slot-save-path"))
    pass("--kv-store", (std::filesystem::path(folder->value) / "octavo").string());
}

Result<void> Translator::combine_step() {
  OCTAVO_TRY(const auto logical, line_.integer("--batch-size", 1, kMaxInt));
  OCTAVO_TRY(const auto physical, line_.integer("--ubatch-size", 1, kMaxInt));
  const int step = std::min({physical.value_or(kUsualStep), logical.value_or(kMaxInt), kMaxStep});
  if (step != kUsualStep) pass("--chunk", fmt::format("{}", step));
  return {};
}

/// Puts layers that are asked for on a card where there is one, as llama-server does.
Result<void> Translator::combine_device() {
  const GivenArgument *device = find("--device"), *layers = find("--gpu-layers");
  if (device != nullptr && device->value != "none" && device->value != "CUDA0")
    return fail("{}: found '{}', expected none or CUDA0", device->name, printable(device->value));
  if (device != nullptr) pass("--device", device->value == "none" ? "cpu" : "cuda");
  if (layers == nullptr) return {};
  const bool is_all =
      layers->value == "auto" || layers->value == "all" || layers->value == "-1" || layers->value == "-2";
  if (!is_all)
    if (const auto count = parse_integer(layers->value, 0, kMaxInt); !count)
      return fail("{}: {}; or auto, or all", layers->name, count.error().message);
  pass("--gpu-layers", is_all ? "all" : layers->value);
  if (device == nullptr && layers->value != "0") pass("--device", "auto");
  return {};
}

Result<void> Translator::combine_template() {
  const GivenArgument* given = find("--chat-template");
  if (given == nullptr) return {};
  if (const auto named = named_chat_template(given->value)) {
    pass("--chat-template", *named);
  } else if (is_template_text(given->value)) {
    pass("--chat-template", given->value);
  } else {
    return fail("{}: found '{}', expected a template in Jinja, or a name: {}", given->name, given->value,
                fmt::join(named_chat_templates(), ", "));
  }
  return {};
}

Result<void> Translator::combine_reasoning() {
  const GivenArgument* given = find("--reasoning");
  if (given == nullptr || given->value == "on" || given->value == "auto") return {};
  if (given->value != "off") return fail("{}: found '{}', expected on, off or auto", given->name, given->value);
  if (find("--reasoning-budget") == nullptr) pass("--reasoning-budget", "0");
  return {};
}

Result<void> Translator::combine_network() {
  if (const GivenArgument* given = find("--timeout")) {
    const auto seconds = parse_integer(given->value, 1, kMaxInt);
    if (!seconds) return fail("{}: {}", given->name, seconds.error().message);
    const auto bounded = fmt::format("{}", std::min<std::int64_t>(*seconds, kMaxSeconds));
    pass("--read-timeout", bounded);
    pass("--write-timeout", bounded);
  }
  if (const GivenArgument* given = find("--sse-ping-interval")) {
    const auto seconds = parse_integer(given->value, -1, kMaxSeconds);
    if (!seconds) return fail("{}: {}", given->name, seconds.error().message);
    pass("--keepalive-interval", fmt::format("{}", std::max<std::int64_t>(*seconds, 0)));
  }
  if (const GivenArgument* given = find("--cors-origins")) {
    if (given->value == "localhost")
      return fail("{}: found localhost, expected origins such as http://localhost:3000, or *", given->name);
    pass_each("--cors-origin", given->value);
  }
  return {};
}

/// Makes --draft of the names of --spec-type, which have commas between them: where they are of several modes, the one
/// that chooses. `file`: a draft head or an assistant; null: none.
Result<void> Translator::combine_draft_types(const GivenArgument& types, const GivenArgument* file) {
  std::string_view mode = "off", rest = types.value;
  while (true) {
    const std::string_view name = rest.substr(0, rest.find(','));
    const auto* const known = std::ranges::find(kDraftTypes, name, &DraftType::name);
    if (known == std::end(kDraftTypes))
      return fail("{}: found '{}', expected {}", types.name, printable(name), joined(kDraftTypes, &DraftType::name));
    if (known->mode == kOthersDraft)
      note(types, "drafts come from text, or from a head or an assistant (draft-mtp), not from another model");
    if (known->mode != "off") mode = mode == "off" || mode == known->mode ? known->mode : kOthersDraft;
    if (name.size() == rest.size()) break;
    rest.remove_prefix(name.size() + 1);
  }
  pass("--draft", file != nullptr && types.value == kHeadDrafts ? file->value : mode);
  return {};
}

Result<void> Translator::combine_drafts() {
  OCTAVO_TRY(const auto most, line_.integer("--spec-draft-n-max", 0, kMaxInt));
  const GivenArgument *types = find("--spec-type"), *file = find("--model-draft");
  if (most == 0) {
    pass("--draft", "off");
  } else if (types != nullptr) {
    OCTAVO_TRY_VOID(combine_draft_types(*types, file));
  } else if (find("--spec-default") != nullptr) {
    pass("--draft", "auto");
  }
  if (file != nullptr && (types == nullptr || types->value != kHeadDrafts))
    note(*file, "not read: it drafts with --spec-type draft-mtp, if it holds a head or an assistant of the model");
  if (most.value_or(0) > 0) pass("--draft-max", fmt::format("{}", std::min<std::int64_t>(*most, kMaxDraftTokens)));
  if (most.value_or(0) > kMaxDraftTokens) {
    const GivenArgument& given = *find("--spec-draft-n-max");
    made_.notes.push_back(fmt::format("{} {} is taken as {}, the most here", given.name, *most, kMaxDraftTokens));
  }
  return {};
}

Result<void> Translator::combine_log() {
  OCTAVO_TRY(const auto verbosity, line_.integer("--verbosity", std::numeric_limits<int>::min(), kMaxInt));
  if (find("--log-disable") != nullptr) {
    pass("--log-level", "off");
  } else if (find("--verbose") != nullptr) {
    pass("--log-level", "debug");
  } else if (verbosity) {
    pass("--log-level", *verbosity <= 1 ? "error" : *verbosity == 2 ? "warning" : *verbosity <= 4 ? "info" : "debug");
  }
  return {};
}

Action action_of(const LlamaCommandLine& line) {
  if (line.find("--help") != nullptr) return Action::kHelp;
  if (line.find("--version") != nullptr) return Action::kVersion;
  return line.find("--list-devices") != nullptr ? Action::kListDevices : Action::kServe;
}

Result<LlamaTranslation> Translator::translate() {
  made_.action = action_of(line_);
  if (made_.action != Action::kServe) return std::move(made_);
  for (const GivenArgument& given : line_.given) OCTAVO_TRY_VOID(settle(given));
  OCTAVO_TRY_VOID(combine_model());
  combine_projector();
  OCTAVO_TRY_VOID(combine_context());
  OCTAVO_TRY_VOID(combine_kv_type());
  combine_store();
  OCTAVO_TRY_VOID(combine_step());
  OCTAVO_TRY_VOID(combine_device());
  OCTAVO_TRY_VOID(combine_template());
  OCTAVO_TRY_VOID(combine_reasoning());
  OCTAVO_TRY_VOID(combine_drafts());
  OCTAVO_TRY_VOID(combine_network());
  OCTAVO_TRY_VOID(combine_log());
  made_.args.insert(made_.args.end(), line_.own.begin(), line_.own.end());  // last, as "--" may be among them
  return std::move(made_);
}

}  // namespace

Result<LlamaTranslation> translate_llama_arguments(const LlamaCommandLine& line) {
  return Translator(line).translate();
}

}  // namespace octavo::cli
