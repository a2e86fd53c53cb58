#include "tokenizer/json/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/mapped_file.h"
#include "base/text.h"
#include "base/to_size.h"
#include "json/json_cursor.h"
#include "tokenizer/json/tokenizer_json_pipeline.h"
#include "tokenizer/words/byte_level.h"
#include "tokenizer/words/special_tokens.h"

namespace octavo {

namespace {

using Become = UnknownCharacters::Become;
using Index = std::unordered_map<std::string_view, TokenId>;  // the ids of the model's own tokens

/// Reads the parts of a file, each after the parts that it needs.
class Reader {
 public:
  Reader(ParsedTokenizerJson parsed, const std::string& file)
      : rest_(std::move(parsed.rest)),
        vocabulary_(std::move(parsed.vocabulary)),
        place_(file + ": "),
        root_(rest_, place_) {
    out_ = {.file = file,
            .texts = std::move(parsed.texts),
            .merges = std::move(parsed.merges),
            .scores = std::move(parsed.scores)};
  }

  JsonResult<TokenizerJson> read() {
    // Truncation and padding are a caller's settings, which `transformers` turns off.
    OCTAVO_TRY_VOID(root_.expect_only({"version", "truncation", "padding", "added_tokens", "normalizer",
                                       "pre_tokenizer", "post_processor", "decoder", "model"}));
    const JsonCursor version_node = root_["version"];
    OCTAVO_TRY(const std::string_view version, version_node.needed_string());
    if (version != "1.0") return std::unexpected(version_node.wrong_value("1.0"));
    const JsonCursor model = root_["model"];
    OCTAVO_TRY_VOID(read_type(model));
    OCTAVO_TRY(out_.pipeline, read_pipeline(root_));
    if (out_.pipeline.decodes_word_pieces != (out_.model == JsonModel::kWordPiece))
      return std::unexpected(model.wrong(
          fmt::format("decoder WordPiece {}, and a model that says otherwise", out_.pipeline.decodes_word_pieces),
          "them equal"));
    OCTAVO_TRY_VOID(place_tokens(model));
    OCTAVO_TRY_VOID(read_model(model));
    OCTAVO_TRY_VOID(read_added_tokens());
    OCTAVO_TRY_VOID(check_around());
    return std::move(out_);
  }

 private:
  JsonResult<void> read_type(const JsonCursor& model) {
    OCTAVO_TRY(const std::string_view type, model["type"].string_or("BPE"));  // GPT-2's own file has no type
    if (type == "BPE") return check_bpe(model);
    const JsonCursor vocab = model["vocab"];
    if (type == "WordPiece") {
      out_.model = JsonModel::kWordPiece;
      OCTAVO_TRY_VOID(
          model.expect_only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}));
      OCTAVO_TRY_VOID(vocab.needed_object());
      return {};
    }
    if (type != "Unigram") return std::unexpected(model["type"].wrong_value("BPE, WordPiece or Unigram"));
    out_.model = JsonModel::kUnigram;
    OCTAVO_TRY_VOID(model.expect_only({"type", "unk_id", "vocab", "byte_fallback"}));
    OCTAVO_TRY_VOID(vocab.needed_array("an array"));
    return {};
  }

