// Arguments of include/octavo.h that no caller should give: sizes, counts, null pointers, handles of another process.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "octavo.h"
#include "tiny_calls.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

/// Memory that ends where the next page cannot be read.
class PageEnd {
 public:
  PageEnd() : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    pages_ = static_cast<char*>(::mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(::mprotect(pages_ + size_, size_, PROT_NONE), 0);
  }
  ~PageEnd() { ::munmap(pages_, 2 * size_); }
  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;

  /// The first `size` bytes of a struct, and at most 7 of other contents behind them.
  template <class T>
  T* put(const T& given, std::size_t size) {
    std::memset(pages_, 0x5A, size_);
    char* const place = pages_ + size_ - (size + 7) / 8 * 8;
    std::memcpy(place, &given, std::min(size, sizeof given));
    return reinterpret_cast<T*>(place);
  }

 private:
  const std::size_t size_;
  char* pages_ = nullptr;
};

/// Gives a struct in each size up to its own to a call, which takes those that end with a field: so many they are.
template <class T>
void expect_whole_fields(T given, int num_sizes, const std::function<octavo_status(const T*)>& call) {
  PageEnd memory;
  int num_taken = 0;
  for (std::size_t size = 0; size <= sizeof(T); ++size) {
    given.size = size;
    const octavo_status status = call(memory.put(given, std::max(size, sizeof size)));
    if (status == OCTAVO_OK) {
      ++num_taken;
      continue;
    }
    EXPECT_EQ(status, OCTAVO_INVALID) << size;
    EXPECT_THAT(message_of_last(), HasSubstr("size: found " + std::to_string(size))) << size;
  }
  EXPECT_EQ(num_taken, num_sizes);
}

class CapiArguments : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = load_tiny(true); }
  static void TearDownTestSuite() { EXPECT_EQ(octavo_close(model_), OCTAVO_OK); }
  void SetUp() override { queue_ = open_queue(); }
  void TearDown() override { EXPECT_EQ(octavo_close(queue_), OCTAVO_OK); }

  static octavo_handle model_;
  octavo_handle queue_ = 0;
};

octavo_handle CapiArguments::model_ = 0;

TEST_F(CapiArguments, AStructCountsByWholeFieldsAndNothingBehindItsSizeIsRead) {
  expect_whole_fields<octavo_queue_options>({}, 3, [](const octavo_queue_options* options) {
    octavo_handle queue = 0;
    const octavo_status status = octavo_queue_open(options, &queue);
    if (status == OCTAVO_OK) octavo_close(queue);
    return status;
  });
  octavo_request request = {};
  request.api = "/v1/completions";
  request.body = R"({"prompt": [5], "max_tokens": 1})";
  expect_whole_fields<octavo_request>(request, 8 + 5, [this](const octavo_request* asked) {
    if (asked->size == offsetof(octavo_request, body)) {
      EXPECT_EQ(octavo_submit(model_, queue_, asked, nullptr), OCTAVO_INVALID) << "no prompt";
      return OCTAVO_OK;
    }
    return octavo_submit(model_, queue_, asked, nullptr);
  });
  expect_whole_fields<octavo_counts>(
      {}, 13, [](const octavo_counts* counts) { return octavo_stats(model_, const_cast<octavo_counts*>(counts)); });
}

TEST_F(CapiArguments, AnErrorIsToldInWholeFields) {
  octavo_close(0);
  for (std::size_t size = 0; size <= sizeof(octavo_error) + 8; ++size) {
    octavo_error error;
    std::memset(&error, 0x5A, sizeof error);
    error.size = size;
    octavo_last_error(&error);
    EXPECT_EQ(error.size, size);
    EXPECT_EQ(error.status, size >= offsetof(octavo_error, http) ? OCTAVO_CLOSED : 0x5A5A5A5A) << size;
    std::array<unsigned char, sizeof error.message> message = {}, untouched = {};
    std::memcpy(message.data(), &error.message, sizeof error.message);
    untouched.fill(0x5A);
    EXPECT_EQ(message == untouched, size < offsetof(octavo_error, field)) << size;
  }
}

