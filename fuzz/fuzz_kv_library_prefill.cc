// Arbitrary configurations, rooms, retractions and skips of chunked prefill: every token is handed out once, in order,
// but for the overlap, and progress counts what was computed.
#include <cstdint>
#include <deque>
#include <vector>

#include "fuzz_bytes.h"
#include "octavo/kv/prefill.h"

namespace octavo {
namespace {

void check_plan(std::span<const TokenId> tokens, const PrefillConfig& config) {
  const Result<PrefillPlan> plan = PrefillPlan::create(tokens, config);
  FUZZ_CHECK(plan.has_value() == config.check().has_value());
  if (!plan) return;
  int end = 0, index = 0;
  for (const PrefillChunk& chunk : plan->chunks()) {
    FUZZ_CHECK(chunk.index == index++ && chunk.start + chunk.overlap == end && chunk.end > end);
    FUZZ_CHECK(chunk.size() <= config.chunk_size && chunk.tokens.data() == tokens.data() + chunk.start);
    end = chunk.end;
    FUZZ_CHECK(chunk.is_last == (end == std::ssize(tokens)));
  }
  FUZZ_CHECK(end == std::ssize(tokens));
}

class PrefillFuzzer {
 public:
  PrefillFuzzer(PrefillScheduler& prefill, const PrefillConfig& config, Bytes& bytes)
      : prefill_(prefill), config_(config), bytes_(bytes) {}

  void run() {
    while (!bytes_.empty()) {
      operation();
      FUZZ_CHECK(prefill_.num_computed() == computed_ &&
                 prefill_.is_complete() == (computed_ == prefill_.total_tokens()));
      FUZZ_CHECK(prefill_.progress() >= 0 && prefill_.progress() <= 1);
      FUZZ_CHECK(prefill_.total_chunks() >= static_cast<int>(out_.size()));
      (void)prefill_.decode_available();
    }
    finish();
  }

 private:
  void next(int room, bool decode_waiting) {
    const PrefillAction action = prefill_.next_action(room, decode_waiting);
    if (action.kind == PrefillAction::kYieldToDecode) {
      FUZZ_CHECK(handed_out_ < prefill_.total_tokens());
      return;
    }
    if (action.kind == PrefillAction::kStartDecode) {
      FUZZ_CHECK(handed_out_ == prefill_.total_tokens());
      return;
    }
    const PrefillChunk& chunk = action.chunk;
    FUZZ_CHECK(chunk.size() <= room && chunk.size() <= config_.chunk_size && chunk.end > handed_out_);
    FUZZ_CHECK(chunk.start + chunk.overlap == handed_out_ && chunk.overlap <= config_.overlap);
    out_.push_back(chunk);
    handed_out_ = chunk.end;
  }

  void operation() {
    switch (bytes_.below(6)) {
      case 0:
        if (!out_.empty()) {
          handed_out_ = out_.back().start + out_.back().overlap;
          prefill_.retract(out_.back());
          out_.pop_back();
        }
        return;
      case 1:
        if (!out_.empty()) {
          computed_ = out_.front().end;
          prefill_.complete(out_.front());
          out_.pop_front();
        }
        return;
      case 2: {
        const auto position = static_cast<int>(bytes_.number());
        const bool possible = out_.empty() && position >= computed_ && position <= prefill_.total_tokens();
        FUZZ_CHECK(prefill_.skip_to(position).has_value() == possible);
        if (possible) computed_ = handed_out_ = position;
        return;
      }
      case 3: return next(static_cast<int>(bytes_.number()), bytes_.below(2) == 0);
      default: return next(PrefillScheduler::kNoLimit, bytes_.below(2) == 0);
    }
  }

  // With all the room there is, a prompt is handed out within its chunks and as many yields as are allowed.
  void finish() {
    int turns = 0;
    while (handed_out_ < prefill_.total_tokens()) {
      next(PrefillScheduler::kNoLimit, true);
      FUZZ_CHECK(++turns <= (prefill_.total_tokens() + 2) * (config_.max_yields + 2));
    }
    for (; !out_.empty(); out_.pop_front()) prefill_.complete(out_.front());
    FUZZ_CHECK(prefill_.is_complete() && prefill_.next_action().kind == PrefillAction::kStartDecode);
  }

  PrefillScheduler& prefill_;
  const PrefillConfig& config_;
  Bytes& bytes_;
  std::deque<PrefillChunk> out_;
  int computed_ = 0, handed_out_ = 0;
};

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  Bytes bytes({data, size});
  const auto any = [&](int usual) {
    return bytes.below(32) == 0 ? static_cast<int>(bytes.number()) : bytes.below(usual);
  };
  PrefillConfig config(any(40));
  config.overlap = any(12);
  config.priority = static_cast<PrefillPriority>(bytes.below(3));
  config.max_yields = bytes.below(6) - 1;
  const std::vector<TokenId> tokens(static_cast<std::size_t>(bytes.next()));
  check_plan(tokens, config);
  (void)estimate_prefill_memory(any(255), any(40), any(9));
  Result<PrefillScheduler> prefill = PrefillScheduler::create(tokens, config);
  FUZZ_CHECK(prefill.has_value() == config.check().has_value());
  if (prefill) PrefillFuzzer(*prefill, config, bytes).run();
  return 0;
}
