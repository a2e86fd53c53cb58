// Responses that are kept: whose they are, which of them make room, and conversations of several.
#include "api/responses/response_store.h"

#include <gmock/gmock.h>

namespace octavo {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const std::string> text(std::string json) {
  return std::make_shared<const std::string>(std::move(json));
}

StoredResponse response(const std::string& id, const std::string& previous = "", std::size_t size = 1000) {
  return {.id = id,
          .previous_id = previous,
          .input = {},
          .output = {{"i", text("1")}, {"j", text(std::string(size, '2'))}},
          .head = "[",
          .tail = "]"};
}

TEST(ResponseStore, AResponseIsItsOwnersAlone) {
  ResponseStore store({});
  store.put("one", response("a"));
  ASSERT_NE(store.find("one", "a"), nullptr);
  EXPECT_EQ(store.find("one", "a")->body(), "[1," + std::string(1000, '2') + "]");
  EXPECT_EQ(store.find("two", "a"), nullptr);
  EXPECT_EQ(store.find("", "a"), nullptr);
  EXPECT_FALSE(store.erase("two", "a"));
  EXPECT_TRUE(store.erase("one", "a"));
  EXPECT_FALSE(store.erase("one", "a"));
  EXPECT_EQ(store.find("one", "a"), nullptr);
  EXPECT_EQ(store.num_bytes(), 0U);
}

TEST(ResponseStore, TheOneThatWasNotUsedForLongestMakesRoom) {
  const std::size_t size = response("a").num_bytes();
  ResponseStore store({.max_bytes = 3 * size});
  for (const char* id : {"a", "b", "c"}) store.put("one", response(id));
  store.find("one", "a");
  store.put("one", response("d"));
  EXPECT_EQ(store.find("one", "b"), nullptr);
  for (const char* id : {"a", "c", "d"}) EXPECT_NE(store.find("one", id), nullptr) << id;
  EXPECT_EQ(store.num_bytes(), 3 * size);
}

TEST(ResponseStore, TheOwnerOfTheMostLosesFirst) {
  const std::size_t size = response("a").num_bytes();
  ResponseStore store({.max_bytes = 4 * size});
  store.put("small", response("s"));
  for (int i = 0; i < 20; ++i) store.put("large", response(std::string(1, static_cast<char>('A' + i))));
  EXPECT_NE(store.find("small", "s"), nullptr);
  EXPECT_EQ(store.num_bytes(), 4 * size);
  EXPECT_NE(store.find("large", "T"), nullptr);
  EXPECT_EQ(store.find("large", "Q"), nullptr);
}

TEST(ResponseStore, ManyTinyOnesOfAClientMakeRoomForEachOtherAlone) {
  ResponseStore store({.max_responses = 10});
  store.put("large", response("l", "", 100'000));
  for (int i = 0; i < 100; ++i) store.put("tiny", response(std::to_string(i), "", 1));
  EXPECT_NE(store.find("large", "l"), nullptr);
  EXPECT_EQ(store.find("tiny", "90"), nullptr);
  EXPECT_NE(store.find("tiny", "91"), nullptr);
}

TEST(ResponseStore, WithoutKeysEachAddressHasRoomAndAllSeeWhatThereIs) {
  const std::size_t size = response("a").num_bytes();
  ResponseStore store({.max_bytes = 4 * size});
  store.put("", response("s"), "address 192.0.2.1");
  for (int i = 0; i < 20; ++i) store.put("", response(std::string(1, static_cast<char>('A' + i))), "address 192.0.2.2");
  EXPECT_NE(store.find("", "s"), nullptr);
  EXPECT_NE(store.find("", "T"), nullptr);
  EXPECT_EQ(store.find("", "Q"), nullptr);
  EXPECT_TRUE(store.erase("", "s"));
  EXPECT_TRUE(store.erase("", "T"));
  EXPECT_EQ(store.num_bytes(), 2 * size);
}

TEST(ResponseStore, TheirNumberIsBoundedAndNoneIsLargerThanAll) {
  ResponseStore store({.max_bytes = 10'000, .max_responses = 2});
  for (const char* id : {"a", "b", "c"}) store.put("one", response(id));
  EXPECT_EQ(store.find("one", "a"), nullptr);
  EXPECT_NE(store.find("one", "b"), nullptr);
  store.put("one", response("large", "", 20'000));
  EXPECT_EQ(store.find("one", "large"), nullptr);
  EXPECT_NE(store.find("one", "c"), nullptr);
  ResponseStore none({.max_bytes = 0});
  EXPECT_FALSE(none.keeps_any());
  none.put("one", response("a"));
  EXPECT_EQ(none.find("one", "a"), nullptr);
}

TEST(ResponseStore, AConversationIsAllThatAResponseWentOnWith) {
  ResponseStore store({.max_request_bytes = 5000});
  store.put("one", response("a"));
  store.put("one", response("b", "a"));
  store.put("one", response("c", "b"));
  store.put("one", response("other", "a"));
  const auto found = store.conversation("one", "c", 0);
  ASSERT_TRUE(found.has_value());
  std::vector<std::string> ids;
  for (const auto& each : *found) ids.push_back(each->id);
  EXPECT_THAT(ids, ElementsAre("a", "b", "c"));
  EXPECT_EQ(store.conversation("two", "c", 0).error().status, 404);
  store.erase("one", "a");
  EXPECT_EQ(store.conversation("one", "c", 0).error().status, 404);
  EXPECT_EQ(store.conversation("one", "c", 0).error().param, "previous_response_id");
  EXPECT_EQ(store.find("one", "c")->id, "c");  // it can still be looked at
}

TEST(ResponseStore, AConversationIsBoundedWithTheRestOfTheRequest) {
  ResponseStore store({.max_request_bytes = 5000});
  std::string previous;
  for (const std::string id : {"a", "b", "c", "d", "e"}) {
    store.put("one", response(id, previous));
    previous = id;
  }
  EXPECT_TRUE(store.conversation("one", "b", 0).has_value());
  EXPECT_TRUE(store.conversation("one", "b", 2000).has_value());
  for (const auto& [id, other_bytes, found] :
       {std::tuple("e", 0, "found 5036 bytes"), std::tuple("b", 3000, "found 5518 bytes")}) {
    const ApiError error = store.conversation("one", id, static_cast<std::uint64_t>(other_bytes)).error();
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.param, "previous_response_id");
    EXPECT_THAT(error.message, ::testing::AllOf(::testing::HasSubstr(found), ::testing::HasSubstr("at most 5000")));
  }
}

}  // namespace
}  // namespace octavo