TEST_F(CapiArguments, NumbersThatWereNegativeAreErrors) {
  const auto expect_wrong = [](octavo_status status, const char* name) {
    EXPECT_EQ(status, OCTAVO_INVALID) << name;
    EXPECT_THAT(message_of_last(), HasSubstr("expected at most")) << name;
  };
  for (const std::size_t count : {std::numeric_limits<std::size_t>::max(), std::size_t{0xFFFFFFFF}}) {
    const std::int32_t token = 5;
    std::uint32_t word = 0;
    std::size_t num_tokens = 0;
    octavo_handle made = 0;
    octavo_text text = {};
    const char* const options[] = {"--port", "0"};
    octavo_request request = {};
    request.size = sizeof request;
    request.tokens = &token;
    request.num_tokens = count;
    expect_wrong(octavo_submit(model_, queue_, &request, nullptr), "num_tokens");
    request.num_tokens = 0;
    request.body = "{}";
    request.body_size = count;
    expect_wrong(octavo_submit(model_, queue_, &request, nullptr), "body_size");
    octavo_load_options load = {};
    load.size = sizeof load;
    load.options = options;
    load.num_options = count;
    expect_wrong(octavo_load(&load, &made), "num_options");
    expect_wrong(octavo_tokenize(model_, "A", count, 0, nullptr, 0, &num_tokens), "size of a text");
    expect_wrong(octavo_detokenize(model_, &token, count, &text), "count");
    expect_wrong(octavo_answer(model_, "/tokenize", "{}", count, &text), "size of a body");
    expect_wrong(octavo_constraint_open(model_, "regex", "A", count, &made), "size of a constraint");
    expect_wrong(octavo_serve(model_, options, count, &made, nullptr), "options of a server");
    ASSERT_EQ(octavo_constraint_open(model_, "regex", "A+", 0, &made), OCTAVO_OK);
    expect_wrong(octavo_mask(made, &token, count, &word, 1), "tokens of a mask");
    expect_wrong(octavo_mask(made, nullptr, 0, &word, count), "words of a mask");
    EXPECT_EQ(octavo_close(made), OCTAVO_OK);
  }
}

TEST_F(CapiArguments, NullPointersAreErrors) {
  octavo_text text = {};
  octavo_handle made = 0;
  std::size_t count = 0;
  std::int32_t token = 0;
  octavo_request request = {};
  request.size = sizeof request;
  request.num_tokens = 3;
  const char* const no_word[] = {"--threads", nullptr};
  octavo_load_options load = {};
  load.size = sizeof load;
  load.options = no_word;
  load.num_options = 2;
  const std::vector<octavo_status> statuses = {
      octavo_stop_open(nullptr),
      octavo_load(nullptr, nullptr),
      octavo_load(&load, &made),
      octavo_info(model_, nullptr),
      octavo_stats(model_, nullptr),
      octavo_tokenize(model_, nullptr, 0, 0, nullptr, 0, &count),
      octavo_tokenize(model_, "A", 1, 0, nullptr, 1, &count),
      octavo_tokenize(model_, "A", 1, 0, nullptr, 0, nullptr),
      octavo_detokenize(model_, nullptr, 1, &text),
      octavo_detokenize(model_, &token, 1, nullptr),
      octavo_answer(model_, nullptr, "{}", 2, &text),
      octavo_answer(model_, "/tokenize", "{}", 2, nullptr),
      octavo_submit(model_, queue_, &request, nullptr),
      octavo_queue_open(nullptr, nullptr),
      octavo_queue_descriptor(queue_, nullptr),
      octavo_poll(queue_, 0, nullptr),
      octavo_constraint_open(model_, nullptr, "A", 1, &made),
      octavo_constraint_open(model_, "regex", "A", 1, nullptr),
      octavo_mask(0, nullptr, 0, nullptr, 0),
      octavo_serve(model_, nullptr, 0, nullptr, nullptr),
      octavo_serve(model_, nullptr, 2, &made, nullptr),
  };
  for (std::size_t i = 0; i < statuses.size(); ++i) EXPECT_EQ(statuses[i], OCTAVO_INVALID) << i;
  octavo_last_error(nullptr);
  octavo_text_free(nullptr);
  octavo_events_free(nullptr);
  char name[] = "octavo";
  char* no_argument[] = {name, nullptr};
  for (const int num_arguments : {-1, 0, 1}) EXPECT_EQ(octavo_main(num_arguments, nullptr), 2);
  EXPECT_EQ(octavo_main(2, no_argument), 2);
}

