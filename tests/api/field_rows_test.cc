// The rows of the fields: what each API and each path of tokens says of a field is how it reads it.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/fake_text.h"
#include "api/openai/openai_chat.h"
#include "api/tokenize_handler.h"

namespace octavo {
namespace {

namespace json = boost::json;
using test::FakeText;

const ServedModel kModel{.id = "text", .policy = {.embeds = true, .max_client_priority = 5}};

/// The fate of a body.
struct Read {
  std::optional<ApiError> error = {};
  Warnings warnings = {};
};

using Bodies = std::vector<std::string>;

/// A path that takes bodies. `bodies` are right ones, with the fields that are needed and no other, and `full` ones
/// have the lists whose elements rows describe; each row is read of one of them at least.
struct Way {
  std::string name;
  ApiFields fields;
  Bodies bodies;
  std::function<Read(const json::object&)> read;
  Bodies full = {};
};

const FakeText& words() {
  static const auto made = [] {
    auto words = std::make_unique<FakeText>();
    words->set_fills_gaps();
    words->set_vision();
    words->set_tool_format("hermes");
    words->set_name("Qwen3-Embedding");  // whose vectors may be cut
    words->embedding() = {.pooling = Pooling::kLast, .width = 8, .labels = {"yes", "no"}};
    return words;
  }();
  return *made;
}

const OwnResponses& no_responses() {
  static ResponseStore store{{}};
  static const OwnResponses none{.store = &store};
  return none;
}

template <class T>
Read read_of(ApiResult<T> result) {
  if (!result) return {.error = result.error()};
  if constexpr (requires { result->warnings; }) return {.warnings = result->warnings};
  return {};
}

Read tokenized(AnswerTokens answer, const json::object& body) {
  BufferBudget budget({.answer_bytes = 1 << 20, .all_bytes = 1 << 20});
  BufferedAnswer held(budget);
  return read_of(answer_by({.answer = answer, .body = body}, words(), kModel, held));
}

constexpr std::string_view kHi = R"({"messages": [{"role": "user", "content": "Hi"}]})";

Bodies openai_conversations() {
  return {R"({"messages": [{"role": "assistant", "content": [{"type": "text", "text": "Hi"}], "tool_calls": [
              {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}],
              "tools": [{"type": "function", "function": {"name": "f"}}]})",
          R"({"messages": [{"role": "tool", "content": [{"type": "refusal", "refusal": "Hi"}], "tool_call_id": "a"}],
              "tools": [{"type": "custom", "custom": {"name": "c", "format": {"type": "grammar", "grammar":
              {"syntax": "regex", "definition": "a"}}}}]})",
          R"({"messages": [{"role": "assistant", "tool_calls": [{"type": "custom", "custom":
              {"name": "c", "input": "a"}}]}]})",
          R"({"messages": [{"role": "assistant", "function_call": {"name": "f"}}], "functions": [{"name": "f"}]})",
          R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "b25l"}}]}]})",
          R"({"messages": [{"role": "user", "content": [{"type": "image", "image": "b25l"}]}]})"};
}

Bodies anthropic_messages() {
  return {
      R"({"max_tokens": 3, "messages": [{"role": "user", "content": "Hi"}]})",
      R"({"max_tokens": 3, "system": [{"type": "text", "text": "a"}],
              "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
              "tools": [{"name": "f"}], "tool_choice": {"type": "tool", "name": "f"}})",
      R"({"max_tokens": 3, "messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a"}]}]})",
      R"({"max_tokens": 3, "messages": [{"role": "user", "content": [
              {"type": "image", "source": {"type": "base64", "data": "b25l"}}]}]})",
      R"({"max_tokens": 3, "messages": [{"role": "assistant", "content": [
              {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]})",
      R"({"max_tokens": 3, "messages": [{"role": "user", "content": [
              {"type": "tool_result", "tool_use_id": "a", "content": "x"}]}]})"};
}

Bodies responses() {
  Bodies bodies;
  for (const std::string item : {R"("role": "user", "content": [{"type": "input_text", "text": "Hi"}])",
                                 R"("role": "user", "content": [{"type": "input_image", "image_url": "b25l"}])",
                                 R"("role": "assistant", "content": [{"type": "refusal", "refusal": "Hi"}])",
                                 R"("type": "function_call", "call_id": "a", "name": "f", "arguments": "{}")",
                                 R"("type": "custom_tool_call", "call_id": "a", "name": "c", "input": "x")",
                                 R"("type": "function_call_output", "call_id": "a", "output": "x")",
                                 R"("type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}])"})
    bodies.push_back(R"({"input": [{)" + item + "}]}");
  for (const std::string tool : {R"("type": "function", "name": "f")", R"("type": "custom", "name": "c")",
                                 R"("type": "namespace", "name": "s", "tools": [])"})
    bodies.push_back(R"({"input": "Hi", "tools": [{)" + tool + "}]}");
  return bodies;
}

