#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/stop_check.h"
#include "tokenizer/end_tokens.h"
#include "tokenizer/gguf_encoder.h"
#include "tokenizer/json/json_word_source.h"
#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/json_encoder.h"
#include "tokenizer/template_tokens.h"
#include "tokenizer/text_encoder.h"

namespace octavo {

namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kHuggingFaceKey = "tokenizer.huggingface.json";

Result<void> check_size(std::string_view text) {
  if (text.size() <= Tokenizer::kMaxTextBytes) return {};
  return fail("the text has {} bytes; at most {} can be tokenized at once", text.size(), Tokenizer::kMaxTextBytes);
}

Result<void> count_text(RequestWork* work, std::size_t bytes) {
  return work == nullptr ? Result<void>() : work->add_text(bytes);
}

/// The room for tokens of a text beside `num_around` others. Error: there is no room for these.
Result<std::size_t> room_in(std::size_t num_around, const FrameOptions& options) {
  if (options.max_tokens >= num_around) return options.max_tokens - num_around;
  return fail_as(ErrorKind::kContextOverflow, "found room for {} tokens, expected at least the {} around a text",
                 options.max_tokens, num_around);
}

void append_first(const std::vector<TokenId>& ids, std::size_t count, std::vector<TokenId>& out) {
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, ids.size())));
}

/// How many tokens are kept of two texts with so many, as truncation of `tokenizers` does it (longest_first): a text of
/// less than half the room is kept whole; an odd token of room goes to the longer text, or to the second where both are
/// longer than the room, since encoding has stopped before it could compare them.
std::pair<std::size_t, std::size_t> shares(std::size_t first, std::size_t second, std::size_t room) {
  if (first <= room && second <= room - first) return {first, second};
  const std::size_t half = room / 2;
  const std::size_t larger = room - half;
  if (first > second) return second <= half ? std::pair(room - second, second) : std::pair(larger, half);
  return first <= half ? std::pair(first, room - first) : std::pair(half, larger);
}

}  // namespace

struct Tokenizer::Impl {
  Vocab vocab;
  TextEncoder encoder;
  SpecialTokens of_template{};   // all special tokens, as a template writes them
  SpecialTokens all_special{};   // the tokens that any text may become: control and user-defined ones
  SpecialTokens user_defined{};  // the user-defined tokens that any text may become, a message's content too
  TextFrame frame{};             // the tokens around a text, or two
  bool strips_space = false;     // whether decoded text begins without the space of its first word
  std::vector<EndToken> end_tokens = {};

  void collect_special_tokens();
  const SpecialTokens& special(bool parse_special) const { return parse_special ? all_special : user_defined; }
  /// The tokens of a text without a frame: at most `room`, or at least one more where there are more. Errors: those of
  /// encode().
  Result<std::vector<TokenId>> encode_up_to(std::string_view text, std::size_t room, const FrameOptions& options) const;
};

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
  OCTAVO_TRY(GgufEncoder own, read_gguf_encoder(source, vocab));
  OCTAVO_TRY_VOID(go_on());
  OCTAVO_TRY(TextFrame frame, read_text_frame(source, vocab, own.defaults));
  TextEncoder encoder(std::move(own.parts), vocab);
  auto impl = std::make_unique<Impl>(Impl{.vocab = std::move(vocab),
                                          .encoder = std::move(encoder),
                                          .frame = std::move(frame),
                                          .strips_space = own.strips_space});
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
                                          .frame = words.pipeline.frame,
                                          .strips_space = words.pipeline.strips_space});
  impl->end_tokens = list_end_tokens(source, impl->vocab);
  return Tokenizer(std::move(impl));
}

void Tokenizer::Impl::collect_special_tokens() {
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (!vocab.is_control(id) && !vocab.is_user_defined(id)) continue;
    all_special.add(vocab.text(id), id);
    if (vocab.is_ordinary(id)) user_defined.add(vocab.text(id), id);
  }
  of_template = all_special;
}

Result<std::vector<TokenId>> Tokenizer::Impl::encode_up_to(std::string_view text, std::size_t room,
                                                           const FrameOptions& options) const {
  OCTAVO_TRY_VOID(check_size(text));
  const TooMany too_many = options.cuts ? TooMany::kStop : TooMany::kRefuse;
  if (!options.cuts && encoder.are_too_long({&text, 1}, room)) return too_many_tokens(options.max_tokens);
  OCTAVO_TRY_VOID(count_text(options.work, text.size()));
  std::vector<TokenId> ids;
  const auto encoded = encoder.encode(vocab, special(options.parse_special).split(text), options.parse_special,
                                      {.max_tokens = room, .too_many = too_many, .work = options.work}, ids);
  if (encoded) return ids;
  const bool is_long = encoded.error().kind == ErrorKind::kContextOverflow;
  return is_long ? too_many_tokens(options.max_tokens) : std::unexpected(encoded.error());
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

int Tokenizer::vocab_size() const { return impl_->vocab.size(); }

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const TokenizeOptions& options) const {
  OCTAVO_TRY_VOID(check_size(text));
  const std::size_t max_tokens = options.max_tokens == 0 ? kAnyNumber : options.max_tokens;
  if (impl_->encoder.are_too_long({&text, 1}, max_tokens)) return too_many_tokens(max_tokens);
  OCTAVO_TRY_VOID(count_text(options.work, text.size()));
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(impl_->encoder.encode(impl_->vocab, impl_->special(options.parse_special).split(text),
                                        options.parse_special, {.max_tokens = max_tokens, .work = options.work}, ids));
  if (options.add_special) {
    add_prefix_unless_there(ids);
    ids.insert(ids.end(), impl_->frame.suffix.begin(), impl_->frame.suffix.end());
  }
  if (ids.size() > max_tokens) return too_many_tokens(max_tokens);
  return ids;
}

