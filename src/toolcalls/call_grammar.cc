#include "toolcalls/call_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "toolcalls/gbnf_literal.h"

namespace octavo {
namespace {

constexpr std::string_view kAnyObject = R"({"type": "object"})";

using Places = std::vector<std::pair<std::string_view, std::string>>;

class CallGrammarWriter {
 public:
  using TokenOf = std::function<std::optional<TokenId>(std::string_view)>;

  CallGrammarWriter(const ToolFormat& format, const TokenOf& token_of) : format_(format) {
    for (const std::string_view text : format.tokens)
      if (const auto token = text.empty() ? std::nullopt : token_of(text)) tokens_.emplace_back(text, *token);
  }

  void add_tools(std::span<OfferedTool> tools, bool is_single) {
    std::string any;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      define(fmt::format("call-{}", i), call_of(tools[i], i));
      any += fmt::format("{}call-{}", i > 0 ? " | " : "", i);
    }
    define("call", any);
    const CallForm& form = format_.form;
    std::string calls = expand(form.open, {}) + " call";
    if (form.is_repeated && !is_single) calls += fmt::format(" ({} call)*", expand(form.between, {}));
    define("calls", calls + " " + expand(form.close, {}));
  }
  /// Adds the rules of the text that may stand before the calls, or without any.
  void add_content(const CallGrammarOptions& options) {
    if (!options.content_schema.empty()) {
      origin_ = options.content_origin;
      add_rule("content", ConstraintRule::Kind::kJsonSchema, {}, options.is_content_strict);
      rules_.back().schema = add_schema(options.content_schema);
      define("root", "content | calls");
      return;
    }
    if (format_.at_beginning) {
      define("root", "([^ \\t\\n\\r{[] .*)? | calls");
      return;
    }
    // A mark that is a token may have its text, too; one that begins otherwise than calls are written is none without
    // it.
    const char first = (format_.form.open.empty() ? format_.form.call : format_.form.open).front();
    std::vector<std::string> marks;
    for (const std::string_view open : format_.opens)
      if (open.starts_with(first)) marks.emplace_back(open);
    add_rule("free", ConstraintRule::Kind::kTextWithout, std::move(marks), false);
    define("root", "free calls?");
  }
  void must_call() { define("root", "calls"); }

  ConstraintSource take() {
    return {.kind = ConstraintKind::kGrammar,
            .text = std::move(text_),
            .rules = std::move(rules_),
            .schemas = std::move(schemas_)};
  }

 private:
  void define(std::string_view name, std::string_view body) { text_ += fmt::format("{} ::= {}\n", name, body); }
  void add_rule(std::string name, ConstraintRule::Kind kind, std::vector<std::string> texts, bool is_strict) {
    rules_.push_back(
        {.name = std::move(name), .kind = kind, .texts = std::move(texts), .origin = origin_, .is_strict = is_strict});
  }
  std::size_t add_schema(std::string schema) {
    schemas_.push_back(std::move(schema));
    return schemas_.size() - 1;
  }
  /// Adds the rules of a value in the format's notation of calls.
  void add_value(std::string name, std::size_t schema, std::string place, bool is_strict) {
    add_rule(std::move(name), ConstraintRule::Kind::kJsonSchema, {}, is_strict);
    ConstraintRule& rule = rules_.back();
    rule.schema = schema;
    rule.place = std::move(place);
    rule.notation = format_.form.notation;
    if (rule.notation != ValueNotation::kMarked) return;
    rule.texts.emplace_back(format_.form.mark);
    const auto token = std::ranges::find(tokens_, format_.form.mark, [](const auto& pair) { return pair.first; });
    if (token != tokens_.end()) rule.mark_token = token->second;
  }

  /// Writes a form as GBNF, with `places` put in and tokens written as tokens.
  std::string expand(std::string_view form, const Places& places) const {
    std::string out, run;
    const auto flush = [&] {
      if (!run.empty()) out += gbnf_literal(run) + " ";
      run.clear();
    };
    while (!form.empty()) {
      const auto starts = [form](const auto& pair) { return form.starts_with(pair.first); };
      if (const auto place = std::ranges::find_if(places, starts); place != places.end()) {
        flush();
        out += place->second + " ";
        form.remove_prefix(place->first.size());
      } else if (const auto token = std::ranges::find_if(tokens_, starts); token != tokens_.end()) {
        flush();
        out += fmt::format("<[{}]> ", token->second);
        form.remove_prefix(token->first.size());
      } else {
        run += form.front();
        form.remove_prefix(1);
      }
    }
    flush();
    return out;
  }

