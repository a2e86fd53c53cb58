#include "tokenizer/json/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/mapped_file.h"
#include "base/text.h"
#include "base/to_size.h"
#include "tokenizer/json/json_node.h"
#include "tokenizer/json/tokenizer_json_pipeline.h"
#include "tokenizer/words/byte_level.h"
#include "tokenizer/words/special_tokens.h"

namespace octavo {

namespace {

using Become = UnknownCharacters::Become;
using Index = std::unordered_map<std::string_view, TokenId>;  // of the model's own tokens

/// Reads the parts of one file, each when those that it needs are known.
class Reader {
 public:
  Reader(ParsedTokenizerJson parsed, const std::string& file)
      : rest_(std::move(parsed.rest)), vocabulary_(std::move(parsed.vocabulary)), root_(rest_, file) {
    out_ = {.file = file,
            .texts = std::move(parsed.texts),
            .merges = std::move(parsed.merges),
            .scores = std::move(parsed.scores)};
  }

  Result<TokenizerJson> read() {
    // Truncation and padding are a caller's settings, which `transformers` turns off.
    OCTAVO_TRY_VOID(root_.expect_only({"version", "truncation", "padding", "added_tokens", "normalizer",
                                       "pre_tokenizer", "post_processor", "decoder", "model"}));
    OCTAVO_TRY(const JsonNode version_node, root_.field("version"));
    OCTAVO_TRY(const std::string_view version, version_node.text());
    if (version != "1.0") return version_node.expect("1.0");
    OCTAVO_TRY(const JsonNode model, root_.field("model"));
    OCTAVO_TRY_VOID(read_type(model));
    OCTAVO_TRY(out_.pipeline, read_pipeline(root_));
    if (out_.pipeline.decodes_word_pieces != (out_.model == JsonModel::kWordPiece))
      return model.refuse(
          fmt::format("decoder WordPiece {}, and a model that says otherwise", out_.pipeline.decodes_word_pieces),
          "them equal");
    OCTAVO_TRY_VOID(place_tokens(model));
    OCTAVO_TRY_VOID(read_model(model));
    OCTAVO_TRY_VOID(read_added_tokens());
    OCTAVO_TRY_VOID(check_around());
    return std::move(out_);
  }

 private:
  Result<void> read_type(const JsonNode& model) {
    OCTAVO_TRY(const auto type_node, model.find("type"));
    std::string_view type = "BPE";  // GPT-2's own file has no type
    if (type_node) {
      OCTAVO_TRY(type, type_node->text());
    }
    if (type == "BPE") return check_bpe(model);
    OCTAVO_TRY(const JsonNode vocab, model.field("vocab"));
    if (type == "WordPiece") {
      out_.model = JsonModel::kWordPiece;
      OCTAVO_TRY_VOID(
          model.expect_only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}));
      return vocab.is_object() ? Result<void>() : vocab.expect("an object");
    }
    if (type != "Unigram") return type_node->expect("BPE, WordPiece or Unigram");
    out_.model = JsonModel::kUnigram;
    OCTAVO_TRY_VOID(model.expect_only({"type", "unk_id", "vocab", "byte_fallback"}));
    return vocab.items() ? Result<void>() : vocab.expect("an array");
  }

