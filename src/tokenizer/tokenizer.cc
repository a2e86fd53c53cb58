#include "tokenizer/tokenizer.h"

#include <array>
#include <ctime>
#include <limits>
#include <utility>
#include <variant>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "tokenizer/bpe.h"
#include "tokenizer/character_bpe.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/end_tokens.h"
#include "tokenizer/normalize.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/prompt_fragments.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/spm.h"
#include "tokenizer/template_tokens.h"
#include "tokenizer/token_bound.h"
#include "tokenizer/vocab.h"

namespace octavo {

namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosKey = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kAddSpacePrefixKey = "tokenizer.ggml.add_space_prefix";
// Token and byte offsets are 32-bit; the space that becomes U+2581 grows by a factor of three, a broken byte too.
constexpr std::size_t kMaxTextBytes = to_size(std::numeric_limits<std::int32_t>::max()) / 3 - 1;
constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();  // of tokens

std::unexpected<Error> too_many(std::size_t max_tokens) {
  return fail_as(ErrorKind::kContextOverflow, "found more than {} tokens, expected at most as many", max_tokens);
}

struct ByteLevelBpe {
  PreTokenizer pre_tokenizer;
  Bpe bpe;
};

/// `text` with every space written as U+2581, after one more if `add_prefix`.
std::string escape_spaces(std::string_view text, bool add_prefix) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2);
  if (add_prefix) escaped += "\xE2\x96\x81";
  for (const char c : text) {
    if (c == ' ') {
      escaped += "\xE2\x96\x81";
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

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
  std::variant<ByteLevelBpe, Spm, CharacterBpe> algorithm;
  SpecialTokens all_special;   // control and user-defined tokens
  SpecialTokens user_defined;  // those of them that are looked for in any text, a message's content as well
  TokenBound bound;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  std::string file;
  Result<ChatTemplate> chat_template;  // why there is none, where none is asked for
  std::optional<ReasoningMarks> reasoning = {};
  std::vector<EndToken> end_tokens = {};

  Result<void> read_flags(const ModelSource& source, bool default_add_bos);
  void collect_special_tokens();
  Result<void> find_reasoning(std::string_view jinja);
  const SpecialTokens& special(bool parse_special) const { return parse_special ? all_special : user_defined; }
  /// The texts together are more than `max_tokens` tokens for certain.
  bool are_too_long(std::span<const std::string_view> texts, std::size_t max_tokens) const;
  /// Each of these ends with an error at a cost that `max_tokens` bounds, once `ids` are more.
  Result<void> encode_fragments(std::span<const Fragment> fragments, std::size_t max_tokens,
                                std::vector<TokenId>& ids) const;
  Result<void> encode_bpe(const ByteLevelBpe& algorithm, std::string_view text, std::size_t max_tokens,
                          Bpe::Scratch& scratch, std::vector<TokenId>& ids) const;
  void add_bos_unless_there(std::vector<TokenId>& ids) const;
  Result<std::vector<PromptPart>> render(std::span<const ChatMessage> messages,
                                         const ChatTemplateOptions& options) const;
  NamedTokens named_tokens() const;
};

namespace {

Result<ByteLevelBpe> load_byte_level_bpe(const ModelSource& source, const Vocab& vocab) {
  constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
  std::string_view name;
  if (source.find(kPreKey) != nullptr) {
    OCTAVO_TRY(name, source.get_string(kPreKey));
  }
  auto pre_tokenizer = PreTokenizer::create(name);
  if (!pre_tokenizer)
    return fail_as(ErrorKind::kNoWords, "{}: {}: {}", source.name(), kPreKey, pre_tokenizer.error().message);
  OCTAVO_TRY_VOID(require_words(source, kMergesKey));
  OCTAVO_TRY(const auto merges, source.get_strings(kMergesKey));
  OCTAVO_TRY(Bpe bpe, Bpe::create(vocab, merges, pre_tokenizer->ignore_merges(), source.name()));
  return ByteLevelBpe{std::move(*pre_tokenizer), std::move(bpe)};
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const ModelSource& source, std::string_view chat_template) {
  OCTAVO_TRY(Vocab vocab, Vocab::load(source));
  reserve_template_tokens(source, chat_template, vocab);
  bool default_add_bos = false;
  std::optional<std::variant<ByteLevelBpe, Spm, CharacterBpe>> algorithm;
  if (vocab.is_byte_level()) {
    OCTAVO_TRY(ByteLevelBpe bpe, load_byte_level_bpe(source, vocab));
    default_add_bos = bpe.pre_tokenizer.add_bos();
    algorithm = std::move(bpe);
  } else if (vocab.model() == TokenizerModel::kSpmWithMerges) {
    OCTAVO_TRY_VOID(require_words(source, kMergesKey));
    OCTAVO_TRY(const auto merges, source.get_strings(kMergesKey));
    OCTAVO_TRY(CharacterBpe bpe, CharacterBpe::create(vocab, merges, source.name()));
    default_add_bos = true;
    algorithm = std::move(bpe);
  } else {
    OCTAVO_TRY(Spm spm, Spm::create(vocab, source.name()));
    default_add_bos = true;
    algorithm = std::move(spm);
  }
  const auto* bpe = std::get_if<ByteLevelBpe>(&*algorithm);
  const TokenBound bound(vocab, bpe == nullptr ? std::array<bool, 256>{} : bpe->bpe.silent_bytes());
  auto impl = std::make_unique<Impl>(Impl{.vocab = std::move(vocab),
                                          .algorithm = std::move(*algorithm),
                                          .all_special = {},
                                          .user_defined = {},
                                          .bound = bound,
                                          .file = source.name(),
                                          .chat_template = ChatTemplate::load(source, chat_template)});
  OCTAVO_TRY_VOID(impl->read_flags(source, default_add_bos));
  impl->collect_special_tokens();
  std::string_view jinja = chat_template;
  if (jinja.empty()) jinja = source.get_string("tokenizer.chat_template").value_or(std::string_view());
  OCTAVO_TRY_VOID(impl->find_reasoning(jinja));
  std::optional<TokenId> by_template;
  if (impl->chat_template)
    by_template = end_by_template(*impl->chat_template, impl->named_tokens(), impl->all_special, impl->vocab);
  if (by_template) impl->vocab.set_end_of_generation(*by_template);
  impl->end_tokens = list_end_tokens(source, impl->vocab, by_template);
  return Tokenizer(std::move(impl));
}

Result<void> Tokenizer::Impl::read_flags(const ModelSource& source, bool default_add_bos) {
  const bool is_spm = !vocab.is_byte_level();
  OCTAVO_TRY(add_bos, read_flag(source, kAddBosKey, default_add_bos));
  OCTAVO_TRY(add_eos, read_flag(source, kAddEosKey, false));
  OCTAVO_TRY(add_space_prefix, read_flag(source, kAddSpacePrefixKey, is_spm));
  add_space_prefix = add_space_prefix && is_spm;  // byte-level files may carry the key; it says nothing there
  if (add_bos && !vocab.bos()) {
    return fail("{}: tokenizer.ggml.bos_token_id is missing, but {} (or its default) asks for BOS", file, kAddBosKey);
  }
  if (add_eos && !vocab.eos()) {
    return fail("{}: tokenizer.ggml.eos_token_id is missing, but {} asks for EOS", file, kAddEosKey);
  }
  return {};
}

void Tokenizer::Impl::collect_special_tokens() {
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (!vocab.is_control(id) && !vocab.is_user_defined(id)) continue;
    all_special.add(vocab.text(id), id);
    if (vocab.is_ordinary(id)) user_defined.add(vocab.text(id), id);
  }
}

/// The closing mark stands behind text, so its tokens are those behind a line break: at a text's beginning an SPM
/// vocabulary would write a space.
Result<void> Tokenizer::Impl::find_reasoning(std::string_view jinja) {
  reasoning = ReasoningMarks::find(jinja, vocab, all_special);
  if (!reasoning) return {};
  const std::string text = reasoning->closing_text(), behind_break = "\n" + text;
  for (const std::string& whole : {behind_break, text}) {
    std::vector<TokenId> ids;
    OCTAVO_TRY_VOID(encode_fragments(all_special.split(whole), kAnyNumber, ids));
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

bool Tokenizer::Impl::are_too_long(std::span<const std::string_view> texts, std::size_t max_tokens) const {
  // Normalization may make a text shorter.
  const auto* bpe = std::get_if<ByteLevelBpe>(&algorithm);
  const bool may_shrink = bpe != nullptr && bpe->pre_tokenizer.normalization() != Normalization::kNone;
  const std::size_t longest = bound.longest() * (may_shrink ? kMaxShrink : 1);
  std::size_t num_bytes = 0;
  for (const std::string_view text : texts) num_bytes += text.size();
  if (num_bytes / longest <= max_tokens) return false;
  num_bytes = 0;
  for (const std::string_view text : texts) {
    // Repairing may make a text shorter, and what it makes of it may be silent.
    if (is_valid_utf8(text)) num_bytes += bound.num_spoken(text);
  }
  return num_bytes / longest > max_tokens;
}

Result<void> Tokenizer::Impl::encode_bpe(const ByteLevelBpe& bpe, std::string_view text, std::size_t max_tokens,
                                         Bpe::Scratch& scratch, std::vector<TokenId>& ids) const {
  RepairedText repaired;
  if (!is_valid_utf8(text)) {
    repaired = repair_utf8(text);
    text = repaired.text;
  }
  std::string normalized;
  const Normalization normalization = bpe.pre_tokenizer.normalization();
  if (!is_surely_normalized(text, normalization)) {
    normalized = normalize(text, normalization);
    text = normalized;
    if (text.size() > kMaxTextBytes) {
      return fail("the text has {} bytes once it is normalized; at most {} can be tokenized", text.size(),
                  kMaxTextBytes);
    }
  }
  if (bound.exceeds(text, max_tokens - ids.size())) return too_many(max_tokens);
  const auto add_word = [&](std::uint32_t begin, std::uint32_t end) {
    bpe.bpe.encode(text.substr(begin, end - begin), scratch, ids);
    return ids.size() <= max_tokens;
  };
  OCTAVO_TRY_VOID(bpe.pre_tokenizer.for_each_word(text, add_word));
  return {};
}

Result<void> Tokenizer::Impl::encode_fragments(std::span<const Fragment> fragments, std::size_t max_tokens,
                                               std::vector<TokenId>& ids) const {
  Bpe::Scratch scratch;
  bool after_special = true;  // the start counts as such
  for (const Fragment& fragment : fragments) {
    if (fragment.token >= 0) {
      ids.push_back(fragment.token);
    } else if (const auto* bpe = std::get_if<ByteLevelBpe>(&algorithm)) {
      OCTAVO_TRY_VOID(encode_bpe(*bpe, fragment.text, max_tokens, scratch, ids));
    } else {
      const std::string escaped = escape_spaces(fragment.text, add_space_prefix && after_special);
      if (bound.exceeds(escaped, max_tokens - ids.size())) return too_many(max_tokens);
      if (const auto* spm = std::get_if<Spm>(&algorithm)) {
        spm->encode(vocab, escaped, ids);
      } else {
        std::get<CharacterBpe>(algorithm).encode(vocab, escaped, scratch, ids);
      }
    }
    if (ids.size() > max_tokens) return too_many(max_tokens);
    after_special = fragment.token >= 0;
  }
  return {};
}

void Tokenizer::Impl::add_bos_unless_there(std::vector<TokenId>& ids) const {
  if (add_bos && (ids.empty() || ids.front() != *vocab.bos())) ids.insert(ids.begin(), *vocab.bos());
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
  if (impl_->are_too_long({&text, 1}, max_tokens)) return too_many(max_tokens);
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(impl_->encode_fragments(impl_->special(options.parse_special).split(text), max_tokens, ids));
  if (options.add_special) {
    impl_->add_bos_unless_there(ids);
    if (impl_->add_eos) ids.push_back(*impl_->vocab.eos());
  }
  if (ids.size() > max_tokens) return too_many(max_tokens);
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
  const bool has_prefix = impl_->add_space_prefix && !is_special(id) && (!previous || is_special(*previous));
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

Result<std::vector<TokenId>> Tokenizer::apply_chat_template(std::span<const ChatMessage> messages,
                                                            const ChatTemplateOptions& options) const {
  OCTAVO_TRY(ChatPrompt prompt, chat_prompt(messages, options));
  return std::move(prompt.tokens);
}

Result<ChatPrompt> Tokenizer::chat_prompt(std::span<const ChatMessage> messages,
                                          const ChatTemplateOptions& options) const {
  const std::size_t max_tokens = options.max_tokens == 0 ? kAnyNumber : options.max_tokens;
  if (messages.size() > max_tokens) return too_many(max_tokens);  // each is at least one
  // Of what assistants say templates leave out some, as their reasoning; of others nothing.
  std::vector<std::string_view> contents;
  for (const ChatMessage& message : messages) {
    if (message.role == "assistant") continue;
    contents.emplace_back(message.content);
    contents.insert(contents.end(), message.parts.begin(), message.parts.end());
  }
  if (impl_->are_too_long(contents, max_tokens)) return too_many(max_tokens);
  OCTAVO_TRY(const std::vector<PromptPart> parts, impl_->render(messages, options));
  contents.clear();
  for (const PromptPart& part : parts)
    if (!part.is_template) contents.emplace_back(part.text);
  if (impl_->are_too_long(contents, max_tokens)) return too_many(max_tokens);

  const std::size_t num_bytes = prompt_bytes(parts);
  if (num_bytes > kMaxTextBytes) {
    return fail("the conversation has {} bytes; at most {} can be tokenized at once", num_bytes, kMaxTextBytes);
  }
  std::string text;
  const std::vector<Fragment> fragments = cut_prompt(parts, impl_->all_special, impl_->user_defined, text);
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(impl_->encode_fragments(fragments, max_tokens, ids));
  impl_->add_bos_unless_there(ids);
  if (ids.size() > max_tokens) return too_many(max_tokens);
  return ChatPrompt{.tokens = std::move(ids),
                    .ends_in_reasoning = impl_->reasoning && impl_->reasoning->end_inside(parts)};
}

}  // namespace octavo
