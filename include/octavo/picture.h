// Pictures in prompts: as a caller has them, and as a model that sees reads them.
//
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace octavo {

struct PreparedPicture;  // vision/prepared_picture.h

/// A picture as it came.
struct PictureInput {
  std::shared_ptr<const std::string> bytes = {};  // of a JPEG, PNG, WebP or GIF file
  std::string place = {};  // its name in errors, such as "messages[1].content[0].image_url.url"; empty: its number
  /// Tokens that it is to become, as far as its shape allows; 0: the model's (VisionInfo).
  int min_tokens = 0, max_tokens = 0;
};

/// The place of a picture in a prompt.
struct PromptPicture {
  std::int32_t first = 0;  // token of the prompt, from which on `count` placeholders stand for it
  std::int32_t count = 0;
  std::shared_ptr<const PreparedPicture> picture = {};
};

/// What a model sees of pictures.
struct VisionInfo {
  std::string file_name = {};  // of its encoder, without folders
  std::string family = {};  // of its encoder, as its file calls it (clip.projector_type); empty: it reads texts alone
  /// Tokens of a picture: the fewest and the most that it becomes by itself, and the most that it may be asked for.
  int min_tokens = 0, max_tokens = 0, most_tokens = 0;
  std::uint64_t weight_bytes = 0;  // of its encoder
  /// Errors of encoders beside the model, or in its folder, that would have been its own and cannot be read.
  std::vector<std::string> passed_over = {};

  bool sees() const { return !family.empty(); }
};

/// The most that a picture of a request may be. Errors say which one was met.
struct PictureBounds {
  std::uint64_t bytes = std::uint64_t{20} << 20;  // of its file
  std::uint64_t pixels = 64'000'000;
  int pictures = 100;  // of a prompt
};

}  // namespace octavo
