// The memory in which texts are encoded. It is kept from call to call, because a long text takes many pages, which the
// system would otherwise clear anew each time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/text/text_steps.h"
#include "tokenizer/words/bpe.h"
#include "tokenizer/words/spm.h"
#include "tokenizer/words/unigram.h"

namespace octavo {

struct EncoderScratch {
  Bpe::Scratch merging{};
  Spm::Scratch joining{};
  Unigram::Scratch ways{};
  TextSteps::Scratch normalizing{}, stepping{};
  PreTokenizer::Scratch cutting{};

  std::size_t bytes() const;
  /// Watches `work`: where it is stopped, calls that use this memory end early, without all tokens; null: nothing stops
  /// them.
  void watch(const RequestWork* work);
};

/// Keeps the scratch memory of one call. Any thread may take it and give it back.
class SpareScratch {
 public:
  /// A larger scratch is not kept; a text of a megabyte needs at most this.
  static constexpr std::size_t kMaxBytes = std::size_t{48} << 20;

  SpareScratch() = default;
  ~SpareScratch() { delete spare_.load(); }
  SpareScratch(const SpareScratch&) = delete;
  SpareScratch& operator=(const SpareScratch&) = delete;

  /// Takes the spare scratch, or makes a new one where another call has it.
  std::unique_ptr<EncoderScratch> take();
  void give(std::unique_ptr<EncoderScratch> scratch);

 private:
  std::atomic<EncoderScratch*> spare_ = nullptr;
};

}  // namespace octavo
