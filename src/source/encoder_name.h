// What the file name of a picture encoder tells. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

/// Whether a file is named as encoders are: its name has mmproj in it and ends in .gguf.
bool is_encoder_name(std::string_view path);

/// The bits per weight that a file's name tells: "m-Q4_K_M.gguf", "mmproj-BF16.gguf"; 16 where it tells none.
int bits_by_name(std::string_view path);

/// Whether the encoder named `a` suits a model of `bits` bits per weight better than the one named `b`.
bool suits_better(std::string_view a, std::string_view b, int bits);

}  // namespace octavo
