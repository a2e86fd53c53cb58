#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "base/stop_check.h"
#include "base/to_size.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/end_tokens.h"
#include "tokenizer/infill_marks.h"
#include "tokenizer/json_encoder.h"
#include "tokenizer/json_word_source.h"
#include "tokenizer/prompt_fragments.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/template_tokens.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/vocab.h"

namespace octavo {

namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kHuggingFaceKey = "tokenizer.huggingface.json";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosKey = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kAddSpacePrefixKey = "tokenizer.ggml.add_space_prefix";
// Token and byte offsets are 32-bit; the space that becomes U+2581 grows by a factor of three, a broken byte too.
constexpr std::size_t kMaxTextBytes = to_size(std::numeric_limits<std::int32_t>::max()) / 3 - 1;
constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();  // of tokens

/// The time that a template may write into its prompt.
std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

}  // namespace

struct Tokenizer::Impl {
  Vocab vocab;
  TextEncoder encoder;
  SpecialTokens of_template{};   // all, as a template writes them
  SpecialTokens all_special{};   // those that any text becomes: control and user-defined tokens
  SpecialTokens user_defined{};  // those of them that are looked for in any text, a message's content as well
  std::vector<TokenId> prefix{}, suffix{};  // what is put around a text: BOS and EOS
  bool strips_space = false;                // decoded text begins without the space of its first word
  std::string file;
  Result<ChatTemplate> chat_template;  // why there is none, where none is asked for
  std::optional<ReasoningMarks> reasoning = {};
  std::vector<EndToken> end_tokens = {};
  std::optional<InfillMarks> infill = {};
  std::string template_text = {};

  Result<void> read_flags(const ModelSource& source, bool default_add_bos);
  void collect_special_tokens();
  /// What stands in the template and the keys beside the words.
  Result<void> find_manners(const ModelSource& source, std::string_view given_template);
  Result<void> find_reasoning();
  void find_end_tokens(const ModelSource& source);
  const SpecialTokens& special(bool parse_special) const { return parse_special ? all_special : user_defined; }
  void add_bos_unless_there(std::vector<TokenId>& ids) const;
  Result<std::vector<PromptPart>> render(std::span<const ChatMessage> messages,
                                         const ChatTemplateOptions& options) const;
  NamedTokens named_tokens() const;
  /// Tokens of what the template writes behind the last message, about: where text of both forms words together, they
  /// are the message's.
  Result<int> count_generation_prompt(std::span<const PromptPart> parts) const;
};

