#include "cli/batch/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <map>
#include <sstream>

#include "api/fake_text.h"
#include "cli/batch/batch_output.h"
#include "cli/batch/run_batch.h"
#include "support/temp_file.h"

namespace octavo::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Answers each request with as many tokens as its prompt has, one a step.
class CountingEngine final : public Engine {
 public:
  std::size_t most_active = 0;
  int num_steps = 0;
  int raise_at_step = -1;  // Ctrl-C

  CountingEngine() : Engine(std::make_shared<const test::FakeText>()) {}

  EngineStats stats() const override { return {}; }
  Result<RequestId> submit(Request request, TokenCallback on_event) override {
    if (request.tokens.front() == 'F') return std::unexpected(Error{"refused"});
    active_[++last_id_] = {.left = request.tokens.size(), .on_event = std::move(on_event)};
    most_active = std::max(most_active, active_.size());
    return last_id_;
  }
  void cancel(RequestId id) override {
    const auto found = active_.find(id);
    if (found == active_.end()) return;
    const TokenCallback on_event = std::move(found->second.on_event);
    active_.erase(found);
    on_event({.request = id, .finish = FinishReason::kCancelled});
  }
  bool step() override {
    if (num_steps++ == raise_at_step) std::raise(SIGINT);
    std::vector<RequestId> ids;
    ids.reserve(active_.size());
    for (const auto& [id, request] : active_) ids.push_back(id);
    for (const RequestId id : ids) {
      Active& request = active_[id];
      const bool is_last = --request.left == 0;
      request.on_event(
          {.request = id, .token = 'x', .text = "x", .finish = is_last ? FinishReason::kStop : FinishReason::kNone});
      if (is_last) active_.erase(id);
    }
    return !ids.empty();
  }
  void run_until(std::stop_token) override {}
  void drain() override {}

 private:
  struct Active {
    std::size_t left = 0;
    TokenCallback on_event;
  };
  std::map<RequestId, Active> active_;
  RequestId last_id_ = 0;
};

/// Of the lines before line `number`.
std::size_t bytes_before(const std::string& text, std::uint64_t number) {
  std::size_t bytes = 0;
  for (std::uint64_t i = 1; i < number; ++i) bytes = text.find('\n', bytes) + 1;
  return bytes;
}

struct Trial {
  CountingEngine engine;
  ServedModel model{.id = "text"};
  BatchProgress progress;
  std::size_t most_bytes_ahead = 0;

  /// The answers, as values.
  std::vector<boost::json::value> run(const std::string& text, const BatchSettings& settings = {}) {
    std::istringstream in(text);
    std::ostringstream out;
    BatchInput input(in, 200);
    BatchRun batch(engine, model, settings, input, out);
    const auto result = batch.run([&](const BatchProgress& now) {
      const auto read = static_cast<std::uint64_t>(in.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
      most_bytes_ahead = std::max<std::size_t>(most_bytes_ahead, read - bytes_before(text, now.last_line + 1));
    });
    EXPECT_TRUE(result) << result.error().message;
    progress = *result;
    std::vector<boost::json::value> answers;
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) answers.push_back(boost::json::parse(line));
    return answers;
  }
};

std::string request(const std::string& id, const std::string& prompt) {
  return R"({"custom_id":")" + id + R"(","prompt":")" + prompt + "\"}\n";
}

std::vector<std::string> ids_of(const std::vector<boost::json::value>& answers) {
  std::vector<std::string> ids;
  ids.reserve(answers.size());
  for (const boost::json::value& answer : answers)
    ids.emplace_back(answer.at("custom_id").is_null() ? "-" : answer.at("custom_id").as_string().c_str());
  return ids;
}

TEST(Batch, AnswersComeInTheOrderOfTheRequests) {
  Trial run;
  const auto answers = run.run(request("long", "aaaaaaaa") + request("short", "a") + request("middle", "aaa"));
  EXPECT_THAT(ids_of(answers), ElementsAre("long", "short", "middle"));
  EXPECT_EQ(answers[2].at("response").at("body").at("choices").at(0).at("text"), "xxx");
  EXPECT_EQ(answers[2].at("line"), 3);
  EXPECT_EQ(run.engine.most_active, 3U);  // together
  EXPECT_EQ(run.engine.num_steps, 8);
  EXPECT_EQ(run.progress.answered, 3U);
  EXPECT_EQ(run.progress.tokens, 12U);
}

TEST(Batch, AnswersComeAsTheyAreFinishedIfThatIsWanted) {
  Trial run;
  const auto answers =
      run.run(request("long", "aaaaaaaa") + request("short", "a") + request("middle", "aaa"), {.as_finished = true});
  EXPECT_THAT(ids_of(answers), ElementsAre("short", "middle", "long"));
}

