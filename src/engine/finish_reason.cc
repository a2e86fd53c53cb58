#include "base/error.h"
#include "octavo/engine.h"

namespace octavo {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone: return "";
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kContext: return "context";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kDeadline: return "deadline";
    case FinishReason::kFailed: return "failed";
    case FinishReason::kNotFinite: return "not_finite";
    case FinishReason::kNotPinned: return "not_pinned";
    case FinishReason::kConstraint: return "constraint";
  }
  OCTAVO_CHECK(false, "finish reason {}", static_cast<int>(reason));
}

}  // namespace octavo
