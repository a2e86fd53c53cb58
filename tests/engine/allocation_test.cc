// A step allocates nothing after warm-up: counted by replacing the program's operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/test_engine.h"

namespace {
std::atomic<long> num_allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(rounded) : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 1); }
void* operator new[](std::size_t bytes) { return counted(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;

// Runs prompts in chunks, cached prefixes, forks, decodes, preemptions and ends; gives the allocations made within
// steps.
long allocations_in_steps(TestEngine& engine, long& num_tokens) {
  for (std::uint64_t i = 0; i < 8; ++i) {
    Request request = make_request(6 + static_cast<int>(i), 30, i);
    request.num_choices = 1 + static_cast<int>(i % 3);
    request.sampling = {.temperature = 0.8F, .top_k = 20, .top_p = 0.9F, .min_p = 0.01F, .seed = i};
    if (i % 2 == 0) {
      request.sampling.repetition_penalty = 1.1F;
      request.sampling.presence_penalty = 0.5F;
      request.sampling.logit_bias = {{3, -100.0F}, {4, 1.0F}};
      request.top_logprobs = 5;
      request.min_tokens = 10;
      request.stop = {"\u20AC\u20AC\u20AC", "never in it"};
    }
    const auto id = engine->submit(std::move(request), [&](const TokenEvent&) { ++num_tokens; });
    EXPECT_TRUE(id);
  }
  const long before = num_allocations.load();
  engine->run();
  return num_allocations.load() - before;
}

TEST(EngineAllocations, StepsAllocateNothingAfterWarmUp) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{9}}) {
    for (const int threads : {1, 2}) {
      TestEngine engine({.runner = {.num_blocks = 20, .windows = windows},
                         .max_context = 64,
                         .num_threads = threads,
                         .limits = {.max_step_tokens = 16}});
      long num_tokens = 0;
      allocations_in_steps(engine, num_tokens);
      EXPECT_GT(engine->stats().preemptions, 0U);
      EXPECT_EQ(allocations_in_steps(engine, num_tokens), 0);
      EXPECT_EQ(num_tokens, 2 * 15 * 30);  // of 15 choices
      EXPECT_GT(engine->stats().cached_tokens, 0U);
      EXPECT_GT(engine->stats().kv.copies, 0U);
    }
  }
}

TEST(EngineAllocations, TheCounterCounts) {
  const long before = num_allocations.load();
  delete new int(1);
  EXPECT_GE(num_allocations.load(), before + 1);
}

}  // namespace
}  // namespace octavo
