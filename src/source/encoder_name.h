// What the name of a file with an encoder of pictures tells. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

/// Whether a file is called as encoders are: mmproj stands in its name, which ends in .gguf.
bool is_encoder_name(std::string_view path);

/// The bits of weights that a file's name tells of: "m-Q4_K_M.gguf", "mmproj-BF16.gguf"; 16 where it tells of none.
int bits_by_name(std::string_view path);

/// Whether of two encoders the one called `a` goes before the other beside a model of so many bits a weight.
bool suits_better(std::string_view a, std::string_view b, int bits);

}  // namespace octavo
