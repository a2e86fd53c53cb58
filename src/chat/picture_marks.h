// How prompts name a picture. Plain values; any thread.
#pragma once

#include <string_view>

namespace octavo {

/// The texts of a family of pictures' encoders, which the model's vocabulary has as tokens. They are constants, which
/// outlive whatever is given them. Empty: the model sees no pictures.
struct PictureMarks {
  std::string_view place = {};        // what stands for a picture where a template has no form of its own for one
  std::string_view placeholder = {};  // the token in it that stands for what the encoder makes of the picture
  std::string_view spelled = {};      // what stands in a prompt for each placeholder of the template, which has one
                                      // itself; empty: the placeholder
};

}  // namespace octavo
