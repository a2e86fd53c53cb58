// JSON texts: what is no JSON, and what would cost more time or memory than a request may.
#include "json/json_document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace octavo {
namespace {

using ::testing::HasSubstr;

TEST(JsonDocument, WhatFollowsTheObjectIsRefused) {
  const JsonLimits limits{.max_depth = 4};
  EXPECT_TRUE(parse_json_object(R"({"a": 1} )", limits));
  EXPECT_FALSE(parse_json_object(R"({"a": 1} {})", limits));
  EXPECT_FALSE(parse_json_object("", limits));
  EXPECT_FALSE(parse_json_object("{\"a\": \"\xFF\"}", limits));
  EXPECT_EQ(parse_json_object("[[[[[]]]]]", limits).error().code, "too_deep");
}

TEST(JsonDocument, AByteOrderMarkInFrontIsSkipped) {
  const auto body = parse_json_object("\xEF\xBB\xBF{\"a\": 1}", {});
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(body->at("a"), 1);
  EXPECT_FALSE(parse_json_object("\xEF\xBB{}", {}));
  EXPECT_FALSE(parse_json_object("{\xEF\xBB\xBF}", {}));
}

TEST(JsonDocument, HalvesOfCharactersBecomeTheReplacementCharacter) {
  const auto body = parse_json_object(R"({"a": "x\ud83dy", "\udc00": "\ud83d\ude00"})", {});
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(body->at("a"), "x\uFFFDy");
  EXPECT_EQ(body->at("\uFFFD"), "\U0001F600");
}

TEST(JsonDocument, ValuesComeOutAsTheyWentIn) {
  const auto body = parse_json_object(
      R"({"a": [1, -2, 18446744073709551615, 1.5, "x\n\u00e4", null, true, []], "b": {"c": {}}, "a\u0062": 7})", {});
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(boost::json::serialize(*body),
            "{\"a\":[1,-2,18446744073709551615,1.5E0,\"x\\n\xC3\xA4\",null,true,[]],\"b\":{\"c\":{}},\"ab\":7}");
  EXPECT_EQ(parse_json_object(R"({"a": 1, "a": 2})", {})->at("a"), 2);  // as in most parsers
}

/// Boost.JSON 1.81's hash of a key (detail/digest.hpp): FNV-1a, whose salt is a table's address.
std::uint64_t hash_of(std::string_view key, std::uint64_t salt) {
  std::uint64_t hash = 0xcbf29ce484222325ULL + salt;
  for (const char c : key) hash = (static_cast<std::uint64_t>(c) ^ hash) * 0x100000001B3ULL;
  return hash;
}

/// Keys that fall into one of `num_keys` buckets, a power of two, whatever the salt is but for its low byte. Of keys of
/// equal length the hashes' difference depends on no more of it.
std::vector<std::string> colliding_keys(std::size_t num_keys, std::uint64_t low_byte_of_salt) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  std::vector<std::string> keys;
  std::string key(5, ' ');
  for (std::uint64_t i = 0; keys.size() < num_keys; ++i) {
    for (std::size_t place = 0; place < key.size(); ++place) key[place] = kLetters[i >> (6 * place) & 63];
    if (hash_of(key, low_byte_of_salt) % num_keys == 0) keys.push_back(key);
  }
  return keys;
}

std::string object_of(const std::vector<std::string>& keys) {
  std::string object = "{";
  for (const std::string& key : keys) object += fmt::format("{}\"{}\":0", object.size() == 1 ? "" : ",", key);
  return object + "}";
}

TEST(JsonDocument, KeysThatCollideWhateverTheSaltAreRefusedBeforeTheirTableIsBuilt) {
  constexpr std::uint64_t kLowByte = 0x10;  // as of a table so large that it has pages of its own
  const std::vector<std::string> keys = colliding_keys(2048, kLowByte);
  for (const std::uint64_t salt : {0x7f0012345610ULL, 0x55aabbccdd10ULL, 0x7fffdeadb010ULL}) {
    const std::uint64_t bucket = hash_of(keys.front(), salt) % keys.size();
    for (const std::string& key : keys) ASSERT_EQ(hash_of(key, salt) % keys.size(), bucket);
  }
  const auto refused = parse_json_object("{\"unknown\": " + object_of(keys) + "}", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "too_many_members");
  EXPECT_THAT(refused.error().message, HasSubstr("an object of 2048 members, expected at most 1024"));
}

