// A model's tokens and texts, made up: for tests of what stands between JSON and the engine.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/no_text.h"

namespace octavo::test {

/// Token i < 256 is byte i; then come the words below. kBos and kEnd are control tokens.
class FakeText final : public NoText {
 public:
  static constexpr TokenId kBos = 256, kEnd = 257, kHello = 258, kWorld = 259, kSmileBegin = 260, kSmileEnd = 261,
                           kGrin = 262, kAgain = 263;
  static constexpr std::array<std::string_view, 8> kWords = {
      "<bos>", "<end>", "Hello", " world", "\xF0\x9F", "\x98\x80", "\xF0\x9F\x98\x80", "Hello"};

  mutable ConstraintSource compiled = {};  // the last one
  mutable int num_compiled = 0;
  std::string compile_error = {};  // of each constraint, if there is one

  FakeText() {
    model.name = "Text";
    model.max_context = 100;
    model.num_tokens = 256 + static_cast<int>(kWords.size());
    model.vocab_size = model.num_tokens + 2;  // padded
  }

  /// Takes all but the text "wrong"; a text with "odd" in it gets a warning.
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                               const std::stop_token& = {}) const override {
    if (!compile_error.empty()) return std::unexpected(Error{compile_error});
    if (source.text == "wrong") return std::unexpected(Error{"found nonsense"});
    struct Kept final : Constraint {
      Kept(ConstraintSource from, std::vector<std::string> warnings)
          : Constraint(std::move(warnings)), source(std::move(from)) {}
      ConstraintSource source;
    };
    compiled = source;
    ++num_compiled;
    const bool is_odd = source.text.find("odd") != std::string::npos;
    return std::make_shared<const Kept>(
        source, is_odd ? std::vector<std::string>{"#/odd: \"it\""} : std::vector<std::string>());
  }
  /// One token a byte; BOS before it all, if asked for.
  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override {
    if (options.work != nullptr) OCTAVO_TRY_VOID(options.work->add_text(text.size()));
    std::vector<TokenId> tokens;
    if (options.add_special && adds_bos) tokens.push_back(kBos);
    while (!text.empty()) {
      TokenId id = static_cast<unsigned char>(text.front());
      if (options.parse_special && text.starts_with("<bos>")) id = kBos;
      if (options.parse_special && text.starts_with("<end>")) id = kEnd;
      tokens.push_back(id);
      text.remove_prefix(bytes_of(id).size());
    }
    return within(options.max_tokens, std::move(tokens));
  }
  std::string detokenize(std::span<const TokenId> tokens) const override {
    std::string text;
    for (const TokenId id : tokens) text += bytes_of(id);
    return text;
  }
  /// Not quite what the token adds to a text.
  std::string vocabulary_text(TokenId token) const override { return token == kBos ? "(bos)" : bytes_of(token); }
  /// BOS, then the text of conversation_text().
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                 const ChatTemplateOptions& options) const override {
    std::vector<TokenId> tokens = {kBos};
    for (const char c : conversation_text(messages, options)) tokens.push_back(static_cast<unsigned char>(c));
    last_messages = {messages.begin(), messages.end()};
    last_options = options;
    OCTAVO_TRY(std::vector<PromptPicture> pictures, pictures_in(messages, tokens));
    OCTAVO_TRY(tokens, within(options.max_tokens, std::move(tokens)));
    return ChatPrompt{.tokens = std::move(tokens),
                      .ends_in_reasoning = reasons(),
                      .pictures = std::move(pictures),
                      .warnings = picture_warnings};
  }
  /// BOS, then the texts, and '#' for each picture's tokens.
  Result<ChatPrompt> picture_prompt(std::span<const ContentPart> parts, const TokenizeOptions& options) const override {
    const ChatMessage message{.role = "", .content = "", .parts = {parts.begin(), parts.end()}};
    last_messages = {message};
    std::vector<TokenId> tokens;
    if (options.add_special) tokens.push_back(kBos);
    for (const ContentPart& part : parts)
      for (const char c : text_of(part)) tokens.push_back(static_cast<unsigned char>(c));
    OCTAVO_TRY(std::vector<PromptPicture> pictures, pictures_in(last_messages, tokens));
    OCTAVO_TRY(tokens, within(options.max_tokens, std::move(tokens)));
    return ChatPrompt{.tokens = std::move(tokens), .pictures = std::move(pictures), .warnings = picture_warnings};
  }
  /// "{name:text}" of each file that fits, "(prefix)suffix_".
  Result<InfillPrompt> infill_prompt(const InfillText& text, std::size_t max_tokens) const override {
    std::string prompt = "(" + text.prefix + ")" + text.suffix + "_";
    InfillPrompt made;
    for (std::size_t i = text.files.size(); i > 0; --i) {
      const std::string file = "{" + text.files[i - 1].name + ":" + text.files[i - 1].text + "}";
      if (prompt.size() + file.size() > max_tokens) {
        made.files_left_out = static_cast<int>(i);
        break;
      }
      prompt.insert(0, file);
    }
    for (const char c : prompt) made.tokens.push_back(static_cast<unsigned char>(c));
    if (made.tokens.size() > max_tokens) return fail_as(ErrorKind::kContextOverflow, "too many tokens");
    return made;
  }
  /// A token a byte, and kEnd behind them if asked for.
  Result<EmbeddingPrompt> embedding_prompt(std::string_view text,
                                           const EmbeddingPromptOptions& options) const override {
    OCTAVO_TRY(const std::string_view words, model.embedding.prompt_text(options.prompt_name));
    if (options.work != nullptr) OCTAVO_TRY_VOID(options.work->add_text(words.size() + text.size()));
    EmbeddingPrompt prompt;
    for (const char c : std::string(words) + std::string(text)) prompt.tokens.push_back(static_cast<unsigned char>(c));
    return cut(std::move(prompt), options);
  }
  /// "query|document"; the second has token type 1.
  Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) const override {
    queries.insert(options.query);
    EmbeddingPromptOptions plain = options;
    plain.prompt_name = "";
    OCTAVO_TRY(EmbeddingPrompt prompt, embedding_prompt(std::string(query) + "|" + std::string(document), plain));
    prompt.token_types.assign(prompt.tokens.size(), 1);
    std::fill_n(prompt.token_types.begin(), std::min(query.size() + 1, prompt.tokens.size()), std::uint8_t{0});
    return prompt;
  }
  /// The messages as chat_prompt() has them, without BOS, and a "|" where the prompt ends with the assistant's.
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options) const override {
    return conversation_text(messages, options) + (options.add_generation_prompt ? "|" : "");
  }

  bool adds_bos = false;
  std::size_t num_ends = 1;  // kEnd behind a text that vectors are made of
  /// From now on its model has marks of this family, and prompts end inside.
  void set_reasoning(std::string family) { model.reasoning = std::move(family); }
  bool reasons() const { return !model.reasoning.empty(); }
  /// From now on its template reads this of thinking.
  void set_thinking(ThinkingInfo thinking) { model.thinking = std::move(thinking); }
  void set_chat_template(std::string text) { model.chat_template = std::move(text); }
  void set_context(int tokens) { model.max_context = tokens; }
  /// From now on its model sees.
  void set_vision() { model.vision = {.family = "eyes", .min_tokens = 8, .max_tokens = 512, .most_tokens = 2048}; }
  /// From now on its model fills gaps.
  void set_fills_gaps() { model.fills_gaps = true; }
  /// The vectors that its model makes.
  EmbeddingInfo& embedding() { return model.embedding; }
  void set_name(std::string name, std::string architecture = "") {
    model.name = std::move(name);
    model.architecture = std::move(architecture);
  }
  /// From now on its model calls tools in this format.
  void set_tool_format(std::string name) { model.tool_format = std::move(name); }
  mutable std::set<const QueryTokens*> queries = {};    // that rank_prompt() was given
  mutable std::vector<ChatMessage> last_messages = {};  // that chat_prompt() was given
  mutable ChatTemplateOptions last_options = {};
  std::vector<std::string> picture_warnings = {};  // of each prompt of a chat

 private:
  /// A picture is so many of these tokens. One of the bytes "bad" is none, and one of the bytes "huge" is too large.
  static constexpr char kPicture = '#';
  static constexpr std::int32_t kPictureTokens = 3;
  static Result<std::vector<PromptPicture>> pictures_in(std::span<const ChatMessage> messages,
                                                        const std::vector<TokenId>& tokens) {
    std::vector<PromptPicture> pictures;
    for (const ChatMessage& message : messages) {
      for (const ContentPart& part : message.parts) {
        if (part.kind != ContentPart::Kind::kPicture) continue;
        const PictureInput& given = part.picture;
        if (*given.bytes == "bad") return fail_as(ErrorKind::kInvalidPicture, "{}: found no picture", given.place);
        if (*given.bytes == "huge") return fail_as(ErrorKind::kPictureTooLarge, "{}: found too much", given.place);
        const std::int32_t behind = pictures.empty() ? 0 : pictures.back().first + kPictureTokens;
        const auto first = std::find(tokens.begin() + behind, tokens.end(), TokenId{kPicture});
        pictures.push_back({.first = static_cast<std::int32_t>(first - tokens.begin()), .count = kPictureTokens});
      }
    }
    return pictures;
  }

  /// "role:content;" of each message and "name;" of each name.
  static std::string conversation_text(std::span<const ChatMessage> messages, const ChatTemplateOptions& options) {
    std::string text;
    for (const ChatMessage& message : messages) {
      text += message.role + ":" + message.content;
      for (std::size_t i = 0; i < message.parts.size(); ++i) text += (i > 0 ? "\n" : "") + text_of(message.parts[i]);
      text += ';';
    }
    for (const auto& [name, value] : options.names) text += name + ";";
    return text;
  }

  static std::string text_of(const ContentPart& part) {
    return part.kind == ContentPart::Kind::kPicture ? std::string(kPictureTokens, kPicture) : part.text;
  }

  Result<EmbeddingPrompt> cut(EmbeddingPrompt prompt, const EmbeddingPromptOptions& options) const {
    const std::size_t added = options.add_special ? num_ends : 0;
    if (options.max_tokens > 0 && added > options.max_tokens)
      return fail_as(ErrorKind::kContextOverflow, "no room for the end");
    prompt.is_cut = options.max_tokens > 0 && prompt.tokens.size() + added > options.max_tokens;
    if (prompt.is_cut && !options.cuts) return fail_as(ErrorKind::kContextOverflow, "too many tokens");
    if (prompt.is_cut) prompt.tokens.resize(options.max_tokens - added);
    prompt.tokens.insert(prompt.tokens.end(), added, kEnd);
    return prompt;
  }
  static Result<std::vector<TokenId>> within(std::size_t max_tokens, std::vector<TokenId> tokens) {
    if (max_tokens > 0 && tokens.size() > max_tokens) return fail_as(ErrorKind::kContextOverflow, "too many tokens");
    return tokens;
  }
  static std::string bytes_of(TokenId id) {
    return id < 256 ? std::string(1, static_cast<char>(id))
                    : std::string(kWords.at(static_cast<std::size_t>(id - 256)));
  }
};

}  // namespace octavo::test
