#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/stop_check.h"
#include "base/to_size.h"
#include "tokenizer/end_tokens.h"
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
  std::vector<EndToken> end_tokens = {};

  Result<void> read_flags(const ModelSource& source, bool default_add_bos);
  void collect_special_tokens();
  const SpecialTokens& special(bool parse_special) const { return parse_special ? all_special : user_defined; }
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
  auto impl =
      std::make_unique<Impl>(Impl{.vocab = std::move(vocab), .encoder = std::move(encoder), .file = source.name()});
  OCTAVO_TRY_VOID(impl->read_flags(source, own.adds_bos));
  impl->collect_special_tokens();
  impl->end_tokens = list_end_tokens(source, impl->vocab);
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
                                          .file = source.name()});
  impl->end_tokens = list_end_tokens(source, impl->vocab);
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
    add_prefix_unless_there(ids);
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
std::optional<TokenId> Tokenizer::eos() const { return impl_->vocab.eos(); }

void Tokenizer::add_end_token(TokenId id, std::string_view source) {
  impl_->vocab.set_end_of_generation(id);
  const auto place = std::ranges::upper_bound(impl_->end_tokens, id, {}, &EndToken::id);
  impl_->end_tokens.insert(place,
                           {.id = id, .text = std::string(impl_->vocab.text(id)), .source = std::string(source)});
}

const Vocab& Tokenizer::vocab() const { return impl_->vocab; }
const SpecialTokens& Tokenizer::template_tokens() const { return impl_->of_template; }

bool Tokenizer::are_too_long(std::span<const std::string_view> texts, std::size_t max_tokens) const {
  return impl_->encoder.are_too_long(texts, max_tokens);
}

Result<std::vector<TokenId>> Tokenizer::encode_prompt(std::span<const PromptPart> parts, std::size_t max_tokens) const {
  std::string text;
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(impl_->encoder.encode(impl_->vocab, cut_prompt(parts, impl_->of_template, impl_->user_defined, text),
                                        false, max_tokens, ids));
  return ids;
}

void Tokenizer::add_prefix_unless_there(std::vector<TokenId>& ids) const {
  const std::vector<TokenId>& prefix = impl_->prefix;
  const bool is_there = ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
  if (!is_there) ids.insert(ids.begin(), prefix.begin(), prefix.end());
}

}  // namespace octavo