TEST(Batch, AWrongLineIsAnErrorWithItsNumberAndTheOthersGoOn) {
  Trial run;
  const auto answers =
      run.run("\n{not json\n" + request("a", "a") + "\r\n" + request("F", "F") + R"({"custom_id":"c","prompt":3})" +
              "\n" + std::string(300, ' ') + "x\n" + R"({"custom_id":"last","prompt":"no line break"})");
  EXPECT_THAT(ids_of(answers), ElementsAre("-", "a", "F", "c", "-", "last"));
  EXPECT_THAT(answers[0].at("error").at("message").as_string().c_str(), HasSubstr("line 2: found no JSON"));
  EXPECT_THAT(answers[2].at("error").at("message").as_string().c_str(), HasSubstr("line 5: refused"));
  EXPECT_THAT(answers[3].at("error").at("message").as_string().c_str(), HasSubstr("line 6: prompt"));
  EXPECT_THAT(answers[4].at("error").at("message").as_string().c_str(), HasSubstr("line 7: found more than"));
  EXPECT_EQ(run.progress.failed, 4U);
  EXPECT_EQ(run.progress.first_failed, 2U);
}

TEST(Batch, AFileOfAnyLengthIsReadNoFurtherThanThereIsWork) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += request(std::to_string(i), i % 50 == 0 ? std::string(80, 'a') : "aa");
  Trial run;
  const auto answers = run.run(text, {.parallel = 4});
  EXPECT_EQ(answers.size(), 2000U);
  EXPECT_LE(run.engine.most_active, 4U);
  EXPECT_LE(run.most_bytes_ahead, 16U * 120);  // as many lines as wait for an earlier one, four times those in work
}

TEST(Batch, CtrlCLeavesWholeLinesAndSaysWhereItStopped) {
  Trial run;
  run.engine.raise_at_step = 2;
  const auto answers = run.run(request("a", "a") + request("b", "aa") + request("c", "aaaaaaa") + request("d", "a"));
  EXPECT_THAT(ids_of(answers), ElementsAre("a", "b"));
  EXPECT_TRUE(run.progress.interrupted);
  EXPECT_EQ(run.progress.last_line, 2U);
  EXPECT_EQ(run.progress.failed, 0U);
}

TEST(Batch, LinesBeforeTheFirstAreSkipped) {
  Trial run;
  const auto answers = run.run(request("a", "a") + request("b", "a") + request("c", "a"), {.first_line = 3});
  EXPECT_THAT(ids_of(answers), ElementsAre("c"));
  EXPECT_EQ(answers[0].at("line"), 3);
}

TEST(BatchOutput, ResumesBehindTheLastWholeAnswer) {
  const std::string whole = batch_answer(4, "a", "{}") + batch_answer(9, "b", "{}");
  const test::TempFile file(whole + R"({"id":"batch-req-10","li)");
  const auto last = resume_batch_output(file.path());
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(*last, 9U);
  EXPECT_EQ(std::filesystem::file_size(file.path()), whole.size());
}

TEST(BatchOutput, NothingIsThereYet) {
  const test::TempFile empty(""), begun(R"({"id":)");
  EXPECT_EQ(*resume_batch_output(empty.path()), 0U);
  EXPECT_EQ(*resume_batch_output(begun.path()), 0U);
  EXPECT_EQ(*resume_batch_output("/no such folder/file"), 0U);
}

TEST(BatchOutput, AnotherFileIsLeftAsItIs) {
  const test::TempFile file("my thesis\nis long");
  const auto last = resume_batch_output(file.path());
  ASSERT_FALSE(last);
  EXPECT_THAT(last.error().message, HasSubstr("no answer of a batch"));
  EXPECT_EQ(std::filesystem::file_size(file.path()), 17U);
}

TEST(BatchProgress, TellsRatesAndTheTimeThatIsLeft) {
  const BatchProgress progress{.done = 100, .done_bytes = 250, .skipped_bytes = 500, .tokens = 5000};
  EXPECT_EQ(batch_progress_text(progress, 1500, 50), "100 answers, 25 %, 2.0/s, 100 tokens/s, 2:30 left");
  EXPECT_EQ(batch_progress_text(progress, 1500, 5000), "100 answers, 25 %, 0.0/s, 1 tokens/s, 4:10:00 left");
  EXPECT_EQ(batch_progress_text({.done = 3}, 0, 2), "3 answers, 1.5/s, 0 tokens/s");
  EXPECT_EQ(batch_progress_text({}, 1000, 0), "0 answers");
}

TEST(Batch, ProgressCountsAnswersThatWaitForAnEarlierOne) {
  Trial trial;
  std::uint64_t most_waiting = 0;
  std::istringstream in(request("long", "aaaaaaaa") + request("b", "a") + request("c", "a"));
  std::ostringstream out;
  BatchInput input(in, 200);
  BatchRun batch(trial.engine, trial.model, {}, input, out);
  const auto result =
      batch.run([&](const BatchProgress& now) { most_waiting = std::max(most_waiting, now.done - now.answered); });
  EXPECT_EQ(most_waiting, 2U);
  EXPECT_EQ(result->done_bytes, in.str().size());
}

}  // namespace
}  // namespace octavo::cli
