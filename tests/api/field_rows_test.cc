// The rows of the fields: what each API and each path of tokens says of a field is how it reads it.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/openai_chat.h"
#include "api/text_engine.h"
#include "api/tokenize_handler.h"

namespace octavo {
namespace {

namespace json = boost::json;
using test::TextEngine;

const ServedModel kModel{.id = "text", .max_client_priority = 5};

/// The fate of a body.
struct Read {
  std::optional<ApiError> error = {};
  std::vector<std::string> warnings = {};
};

/// A path that takes bodies. `bodies` are right ones, with the fields that are needed and no other; each row is read of
/// one of them at least.
struct Way {
  std::string name;
  ApiFields fields;
  std::vector<std::string> bodies;
  std::function<Read(const json::object&)> read;
};

const TextEngine& engine() {
  static const auto made = [] {
    auto engine = std::make_unique<TextEngine>();
    engine->set_fills_gaps();
    engine->set_tool_format("hermes");
    return engine;
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

Read tokenized(TokenizeCall::Kind kind, const json::object& body) {
  HeldBudget budget({.answer_bytes = 1 << 20, .all_bytes = 1 << 20});
  HeldAnswer held(budget);
  return read_of(answer_tokenize({.kind = kind, .body = body}, engine(), kModel, held));
}

/// The bodies of an API; a new one needs a line here.
std::string body_of(const std::string& api) {
  static const std::map<std::string, std::string, std::less<>> bodies = {
      {"openai_chat", R"({"messages": [{"role": "user", "content": "Hi"}]})"},
      {"openai_completion", R"({"prompt": "Hi"})"},
      {"messages", R"({"max_tokens": 3, "messages": [{"role": "user", "content": "Hi"}]})"},
      {"responses", R"({"input": "Hi"})"},
      {"llama_completion", R"({"prompt": "Hi"})"},
      {"llama_infill", R"({"input_prefix": "a", "input_suffix": "b"})"},
      {"ollama_chat", R"({"messages": [{"role": "user", "content": "Hi"}]})"},
      {"ollama_generate", R"({"prompt": "Hi"})"}};
  const auto found = bodies.find(api);
  EXPECT_NE(found, bodies.end()) << api;
  return found == bodies.end() ? "{}" : found->second;
}

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const Api& api : all_apis()) {
    const std::string body = body_of(std::string(api.name));
    all.push_back({std::string(api.name), api.fields(), {body}, [&api](const json::object& given) {
                     return read_of(parse_call(api, given, engine(), kModel, no_responses()));
                   }});
    if (api.counted.path.empty()) continue;
    const bool needs_length = api.name == "messages";
    all.push_back({std::string(api.counted.path),
                   api.counted.fields(),
                   {needs_length ? body_of("openai_chat") : body},
                   [&api](const json::object& given) {
                     return read_of(
                         api.counted.read(given, {.engine = engine(), .model = kModel, .responses = &no_responses()}));
                   }});
  }
  using Kind = TokenizeCall::Kind;
  const std::string chat = body_of("openai_chat");
  all.push_back({"/apply-template", openai_conversation_fields(), {chat}, [](const json::object& body) {
                   return tokenized(Kind::kApplyTemplate, body);
                 }});
  all.push_back({"/tokenize",
                 tokenize_fields(),
                 {R"({"prompt": "Hi"})", R"({"content": "Hi"})", chat},
                 [](const json::object& body) { return tokenized(Kind::kTokenize, body); }});
  all.push_back({"/detokenize", detokenize_fields(), {R"({"tokens": [65]})"}, [](const json::object& body) {
                   return tokenized(Kind::kDetokenize, body);
                 }});
  return all;
}

/// The body with this value at a path.
json::object with(const json::object& body, std::string_view path, const json::value& value) {
  json::object made = body;
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    made[path] = value;
    return made;
  }
  json::value& member = made[path.substr(0, dot)];
  if (!member.is_object()) member = json::object();
  member = with(member.get_object(), path.substr(dot + 1), value);
  return made;
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
    case FieldForm::kObject: wrong = {"x", 5}; break;
    case FieldForm::kAny: break;
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a double is no next integer
  if (std::abs(field.min) < kExact) wrong.emplace_back(field.min - 1);
  if (std::abs(field.max) < kExact) wrong.emplace_back(field.max + 1);
  return wrong;
}

/// Values of every form, of which a field that is refused, ignored or a hint is asked for something by some.
const std::vector<json::value> kAnyValues = {
    true, false, "x", 5, -7, json::array{"x"}, json::array{1}, json::object{{"a", 1}}};

/// An element is named behind its field.
bool names(std::string_view param, std::string_view path) {
  return param == path || (param.starts_with(path) && param.substr(path.size()).starts_with('['));
}

void expect_refused(const Way& way, const ApiField& field, const json::value& wrong) {
  bool is_refused = false;
  for (const std::string& body : way.bodies) {
    const Read read = way.read(with(json::parse(body).as_object(), field.path, wrong));
    if (!read.error) continue;
    is_refused = true;
    EXPECT_TRUE(names(read.error->param, field.path))
        << way.name << " " << field.path << " = " << wrong << ": " << read.error->param << ": " << read.error->message;
    EXPECT_THAT(read.error->message, ::testing::StartsWith(std::string(field.path))) << way.name;
  }
  EXPECT_TRUE(is_refused) << way.name << " " << field.path << " = " << wrong;
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
          const Read read = way.read(with(json::parse(way.bodies.front()).as_object(), field.path, value));
          const std::string param = read.error ? read.error->param : std::string(field.path);
          EXPECT_TRUE(names(param, field.path)) << way.name << " " << field.path << ": " << param;
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
        if (field.is_needed) needed.emplace(field.path);
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
