#include "tokenizer/json/tokenizer_json_parser.h"

#include <algorithm>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>

#include "base/text.h"
#include "json/json_cursor.h"
#include "json/json_handler.h"

namespace octavo {

namespace {

namespace json = boost::json;

class Builder : public JsonHandler {
 public:
  explicit Builder(ParsedTokenizerJson& out) : out_(out) { stack_.reset(); }

  json::value release() { return stack_.release(); }
  const std::string& refusal() const { return refusal_; }

  bool on_object_begin(ErrorCode& error) {
    ++depth_;
    if (place_ != Place::kRest) return refuse_kind(error);
    if (!is_member("vocab")) return true;
    if (!out_.vocabulary.empty()) return refuse("model.vocab: found it twice, expected it once", error);
    place_ = Place::kVocabulary;
    return true;
  }
  bool on_object_end(std::size_t num_members, ErrorCode& error) {
    --depth_;
    if (place_ == Place::kVocabulary) {
      place_ = Place::kRest;
      num_members = 0;
    }
    if (num_members > ParsedTokenizerJson::kLimits.max_members)
      return refuse(fmt::format("found an object of {} members, expected at most {}", num_members,
                                ParsedTokenizerJson::kLimits.max_members),
                    error);
    if (!count(error)) return false;
    stack_.push_object(num_members);
    return true;
  }
  bool on_array_begin(ErrorCode& error) {
    ++depth_;
    if (place_ == Place::kMerges && depth_ == kMemberDepth + 2) {
      num_halves_ = 0;
      return true;
    }
    if (place_ == Place::kPieces && depth_ == kMemberDepth + 2) {
      has_piece_text_ = has_piece_score_ = false;
      return true;
    }
    if (place_ != Place::kRest) return refuse_kind(error);
    if (is_member("vocab")) {
      if (!out_.vocabulary.empty()) return refuse("model.vocab: found it twice, expected it once", error);
      place_ = Place::kPieces;
      return true;
    }
    if (!is_member("merges")) return true;
    if (!out_.merges.empty()) return refuse("model.merges: found them twice, expected them once", error);
    place_ = Place::kMerges;
    return true;
  }
  bool on_array_end(std::size_t num_elements, ErrorCode& error) {
    --depth_;
    if (place_ == Place::kMerges && depth_ == kMemberDepth + 1) {
      return num_halves_ == 2 ? add_merge(halves_[0], halves_[1], error) : refuse_merge("no two texts", error);
    }
    if (place_ == Place::kPieces && depth_ == kMemberDepth + 1)
      return (has_piece_text_ && has_piece_score_) || refuse_piece("no score", error);
    if (place_ != Place::kRest) {
      place_ = Place::kRest;
      num_elements = 0;
    }
    if (!count(error)) return false;
    stack_.push_array(num_elements);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, ErrorCode&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, ErrorCode& error) {
    text_.append(part.data(), part.size());
    if (place_ == Place::kVocabulary) {
      token_ = out_.texts.keep(text_);
    } else {
      if (depth_ == 1) section_ = text_;
      if (depth_ == kMemberDepth) member_ = text_;
      stack_.push_key(text_);
    }
    text_.clear();
    return place_ == Place::kVocabulary || count(error);
  }
  bool on_string_part(json::string_view part, std::size_t, ErrorCode&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(json::string_view part, std::size_t, ErrorCode& error) {
    text_.append(part.data(), part.size());
    const bool goes_on = place_ == Place::kMerges   ? add_merge_text(error)
                         : place_ == Place::kPieces ? add_piece_text(error)
                                                    : add_text(error);
    text_.clear();
    return goes_on;
  }
  bool on_int64(std::int64_t number, json::string_view, ErrorCode& error) {
    if (place_ == Place::kRest) return add([&] { stack_.push_int64(number); }, error);
    if (place_ == Place::kPieces) return add_score(static_cast<double>(number), error);
    if (place_ == Place::kMerges) return refuse_kind(error);
    if (number < 0 || static_cast<std::uint64_t>(number) >= ParsedTokenizerJson::kMaxTokens)
      return refuse(fmt::format("model.vocab: {}: found the id {}, expected 0 to {}", quote(token_), number,
                                ParsedTokenizerJson::kMaxTokens - 1),
                    error);
    return add_token(token_, static_cast<std::uint32_t>(number), error);
  }
  bool on_uint64(std::uint64_t number, json::string_view, ErrorCode& error) {
    return place_ == Place::kRest ? add([&] { stack_.push_uint64(number); }, error) : refuse_kind(error);
  }
  bool on_double(double number, json::string_view text, ErrorCode& error) {
    if (place_ == Place::kPieces) {
      // The parser's number may differ in its last bits, and scores decide between tokens.
      std::from_chars(text.data(), text.data() + text.size(), number);
      return add_score(number, error);
    }
    return place_ == Place::kRest ? add([&] { stack_.push_double(number); }, error) : refuse_kind(error);
  }
  bool on_bool(bool value, ErrorCode& error) {
    return place_ == Place::kRest ? add([&] { stack_.push_bool(value); }, error) : refuse_kind(error);
  }
  bool on_null(ErrorCode& error) {
    return place_ == Place::kRest ? add([&] { stack_.push_null(); }, error) : refuse_kind(error);
  }

 private:
  enum class Place : std::uint8_t { kRest, kVocabulary, kPieces, kMerges };  // kPieces: the vocabulary of Unigram
  static constexpr std::size_t kMemberDepth = 2;                             // the depth of the members of "model"

  /// Whether the value that begins now is the member `name` of "model".
  bool is_member(std::string_view name) const {
    return depth_ == kMemberDepth + 1 && section_ == "model" && member_ == name;
  }

  bool refuse(std::string message, ErrorCode& error) {
    refusal_ = std::move(message);
    error = json::error::exception;  // any error, to end the parser
    return false;
  }
  bool refuse_kind(ErrorCode& error) {
    if (place_ == Place::kMerges) return refuse_merge("another value", error);
    if (place_ == Place::kPieces) return refuse_piece("another value", error);
    return refuse(fmt::format("model.vocab: {}: found no number, expected an id", quote(token_)), error);
  }
  bool refuse_merge(std::string_view found, ErrorCode& error) {
    return refuse(fmt::format("model.merges[{}]: found {}, expected two texts, or one with a space between them",
                              out_.merges.size(), found),
                  error);
  }

  bool refuse_piece(std::string_view found, ErrorCode& error) {
    return refuse(
        fmt::format("model.vocab[{}]: found {}, expected a text and its score", out_.vocabulary.size(), found), error);
  }

  bool count(ErrorCode& error) {
    if (++num_values_ <= ParsedTokenizerJson::kLimits.max_values) return true;
    return refuse(fmt::format("found more than {} values beside vocabulary and merges, expected at most as many",
                              ParsedTokenizerJson::kLimits.max_values),
                  error);
  }
  template <class Push>
  bool add(Push push, ErrorCode& error) {
    if (!count(error)) return false;
    push();
    return true;
  }
  bool add_text(ErrorCode& error) {
    if (place_ == Place::kVocabulary) return refuse_kind(error);
    return add([this] { stack_.push_string(text_); }, error);
  }

  bool add_token(std::string_view token, std::uint32_t id, ErrorCode& error) {
    if (out_.vocabulary.size() == ParsedTokenizerJson::kMaxTokens)
      return refuse(fmt::format("model.vocab: found more than {} tokens", ParsedTokenizerJson::kMaxTokens), error);
    out_.vocabulary.emplace_back(token, id);
    return true;
  }
  bool add_piece_text(ErrorCode& error) {
    if (depth_ != kMemberDepth + 2 || has_piece_text_) return refuse_piece("another text", error);
    has_piece_text_ = true;
    token_ = out_.texts.keep(text_);
    return true;
  }
  bool add_score(double score, ErrorCode& error) {
    if (depth_ != kMemberDepth + 2 || !has_piece_text_ || has_piece_score_)
      return refuse_piece("another number", error);
    has_piece_score_ = true;
    out_.scores.push_back(score);
    return add_token(token_, static_cast<std::uint32_t>(out_.vocabulary.size()), error);
  }

  bool add_merge(std::string_view left, std::string_view right, ErrorCode& error) {
    if (out_.merges.size() == ParsedTokenizerJson::kMaxMerges)
      return refuse(fmt::format("model.merges: found more than {}", ParsedTokenizerJson::kMaxMerges), error);
    out_.merges.push_back({left, right});
    return true;
  }
  bool add_merge_text(ErrorCode& error) {
    if (depth_ == kMemberDepth + 2) {
      if (num_halves_ == halves_.size()) return refuse_merge("more than two texts", error);
      halves_[num_halves_++] = out_.texts.keep(text_);
      return true;
    }
    const std::size_t space = text_.find(' ');
    if (space == std::string::npos || text_.find(' ', space + 1) != std::string::npos)
      return refuse_merge(quote(text_), error);
    const std::string_view kept = out_.texts.keep(text_);
    return add_merge(kept.substr(0, space), kept.substr(space + 1), error);
  }

  ParsedTokenizerJson& out_;
  json::value_stack stack_;
  Place place_ = Place::kRest;
  std::size_t depth_ = 0;
  std::size_t num_values_ = 0;
  std::string section_, member_;  // the keys that lead to the value
  std::string text_;              // the text that is being read
  std::string_view token_;        // a token of the vocabulary, whose id follows
  std::array<std::string_view, 2> halves_{};
  std::size_t num_halves_ = 0;
  bool has_piece_text_ = false, has_piece_score_ = false;
  std::string refusal_;
};

}  // namespace

std::string_view TextArena::keep(std::string_view text) {
  OCTAVO_CHECK(text.size() <= bytes_.capacity() - bytes_.size());
  const std::size_t begin = bytes_.size();
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  return {bytes_.data() + begin, text.size()};
}

Result<ParsedTokenizerJson> ParsedTokenizerJson::parse(std::string_view text, const std::string& file) {
  if (text.size() > kLimits.max_bytes)
    return fail("{}: found {} bytes, expected a tokenizer.json of at most {}", file, text.size(), kLimits.max_bytes);
  ParsedTokenizerJson parsed{.texts = TextArena(text.size())};  // a text is no longer than its JSON
  json::parse_options options;
  options.max_depth = kLimits.max_depth;
  json::basic_parser<Builder> parser(options, parsed);
  JsonHandler::ErrorCode error;
  const std::size_t used = read_whole_json(parser, text, error);
  if (!parser.handler().refusal().empty()) return fail("{}: {}", file, parser.handler().refusal());
  if (error == json::error::too_deep)
    return fail("{}: found JSON nested deeper than {} levels", file, kLimits.max_depth);
  if (error)
    return fail("{}: found no JSON, expected a tokenizer.json: {} near byte {} of {}", file, error.message(), used,
                text.size());
  json::value rest = parser.handler().release();
  if (!rest.is_object()) return fail("{}: found {}, expected an object", file, describe_json(rest));
  parsed.rest = std::move(rest.get_object());
  return parsed;
}

}  // namespace octavo
