// The embedding of the token that ends rows of Pixtral's pictures, which files of encoders have beside the encoder:
// other programs read it there.
#pragma once

#include <memory>

#include "source/model_source.h"

namespace octavo {

/// The encoder with that row of its model's embedding; null where the encoder has none, or the model has no such token.
/// Both sources must outlive it, and so must the words, which are the model's. Error: the model cannot be read.
Result<std::unique_ptr<const ModelSource>> with_break_row(const ModelSource& encoder, const ModelSource& model,
                                                          const ModelSource& words);

}  // namespace octavo