  static Result<void> check_bpe(const JsonNode& model) {
    OCTAVO_TRY_VOID(
        model.expect_only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                           "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
    OCTAVO_TRY(const auto dropout, model.find("dropout"));
    if (dropout) return dropout->expect("null: ids would be another each time");
    for (const std::string_view name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      OCTAVO_TRY(const auto node, model.find(name));
      if (!node) continue;
      OCTAVO_TRY(const std::string_view text, node->text());
      if (!text.empty()) return node->expect("none");
    }
    OCTAVO_TRY(const JsonNode vocab, model.field("vocab"));
    if (!vocab.is_object()) return vocab.expect("an object");
    OCTAVO_TRY(const JsonNode merges, model.field("merges"));
    return merges.items() ? Result<void>() : merges.expect("an array");
  }

  Result<void> place_tokens(const JsonNode& model) {
    if (vocabulary_.empty()) return model.refuse("no token in vocab", "at least one");
    index_.reserve(vocabulary_.size());
    std::size_t num_ids = 0;
    for (const auto& [text, id] : vocabulary_) num_ids = std::max<std::size_t>(num_ids, id + 1);
    out_.tokens.resize(num_ids);
    for (const auto& [text, id] : vocabulary_) {
      if (text.empty()) continue;  // no text becomes it
      if (!out_.tokens[id].empty())
        return model.refuse(fmt::format("{} and {} with the id {} in vocab", quote(out_.tokens[id]), quote(text), id),
                            "an id for each");
      if (!index_.emplace(text, static_cast<TokenId>(id)).second)
        return model.refuse(fmt::format("{} twice in vocab", quote(text)), "it once");
      out_.tokens[id] = text;
    }
    return {};
  }

  /// The rest of the model, which needs its tokens.
  Result<void> read_model(const JsonNode& model) {
    switch (out_.model) {
      case JsonModel::kBpe: return read_bpe(model);
      case JsonModel::kWordPiece: return read_word_piece(model);
      case JsonModel::kUnigram: return read_unigram(model);
    }
    return {};
  }

  Result<void> read_word_piece(const JsonNode& model) {
    OCTAVO_TRY(const JsonNode unknown_node, model.field("unk_token"));
    OCTAVO_TRY(const std::string_view unknown, unknown_node.text());
    out_.unknown = {.become = Become::kUnknown, .token = find(unknown)};
    if (out_.unknown.token < 0) return unknown_node.expect("a token of vocab");
    OCTAVO_TRY(const JsonNode prefix_node, model.field("continuing_subword_prefix"));
    OCTAVO_TRY(const std::string_view prefix, prefix_node.text());
    if (prefix.empty()) return prefix_node.expect("a text, as '##'");
    out_.continuation = prefix;
    OCTAVO_TRY(const JsonNode most_node, model.field("max_input_chars_per_word"));
    OCTAVO_TRY(out_.max_word_characters, most_node.number(kMaxWordCharacters));
    return {};
  }

  Result<void> read_unigram(const JsonNode& model) {
    if (out_.pipeline.is_byte_level) return model.refuse("Unigram with ByteLevel", "one of them");
    OCTAVO_TRY(const JsonNode unknown_node, model.field("unk_id"));
    OCTAVO_TRY(const std::uint32_t unknown, unknown_node.number(ParsedTokenizerJson::kMaxTokens));
    if (unknown >= out_.tokens.size() || out_.tokens[unknown].empty()) return unknown_node.expect("the id of a token");
    OCTAVO_TRY(const bool falls_back, model.flag_of("byte_fallback"));
    note_missing_byte();
    OCTAVO_TRY_VOID(check_fallback(model, falls_back));
    out_.unknown = {.become = falls_back ? Become::kBytes : Become::kOneUnknown,
                    .token = static_cast<TokenId>(unknown)};
    return {};
  }

  Result<void> read_bpe(const JsonNode& model) {
    OCTAVO_TRY_VOID(read_unknown(model));
    OCTAVO_TRY(out_.ignores_merges, model.flag_of("ignore_merges"));
    if (out_.ignores_merges && !out_.pipeline.is_byte_level)
      return model.refuse("ignore_merges without ByteLevel", "both, or none");
    return {};
  }

  TokenId find(std::string_view text) const {
    const auto entry = index_.find(text);
    return entry == index_.end() ? -1 : entry->second;
  }

  void note_missing_byte() {
    const ByteAlphabet alphabet;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::string token = out_.pipeline.is_byte_level
                                    ? std::string(alphabet.character(static_cast<std::uint8_t>(byte)))
                                    : fmt::format("<0x{:02X}>", byte);
      if (find(token) < 0) missing_byte_ = token;
    }
  }

  Result<void> check_fallback(const JsonNode& model, bool falls_back) const {
    if (falls_back && !missing_byte_.empty())
      return model.refuse(fmt::format("byte_fallback without a token {}", quote(missing_byte_)), "one for each byte");
    if (!out_.pipeline.is_byte_level && out_.pipeline.decodes_bytes != falls_back)
      return model.refuse(fmt::format("byte_fallback {}, and a decoder that says otherwise", falls_back), "them equal");
    return {};
  }

  Result<void> read_unknown(const JsonNode& model) {
    OCTAVO_TRY(const std::string_view unknown, model.text_of("unk_token"));
    OCTAVO_TRY(const bool fuses, model.flag_of("fuse_unk"));
    OCTAVO_TRY(const bool falls_back, model.flag_of("byte_fallback"));
    note_missing_byte();
    OCTAVO_TRY_VOID(check_fallback(model, falls_back));
    const bool all_bytes = missing_byte_.empty() && (falls_back || out_.pipeline.is_byte_level);
    if (all_bytes) return {};
    if (unknown.empty()) {
      out_.unknown = {.become = Become::kNothing};
      return {};
    }
    out_.unknown = {.become = fuses ? Become::kOneUnknown : Become::kUnknown, .token = find(unknown)};
    if (out_.unknown.token < 0)
      return model.refuse(fmt::format("unk_token {}, which is no token", quote(unknown)), "one of vocab");
    if (fuses && out_.pipeline.is_byte_level)
      return model.refuse(fmt::format("fuse_unk, and no token {}", quote(missing_byte_)), "a token for each byte");
    return {};
  }