/// Texts with pictures.
Bodies pictured(const std::string& field) {
  return {R"({")" + field + R"(": {"prompt_string": "<__media__>", "multimodal_data": ["b25l"]}})",
          R"({")" + field + R"(": {"content": [{"type": "text", "text": "a"}]}})"};
}

/// Bodies of an API with the lists whose elements its rows describe.
Bodies full_bodies_of(std::string_view api) {
  const Bodies openai = openai_conversations();
  if (api == "openai_chat") return openai;
  if (api == "ollama_chat") return {openai.at(0), openai.at(1)};
  if (api == "messages") return anthropic_messages();
  if (api == "responses") return responses();
  if (api == "openai_completion" || api == "llama_completion") return pictured("prompt");
  if (api == "openai_embedding") return pictured("input");
  if (api == "llama_embedding") return pictured("content");
  if (api == "llama_infill")
    return {R"({"input_prefix": "a", "input_suffix": "b", "input_extra": [{"filename": "a", "text": "b"}]})"};
  return {};
}

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const Api& api : all_apis()) {
    const std::string body(api.example);
    const Bodies full = full_bodies_of(api.name);
    all.push_back({.name = std::string(api.name),
                   .fields = api.fields(),
                   .bodies = {body},
                   .read =
                       [&api](const json::object& given) {
                         return read_of(parse_call(api, given, words(), kModel, no_responses()));
                       },
                   .full = full});
    if (api.counted.path.empty()) continue;
    all.push_back({.name = std::string(api.counted.path),
                   .fields = api.counted.fields(),
                   .bodies = {api.name == "messages" ? std::string(kHi) : body},
                   .read =
                       [&api](const json::object& given) {
                         return read_of(api.counted.read(
                             given, {.words = words(), .model = kModel, .responses = &no_responses()}));
                       },
                   .full = full});
  }
  const auto reads = [](AnswerTokens answer) {
    return [answer](const json::object& body) { return tokenized(answer, body); };
  };
  const std::string hi(kHi);
  const Bodies texts = {R"({"prompt": "Hi"})", R"({"content": "Hi"})", hi};
  const Bodies full = openai_conversations();
  all.push_back({"/apply-template", openai_conversation_fields(), {hi}, reads(answer_apply_template), full});
  all.push_back({"/tokenize", tokenize_fields(), texts, reads(answer_tokenize), full});
  all.push_back({"/detokenize", detokenize_fields(), {R"({"tokens": [65]})"}, reads(answer_detokenize)});
  return all;
}

/// The object that has the last name of a path, and that name; where a path goes through a list, its first element.
/// Null: there is none, unless it is made.
std::pair<json::object*, std::string_view> find_place(json::object& body, std::string_view path, bool is_made) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return {&body, path};
  std::string_view name = path.substr(0, dot);
  const bool is_list = name.ends_with(kElements);
  if (is_list) name.remove_suffix(kElements.size());
  json::value* member = body.if_contains(name);
  if (member == nullptr && is_made && !is_list) member = &(body[name] = json::object());
  if (member != nullptr && is_list)
    member = member->is_array() && !member->get_array().empty() ? &member->get_array().front() : nullptr;
  if (member == nullptr || !member->is_object()) return {nullptr, {}};
  return find_place(member->get_object(), path.substr(dot + 1), is_made);
}

/// Whether the row describes a part of what another row reads.
bool is_part(const ApiField& field) { return field.take == nullptr && field.use == FieldUse::kHonoured; }

/// The body with this value at a path. Nothing where the value would be a part of what the body does not have.
std::optional<json::object> with(json::object body, const ApiField& field, const json::value& value) {
  const auto [holder, name] = find_place(body, field.path, !is_part(field));
  if (holder == nullptr) return std::nullopt;
  (*holder)[name] = value;
  return body;
}

/// Values of another form, and beyond the bounds.
std::vector<json::value> wrong_values(const ApiField& field) {
  std::vector<json::value> wrong;
  switch (field.form) {
    case FieldForm::kInteger: wrong = {"x", 1.5, true}; break;
    case FieldForm::kNumber: wrong = {"x", true}; break;
    case FieldForm::kBoolean:
    case FieldForm::kArray: wrong = {"x", 5}; break;
    case FieldForm::kStrings: wrong = {"x", 5, json::array{5}}; break;
    case FieldForm::kString: wrong = {5, json::array()}; break;
    case FieldForm::kStringOrArray: wrong = {true, json::object()}; break;
    case FieldForm::kStringOrObject: wrong = {true, 5}; break;
    case FieldForm::kStringArrayOrObject: wrong = {true, 5}; break;
    case FieldForm::kBooleanOrObject: wrong = {"x", 5}; break;
    case FieldForm::kObject: wrong = {"x", 5}; break;
    case FieldForm::kAny: break;
  }
  if (!field.values.empty()) wrong.emplace_back("neither");
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a double is no next integer
  if (std::abs(field.min) < kExact) wrong.emplace_back(field.min - 1);
  if (std::abs(field.max) < kExact) wrong.emplace_back(field.max + 1);
  return wrong;
}