TEST_F(CapiArguments, AStopEndsTheCallsOfItsThreadUntilItIsTakenAway) {
  octavo_handle stop = 0, constraint = 0;
  octavo_request request = {};
  request.size = sizeof request;
  std::size_t count = 0;
  octavo_text text = {};
  EXPECT_EQ(octavo_stop_calls(queue_), OCTAVO_CLOSED) << "it is no stop";
  ASSERT_EQ(octavo_stop_open(&stop), OCTAVO_OK);
  ASSERT_EQ(octavo_stop_calls(stop), OCTAVO_OK);
  const auto call_all = [&](octavo_status expected) {
    EXPECT_EQ(octavo_tokenize(model_, "ABC", 3, 0, nullptr, 0, &count), expected) << message_of_last();
    EXPECT_EQ(octavo_answer(model_, "/tokenize", R"({"prompt": "ABC"})", 0, &text), expected) << message_of_last();
    octavo_text_free(&text);
    for (const char* const body :
         {R"({"prompt": "ABC", "max_tokens": 1})", R"({"prompt": [5], "max_tokens": 1, "guided_regex": "(A|B)+"})"}) {
      request.body = body;
      EXPECT_EQ(octavo_submit(model_, queue_, &request, nullptr), expected) << body << ": " << message_of_last();
    }
    EXPECT_EQ(octavo_constraint_open(model_, "regex", "(A|B){3}C", 0, &constraint), expected) << message_of_last();
    octavo_close(constraint);
  };
  ASSERT_EQ(octavo_close(stop), OCTAVO_OK);
  call_all(OCTAVO_STOPPED);
  EXPECT_EQ(octavo_stop_calls(stop), OCTAVO_CLOSED);
  ASSERT_EQ(octavo_stop_calls(0), OCTAVO_OK);
  call_all(OCTAVO_OK);
}

/// Whether a forked child's work, of no thread but its own, gives true.
bool child_says(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status == 0;
}

/// Whether the process loads a model of its own, with an answer.
bool loads_and_answers() {
  const octavo_handle model = load_tiny(false), queue = open_queue();
  octavo_request request = {};
  request.size = sizeof request;
  request.body = R"({"prompt": [5, 6], "max_tokens": 2, "ignore_eos": true})";
  octavo_events* events = nullptr;
  const bool has_events = octavo_submit(model, queue, &request, nullptr) == OCTAVO_OK &&
                          octavo_poll(queue, 60'000, &events) == OCTAVO_OK && events != nullptr;
  octavo_events_free(events);
  return has_events && octavo_close(queue) == OCTAVO_OK && octavo_close(model) == OCTAVO_OK;
}

TEST_F(CapiArguments, AForkedChildIsForkedForItsParentsHandlesAloneAndLoadsItsOwn) {
  EXPECT_TRUE(loads_and_answers());
  octavo_handle stop = 0, constraint = 0, closed = open_queue();
  const octavo_handle running = load_tiny(false);
  ASSERT_EQ(submit_long(running, queue_), OCTAVO_OK);
  ASSERT_EQ(octavo_close(closed), OCTAVO_OK);
  ASSERT_EQ(octavo_stop_open(&stop), OCTAVO_OK);
  ASSERT_EQ(octavo_constraint_open(model_, "regex", "A+", 0, &constraint), OCTAVO_OK);
  EXPECT_TRUE(child_says([&] {
    octavo_events* events = nullptr;
    bool is_right = octavo_close(closed) == OCTAVO_CLOSED && octavo_poll(queue_, 0, &events) == OCTAVO_FORKED &&
                    submit_long(model_, queue_) == OCTAVO_FORKED;
    for (const octavo_handle handle : {model_, queue_, stop, constraint, running})
      is_right = is_right && octavo_close(handle) == OCTAVO_FORKED;
    return is_right && loads_and_answers() && octavo_close(model_) == OCTAVO_FORKED;
  }));
  EXPECT_TRUE(child_says([] { return child_says(loads_and_answers) && loads_and_answers(); }));
  EXPECT_TRUE(loads_and_answers()) << "the parent's goes on";
  for (const octavo_handle handle : {stop, constraint, running}) EXPECT_EQ(octavo_close(handle), OCTAVO_OK);
}

}  // namespace
}  // namespace octavo::test