namespace {

/// The parts of a file's own words, and what it does where it says nothing.
struct OwnWords {
  EncoderParts parts;
  bool adds_bos;
};

Result<std::vector<MergeText>> read_merges(const ModelSource& source) {
  OCTAVO_TRY_VOID(require_words(source, kMergesKey));
  OCTAVO_TRY(const auto merges, source.get_strings(kMergesKey));
  return split_merges(merges, source.name());
}

std::string merges_place(const ModelSource& source) { return fmt::format("{}: {}", source.name(), kMergesKey); }

Result<OwnWords> load_byte_level_bpe(const ModelSource& source, const Vocab& vocab) {
  constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
  std::string_view name;
  if (source.find(kPreKey) != nullptr) {
    OCTAVO_TRY(name, source.get_string(kPreKey));
  }
  auto pre_tokenizer = PreTokenizer::create(name);
  if (!pre_tokenizer)
    return fail_as(ErrorKind::kNoWords, "{}: {}: {}", source.name(), kPreKey, pre_tokenizer.error().message);
  OCTAVO_TRY(const auto merges, read_merges(source));
  const Bpe::Options options{.ignore_merges = pre_tokenizer->ignore_merges()};
  OCTAVO_TRY(Bpe bpe, Bpe::create(vocab, merges, options, merges_place(source)));
  std::vector<TextStep> steps;
  if (pre_tokenizer->normalization() != Normalization::kNone) steps.push_back({.form = pre_tokenizer->normalization()});
  OCTAVO_TRY(TextSteps normalizer, TextSteps::create(std::move(steps)));
  const bool adds_bos = pre_tokenizer->add_bos();
  return OwnWords{{.normalizer = std::move(normalizer), .cuts = std::move(*pre_tokenizer), .algorithm = std::move(bpe)},
                  adds_bos};
}

Result<OwnWords> load_sentence_piece(const ModelSource& source, const Vocab& vocab) {
  OCTAVO_TRY(const bool adds_space, read_flag(source, kAddSpacePrefixKey, true));
  std::vector<TextStep> steps = {{.kind = TextStep::Kind::kReplace, .from = " ", .to = "\xE2\x96\x81"}};
  if (adds_space) steps.insert(steps.begin(), {.kind = TextStep::Kind::kPrepend, .to = " "});
  OCTAVO_TRY(TextSteps normalizer, TextSteps::create(std::move(steps)));
  if (vocab.model() == TokenizerModel::kSpm) {
    OCTAVO_TRY(Spm spm, Spm::create(vocab, source.name()));
    return OwnWords{{.normalizer = std::move(normalizer), .algorithm = std::move(spm)}, true};
  }
  OCTAVO_TRY(const auto merges, read_merges(source));
  OCTAVO_TRY(CharacterBpe bpe, CharacterBpe::create(vocab, merges, {}, merges_place(source), source.name()));
  return OwnWords{{.normalizer = std::move(normalizer), .algorithm = std::move(bpe)}, true};
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const ModelSource& source, std::string_view chat_template, const TokenizerJson* words,
                                  const std::stop_token& stop) {
  const auto go_on = [&stop] { return check_stop(stop, "loading"); };
  OCTAVO_TRY_VOID(go_on());
  if (words != nullptr) return load_json(*words, &source, chat_template, stop);
  if (source.find(kTokensKey) == nullptr && source.find(kHuggingFaceKey) != nullptr) {
    OCTAVO_TRY(const std::string_view text, source.get_string(kHuggingFaceKey));
    OCTAVO_TRY(const auto own, TokenizerJson::parse(text, fmt::format("{}: {}", source.name(), kHuggingFaceKey)));
    return load_json(own, &source, chat_template, stop);
  }
  OCTAVO_TRY(Vocab vocab, Vocab::load(source));
  OCTAVO_TRY_VOID(go_on());
  reserve_template_tokens(source, chat_template, vocab);
  OCTAVO_TRY(OwnWords own,
             vocab.is_byte_level() ? load_byte_level_bpe(source, vocab) : load_sentence_piece(source, vocab));
  OCTAVO_TRY_VOID(go_on());
  TextEncoder encoder(std::move(own.parts), vocab);
  auto impl = std::make_unique<Impl>(Impl{.vocab = std::move(vocab),
                                          .encoder = std::move(encoder),
                                          .file = source.name(),
                                          .chat_template = ChatTemplate::load(source, chat_template)});
  OCTAVO_TRY_VOID(impl->read_flags(source, own.adds_bos));
  impl->collect_special_tokens();
  OCTAVO_TRY_VOID(impl->find_manners(source, chat_template));
  return Tokenizer(std::move(impl));
}

Result<Tokenizer> Tokenizer::load(const TokenizerJson& words) { return load_json(words, nullptr, {}, {}); }

Result<Tokenizer> Tokenizer::load_json(const TokenizerJson& words, const ModelSource* model,
                                       std::string_view chat_template, const std::stop_token& stop) {
  const auto go_on = [&stop] { return check_stop(stop, "loading"); };
  OCTAVO_TRY_VOID(go_on());
  OCTAVO_TRY(const JsonWordSource source, JsonWordSource::create(words, model));
  OCTAVO_TRY(Vocab vocab, Vocab::load(source));
  OCTAVO_TRY_VOID(go_on());
  reserve_template_tokens(source, chat_template, vocab);
  OCTAVO_TRY(EncoderParts parts, json_encoder_parts(words, vocab));
  OCTAVO_TRY_VOID(go_on());
  JsonSpecialTokens special = json_special_tokens(words, vocab);
  TextEncoder encoder(std::move(parts), vocab);
  auto impl = std::make_unique<Impl>(Impl{.vocab = std::move(vocab),
                                          .encoder = std::move(encoder),
                                          .of_template = std::move(special.of_template),
                                          .all_special = std::move(special.all),
                                          .user_defined = std::move(special.ordinary),
                                          .prefix = words.pipeline.prefix,
                                          .suffix = words.pipeline.suffix,
                                          .strips_space = words.pipeline.strips_space,
                                          .file = source.name(),
                                          .chat_template = ChatTemplate::load(source, chat_template)});
  OCTAVO_TRY_VOID(impl->find_manners(source, chat_template));
  return Tokenizer(std::move(impl));
}

Result<void> Tokenizer::Impl::read_flags(const ModelSource& source, bool default_add_bos) {
  const bool is_spm = !vocab.is_byte_level();
  OCTAVO_TRY(const bool add_bos, read_flag(source, kAddBosKey, default_add_bos));
  OCTAVO_TRY(const bool add_eos, read_flag(source, kAddEosKey, false));
  OCTAVO_TRY(strips_space, read_flag(source, kAddSpacePrefixKey, is_spm));
  strips_space = strips_space && is_spm;  // byte-level files may carry the key; it says nothing there
  if (add_bos && !vocab.bos()) {
    return fail("{}: tokenizer.ggml.bos_token_id is missing, but {} (or its default) asks for BOS", file, kAddBosKey);
  }
  if (add_eos && !vocab.eos()) {
    return fail("{}: tokenizer.ggml.eos_token_id is missing, but {} asks for EOS", file, kAddEosKey);
  }
  if (add_bos) prefix.push_back(*vocab.bos());
  if (add_eos) suffix.push_back(*vocab.eos());
  return {};
}

void Tokenizer::Impl::collect_special_tokens() {
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (!vocab.is_control(id) && !vocab.is_user_defined(id)) continue;
    all_special.add(vocab.text(id), id);
    if (vocab.is_ordinary(id)) user_defined.add(vocab.text(id), id);
  }
  of_template = all_special;
}

