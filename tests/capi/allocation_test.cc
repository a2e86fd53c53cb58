// Events that the system has no memory for: the request ends with an error, and nothing else happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "octavo.h"
#include "replaced_new.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "support/tiny_vocab.h"

namespace octavo::test {
namespace {

/// How a request has ended, as a callback heard it.
struct Heard {
  int num_tokens = 0;
  bool has_ended = false;
  std::int32_t status = OCTAVO_OK;
};

void hear(void* user, octavo_events* events) {
  auto& heard = *static_cast<Heard*>(user);
  for (std::size_t i = 0; i < events->count; ++i) {
    const octavo_event& event = events->events[i];
    if (event.kind == OCTAVO_TOKEN) ++heard.num_tokens;
    if (event.kind != OCTAVO_END) continue;
    heard.has_ended = true;
    heard.status = event.status;
  }
  octavo_events_free(events);
}

std::string message_of_last() {
  octavo_error error = {};
  error.size = sizeof error;
  octavo_last_error(&error);
  return error.message;
}

/// A step in which the `nth` allocation fails; whether there was one.
bool step_without_memory(octavo_handle model, long nth) {
  allocations_left = nth;
  octavo_step(model, nullptr);
  const bool has_failed = allocations_left < 0;
  allocations_left = -1;
  return has_failed;
}

void hear(octavo_events* events, Heard& heard) { hear(&heard, events); }

/// A tiny model that the test drives, its events, and a request whose tokens are told one by one.
class CapiAllocations : public testing::Test {
 protected:
  CapiAllocations()
      : file_(TinyModel{
            .layers = 1, .width = 32, .vocab = 40, .extra = [](GgufWriter& keys) {
              TinyVocab(40).add_to(keys);
            }}.bytes()) {}

  /// `listens`: with a callback, or null to poll.
  void begin(const octavo_queue_options* listens) {
    const std::string path = file_.string();
    const std::vector<const char*> options = {"--threads", "1", "--kv-memory", "1MiB"};
    octavo_load_options load = {};
    load.size = sizeof load;
    load.model = path.c_str();
    load.options = options.data();
    load.num_options = options.size();
    load.is_driven = 1;
    ASSERT_EQ(octavo_load(&load, &model_), OCTAVO_OK);
    ASSERT_EQ(octavo_queue_open(listens, &queue_), OCTAVO_OK);
    const std::vector<std::int32_t> tokens = {1, 2, 3};
    octavo_request request = {};
    request.size = sizeof request;
    request.body = R"({"max_tokens": 8, "ignore_eos": true, "seed": 3})";
    request.tokens = tokens.data();
    request.num_tokens = tokens.size();
    request.form = OCTAVO_TOKENS;
    ASSERT_EQ(octavo_submit(model_, queue_, &request, nullptr), OCTAVO_OK) << message_of_last();
  }
  void end() const {
    EXPECT_EQ(octavo_close(queue_), OCTAVO_OK);
    EXPECT_EQ(octavo_close(model_), OCTAVO_OK);
  }
  octavo_status poll(Heard& heard) const {
    octavo_events* events = nullptr;
    const octavo_status status = octavo_poll(queue_, 0, &events);
    if (events != nullptr) hear(events, heard);
    return status;
  }

  const TempFile file_;
  octavo_handle model_ = 0, queue_ = 0;
};

TEST_F(CapiAllocations, ACallbackHearsTheEndWhicheverAllocationOfAStepHasFailed) {
  int num_lost = 0;
  for (long nth = 0; nth < 40; ++nth) {
    Heard heard;
    octavo_queue_options listens = {};
    listens.size = sizeof listens;
    listens.on_events = hear;
    listens.user = &heard;
    begin(&listens);
    while (heard.num_tokens < 3) ASSERT_EQ(octavo_step(model_, nullptr), OCTAVO_OK);
    const bool has_failed = step_without_memory(model_, nth);
    std::int32_t has_more = 1;
    while (!heard.has_ended && has_more != 0 && octavo_step(model_, &has_more) == OCTAVO_OK) {
    }
    EXPECT_TRUE(heard.has_ended) << nth;
    if (heard.status == OCTAVO_OK) {
      EXPECT_EQ(heard.num_tokens, 8) << nth;
    }
    num_lost += heard.status == OCTAVO_NO_MEMORY ? 1 : 0;
    end();
    if (!has_failed) break;
  }
  EXPECT_GT(num_lost, 0);
}

TEST_F(CapiAllocations, APollTellsTheEndOfARequestWhoseLastEventWasLost) {
  int num_lost = 0;
  for (long nth = 0; nth < 40; ++nth) {
    begin(nullptr);
    Heard heard;
    while (heard.num_tokens < 7) {
      ASSERT_EQ(octavo_step(model_, nullptr), OCTAVO_OK);
      ASSERT_EQ(poll(heard), OCTAVO_OK);
    }
    const bool has_failed = step_without_memory(model_, nth);  // of the last token
    std::int32_t has_more = 1;
    while (has_more != 0 && octavo_step(model_, &has_more) == OCTAVO_OK) {
    }
    ASSERT_EQ(poll(heard), OCTAVO_OK);
    EXPECT_TRUE(heard.has_ended) << nth;
    EXPECT_EQ(heard.status == OCTAVO_OK, heard.num_tokens == 8) << nth;
    num_lost += heard.status == OCTAVO_NO_MEMORY ? 1 : 0;
    end();
    if (!has_failed) break;
  }
  EXPECT_GT(num_lost, 0);
}

TEST_F(CapiAllocations, APollTellsTheEndWhicheverAllocationOfItsOwnHasFailed) {
  for (long nth = 0; nth < 40; ++nth) {
    begin(nullptr);
    for (std::int32_t has_more = 1; has_more != 0;) ASSERT_EQ(octavo_step(model_, &has_more), OCTAVO_OK);
    Heard heard;
    allocations_left = nth;
    poll(heard);
    const bool has_failed = allocations_left < 0;
    allocations_left = -1;
    poll(heard);
    EXPECT_TRUE(heard.has_ended) << nth;
    end();
    if (!has_failed) break;
  }
}

}  // namespace
}  // namespace octavo::test