  static JsonResult<void> check_bpe(const JsonCursor& model) {
    OCTAVO_TRY_VOID(
        model.expect_only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                           "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
    const JsonCursor dropout = model["dropout"];
    if (dropout.is_given()) return std::unexpected(dropout.wrong_value("null: ids would be another each time"));
    for (const std::string_view name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      OCTAVO_TRY(const std::string_view text, model[name].string_or(""));
      if (!text.empty()) return std::unexpected(model[name].wrong_value("none"));
    }
    const JsonCursor vocab = model["vocab"];
    OCTAVO_TRY_VOID(vocab.needed_object());
    const JsonCursor merges = model["merges"];
    OCTAVO_TRY_VOID(merges.needed_array("an array"));
    return {};
  }

  JsonResult<void> place_tokens(const JsonCursor& model) {
    if (vocabulary_.empty()) return std::unexpected(model.wrong("no token in vocab", "at least one"));
    index_.reserve(vocabulary_.size());
    std::size_t num_ids = 0;
    for (const auto& [text, id] : vocabulary_) num_ids = std::max<std::size_t>(num_ids, id + 1);
    out_.tokens.resize(num_ids);
    for (const auto& [text, id] : vocabulary_) {
      if (text.empty()) continue;  // no text becomes this token
      if (!out_.tokens[id].empty())
        return std::unexpected(
            model.wrong(fmt::format("{} and {} with the id {} in vocab", quote(out_.tokens[id]), quote(text), id),
                        "an id for each"));
      if (!index_.emplace(text, static_cast<TokenId>(id)).second)
        return std::unexpected(model.wrong(fmt::format("{} twice in vocab", quote(text)), "it once"));
      out_.tokens[id] = text;
    }
    return {};
  }

  /// Reads the rest of the model, which needs its tokens.
  JsonResult<void> read_model(const JsonCursor& model) {
    switch (out_.model) {
      case JsonModel::kBpe: return read_bpe(model);
      case JsonModel::kWordPiece: return read_word_piece(model);
      case JsonModel::kUnigram: return read_unigram(model);
    }
    return {};
  }

  JsonResult<void> read_word_piece(const JsonCursor& model) {
    const JsonCursor unknown_node = model["unk_token"];
    OCTAVO_TRY(const std::string_view unknown, unknown_node.needed_string());
    out_.unknown = {.become = Become::kUnknown, .token = find(unknown)};
    if (out_.unknown.token < 0) return std::unexpected(unknown_node.wrong_value("a token of vocab"));
    const JsonCursor prefix_node = model["continuing_subword_prefix"];
    OCTAVO_TRY(const std::string_view prefix, prefix_node.needed_string());
    if (prefix.empty()) return std::unexpected(prefix_node.wrong_value("a text, as '##'"));
    out_.continuation = prefix;
    OCTAVO_TRY(const std::int64_t most, model["max_input_chars_per_word"].needed_integer(0, kMaxWordCharacters));
    out_.max_word_characters = to_size(most);
    return {};
  }

  JsonResult<void> read_unigram(const JsonCursor& model) {
    if (out_.pipeline.is_byte_level) return std::unexpected(model.wrong("Unigram with ByteLevel", "one of them"));
    const JsonCursor unknown_node = model["unk_id"];
    OCTAVO_TRY(const std::int64_t unknown_id, unknown_node.needed_integer(0, kMaxTokens));
    const std::size_t unknown = to_size(unknown_id);
    if (unknown >= out_.tokens.size() || out_.tokens[unknown].empty())
      return std::unexpected(unknown_node.wrong_value("the id of a token"));
    OCTAVO_TRY(const bool falls_back, model["byte_fallback"].boolean_or(false));
    note_missing_byte();
    OCTAVO_TRY_VOID(check_fallback(model, falls_back));
    out_.unknown = {.become = falls_back ? Become::kBytes : Become::kOneUnknown,
                    .token = static_cast<TokenId>(unknown)};
    return {};
  }

  JsonResult<void> read_bpe(const JsonCursor& model) {
    OCTAVO_TRY_VOID(read_unknown(model));
    OCTAVO_TRY(out_.ignores_merges, model["ignore_merges"].boolean_or(false));
    if (out_.ignores_merges && !out_.pipeline.is_byte_level)
      return std::unexpected(model.wrong("ignore_merges without ByteLevel", "both, or none"));
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

  JsonResult<void> check_fallback(const JsonCursor& model, bool falls_back) const {
    if (falls_back && !missing_byte_.empty())
      return std::unexpected(
          model.wrong(fmt::format("byte_fallback without a token {}", quote(missing_byte_)), "one for each byte"));
    if (!out_.pipeline.is_byte_level && out_.pipeline.decodes_bytes != falls_back)
      return std::unexpected(
          model.wrong(fmt::format("byte_fallback {}, and a decoder that says otherwise", falls_back), "them equal"));
    return {};
  }

  JsonResult<void> read_unknown(const JsonCursor& model) {
    OCTAVO_TRY(const std::string_view unknown, model["unk_token"].string_or(""));
    OCTAVO_TRY(const bool fuses, model["fuse_unk"].boolean_or(false));
    OCTAVO_TRY(const bool falls_back, model["byte_fallback"].boolean_or(false));
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
      return std::unexpected(
          model.wrong(fmt::format("unk_token {}, which is no token", quote(unknown)), "one of vocab"));
    if (fuses && out_.pipeline.is_byte_level)
      return std::unexpected(
          model.wrong(fmt::format("fuse_unk, and no token {}", quote(missing_byte_)), "a token for each byte"));
    return {};
  }

  JsonResult<void> read_added_tokens() {
    const JsonCursor list = root_["added_tokens"];
    OCTAVO_TRY(const boost::json::array* items, list.array("an array of tokens"));
    std::unordered_map<std::string, TokenId> ids;
    std::vector<bool> is_taken;
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
      const JsonCursor item = list[i];
      OCTAVO_TRY(JsonAddedToken token, read_added_token(item));
      if (token.text.empty()) continue;  // `tokenizers` leaves such tokens out
      if (!ids.emplace(token.text, token.id).second)
        return std::unexpected(item.wrong(fmt::format("{} twice", quote(token.text)), "it once"));
      if (to_size(token.id) >= is_taken.size()) is_taken.resize(to_size(token.id) + 1);
      if (is_taken[to_size(token.id)])
        return std::unexpected(item.wrong(fmt::format("the id {} twice", token.id), "it once"));
      is_taken[to_size(token.id)] = true;
      out_.added_tokens.push_back(std::move(token));
    }
    std::ranges::sort(out_.added_tokens, {}, &JsonAddedToken::id);
    return {};
  }

  JsonResult<JsonAddedToken> read_added_token(const JsonCursor& item) const {
    OCTAVO_TRY_VOID(item.expect_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    const JsonCursor content = item["content"];
    OCTAVO_TRY(const std::string_view text, content.needed_string());
    const JsonCursor id_node = item["id"];
    OCTAVO_TRY(const std::int64_t id_number, id_node.needed_integer(0, kMaxTokens - 1));
    const std::size_t number = to_size(id_number);
    const auto id = static_cast<TokenId>(number);
    OCTAVO_TRY(const bool is_single_word, item["single_word"].boolean_or(false));
    if (is_single_word)
      return std::unexpected(
          item.wrong(fmt::format("single_word of {}", quote(text)), "false: no family that Octavo computes has it"));
    if (text.size() > SpecialTokens::kMaxBytes)
      return std::unexpected(
          content.wrong(fmt::format("{} bytes", text.size()), fmt::format("at most {}", SpecialTokens::kMaxBytes)));
    const TokenId known = find(text);
    if (known >= 0 && known != id)
      return std::unexpected(id_node.wrong_value(fmt::format("{}, the id of {} in vocab", known, quote(text))));
    if (known < 0 && number < out_.tokens.size() && !out_.tokens[number].empty())
      return std::unexpected(
          item.wrong(fmt::format("the id {} of {}, which is {} in vocab", id, quote(text), quote(out_.tokens[number])),
                     "another id"));
    OCTAVO_TRY(const bool strips_left, item["lstrip"].boolean_or(false));
    OCTAVO_TRY(const bool strips_right, item["rstrip"].boolean_or(false));
    OCTAVO_TRY(const bool is_normalized, item["normalized"].boolean_or(false));
    OCTAVO_TRY(const bool is_special, item["special"].boolean_or(false));
    return JsonAddedToken{std::string(text), id, strips_left, strips_right, is_normalized, is_special};
  }

  /// Checks that the tokens which post_processor writes exist.
  JsonResult<void> check_around() const {
    const TextFrame& frame = out_.pipeline.frame;
    std::vector<TokenId> ids = frame.prefix;
    ids.insert(ids.end(), frame.suffix.begin(), frame.suffix.end());
    if (frame.pair) {
      for (const auto* tokens : {&frame.pair->before, &frame.pair->between, &frame.pair->behind})
        for (const FrameToken& token : *tokens) ids.push_back(token.id);
    }
    for (const TokenId id : ids) {
      if (to_size(id) >= out_.num_ids())
        return std::unexpected(
            root_.wrong(fmt::format("the id {} in post_processor", id), fmt::format("0 to {}", out_.num_ids() - 1)));
    }
    return {};
  }

  boost::json::object rest_;
  std::vector<std::pair<std::string_view, std::uint32_t>> vocabulary_;
  std::string place_;
  JsonCursor root_;
  Index index_;
  static constexpr std::int64_t kMaxTokens = ParsedTokenizerJson::kMaxTokens;
  static constexpr std::int64_t kMaxWordCharacters = 1000;  // it bounds the walks of WordPiece::encode()

  std::string missing_byte_;  // the token of a byte that is missing; empty: none is
  TokenizerJson out_{.file = {}, .texts = TextArena(0)};
};

}  // namespace

std::size_t TokenizerJson::num_ids() const {
  const std::size_t added = added_tokens.empty() ? 0 : to_size(added_tokens.back().id) + 1;
  return std::max(tokens.size(), added);
}

Result<TokenizerJson> TokenizerJson::parse(std::string_view text, const std::string& file) {
  OCTAVO_TRY(ParsedTokenizerJson parsed, ParsedTokenizerJson::parse(text, file));
  return to_result(Reader(std::move(parsed), file).read());
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