Result<void> Tokenizer::Impl::find_manners(const ModelSource& source, std::string_view given_template) {
  template_text = given_template;
  if (template_text.empty()) template_text = source.get_string("tokenizer.chat_template").value_or(std::string_view());
  OCTAVO_TRY_VOID(find_reasoning());
  find_end_tokens(source);
  OCTAVO_TRY(infill, InfillMarks::find(source, vocab));
  return {};
}

/// The closing mark stands behind text, so its tokens are those behind a line break: at a text's beginning an SPM
/// vocabulary would write a space.
Result<void> Tokenizer::Impl::find_reasoning() {
  reasoning = ReasoningMarks::find(template_text, vocab, of_template);
  if (!reasoning) return {};
  const std::string text = reasoning->closing_text(), behind_break = "\n" + text;
  for (const std::string& whole : {behind_break, text}) {
    std::vector<TokenId> ids;
    OCTAVO_TRY_VOID(encoder.encode(vocab, of_template.split(whole), true, kAnyNumber, ids));
    std::string spelled;
    for (std::size_t i = ids.size(); i > 0; --i) {
      spelled.insert(0, vocab.bytes(ids[i - 1]));
      if (spelled != text) continue;
      reasoning->set_closing_tokens({ids.begin() + static_cast<std::ptrdiff_t>(i - 1), ids.end()});
      return {};
    }
  }
  return {};
}

void Tokenizer::Impl::find_end_tokens(const ModelSource& source) {
  std::optional<TokenId> by_template;
  if (chat_template) by_template = end_by_template(*chat_template, named_tokens(), of_template, vocab);
  if (by_template) vocab.set_end_of_generation(*by_template);
  end_tokens = list_end_tokens(source, vocab, by_template);
}

void Tokenizer::Impl::add_bos_unless_there(std::vector<TokenId>& ids) const {
  const bool is_there = ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
  if (!is_there) ids.insert(ids.begin(), prefix.begin(), prefix.end());
}

NamedTokens Tokenizer::Impl::named_tokens() const {
  NamedTokens tokens;
  if (vocab.bos()) tokens.bos = vocab.text(*vocab.bos());
  if (vocab.eos()) tokens.eos = vocab.text(*vocab.eos());
  return tokens;
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

int Tokenizer::vocab_size() const { return impl_->vocab.size(); }

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const TokenizeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return fail("the text has {} bytes; at most {} can be tokenized at once", text.size(), kMaxTextBytes);
  }
  const std::size_t max_tokens = options.max_tokens == 0 ? kAnyNumber : options.max_tokens;
  if (impl_->encoder.are_too_long({&text, 1}, max_tokens)) return too_many_tokens(max_tokens);
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(impl_->encoder.encode(impl_->vocab, impl_->special(options.parse_special).split(text),
                                        options.parse_special, max_tokens, ids));
  if (options.add_special) {
    impl_->add_bos_unless_there(ids);
    ids.insert(ids.end(), impl_->suffix.begin(), impl_->suffix.end());
  }
  if (ids.size() > max_tokens) return too_many_tokens(max_tokens);
  return ids;
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  OCTAVO_CHECK(id >= 0 && id < vocab_size(), "token {} of {}", id, vocab_size());
  return impl_->vocab.bytes(id);
}

std::string_view Tokenizer::bytes_after(std::optional<TokenId> previous, TokenId id) const {
  std::string_view bytes = token_bytes(id);
  const Vocab& vocab = impl_->vocab;
  const auto is_special = [&vocab](TokenId token) { return vocab.is_control(token) || vocab.is_user_defined(token); };
  const bool has_prefix = impl_->strips_space && !is_special(id) && (!previous || is_special(*previous));
  if (has_prefix && bytes.starts_with(' ')) bytes.remove_prefix(1);
  return bytes;
}

bool Tokenizer::is_control(TokenId id) const { return impl_->vocab.is_control(id); }

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  std::optional<TokenId> previous;
  for (const TokenId id : ids) {
    text += bytes_after(previous, id);
    previous = id;
  }
  return text;
}

