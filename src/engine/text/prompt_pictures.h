// The pictures of a conversation: how many tokens each takes, its pixels in the size in which the model sees it, and
// its place in the prompt.
//
// The tokens of a picture are known from the head of its file, so that a prompt without room is refused before anything
// is decoded. Immutable, apart from a count of the memory that decoding takes; any thread.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octavo/model_text.h"
#include "tokenizer/tokenizer.h"
#include "vision/picture_family.h"
#include "vision/prepared_picture.h"

namespace octavo {

/// How a model sees pictures, as its encoder's file, its vocabulary and the options say.
struct PictureRules {
  const PictureFamily* family = nullptr;
  PictureGeometry geometry = {};
  TokenId placeholder = -1;              // the token of a prompt that stands for a picture
  TokenId row = -1;                      // the token that stands for a row of one; -1: the same
  const Tokenizer* tokenizer = nullptr;  // of the texts around rows; null: the family has none
  int min_tokens = 0, max_tokens = 0;    // for a picture that asks for no number of tokens
  int most_tokens = 0;                   // the most that a picture may ask for; 0: the family's
  bool turns_by_grid = false;            // as in SequenceGiven
  bool joins_rows = false;               // as in SequenceGiven
  PictureBounds bounds = {};
  std::string encoder_hash = {};

  TokenId row_token() const { return row < 0 ? placeholder : row; }
};

class PromptPictures {
 public:
  static constexpr std::size_t kMostDecodeBytes = std::size_t{512} << 20;  // at once; who comes later waits

  explicit PromptPictures(PictureRules rules) : rules_(std::move(rules)) {}

  const PictureRules& rules() const { return rules_; }
  bool turns_by_grid() const { return rules_.turns_by_grid; }

  /// A picture whose size is known.
  struct Measured {
    const PictureInput* input = nullptr;
    std::string place = {};
    PictureHeader header = {};
    PictureLayout layout = {};
  };
  /// Measures the pictures of a prompt in their order, by the heads of their files. Errors name the picture.
  Result<std::vector<Measured>> measure(std::span<const PictureInput* const> pictures) const;
  /// Replaces each placeholder in the prompt by those of all tokens of its picture. Errors: the prompt has placeholders
  /// for another number of pictures; it has more than `max_tokens` then, if that is not 0.
  Result<void> expand(std::span<const Measured> pictures, std::size_t max_tokens, ChatPrompt& prompt) const;
  /// Decodes the pictures of an expanded prompt. Errors name the picture, or are a stop of `work`.
  Result<void> decode(std::span<const Measured> pictures, RequestWork* work, ChatPrompt& prompt) const;

 private:
  Result<Measured> measure_one(const PictureInput& input, std::string place) const;
  using Digest = std::array<std::uint8_t, 32>;
  using Tiles = std::vector<std::shared_ptr<const PreparedPicture>>;

  /// Adds the tokens of a text of the markup.
  Result<void> add_text(const std::string& text, std::vector<TokenId>& tokens) const;
  /// Adds the tokens of a prompt's picture of that number, and their places to the prompt.
  Result<void> add_picture(const Measured& measured, std::size_t number, std::vector<TokenId>& tokens,
                           ChatPrompt& prompt) const;
  Result<Tiles> prepare(const Measured& measured) const;
  Digest digest_of(const Measured& measured) const;

  const PictureRules rules_;
  mutable std::mutex mutex_;
  mutable std::condition_variable has_room_;
  mutable std::size_t decode_bytes_ = 0;  // the bytes that are taken now
};

}  // namespace octavo