/// Values of every form, of which a field that is refused, ignored or a hint is asked for something by some.
const std::vector<json::value> kAnyValues = {
    true, false, "x", 5, -7, json::array{"x"}, json::array{1}, json::object{{"a", 1}}};

/// The path of a row as an error has it.
std::string shown(std::string_view path) {
  std::string shown;
  for (const char c : path) shown += c == '[' ? "[0" : std::string(1, c);
  return shown;
}

/// An element is named behind its field.
bool names(std::string_view param, const std::string& path) {
  return param == path || (param.starts_with(path) && param.substr(path.size()).starts_with('['));
}

void expect_refused(const Way& way, const ApiField& field, const json::value& wrong) {
  bool is_refused = false;
  const std::string path = shown(field.path);
  Bodies bodies = way.bodies;
  if (is_part(field)) bodies.insert(bodies.end(), way.full.begin(), way.full.end());
  for (const std::string& body : bodies) {
    const auto given = with(json::parse(body).as_object(), field, wrong);
    const Read read = given ? way.read(*given) : Read();
    if (!read.error) continue;
    is_refused = true;
    EXPECT_TRUE(names(read.error->param, path))
        << way.name << " " << path << " = " << wrong << ": " << read.error->param << ": " << read.error->message;
    EXPECT_THAT(read.error->message, ::testing::StartsWith(path)) << way.name;
  }
  EXPECT_TRUE(is_refused) << way.name << " " << path << " = " << wrong;
}

TEST(FieldRows, AWrongValueIsRefusedByThePathOfItsRow) {
  int num_values = 0;
  for (const Way& way : ways())
    for (const FieldTable table : way.fields)
      for (const ApiField& field : table) {
        if (field.use != FieldUse::kHonoured) continue;
        for (const json::value& wrong : wrong_values(field)) {
          expect_refused(way, field, wrong);
          ++num_values;
        }
      }
  EXPECT_GT(num_values, 1000);
}

TEST(FieldRows, WhatIsRefusedIgnoredOrAHintIsTreatedAsItsRowSays) {
  for (const Way& way : ways())
    for (const FieldTable table : way.fields)
      for (const ApiField& field : table) {
        if (field.use == FieldUse::kHonoured) continue;
        bool was_refused = false, was_warned_of = false, was_taken = false;
        for (const json::value& value : kAnyValues) {
          const Read read = way.read(with(json::parse(way.bodies.front()).as_object(), field, value).value());
          const std::string param = read.error ? read.error->param : std::string(field.path);
          EXPECT_TRUE(names(param, std::string(field.path))) << way.name << " " << field.path << ": " << param;
          was_refused |= read.error.has_value();
          was_taken |= !read.error && read.warnings.empty();
          for (const std::string& warning : read.warnings) was_warned_of |= warning.starts_with(field.path);
        }
        const bool is_as_said = field.use == FieldUse::kRefused   ? was_refused
                                : field.use == FieldUse::kIgnored ? was_warned_of
                                                                  : was_taken;
        EXPECT_TRUE(is_as_said) << way.name << " " << field.path;
      }
}

TEST(FieldRows, TheNeededFieldsAloneAreABody) {
  for (const Way& way : ways()) {
    std::set<std::string, std::less<>> needed;
    for (const FieldTable table : way.fields)
      for (const ApiField& field : table)
        if (field.is_needed && !field.path.contains('.')) needed.emplace(field.path);
    for (const std::string& body : way.full) {
      const Read read = way.read(json::parse(body).as_object());
      EXPECT_FALSE(read.error) << way.name << ": " << read.error->message;
    }
    for (const std::string& body : way.bodies) {
      const json::object right = json::parse(body).as_object();
      const Read read = way.read(right);
      EXPECT_FALSE(read.error) << way.name << ": " << read.error->message;
      for (const std::string& name : needed) {
        json::object lacking = right;
        ASSERT_EQ(lacking.erase(name), 1) << way.name << " " << name;
        const Read refused = way.read(lacking);
        EXPECT_TRUE(refused.error && refused.error->param == name) << way.name << " " << name;
      }
    }
  }
}

TEST(FieldRows, NoPathStandsTwiceInAnApisTables) {
  for (const Way& way : ways()) {
    std::set<std::string_view> paths;
    for (const FieldTable table : way.fields)
      for (const ApiField& field : table) EXPECT_TRUE(paths.insert(field.path).second) << way.name << " " << field.path;
  }
}

}  // namespace
}  // namespace octavo