Result<FramedText> Tokenizer::encode_framed(std::string_view text, const FrameOptions& options) const {
  const TextFrame& frame = impl_->frame;
  OCTAVO_TRY(const std::size_t room, room_in(frame.prefix.size() + frame.suffix.size(), options));
  OCTAVO_TRY(const auto ids, impl_->encode_up_to(text, room, options));
  FramedText result{.ids = frame.prefix, .is_cut = ids.size() > room};
  append_first(ids, room, result.ids);
  result.ids.insert(result.ids.end(), frame.suffix.begin(), frame.suffix.end());
  result.types.assign(result.ids.size(), frame.pair ? frame.pair->first_type : std::uint8_t{0});
  return result;
}

Result<std::size_t> Tokenizer::room_of_pair(const FrameOptions& options) const {
  if (!has_pairs()) return fail("the vocabulary has no form for two texts, as [CLS] and [SEP] around and between them");
  const PairFrame& frame = *impl_->frame.pair;
  return room_in(frame.before.size() + frame.between.size() + frame.behind.size(), options);
}

Result<FramedText> Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                          const FrameOptions& options) const {
  OCTAVO_TRY(const std::vector<TokenId> first_ids, encode_first(first, options));
  return encode_second(first_ids, second, options);
}

Result<std::vector<TokenId>> Tokenizer::encode_first(std::string_view first, const FrameOptions& options) const {
  OCTAVO_TRY(const std::size_t room, room_of_pair(options));
  return impl_->encode_up_to(first, room, options);
}

Result<FramedText> Tokenizer::encode_second(const std::vector<TokenId>& first_ids, std::string_view second,
                                            const FrameOptions& options) const {
  OCTAVO_TRY(const std::size_t room, room_of_pair(options));
  if (!options.cuts && first_ids.size() > room) return too_many_tokens(options.max_tokens);
  const PairFrame& frame = *impl_->frame.pair;
  const std::size_t left = options.cuts ? room : room - first_ids.size();
  OCTAVO_TRY(const auto second_ids, impl_->encode_up_to(second, left, options));
  const auto [num_first, num_second] = shares(first_ids.size(), second_ids.size(), room);
  FramedText result{.is_cut = num_first < first_ids.size() || num_second < second_ids.size()};
  const auto append_frame = [&result](const std::vector<FrameToken>& tokens) {
    for (const FrameToken& token : tokens) {
      result.ids.push_back(token.id);
      result.types.push_back(token.type);
    }
  };
  append_frame(frame.before);
  append_first(first_ids, num_first, result.ids);
  result.types.resize(result.ids.size(), frame.first_type);
  append_frame(frame.between);
  append_first(second_ids, num_second, result.ids);
  result.types.resize(result.ids.size(), frame.second_type);
  append_frame(frame.behind);
  return result;
}

bool Tokenizer::has_pairs() const { return impl_->frame.pair.has_value(); }

std::string_view Tokenizer::token_bytes(TokenId id) const {
  OCTAVO_CHECK(id >= 0 && id < vocab_size(), "token {} of {}", id, vocab_size());
  return impl_->vocab.bytes(id);
}

std::string_view Tokenizer::bytes_after(std::optional<TokenId> previous, TokenId id) const {
  std::string_view bytes = token_bytes(id);
  const Vocab& vocab = impl_->vocab;
  // Unknown words stand in the text, and the space of the next word is kept.
  const auto is_special = [&vocab](TokenId token) {
    return (vocab.is_control(token) && !vocab.is_unknown(token)) || vocab.is_user_defined(token);
  };
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
std::span<const TokenId> Tokenizer::text_prefix() const { return impl_->frame.prefix; }
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

Result<std::vector<TokenId>> Tokenizer::encode_prompt(std::span<const PromptPart> parts, std::size_t max_tokens,
                                                      RequestWork* work) const {
  OCTAVO_TRY_VOID(count_text(work, prompt_bytes(parts)));
  std::string text;
  std::vector<TokenId> ids;
  OCTAVO_TRY_VOID(impl_->encoder.encode(impl_->vocab, cut_prompt(parts, impl_->of_template, impl_->user_defined, text),
                                        false, {.max_tokens = max_tokens, .work = work}, ids));
  return ids;
}

void Tokenizer::add_prefix_unless_there(std::vector<TokenId>& ids) const {
  const std::vector<TokenId>& prefix = impl_->frame.prefix;
  const bool is_there = ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
  if (!is_there) ids.insert(ids.begin(), prefix.begin(), prefix.end());
}

}  // namespace octavo
