#include "api/structural_tag.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>
#include <vector>

#include "api/json_fields.h"
#include "toolcalls/gbnf_literal.h"

namespace octavo {
namespace {

namespace json = boost::json;
using TokenOf = std::function<std::optional<TokenId>(std::string_view)>;

struct Tag {
  std::string begin, schema, end;
  std::string origin;  // where the schema stands
};

struct TagSet {
  std::vector<std::string> triggers;
  std::vector<Tag> tags;
  bool at_least_one = false, stops_after_first = false;
};

/// A mark, with the tokens in it as such: control tokens have no text that an answer may have.
std::string mark(std::string_view text, const TokenOf& token_of) {
  std::string out, run;
  const auto flush = [&] {
    if (!std::exchange(run, {}).empty()) out += " ";
  };
  while (!text.empty()) {
    const std::size_t close = text.front() == '<' ? text.find('>') : std::string_view::npos;
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
  TagReader(const json::object& tag, std::string path) : fields_(tag, std::move(path)) {}

  ApiResult<TagSet> read() {
    const json::object* format = fields_.object("format");
    if (format == nullptr) {
      read_triggers(fields_);
      read_tags(fields_, "structures", false);
    } else {
      JsonFields inner(*format, fields_.path_of("format"));
      const auto type = inner.string("type");
      if (type != "triggered_tags")
        inner.refuse(unsupported(inner.path_of("type"),
                                 inner.path_of("type") + ": only \"triggered_tags\" is supported, expected that"));
      read_triggers(inner);
      read_tags(inner, "tags", true);
      set_.at_least_one = inner.boolean("at_least_one", false);
      set_.stops_after_first = inner.boolean("stop_after_first", false);
      if (inner.failed()) return std::unexpected(*inner.error());
    }
    if (fields_.failed()) return std::unexpected(*fields_.error());
    return std::move(set_);
  }

 private:
  const json::array* array(JsonFields& from, std::string_view name, std::size_t most) {
    const json::value* value = from.find(name);
    const json::array* found = value == nullptr ? nullptr : value->if_array();
    if (found == nullptr || found->empty() || found->size() > most) {
      from.refuse(invalid_value(from.path_of(name),
                                fmt::format("{}: found {}, expected an array of 1 to {}", from.path_of(name),
                                            value == nullptr ? "none" : describe_json(*value), most)));
      return nullptr;
    }
    return found;
  }

  static std::string text(JsonFields& from, std::string_view name) {
    const auto found = from.string(name);
    if (!found || found->empty() || found->size() > kMaxMarkBytes) {
      from.refuse(invalid_value(from.path_of(name),
                                fmt::format("{}: found {}, expected a text of 1 to {} bytes", from.path_of(name),
                                            found ? fmt::format("{} bytes", found->size()) : "none", kMaxMarkBytes)));
      return {};
    }
    return std::string(*found);
  }

  void read_triggers(JsonFields& from) {
    const json::array* triggers = array(from, "triggers", kMaxTriggers);
    if (triggers == nullptr) return;
    for (const json::value& trigger : *triggers) {
      const json::string* found = trigger.if_string();
      if (found == nullptr || found->empty() || found->size() > kMaxMarkBytes)
        return from.refuse(invalid_type(from.path_of("triggers"), "an array of texts", trigger));
      set_.triggers.emplace_back(*found);
    }
  }

  void read_tags(JsonFields& from, std::string_view name, bool has_content) {
    const json::array* tags = array(from, name, kMaxStructures);
    for (std::size_t i = 0; tags != nullptr && i < tags->size(); ++i) {
      const std::string path = fmt::format("{}[{}]", from.path_of(name), i);
      const json::object* object = (*tags)[i].if_object();
      if (object == nullptr) return from.refuse(invalid_type(path, "an object", (*tags)[i]));
      JsonFields inner(*object, path);
      Tag tag{.begin = text(inner, "begin"), .schema = {}, .end = text(inner, "end"), .origin = {}};
      const json::value* schema = has_content ? schema_of_content(inner) : inner.find("schema");
      if (schema != nullptr && (schema->is_object() || schema->is_bool())) {
        tag.schema = json::serialize(*schema);
        tag.origin = inner.path_of(has_content ? "content" : "schema") + (has_content ? ".json_schema" : "");
      } else {
        inner.refuse(inner[has_content ? "content" : "schema"].error("found none, expected a JSON schema",
                                                                     "missing_required_parameter"));
      }
      const auto opens = [&tag](const std::string& trigger) { return tag.begin.starts_with(trigger); };
      if (std::ranges::none_of(set_.triggers, opens))
        inner.refuse(invalid_value(inner.path_of("begin"),
                                   inner.path_of("begin") + ": expected a text that begins with one of the triggers"));
      if (inner.failed()) return from.refuse(*inner.error());
      set_.tags.push_back(std::move(tag));
    }
  }

  static const json::value* schema_of_content(JsonFields& from) {
    const json::object* content = from.object("content");
    const json::value* type = content == nullptr ? nullptr : content->if_contains("type");
    if (type == nullptr || *type != "json_schema") return nullptr;
    return content->if_contains("json_schema");
  }

  JsonFields fields_;
  TagSet set_;
};

std::string root(const TagSet& set) {
  if (set.stops_after_first) return set.at_least_one ? "free tag" : "free tag?";
  return set.at_least_one ? "free tag (free tag)* free" : "free (tag free)*";
}

}  // namespace

ApiResult<ConstraintSource> structural_tag(const json::object& tag, const std::string& path, const TokenOf& token_of) {
  auto set = TagReader(tag, path).read();
  if (!set) return std::unexpected(std::move(set.error()));
  ConstraintSource source{.kind = ConstraintKind::kGrammar, .text = fmt::format("root ::= {}\n", root(*set))};
  std::string any;
  for (std::size_t i = 0; i < set->tags.size(); ++i) {
    Tag& one = set->tags[i];
    const std::string name = fmt::format("value-{}", i);
    source.text += fmt::format("tag-{} ::= {} {} {}\n", i, mark(one.begin, token_of), name, mark(one.end, token_of));
    any += fmt::format("{}tag-{}", i > 0 ? " | " : "", i);
    source.rules.push_back(
        {.name = name, .kind = ConstraintRule::Kind::kJsonSchema, .schema = i, .origin = std::move(one.origin)});
    source.schemas.push_back(std::move(one.schema));
  }
  source.text += fmt::format("tag ::= {}\n", any);
  source.rules.push_back(
      {.name = "free", .kind = ConstraintRule::Kind::kTextWithout, .texts = std::move(set->triggers)});
  return source;
}

}  // namespace octavo
