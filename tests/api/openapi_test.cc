// /openapi.json: what it says is what the rows say.
#include "api/openapi.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "api/openapi_schema.h"

namespace octavo {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

const json::object& document() {
  static const json::object made = [] {
    const DescribedRoute kOther[] = {{.path = "/things/{id}", .method = "get", .text = {.summary = "A thing"}},
                                     {.path = "/things/{id}", .method = "delete", .text = {.content_type = {}}}};
    return json::parse(openapi_document(all_apis(), kOther)).as_object();
  }();
  return made;
}

const json::value& at(const json::value& value, std::string_view pointer) { return value.at_pointer(pointer); }
const json::value& at(std::string_view pointer) {
  static const json::value whole = document();
  return at(whole, pointer);
}

/// "/properties/options/properties/top_p" of "options.top_p", "/properties/a/items/properties/b" of "a[].b"
std::string pointer_of(std::string_view path) {
  std::string pointer = "/properties/";
  for (const char c : path) {
    if (c == ']') continue;
    pointer += c == '.' ? "/properties/" : c == '[' ? "/items" : std::string(1, c);
  }
  return pointer;
}

TEST(OpenApi, EveryFieldOfEveryApiStandsAtItsPath) {
  for (const Api& api : all_apis()) {
    const json::value& schema = at("/components/schemas/" + std::string(api.name));
    for (const FieldTable table : api.fields())
      for (const ApiField& field : table) {
        const json::value& described = at(schema, pointer_of(field.path));
        EXPECT_THAT(std::string(described.at("description").as_string()), HasSubstr(field.text)) << field.path;
        EXPECT_EQ(described.as_object().contains("type"), field.form != FieldForm::kAny) << field.path;
      }
    EXPECT_EQ(schema.at("additionalProperties"), true);
    for (const std::string_view path : api.paths) {
      if (path.empty()) continue;
      const json::value& post = document().at("paths").at(path).at("post");
      EXPECT_EQ(at(post, "/requestBody/content/application~1json/schema/$ref"),
                json::string("#/components/schemas/" + std::string(api.name)));
      EXPECT_EQ(at(post, "/requestBody/content/application~1json/example"), json::parse(api.example));
      const std::size_t num_forms = api.stream_type.empty() ? 1 : 2;  // whole, and as a stream
      EXPECT_EQ(at(post, "/responses/200/content").as_object().size(), num_forms);
    }
  }
}

TEST(OpenApi, AFieldHasItsFormItsBoundsAndWhatBecomesOfIt) {
  const json::value& chat = at("/components/schemas/openai_chat/properties");
  EXPECT_EQ(chat.at("temperature").at("type"), (json::array{"number", "null"}));
  EXPECT_EQ(chat.at("temperature").at("maximum"), 100);
  EXPECT_EQ(chat.at("repetition_penalty").at("minimum"), 0.01);
  EXPECT_EQ(chat.at("seed").at("minimum"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(chat.at("seed").at("maximum"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(chat.at("model").as_object().contains("minimum"));
  EXPECT_EQ(chat.at("messages").at("type"), json::array{"array"});  // it must be there
  EXPECT_EQ(chat.at("bad_words").at("items").at("type"), "string");
  EXPECT_EQ(chat.at("temperature").at("x-octavo-use"), "honoured");
  EXPECT_EQ(chat.at("user").at("x-octavo-use"), "hint");
  EXPECT_EQ(chat.at("tfs_z").at("x-octavo-use"), "ignored");
  EXPECT_EQ(chat.at("audio").at("x-octavo-use"), "refused");
  EXPECT_EQ(at("/components/schemas/messages/required"), (json::array{"max_tokens", "messages"}));
  EXPECT_EQ(at("/components/schemas/messages_counted/required"), json::array{"messages"});
  EXPECT_FALSE(at("/components/schemas/ollama_chat").as_object().contains("required"));
}

TEST(OpenApi, ElementsOfListsAreDescribed) {
  const json::value& message = at("/components/schemas/openai_chat/properties/messages/items");
  EXPECT_EQ(message.at("type"), json::array{"object"});
  EXPECT_EQ(message.at("required"), json::array{"role"});
  EXPECT_EQ(at(message, "/properties/role/enum"),
            (json::array{"system", "developer", "user", "assistant", "tool", "function"}));
  EXPECT_EQ(at(message, "/properties/content/items/required"), json::array{"type"});
  EXPECT_EQ(at(message, "/properties/tool_calls/items/properties/function/required"), json::array{"name"});
  EXPECT_EQ(at("/components/schemas/openai_chat/properties/tools/items/properties/type/enum"),
            (json::array{"function", "custom", nullptr}));
  const json::value& function = at("/components/schemas/ollama_chat/properties/tools/items/properties/function");
  EXPECT_EQ(at(function, "/properties/parameters/type"), (json::array{"object", "null"}));
  EXPECT_EQ(at("/components/schemas/messages/properties/tool_choice/required"), json::array{"type"});
}

TEST(OpenApi, AnObjectThatNoRowNamesIsDescribedByItsMembers) {
  const json::value& text = at("/components/schemas/responses/properties/text");
  EXPECT_EQ(text.at("type"), (json::array{"object", "null"}));
  EXPECT_TRUE(text.at("properties").as_object().contains("format"));
}

TEST(OpenApi, ErrorsAreDescribedInTheFormOfTheirApi) {
  const auto ref = [](std::string_view path) {
    return document().at("paths").at(path).at("post").at("responses").at("400").at("content").at("application/json");
  };
  EXPECT_EQ(ref("/v1/messages/count_tokens").at("schema").at("$ref"), "#/components/schemas/messages_error");
  const json::value& ollama = at("/components/schemas/ollama_chat_error");
  EXPECT_EQ(at(ollama, "/properties/error/type"), json::array{"string"});
  const json::value& openai = at("/components/schemas/error/properties/error");
  EXPECT_EQ(at(openai, "/properties/param/type"), (json::array{"string", "null"}));
  EXPECT_EQ(openai.at("required").as_array().size(), 4);
}

TEST(OpenApi, ARouteOfNoApiIsDescribedByItsRow) {
  const json::value& path = document().at("paths").at("/things/{id}");
  EXPECT_EQ(path.at("get").at("summary"), "A thing");
  EXPECT_EQ(at(path, "/get/parameters/0/name"), "id");
  EXPECT_TRUE(at(path, "/get/responses").as_object().contains("200"));
  EXPECT_FALSE(at(path, "/delete/responses").as_object().contains("200"));  // it is refused whatever is asked
  EXPECT_FALSE(at(path, "/get").as_object().contains("security"));
  EXPECT_TRUE(document().at("paths").at("/v1/completions").at("post").as_object().contains("security"));
}

}  // namespace
}  // namespace octavo