  Result<void> read_added_tokens() {
    OCTAVO_TRY(const auto list, root_.find("added_tokens"));
    if (!list) return {};
    OCTAVO_TRY(const auto items, list->items());
    std::unordered_map<std::string, TokenId> ids;
    std::vector<bool> is_taken;
    for (const JsonNode& item : items) {
      OCTAVO_TRY(JsonAddedToken token, read_added_token(item));
      if (token.text.empty()) continue;  // `tokenizers` leaves these out
      if (!ids.emplace(token.text, token.id).second)
        return item.refuse(fmt::format("{} twice", quote(token.text)), "it once");
      if (to_size(token.id) >= is_taken.size()) is_taken.resize(to_size(token.id) + 1);
      if (is_taken[to_size(token.id)]) return item.refuse(fmt::format("the id {} twice", token.id), "it once");
      is_taken[to_size(token.id)] = true;
      out_.added_tokens.push_back(std::move(token));
    }
    std::ranges::sort(out_.added_tokens, {}, &JsonAddedToken::id);
    return {};
  }

  Result<JsonAddedToken> read_added_token(const JsonNode& item) const {
    OCTAVO_TRY_VOID(item.expect_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    OCTAVO_TRY(const JsonNode content, item.field("content"));
    OCTAVO_TRY(const std::string_view text, content.text());
    OCTAVO_TRY(const JsonNode id_node, item.field("id"));
    OCTAVO_TRY(const std::uint32_t number, id_node.number(ParsedTokenizerJson::kMaxTokens - 1));
    const auto id = static_cast<TokenId>(number);
    OCTAVO_TRY(const bool is_single_word, item.flag_of("single_word"));
    if (is_single_word)
      return item.refuse(fmt::format("single_word of {}", quote(text)), "false: no family that Octavo computes has it");
    if (text.size() > SpecialTokens::kMaxBytes)
      return content.refuse(fmt::format("{} bytes", text.size()), fmt::format("at most {}", SpecialTokens::kMaxBytes));
    const TokenId known = find(text);
    if (known >= 0 && known != id) return id_node.expect(fmt::format("{}, the id of {} in vocab", known, quote(text)));
    if (known < 0 && number < out_.tokens.size() && !out_.tokens[number].empty())
      return item.refuse(
          fmt::format("the id {} of {}, which is {} in vocab", id, quote(text), quote(out_.tokens[number])),
          "another id");
    OCTAVO_TRY(const bool strips_left, item.flag_of("lstrip"));
    OCTAVO_TRY(const bool strips_right, item.flag_of("rstrip"));
    OCTAVO_TRY(const bool is_normalized, item.flag_of("normalized"));
    OCTAVO_TRY(const bool is_special, item.flag_of("special"));
    return JsonAddedToken{std::string(text), id, strips_left, strips_right, is_normalized, is_special};
  }

  /// Tokens that post_processor writes must be some.
  Result<void> check_around() const {
    const TextFrame& frame = out_.pipeline.frame;
    std::vector<TokenId> ids = frame.prefix;
    ids.insert(ids.end(), frame.suffix.begin(), frame.suffix.end());
    if (frame.pair) {
      for (const auto* tokens : {&frame.pair->before, &frame.pair->between, &frame.pair->behind})
        for (const FrameToken& token : *tokens) ids.push_back(token.id);
    }
    for (const TokenId id : ids) {
      if (to_size(id) >= out_.num_ids())
        return root_.refuse(fmt::format("the id {} in post_processor", id), fmt::format("0 to {}", out_.num_ids() - 1));
    }
    return {};
  }

  boost::json::value rest_;
  std::vector<std::pair<std::string_view, std::uint32_t>> vocabulary_;
  JsonNode root_;
  Index index_;
  static constexpr std::uint32_t kMaxWordCharacters = 1000;  // bounds the walks of WordPiece::encode()

  std::string missing_byte_;  // the token that one of the bytes lacks; empty: none does
  TokenizerJson out_{.file = {}, .texts = TextArena(0)};
};

}  // namespace

std::size_t TokenizerJson::num_ids() const {
  const std::size_t added = added_tokens.empty() ? 0 : to_size(added_tokens.back().id) + 1;
  return std::max(tokens.size(), added);
}

Result<TokenizerJson> TokenizerJson::parse(std::string_view text, const std::string& file) {
  OCTAVO_TRY(ParsedTokenizerJson parsed, ParsedTokenizerJson::parse(text, file));
  return Reader(std::move(parsed), file).read();
}

Result<TokenizerJson> TokenizerJson::open(const std::filesystem::path& path) {
  OCTAVO_TRY(const MappedFile map, MappedFile::open(path));
  const std::size_t size = map.bytes().size();
  if (size > ParsedTokenizerJson::kLimits.max_bytes) {
    return fail("{}: found {} bytes, expected a tokenizer.json of at most {}", path.string(), size,
                ParsedTokenizerJson::kLimits.max_bytes);
  }
  std::string text(size, '\0');
  OCTAVO_TRY_VOID(map.read(0, std::as_writable_bytes(std::span(text))));
  return parse(text, path.string());
}

}  // namespace octavo
