// Makes the parts of a TextEncoder from the keys of a GGUF file.
//
// Free functions, any thread.
#pragma once

#include "base/error.h"
#include "source/model_source.h"
#include "tokenizer/text/text_frame.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

struct GgufEncoder {
  EncoderParts parts;
  FrameDefaults defaults = {};
  bool strips_space = false;  // decoded text begins without the space of its first word
};

/// Reads the parts. Errors name the key. An unknown pre-tokenizer, and merges that are missing, are kNoWords.
Result<GgufEncoder> read_gguf_encoder(const ModelSource& source, const Vocab& vocab);

}  // namespace octavo