TEST(JsonDocument, MembersOfManyObjectsAreCountedTogetherWhereTheyHaveTables) {
  const auto objects_of = [](std::size_t num_members, std::size_t num_objects) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < num_members; ++i) keys.push_back(fmt::format("key{}", i));
    std::string body = "{\"all\": [";
    for (std::size_t i = 0; i < num_objects; ++i) body += (i == 0 ? "" : ",") + object_of(keys);
    return body + "]}";
  };
  EXPECT_TRUE(parse_json_object(objects_of(1024, 8), {}));
  EXPECT_EQ(parse_json_object(objects_of(1024, 9), {}).error().code, "too_many_members");
  EXPECT_TRUE(parse_json_object(objects_of(19, 431), {}));
  EXPECT_EQ(parse_json_object(objects_of(19, 432), {}).error().code, "too_many_members");
  EXPECT_TRUE(parse_json_object(objects_of(18, 5000), {}));  // searched from first to last: no table, no collision
}

TEST(JsonDocument, AKeyThatTakesLongToCompareIsRefused) {
  EXPECT_TRUE(parse_json_object("{\"" + std::string(256, 'k') + "\": 1}", {}));
  const auto refused = parse_json_object("{\"" + std::string(257, 'k') + "\": 1}", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "key_too_long");
  EXPECT_EQ(parse_json_object("{\"a\": {\"\\u0041" + std::string(8 << 20, 'k') + "\": 1}}", {}).error().code,
            "key_too_long");
}

std::string repeated(std::string_view element, std::size_t num_bytes) {
  std::string body = "{\"all\": [" + std::string(element);
  while (body.size() + element.size() + 3 <= num_bytes) body += "," + std::string(element);
  return body + "]}";
}

TEST(JsonDocument, ValuesThatTakeManyTimesTheBodyAreRefused) {
  constexpr std::size_t kBodyBytes = 8U << 20;
  for (const char* element : {"1", "[]", "[1]", "{}", R"({"":1})", "[[[[1]]]]", R"({"a":{"a":{"a":""}}})"}) {
    const auto refused = parse_json_object(repeated(element, kBodyBytes), {});
    ASSERT_FALSE(refused) << element;
    EXPECT_EQ(refused.error().code, "too_many_values") << element;
    EXPECT_THAT(refused.error().message, HasSubstr("67108864 bytes"));
  }
}

TEST(JsonDocument, BodiesThatAreInUseAreTaken) {
  constexpr std::size_t kBodyBytes = 8U << 20;
  EXPECT_TRUE(parse_json_object(repeated("12345", kBodyBytes), {}));  // token ids
  EXPECT_TRUE(parse_json_object(repeated("[12345,678,90123,4567]", kBodyBytes), {}));
  EXPECT_TRUE(parse_json_object(repeated(R"({"role": "user", "content": "Hello, how are you?"})", kBodyBytes), {}));
  EXPECT_TRUE(parse_json_object("{\"prompt\": \"" + std::string(kBodyBytes, 'a') + "\"}", {}));
  std::vector<std::string> ids;
  for (int id = 0; id < 1024; ++id) ids.push_back(std::to_string(id));
  EXPECT_TRUE(parse_json_object("{\"logit_bias\": " + object_of(ids) + "}", {}));
  std::string properties;
  for (int i = 0; i < 60; ++i)
    properties += fmt::format(R"({}"property_{}": {{"type": "string", "description": "What it is"}})", i ? "," : "", i);
  const std::string tool = R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object",
                              "properties": {)" +
                           properties + "}}}}";
  std::string tools = tool;
  for (int i = 1; i < 100; ++i) tools += "," + tool;
  EXPECT_TRUE(parse_json_object("{\"tools\": [" + tools + "]}", {}));
}

TEST(JsonDocument, BytesAndValuesAreCounted) {
  EXPECT_TRUE(parse_json_object(R"({"a": [1]})", {.max_bytes = 10, .max_values = 4}));
  EXPECT_EQ(parse_json_object(R"({"a": [1]})", {.max_bytes = 9}).error().code, "too_many_bytes");
  const auto refused = parse_json_object(R"({"a": [1]})", {.max_values = 3});  // the object, its key, the array, 1
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "too_many_values");
  EXPECT_THAT(refused.error().message, HasSubstr("more than 3 values"));
}

}  // namespace
}  // namespace octavo
