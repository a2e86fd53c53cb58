// Makes an ActiveRequest of a request that has passed the checks.
//
// Owned by the engine; any thread may call make().
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/answers/active_request.h"
#include "engine/pictures/picture_vectors.h"
#include "engine/text/model_text_impl.h"
#include "engine/vector_rules.h"

namespace octavo {

class RequestMaker {
 public:
  /// Hashes blocks as the KV cache does. `text` must outlive this and its requests. `pictures`: null where the model
  /// reads texts alone; it must outlive this, too.
  RequestMaker(const ModelTextImpl& text, BlockHashing hashing, const VectorRules& vectors, PictureVectors* pictures);

  /// Makes a request, whose time counts from now on; its choices generate at most `max_generated` tokens each. Errors:
  /// tokens of an answer that broke off which cannot have been its beginning. Throws std::bad_alloc.
  Result<std::unique_ptr<ActiveRequest>> make(RequestId id, Request request, TokenCallback on_event,
                                              int max_generated) const;

 private:
  ReasoningView view_of(const Request& request, std::span<const TokenId> shown) const;
  static TokenId opening_mark_of(const ReasoningView& reasoning);
  EndingRules endings_of(Request& request, int max_generated) const;
  void fill_prompt(Request& request, ActiveRequest& active) const;
  void fill_pictures(const Request& request, Sequence& prompt) const;
  void find_first_mask(ActiveRequest& active) const;
  Result<void> resume(ActiveRequest& active) const;

  const ModelTextImpl& text_;
  std::vector<TokenId> end_tokens_;  // end tokens that may be drawn
  const BlockHashing hashing_;       // copied for each use, so that any thread may use it
  const VectorRules vectors_;
  PictureVectors* const pictures_;
};

}  // namespace octavo