bool Tokenizer::is_end_of_generation(TokenId id) const { return impl_->vocab.is_end_of_generation(id); }
std::span<const EndToken> Tokenizer::end_tokens() const { return impl_->end_tokens; }
std::optional<TokenId> Tokenizer::bos() const { return impl_->vocab.bos(); }
std::span<const TokenId> Tokenizer::text_prefix() const { return impl_->prefix; }
std::string_view Tokenizer::chat_template() const { return impl_->template_text; }
const InfillMarks* Tokenizer::infill_marks() const { return impl_->infill ? &*impl_->infill : nullptr; }
std::optional<TokenId> Tokenizer::eos() const { return impl_->vocab.eos(); }

Result<std::vector<PromptPart>> Tokenizer::Impl::render(std::span<const ChatMessage> messages,
                                                        const ChatTemplateOptions& options) const {
  if (!chat_template) return std::unexpected(chat_template.error());
  if (messages.empty()) return fail("a conversation needs at least one message");
  return chat_template->render(messages, named_tokens(), options, local_time());
}

Result<std::string> Tokenizer::render_chat_template(std::span<const ChatMessage> messages,
                                                    const ChatTemplateOptions& options) const {
  OCTAVO_TRY(const std::vector<PromptPart> parts, impl_->render(messages, options));
  std::string text;
  for (const PromptPart& part : parts) text += part.text;
  return text;
}

const ReasoningMarks* Tokenizer::reasoning() const { return impl_->reasoning ? &*impl_->reasoning : nullptr; }

const ToolFormat* Tokenizer::tool_format() const {
  return impl_->chat_template ? impl_->chat_template->manners().format : nullptr;
}

bool Tokenizer::describes_tools() const { return impl_->chat_template && !impl_->chat_template->manners().takes_tools; }

Result<std::vector<TokenId>> Tokenizer::apply_chat_template(std::span<const ChatMessage> messages,
                                                            const ChatTemplateOptions& options) const {
  OCTAVO_TRY(ChatPrompt prompt, chat_prompt(messages, options));
  return std::move(prompt.tokens);
}

Result<int> Tokenizer::Impl::count_generation_prompt(std::span<const PromptPart> parts) const {
  if (parts.empty() || !parts.back().is_template) return 0;
  std::string text;
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(
      encoder.encode(vocab, cut_prompt(parts.last(1), of_template, user_defined, text), false, kAnyNumber, ids));
  return static_cast<int>(ids.size());
}

Result<ChatPrompt> Tokenizer::chat_prompt(std::span<const ChatMessage> messages,
                                          const ChatTemplateOptions& options) const {
  const std::size_t max_tokens = options.max_tokens == 0 ? kAnyNumber : options.max_tokens;
  if (messages.size() > max_tokens) return too_many_tokens(max_tokens);  // each is at least one
  // Of what assistants say templates leave out some, as their reasoning; of others nothing.
  std::vector<std::string_view> contents;
  for (const ChatMessage& message : messages) {
    if (message.role == "assistant") continue;
    contents.emplace_back(message.content);
    contents.insert(contents.end(), message.parts.begin(), message.parts.end());
  }
  if (impl_->encoder.are_too_long(contents, max_tokens)) return too_many_tokens(max_tokens);
  OCTAVO_TRY(const std::vector<PromptPart> parts, impl_->render(messages, options));
  contents.clear();
  for (const PromptPart& part : parts)
    if (!part.is_template) contents.emplace_back(part.text);
  if (impl_->encoder.are_too_long(contents, max_tokens)) return too_many_tokens(max_tokens);

  const std::size_t num_bytes = prompt_bytes(parts);
  if (num_bytes > kMaxTextBytes) {
    return fail("the conversation has {} bytes; at most {} can be tokenized at once", num_bytes, kMaxTextBytes);
  }
  std::string text;
  std::vector<Fragment> fragments = cut_prompt(parts, impl_->of_template, impl_->user_defined, text);
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(impl_->encoder.encode(impl_->vocab, std::move(fragments), false, max_tokens, ids));
  impl_->add_bos_unless_there(ids);
  if (ids.empty()) return fail("the chat template makes no text of this conversation, expected at least one token");
  if (ids.size() > max_tokens) return too_many_tokens(max_tokens);
  OCTAVO_TRY(int asking, impl_->count_generation_prompt(parts));
  asking = std::min(asking, static_cast<int>(ids.size()));
  return ChatPrompt{.tokens = std::move(ids),
                    .generation_prompt_tokens = asking,
                    .ends_in_reasoning = impl_->reasoning && impl_->reasoning->end_inside(parts)};
}

}  // namespace octavo
