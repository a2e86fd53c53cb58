// The changes of a text before it is cut into words: normalization, texts put in front, texts replaced.
//
// They are the normalizer of a tokenizer.json and the steps of its pre_tokenizer before the first cut, or those of the
// family of a GGUF file. The TextEncoder owns them; immutable, any thread, each with a Scratch of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/text/character_changes.h"
#include "tokenizer/text/code_point_set.h"
#include "tokenizer/text/normalize.h"
#include "tokenizer/text/precompiled_charsmap.h"

namespace octavo {

struct TextStep {
  enum class Kind : std::uint8_t {
    kNormalize,      // normalizes to `form`
    kChange,         // changes characters as `change` says
    kPrepend,        // puts `to` in front of a text that is not empty
    kReplace,        // replaces each `from`, which is not empty, by `to`
    kReplaceRuns,    // replaces each run of at least two `from`, which is one byte, by one `to`
    kTrim,           // leaves out the white space at the begin or the end
    kReplaceMapped,  // replaces texts as `charsmap` says
    kMarkWords,      // leaves out all white space, and puts `to` before each word that does not begin with it
  };
  enum class When : std::uint8_t {
    kAlways,
    kUnlessThere,       // in front of a text that does not begin with it
    kFirstUnlessThere,  // as kUnlessThere, where no token stands before the text
  };
  Kind kind = Kind::kNormalize;
  Normalization form = Normalization::kNone;
  CharacterChange change = CharacterChange::kClean;
  When when = When::kAlways;
  std::string from{}, to{};
  bool trims_begin = false, trims_end = false;
  std::shared_ptr<const PrecompiledCharsmap> charsmap{};
};

class TextSteps {
 public:
  static constexpr std::size_t kMaxSteps = 16;
  static constexpr std::size_t kMaxTextBytes = 4096;  // the most bytes of `from` and of `to`
  static constexpr std::size_t kMaxGrowth = 64;       // the most bytes that a byte of text may become

  /// The memory that the steps use.
  struct Scratch {
    std::string text, other;
  };

  TextSteps() = default;
  /// Makes the steps. Error: there are more than the bounds allow.
  static Result<TextSteps> create(std::vector<TextStep> steps);

  bool is_empty() const { return steps_.empty(); }
  const std::vector<TextStep>& steps() const { return steps_; }
  /// Whether the steps need a text of whole characters.
  bool need_characters() const;
  /// The most bytes of text that become one byte; none: there is no limit.
  std::optional<std::size_t> max_shrink() const;
  /// Whether no text that the steps give contains `from`.
  bool remove(std::string_view from) const;

  /// Applies all steps: the result is a view of `text` where nothing changes, otherwise of `scratch`. `is_first`: no
  /// token stands before the text. Error: more than 2 GiB.
  Result<std::string_view> apply(std::string_view text, bool is_first, Scratch& scratch) const;

 private:
  /// Applies one step, and says whether it changes the text: then the new text is scratch.other.
  Result<bool> apply_step(const TextStep& step, std::string_view text, bool is_first, Scratch& scratch) const;

  std::vector<TextStep> steps_;
  CodePointSet spaces_;  // white space, for the steps that look for it
};

}  // namespace octavo
