// Pictures in prompts: as a caller gives them, and as a model that sees reads them.
//
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace octavo {

struct PreparedPicture;  // vision/prepared_picture.h

/// A picture as a caller gives it.
struct PictureInput {
  std::shared_ptr<const std::string> bytes = {};  // the bytes of a JPEG, PNG, WebP or GIF file
  std::string place = {};  // its name in errors, such as "messages[1].content[0].image_url.url"; empty: its number
  /// The tokens that it shall become, as far as its shape allows; 0: the model's numbers (VisionInfo).
  int min_tokens = 0, max_tokens = 0;
};

/// The place of a picture in a prompt, or of a part of it: texts may stand between its tiles and its rows.
struct PromptPicture {
  std::int32_t first = 0;  // the first of `count` placeholder tokens that stand for it
  std::int32_t count = 0;
  std::int32_t index = 0;  // the place of the first one among all tokens of `picture`
  std::shared_ptr<const PreparedPicture> picture = {};
};

/// The encoder by which a model sees pictures, and the sizes in which it sees them.
struct VisionInfo {
  std::string file_name = {};  // the encoder's file, without folders
  std::string family = {};     // the encoder's (clip.projector_type); empty: the model reads only texts
  /// The tokens of a picture: the fewest and the most by default, and the most that may be asked for.
  int min_tokens = 0, max_tokens = 0, most_tokens = 0;
  std::uint64_t weight_bytes = 0;  // the encoder's weights
  /// Errors of encoders beside the model, or in its folder, that would have been its own and cannot be read.
  std::vector<std::string> passed_over = {};

  bool sees() const { return !family.empty(); }
};

/// The limits of a request's pictures. Errors say which limit was met.
struct PictureBounds {
  std::uint64_t bytes = std::uint64_t{20} << 20;  // the bytes of its file
  std::uint64_t pixels = 64'000'000;
  int pictures = 100;  // the pictures of a prompt
};

}  // namespace octavo
