// The cursor: what stands at a place, and errors that name the place as it is written.
#include "json/json_cursor.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <boost/json/memory_resource.hpp>
#include <boost/json/parse.hpp>
#include <map>
#include <new>

namespace octavo {
namespace {

namespace json = boost::json;

class JsonCursorTest : public ::testing::Test {
 protected:
  JsonCursor read(std::string_view text, std::string_view path = {}) {
    root_ = json::parse(text).as_object();
    return JsonCursor(root_, path);
  }

 private:
  json::object root_;
};

template <class T>
std::string error_of(const JsonResult<T>& result) {
  return result ? "none" : result.error().message;
}

TEST_F(JsonCursorTest, ReadsWhatStandsAtAPlace) {
  const JsonCursor body =
      read(R"({"options": {"top_p": 0.5, "n": 3.0}, "stop": ["a", "b"], "stream": true, "none": null})");
  EXPECT_EQ(body["options"]["top_p"].number(0.0, 1.0), 0.5);
  EXPECT_EQ(body["options"]["top_p"].number(0.0F, 1.0F), 0.5F);
  EXPECT_EQ(body["options"]["n"].integer(1, 4), 3);
  EXPECT_EQ(body["stop"][1].string(), "b");
  EXPECT_EQ(body["stream"].boolean(), true);
  EXPECT_EQ(*body["stop"].array("texts"), &body["stop"].value()->get_array());
  EXPECT_EQ(*body["options"].object(), &body["options"].value()->get_object());
  EXPECT_TRUE(body["options"].is_given());
}

TEST_F(JsonCursorTest, WhatIsNotGivenIsNoMistakeUnlessItIsNeeded) {
  const JsonCursor body = read(R"({"a": null, "b": {}, "c": [], "n": [null]})");
  for (const JsonCursor& none : {body["a"], body["b"]["c"], body["c"][0], body["x"]["y"][3]["z"]}) {
    EXPECT_FALSE(none.is_given());
    EXPECT_EQ(none.boolean(), std::nullopt);
    EXPECT_EQ(none.integer(0, 1), std::nullopt);
    EXPECT_EQ(none.string(), std::nullopt);
    EXPECT_EQ(none.object(), nullptr);
    EXPECT_EQ(none.array("an array"), nullptr);
  }
  EXPECT_EQ(error_of(body["b"]["c"].needed_object("a call (an object)")),
            "b.c: found none, expected a call (an object)");
  EXPECT_EQ(error_of(body["n"][0].needed_object()), "n[0]: found null, expected an object");
  EXPECT_EQ(body["n"][0].string(), std::nullopt);
  EXPECT_EQ(error_of(body["b"]["c"].needed_string()), "b.c: found none, expected a string");
  EXPECT_EQ(error_of(body["x"]["y"].needed_string()), "x: found none, expected an object");
}

TEST_F(JsonCursorTest, ErrorsNameThePlaceAsItIsWritten) {
  const JsonCursor body =
      read(R"({"messages": [{}, {"role": 1, "tool_calls": [{"function": {"name": []}}]}], "n": 7})");
  const auto role = body["messages"][1]["role"].string();
  ASSERT_FALSE(role);
  EXPECT_EQ(role.error().path, "messages[1].role");
  EXPECT_EQ(role.error().message, "messages[1].role: found the number 1, expected a string");
  EXPECT_EQ(role.error().code, "invalid_type");
  EXPECT_EQ(error_of(body["messages"][1]["tool_calls"][0]["function"]["name"].string()),
            "messages[1].tool_calls[0].function.name: found an array of 0, expected a string");
  EXPECT_EQ(error_of(body["messages"][0]["role"].needed_string("a role")),
            "messages[0].role: found none, expected a role");
  EXPECT_EQ(error_of(body["messages"][1]["role"].needed_string("a role")),
            "messages[1].role: found the number 1, expected a role");
  EXPECT_EQ(body["n"].integer(1, 4).error().code, "invalid_value");
  EXPECT_EQ(error_of(body["n"].integer(1, 4)), "n: found the number 7, expected an integer from 1 to 4");
}

TEST_F(JsonCursorTest, AMemberOfWhatHasNoneIsTheErrorOfThat) {
  const JsonCursor body = read(R"({"options": 3, "stop": {}})");
  EXPECT_EQ(error_of(body["options"]["top_p"].number(0.0, 1.0)), "options: found the number 3, expected an object");
  EXPECT_EQ(error_of(body["options"]["a"]["b"].string()), "options: found the number 3, expected an object");
  EXPECT_EQ(error_of(body["options"]["a"].object()), "options: found the number 3, expected an object");
  EXPECT_EQ(error_of(body["stop"][0].needed_string()), "stop: found an object, expected an array");
  EXPECT_FALSE(body["options"]["top_p"].is_given());
}

TEST_F(JsonCursorTest, APartOfAnotherTextKeepsItsPlace) {
  const JsonCursor tool = read(R"({"name": 3})", "tools[2].function");
  EXPECT_EQ(tool.path(), "tools[2].function");
  EXPECT_EQ(error_of(tool["name"].string()), "tools[2].function.name: found the number 3, expected a string");
}

TEST_F(JsonCursorTest, AFileIsNamedInFrontOfItsPlaces) {
  const JsonCursor file = read(R"({"rope": {"factor": "x"}})", "config.json: ");
  EXPECT_EQ(error_of(file["rope"]["factor"].needed_integer(0, 9)),
            "config.json: rope.factor: found the string \"x\", expected an integer from 0 to 9");
  EXPECT_EQ(file.wrong("nothing", "a model").message, "config.json: found nothing, expected a model");
  EXPECT_EQ(to_result(file["rope"]["none"].needed_integer(0, 9)).error().message,
            "config.json: rope.none: found none, expected an integer from 0 to 9");
}

TEST_F(JsonCursorTest, AValueThatIsMissingMayHaveAnother) {
  const JsonCursor body = read(R"({"yes": true, "text": "a", "null": null})");
  EXPECT_EQ(body["yes"].boolean_or(false), true);
  EXPECT_EQ(body["none"].boolean_or(true), true);
  EXPECT_EQ(body["null"].string_or("b"), "b");
  EXPECT_EQ(body["text"].string_or("b"), "a");
  EXPECT_EQ(error_of(body["text"].boolean_or(false)), "text: found the string \"a\", expected true or false");
  EXPECT_EQ(error_of(body["yes"].string_or("b")), "yes: found true, expected a string");
  EXPECT_EQ(error_of(body["none"].needed_array("a list")), "none: found none, expected a list");
}

TEST_F(JsonCursorTest, AnObjectMayBeExpectedToHaveKnownMembersAlone) {
  const JsonCursor body = read(R"({"a": {"b": 1, "c": 2}, "d": 3})");
  EXPECT_TRUE(body.expect_only({"a", "d", "x"}));
  EXPECT_TRUE(body["a"].expect_only({"b", "c"}));
  EXPECT_EQ(error_of(body["a"].expect_only({"b"})), "a: found the member 'c', expected none but those that are known");
  EXPECT_EQ(error_of(body["d"].expect_only({})), "d: found the number 3, expected an object");
  EXPECT_EQ(error_of(body["x"].expect_only({})), "x: found none, expected an object");
}

TEST_F(JsonCursorTest, APlaceMayBeAsDeepAsATextMay) {
  std::string text = "1";
  for (std::size_t i = 0; i < kMaxJsonDepth; ++i) text = R"({"a": )" + text + "}";
  JsonCursor place = read(text);
  for (std::size_t i = 0; i < kMaxJsonDepth; ++i) place = place["a"];
  EXPECT_EQ(place.integer(0, 1), 1);
}

/// Memory of which the large pieces can be locked: whoever reads them then ends the process.
class LockableMemory : public json::memory_resource {
 public:
  void lock(bool is_locked) {
    for (const auto& [piece, size] : large_) ASSERT_EQ(mprotect(piece, size, is_locked ? PROT_NONE : kOpen), 0);
  }
  std::size_t num_large() const { return large_.size(); }

