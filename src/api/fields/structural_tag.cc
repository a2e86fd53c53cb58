#include "api/fields/structural_tag.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "toolcalls/gbnf_literal.h"

namespace octavo {
namespace {

namespace json = boost::json;
using TokenOf = std::function<std::optional<TokenId>(std::string_view)>;

struct Tag {
  std::string begin = {}, schema = {}, end = {};
  std::string origin = {};  // where the schema stands in the body
};

struct TagSet {
  std::vector<std::string> triggers = {};
  std::vector<Tag> tags = {};
  bool at_least_one = false, stops_after_first = false;
};

/// The end of what may be a control token's text, such as "<|call|>", at the front of `text`; npos: there is none. As
/// no such text begins inside another, each byte of a mark is looked at once.
std::size_t token_end(std::string_view text) {
  if (text.front() != '<') return std::string_view::npos;
  const std::size_t end = text.find_first_of("<>", 1);
  return end != std::string_view::npos && text[end] == '>' ? end : std::string_view::npos;
}

/// The grammar of a mark: control tokens in it are matched as tokens, as an answer's text cannot spell them.
std::string mark(std::string_view text, const TokenOf& token_of) {
  std::string out, run;
  const auto flush = [&] {
    if (!std::exchange(run, {}).empty()) out += ' ';
  };
  while (!text.empty()) {
    const std::size_t close = token_end(text);
    const auto token = close == std::string_view::npos ? std::nullopt : token_of(text.substr(0, close + 1));
    if (token) {
      if (!run.empty()) out += gbnf_literal(run);
      flush();
      out += fmt::format("<[{}]> ", *token);
      text.remove_prefix(close + 1);
    } else {
      run += text.front();
      text.remove_prefix(1);
    }
  }
  if (!run.empty()) out += gbnf_literal(run);
  return out;
}

class TagReader {
 public:
  ApiResult<TagSet> read(const JsonCursor& tag) {
    const JsonCursor format = tag["format"];
    OCTAVO_TRY(const json::object* given, to_api_result(format.object()));
    if (given == nullptr) {
      OCTAVO_TRY_VOID(read_triggers(tag["triggers"]));
      OCTAVO_TRY_VOID(read_tags(tag["structures"], false));
      return std::move(set_);
    }
    OCTAVO_TRY(const auto type, to_api_result(format["type"].string()));
    if (type != "triggered_tags")
      return refused(format["type"].wrong_value("\"triggered_tags\"", "unsupported_parameter"));
    OCTAVO_TRY_VOID(read_triggers(format["triggers"]));
    OCTAVO_TRY_VOID(read_tags(format["tags"], true));
    OCTAVO_TRY(const auto at_least_one, to_api_result(format["at_least_one"].boolean()));
    OCTAVO_TRY(const auto stops_after_first, to_api_result(format["stop_after_first"].boolean()));
    set_.at_least_one = at_least_one.value_or(false);
    set_.stops_after_first = stops_after_first.value_or(false);
    return std::move(set_);
  }

 private:
  static ApiResult<std::size_t> count_of(const JsonCursor& list, std::size_t most) {
    const json::array* found = list.if_array();
    if (found == nullptr || found->empty() || found->size() > most)
      return refused(list.wrong_value(fmt::format("an array of 1 to {}", most)));
    return found->size();
  }

  static ApiResult<std::string> read_mark(const JsonCursor& given) {
    const std::string expected = fmt::format("a text of 1 to {} bytes", kMaxMarkBytes);
    OCTAVO_TRY(const std::string_view text, to_api_result(given.needed_string(expected)));
    if (text.empty() || text.size() > kMaxMarkBytes)
      return refused(given.error(fmt::format("found {} bytes, expected {}", text.size(), expected)));
    return std::string(text);
  }

  ApiResult<void> read_triggers(const JsonCursor& list) {
    OCTAVO_TRY(const std::size_t count, count_of(list, kMaxTriggers));
    for (std::size_t i = 0; i < count; ++i) {
      OCTAVO_TRY(set_.triggers.emplace_back(), read_mark(list[i]));
    }
    return {};
  }

  ApiResult<void> read_tags(const JsonCursor& list, bool has_content) {
    OCTAVO_TRY(const std::size_t count, count_of(list, kMaxStructures));
    for (std::size_t i = 0; i < count; ++i) {
      const JsonCursor given = list[i];
      OCTAVO_TRY_VOID(to_api_result(given.needed_object()));
      Tag tag;
      OCTAVO_TRY(tag.begin, read_mark(given["begin"]));
      OCTAVO_TRY(tag.end, read_mark(given["end"]));
      OCTAVO_TRY(const JsonCursor schema, has_content ? schema_in(given["content"]) : given["schema"]);
      if (schema.if_object() == nullptr && (!schema.is_given() || !schema.value()->is_bool()))
        return refused(schema.is_given() ? schema.wrong_type("a JSON schema")
                                         : schema.wrong_value("a JSON schema", "missing_required_parameter"));
      tag.schema = json::serialize(*schema.value());
      tag.origin = schema.path();
      const auto opens = [&tag](const std::string& trigger) { return tag.begin.starts_with(trigger); };
      if (std::ranges::none_of(set_.triggers, opens))
        return refused(given["begin"].error("expected a text that begins with one of the triggers"));
      set_.tags.push_back(std::move(tag));
    }
    return {};
  }

  static ApiResult<JsonCursor> schema_in(const JsonCursor& content) {
    OCTAVO_TRY_VOID(to_api_result(content.needed_object("an object with a JSON schema")));
    OCTAVO_TRY(const auto type, to_api_result(content["type"].string()));
    if (type != "json_schema") return refused(content["type"].wrong_value("json_schema", "unsupported_parameter"));
    return content["json_schema"];
  }

  TagSet set_ = {};
};

std::string root(const TagSet& set) {
  if (set.stops_after_first) return set.at_least_one ? "free tag" : "free tag?";
  return set.at_least_one ? "free tag (free tag)* free" : "free (tag free)*";
}

}  // namespace

ApiResult<ConstraintSource> structural_tag(const JsonCursor& tag, const TokenOf& token_of) {
  OCTAVO_TRY(TagSet set, TagReader().read(tag));
  ConstraintSource source{.kind = ConstraintKind::kGrammar, .text = fmt::format("root ::= {}\n", root(set))};
  std::string any;
  for (std::size_t i = 0; i < set.tags.size(); ++i) {
    Tag& one = set.tags[i];
    const std::string name = fmt::format("value-{}", i);
    source.text += fmt::format("tag-{} ::= {} {} {}\n", i, mark(one.begin, token_of), name, mark(one.end, token_of));
    any += fmt::format("{}tag-{}", i > 0 ? " | " : "", i);
    source.rules.push_back(
        {.name = name, .kind = ConstraintRule::Kind::kJsonSchema, .schema = i, .origin = std::move(one.origin)});
    source.schemas.push_back(std::move(one.schema));
  }
  source.text += fmt::format("tag ::= {}\n", any);
  source.rules.push_back(
      {.name = "free", .kind = ConstraintRule::Kind::kTextWithout, .texts = std::move(set.triggers)});
  return source;
}

}  // namespace octavo