  std::string call_of(OfferedTool& tool, std::size_t index) {
    origin_ = tool.origin;
    Places places = {{"$NAME", gbnf_literal(tool.name)}, {"$INDEX", "[0-9]{1,3}"}};
    if (format_.form.call.contains("$ARGS")) {
      const std::string name = fmt::format("arguments-{}", index);
      add_value(name, add_schema(tool.takes_any ? std::string(kAnyObject) : std::move(tool.schema)), {},
                tool.is_strict);
      places.emplace_back("$ARGS", name);
    } else {
      places.emplace_back("$PARAMETERS", parameters_of(tool, index));
    }
    return expand(format_.form.call, places);
  }

  std::string parameters_of(OfferedTool& tool, std::size_t index) {
    std::vector<std::string> written;
    if (!tool.parameters.empty()) tool_schema_ = add_schema(std::move(tool.schema));
    written.reserve(tool.parameters.size());
    for (std::size_t i = 0; i < tool.parameters.size(); ++i)
      written.push_back(parameter_of(tool.parameters[i], fmt::format("value-{}-{}", index, i), tool.is_strict));
    if (!format_.form.between_parameters.empty()) return separated(tool, written, index);
    std::string all;
    for (std::size_t i = 0; i < written.size(); ++i)
      all += tool.parameters[i].is_required ? written[i] : "(" + written[i] + ")? ";
    return all;
  }

  /// Adds two chains of rules, from the last parameter to the first: after one written parameter, and after none.
  std::string separated(const OfferedTool& tool, std::span<const std::string> written, std::size_t index) {
    const std::string between = expand(format_.form.between_parameters, {});
    std::string behind = "\"\"", begun = behind;
    for (std::size_t i = written.size(); i-- > 0;) {
      const bool is_required = tool.parameters[i].is_required;
      const std::string first = written[i] + behind;
      const std::string next = between + written[i];
      const std::string begun_here = is_required ? first : fmt::format("{} | {}", first, begun);
      const std::string behind_here = fmt::format(fmt::runtime(is_required ? "{}{}" : "({})? {}"), next, behind);
      begun = fmt::format("first-{}-{}", index, i);
      behind = fmt::format("more-{}-{}", index, i);
      define(begun, begun_here);
      define(behind, behind_here);
    }
    return begun;
  }

  void add_parameter(const std::string& name, const OfferedParameter& parameter, bool is_strict) {
    const bool is_part = parameter.schema.empty();
    add_value(name, is_part ? tool_schema_ : add_schema(parameter.schema), is_part ? parameter.place : "", is_strict);
  }

  std::string parameter_of(const OfferedParameter& parameter, const std::string& name, bool is_strict) {
    const bool is_json = format_.form.notation == ValueNotation::kJson;
    const bool is_text = is_json && (parameter.types & kJsonString) != 0;
    std::string value = name;
    if (!is_json) {
      add_parameter(name, parameter, is_strict);
    } else if (!parameter.choices.empty()) {
      std::string choices;
      for (const std::string& choice : parameter.choices)
        choices += (choices.empty() ? "" : " | ") + gbnf_literal(choice);
      value = fmt::format("({})", choices);
    } else if (is_text && parameter.types == kJsonString && !parameter.pattern.empty()) {
      add_rule(name, ConstraintRule::Kind::kTextMatching, {parameter.pattern, end_mark()}, is_strict);
    } else if (is_text) {
      value = text_value();
    } else {
      add_parameter(name, parameter, is_strict);
    }
    return expand(
        format_.form.parameter,
        {{"$KEY", gbnf_literal(parameter.name)}, {"$KIND", is_text ? "\"true\"" : "\"false\""}, {"$VALUE", value}});
  }

  /// The mark after a value, at which its text ends wherever it stands.
  std::string end_mark() const {
    constexpr std::string_view kValue = "$VALUE";
    std::string_view behind = format_.form.parameter;
    behind.remove_prefix(behind.find(kValue) + kValue.size());
    behind.remove_prefix(behind.find('<'));
    return std::string(behind.substr(0, behind.find('>') + 1));
  }
  std::string text_value() {
    if (!std::exchange(has_text_value_, true))
      add_rule("text", ConstraintRule::Kind::kTextWithout, {end_mark()}, false);
    return "text";
  }

  const ToolFormat& format_;
  std::vector<std::pair<std::string_view, TokenId>> tokens_;  // the format's tokens that the vocabulary has
  std::string text_;
  std::vector<ConstraintRule> rules_;
  std::vector<std::string> schemas_;
  std::size_t tool_schema_ = 0;  // the schema of the tool whose parameters are written
  std::string origin_;           // the origin of the schema whose rules are written
  bool has_text_value_ = false;
};

}  // namespace

ConstraintSource call_grammar(const ToolFormat& format, std::vector<OfferedTool> tools,
                              const CallGrammarOptions& options,
                              const std::function<std::optional<TokenId>(std::string_view)>& token_of) {
  CallGrammarWriter writer(format, token_of);
  writer.add_tools(tools, options.is_single);
  if (options.must_call) {
    writer.must_call();
  } else {
    writer.add_content(options);
  }
  return writer.take();
}

}  // namespace octavo