 private:
  static constexpr std::size_t kLargeBytes = 1 << 16;
  static constexpr int kOpen = PROT_READ | PROT_WRITE;

  void* do_allocate(std::size_t size, std::size_t) override {
    if (size < kLargeBytes) return ::operator new(size);
    void* piece = mmap(nullptr, size, kOpen, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) throw std::bad_alloc();
    large_.emplace(piece, size);
    return piece;
  }
  void do_deallocate(void* piece, std::size_t size, std::size_t) override {
    if (large_.erase(piece) == 0) return ::operator delete(piece);
    munmap(piece, size);
  }
  bool do_is_equal(const json::memory_resource& other) const noexcept override { return this == &other; }

  std::map<void*, std::size_t> large_;
};

TEST(JsonCursorCost, APathIsWrittenWithoutALookAtTheRestOfTheText) {
  std::string text = R"({"large": [[1])";
  for (int i = 0; i < 10000; ++i) text += ",[1]";
  LockableMemory memory;
  const json::value body = json::parse(text + R"(], "tools": [{}, {"name": 3}]})", &memory);
  const JsonCursor name = JsonCursor(body.as_object())["tools"][1]["name"];
  ASSERT_GT(memory.num_large(), 0U);
  memory.lock(true);
  EXPECT_EQ(error_of(name.string()), "tools[1].name: found the number 3, expected a string");
  memory.lock(false);
}

TEST_F(JsonCursorTest, BoundsAreWrittenAsTheyWereMeant) {
  const JsonCursor body = read(R"({"small": 0.001, "exact": 0.01, "large": 1e10, "text": "a"})");
  EXPECT_EQ(error_of(body["small"].number(0.01F, 100.0F)),
            "small: found the number 0.001, expected a number from 0.01 to 100");
  EXPECT_EQ(body["exact"].number(0.01F, 100.0F), 0.01F);
  EXPECT_EQ(error_of(body["large"].number(0.7F, 1e6F)),
            "large: found the number 10000000000, expected a number from 0.7 to 1000000");
  EXPECT_EQ(body["text"].number(0.0, 1.0).error().code, "invalid_type");
}

TEST_F(JsonCursorTest, AnIntegerThatIsTooLargeIsTheLargest) {
  const JsonCursor body = read(R"({"a": 18446744073709551615, "b": 1e300, "c": -3, "d": 5})");
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(body["a"].integer_from(0), kLargest);
  EXPECT_EQ(body["b"].integer_from(0), kLargest);
  EXPECT_EQ(error_of(body["c"].integer_from(-2)), "c: found the number -3, expected an integer of at least -2");
  EXPECT_EQ(body["d"].integer_from(0), 5);
}

TEST_F(JsonCursorTest, LongTextsAreShownCut) {
  EXPECT_EQ(describe_json(json::value(std::string(100, 'x'))), "the string \"" + std::string(60, 'x') + "...\"");
}

}  // namespace
}  // namespace octavo
