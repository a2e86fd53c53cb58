#include "tokenizer/encoder_scratch.h"

namespace octavo {

std::size_t EncoderScratch::bytes() const {
  std::size_t bytes = merging.bytes() + joining.bytes() + ways.bytes() + cutting.bytes();
  for (const TextSteps::Scratch* steps : {&normalizing, &stepping})
    bytes += steps->text.capacity() + steps->other.capacity();
  return bytes;
}

void EncoderScratch::watch(const RequestWork* work) {
  merging.queue.watch(work);
  joining.queue.watch(work);
  ways.work = work;
}

std::unique_ptr<EncoderScratch> SpareScratch::take() {
  std::unique_ptr<EncoderScratch> scratch(spare_.exchange(nullptr));
  return scratch ? std::move(scratch) : std::make_unique<EncoderScratch>();
}

void SpareScratch::give(std::unique_ptr<EncoderScratch> scratch) {
  if (scratch->bytes() > kMaxBytes) return;
  const std::unique_ptr<EncoderScratch> other(spare_.exchange(scratch.release()));
}

}  // namespace octavo
