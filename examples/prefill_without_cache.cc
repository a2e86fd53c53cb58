// Reads a prompt in chunks with a model that has no KV cache.
//
// The model is a stack of causal convolutions: a position depends on the tokens kReach before it, and on nothing else.
// So a chunk that begins kReach tokens early computes the same values as the whole prompt at once, bit for bit. Its
// first rows lack their past, but the chunk before has computed those already. PrefillConfig::overlap is for this; a
// model with a cache never computes a token again and leaves it 0.
//
// Prints the turns that prompt and decodes take under the three priorities. Exit code 1 if a
// result differs.
#include <octavo/kv.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int kWidth = 16;  // channels
constexpr int kTaps = 4;    // positions that a layer looks at: its own and those before it
constexpr int kNumLayers = 3;
constexpr int kReach = kNumLayers * (kTaps - 1);

using Rows = std::vector<float>;  // [num_tokens][kWidth]

// A weight or an embedding: any fixed function of three numbers will do, here a few rounds of integer mixing.
float parameter(int a, int b, int c) {
  std::uint32_t x = static_cast<std::uint32_t>(a) * 73856093U ^ static_cast<std::uint32_t>(b) * 19349663U ^
                    static_cast<std::uint32_t>(c) * 83492791U;
  for (int round = 0; round < 3; ++round) x = (x ^ x >> 15) * 0x2C1B3C6DU;
  return static_cast<float>(x % 2001) / 1000.0F - 1.0F;  // -1 .. 1
}

Rows embed(std::span<const octavo::TokenId> tokens) {
  Rows rows;
  for (const octavo::TokenId token : tokens)
    for (int channel = 0; channel < kWidth; ++channel) rows.push_back(parameter(token, channel, -1));
  return rows;
}

// One layer: positions before the first row count as zeros.
Rows convolve(const Rows& in, int layer) {
  const int num_tokens = static_cast<int>(in.size()) / kWidth;
  Rows out(in.size());
  for (int t = 0; t < num_tokens; ++t)
    for (int channel = 0; channel < kWidth; ++channel) {
      float sum = 0;
      for (int tap = 0; tap < kTaps && tap <= t; ++tap)
        for (int from = 0; from < kWidth; ++from)
          sum +=
              in[static_cast<std::size_t>((t - tap) * kWidth + from)] * parameter(layer * kTaps + tap, from, channel);
      out[static_cast<std::size_t>(t * kWidth + channel)] = std::max(sum, 0.0F) / kWidth;
    }
  return out;
}

Rows compute(std::span<const octavo::TokenId> tokens) {
  Rows rows = embed(tokens);
  for (int layer = 0; layer < kNumLayers; ++layer) rows = convolve(rows, layer);
  return rows;
}

struct Run {
  Rows rows;          // of the prompt
  std::string turns;  // what ran, in order
  int num_computed = 0;
};

// An engine's loop, with decodes of others that wait all the time. Every fourth turn has room for half a chunk only.
Run read_in_chunks(std::span<const octavo::TokenId> prompt, const octavo::PrefillConfig& config) {
  auto created = octavo::PrefillScheduler::create(prompt, config);
  if (!created) {
    std::fprintf(stderr, "%s\n", created.error().message.c_str());
    std::exit(1);
  }
  octavo::PrefillScheduler& prefill = *created;
  Run run;
  for (int turn = 1;; ++turn) {
    const int room = turn % 4 == 0 ? config.chunk_size / 2 : octavo::PrefillScheduler::kNoLimit;
    const octavo::PrefillAction action = prefill.next_action(room);
    if (action.kind == octavo::PrefillAction::kStartDecode) {
      run.turns += "decode";
      return run;
    }
    if (action.kind == octavo::PrefillAction::kYieldToDecode) {
      run.turns += "yield ";
      continue;
    }
    const octavo::PrefillChunk& chunk = action.chunk;
    const Rows rows = compute(chunk.tokens);
    run.rows.insert(run.rows.end(), rows.begin() + std::ptrdiff_t{chunk.overlap} * kWidth, rows.end());
    run.num_computed += chunk.size();
    run.turns += std::to_string(chunk.start) + "-" + std::to_string(chunk.end) + " ";
    prefill.complete(chunk);
  }
}

}  // namespace

int main() {
  std::vector<octavo::TokenId> prompt(100);
  std::iota(prompt.begin(), prompt.end(), 1);
  const Rows whole = compute(prompt);
  const auto config = octavo::PrefillConfig(32).with_overlap(kReach).with_max_yields(2);

  struct Named {
    const char* name;
    octavo::PrefillPriority priority;
  };
  bool equal = true;
  for (const Named& each : {Named{"PrefillFirst", octavo::PrefillPriority::kPrefillFirst},
                            Named{"Interleaved", octavo::PrefillPriority::kInterleaved},
                            Named{"DecodePriority", octavo::PrefillPriority::kDecodePriority}}) {
    const Run run = read_in_chunks(prompt, config.with_priority(each.priority));
    std::printf("%-14s %s\n", each.name, run.turns.c_str());
    std::printf("%-14s %d rows computed for %zu tokens, %s\n", "", run.num_computed, prompt.size(),
                run.rows == whole ? "equal to the whole prompt at once" : "DIFFERENT from the whole prompt at once");
    equal = equal && run.rows == whole;
  }
  const bool reach_is_needed = read_in_chunks(prompt, config.with_overlap(kReach - 1)).rows != whole;
  std::printf("an overlap of %d instead of %d: %s\n", kReach - 1, kReach, reach_is_needed ? "different" : "EQUAL");

  const auto estimate = octavo::estimate_prefill_memory(4096, 512, 9);
  std::printf("attention scores of 4096 tokens, 9 heads, chunks of 512: %s\n", estimate->summary().c_str());
  return equal && reach_is_needed ? 0 : 1;
}
