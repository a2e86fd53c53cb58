// An API that nobody has: what one more takes is a row, and what the row names.
#include <gmock/gmock.h>

#include <algorithm>
#include <boost/json.hpp>
#include <thread>

#include "api/api.h"
#include "api/fields/answer_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/prepare/prepare.h"
#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void take_words(FieldReader& reader, const ApiField& field) {
  const auto words = reader.take(reader.at(field.path).needed_string());
  reader.request.prompt = TextPrompts{.prompts = {words}};
}

constexpr ApiField kRows[] = {
    {.path = "say.words",
     .form = FieldForm::kString,
     .text = "the text to go on with",
     .is_needed = true,
     .take = take_words},
    field::length("say.at_most", "16", "the most tokens of the answer"),
    field::temperature("warmth"),
};

ApiFields shout_fields() {
  static constexpr FieldTable kTables[] = {kRows};
  return kTables;
}

ApiResult<CompletionCall> parse_shout(const boost::json::object& body, const ApiContext& context) {
  ApiRequest request = request_of(context.model);
  request.prompt_field = "say.words";
  FieldReader reader(body, context, request);
  reader.read(shout_fields());
  if (reader.failed()) return std::unexpected(*reader.error());
  return prepare(std::move(request), context.words, context.model);
}

/// The number of tokens that the answer has.
class Shout final : public AnswerWriter {
 public:
  std::string on_event(const RequestEvent& event) override {
    ++num_tokens_;
    is_done_ = event.finish != FinishReason::kNone;
    return {};
  }
  std::string progress(std::size_t, const PromptProgress&) const override { return {}; }
  std::size_t held_bytes() const override { return 0; }
  bool done() const override { return is_done_; }
  const ApiError* error() const override { return nullptr; }
  std::string fail(const ApiError& error) override { return error.message; }
  std::string finish() override { return fmt::format(R"({{"TOKENS": {}}})", num_tokens_); }

 private:
  int num_tokens_ = 0;
  bool is_done_ = false;
};

constexpr Api kShout = {
    .name = "shout",
    .paths = {"/v1/shout"},
    .fields = shout_fields,
    .parse = parse_shout,
    .make_writer = [](const NewAnswer&) -> std::unique_ptr<AnswerWriter> { return std::make_unique<Shout>(); },
    .error_body = [](const ApiError& error) { return "NO: " + error.message; }};

/// An answer that is written in pieces; it tells how many this thread has written, and how many others have.
class Written final : public AnswerWriter {
 public:
  std::string on_event(const RequestEvent& event) override {
    is_ended_ = event.finish != FinishReason::kNone;
    if (is_ended_ && leaves_work_) left_ = 25'000;
    thread_ = std::this_thread::get_id();
    return {};
  }
  void leave_work() override { leaves_work_ = true; }
  std::size_t work_left() const override { return left_; }
  void work() override {
    ++(std::this_thread::get_id() == thread_ ? num_here_ : num_elsewhere_);
    left_ -= std::min<std::size_t>(left_, 10'000);
  }
  std::string progress(std::size_t, const PromptProgress&) const override { return {}; }
  std::size_t held_bytes() const override { return 0; }
  bool done() const override { return is_ended_ && left_ == 0; }
  const ApiError* error() const override { return nullptr; }
  std::string fail(const ApiError& error) override { return error.message; }
  std::string finish() override { return fmt::format(R"({{"HERE": {}, "ELSEWHERE": {}}})", num_here_, num_elsewhere_); }

 private:
  bool leaves_work_ = false, is_ended_ = false;
  std::size_t left_ = 0;
  std::thread::id thread_ = {};
  int num_here_ = 0, num_elsewhere_ = 0;
};

constexpr Api kWritten = {
    .name = "written",
    .paths = {"/v1/written"},
    .fields = shout_fields,
    .parse = parse_shout,
    .make_writer = [](const NewAnswer&) -> std::unique_ptr<AnswerWriter> { return std::make_unique<Written>(); },
    .error_body = [](const ApiError& error) { return "NO: " + error.message; }};

class MadeUpApi : public ServerTest {
 protected:
  MadeUpApi() { options_.apis = {&kShout, 1}; }
};

TEST_F(MadeUpApi, IsServedByItsRowAlone) {
  start_ready();
  EXPECT_THAT(ask(post("/v1/shout", R"({"say": {"words": "abc", "at_most": 3}})")), HasSubstr("{\"TOKENS\": 3}"));
  EXPECT_THAT(ask(post("/shout", R"({"say": {"words": "abc", "at_most": 3}})")), HasSubstr("{\"TOKENS\": 3}"));
  EXPECT_THAT(ask(post("/v1/shout", R"({"say": {"words": "abc"}, "warmth": -1})")),
              HasSubstr("NO: warmth: found the number -1, expected a number from 0 to 100"));
  EXPECT_THAT(ask(post("/v1/shout", R"({"say": 5})")), HasSubstr("NO: say: found the number 5, expected an object"));
  EXPECT_THAT(ask(get("/v1/shout")), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask(get("/openapi.json")), AllOf(HasSubstr("\"/v1/shout\""), HasSubstr("the text to go on with")));
  EXPECT_THAT(ask(post("/v1/chat/completions", "{}")), StartsWith("HTTP/1.1 404"));
}

TEST_F(MadeUpApi, WhatTakesLongToWriteIsWrittenInPiecesOnTheThreadsThatReadBodies) {
  options_.apis = {&kWritten, 1};
  start_ready();
  EXPECT_THAT(ask(post("/v1/written", R"({"say": {"words": "abc", "at_most": 3}})")),
              HasSubstr(R"({"HERE": 1, "ELSEWHERE": 2})"))
      << "10,000 and 10,000 numbers elsewhere, then 5,000 on the thread of all connections";
}

}  // namespace
}  // namespace octavo::test
