// The changes of a text before it is cut into words: normalization, texts put in front, texts replaced.
//
// They are the normalizer of a tokenizer.json and the steps of its pre_tokenizer before the first cut, or those of the
// family of a GGUF file. The TextEncoder owns them; immutable, any thread, each with a Scratch of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/normalize.h"

namespace octavo {

struct TextStep {
  enum class Kind : std::uint8_t {
    kNormalize,  // normalizes to `form`
    kPrepend,    // puts `to` in front of a text that is not empty
    kReplace,    // replaces each `from`, which is not empty, by `to`
  };
  enum class When : std::uint8_t {
    kAlways,
    kUnlessThere,       // in front of a text that does not begin with it
    kFirstUnlessThere,  // the same where no token stands before the text
  };
  Kind kind = Kind::kNormalize;
  Normalization form = Normalization::kNone;
  When when = When::kAlways;
  std::string from{}, to{};
};

class TextSteps {
 public:
  static constexpr std::size_t kMaxSteps = 16;
  static constexpr std::size_t kMaxTextBytes = 4096;  // the most bytes of `from` and of `to`
  static constexpr std::size_t kMaxGrowth = 64;       // the most bytes that a byte of text may become

  /// The memory of steps.
  struct Scratch {
    std::string text, other;
  };

  TextSteps() = default;
  /// Error: more steps than the bounds allow.
  static Result<TextSteps> create(std::vector<TextStep> steps);

  bool is_empty() const { return steps_.empty(); }
  const std::vector<TextStep>& steps() const { return steps_; }
  /// The text must consist of whole characters.
  bool normalizes() const;
  /// The most bytes of text that become one; no value: any number may.
  std::optional<std::size_t> max_shrink() const;
  /// Whether `from` is in no text that the steps give.
  bool remove(std::string_view from) const;

  /// The text after all steps: a view of `text` where nothing changes, else of `scratch`. `is_first`: no token stands
  /// before it. Error: more than 2 GiB.
  Result<std::string_view> apply(std::string_view text, bool is_first, Scratch& scratch) const;

 private:
  std::vector<TextStep> steps_;
};

}  // namespace octavo
