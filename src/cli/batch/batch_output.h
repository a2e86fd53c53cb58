// The file of a batch's answers: a new one, or one that an earlier run has begun. One thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"

namespace octavo::cli {

/// Prepares the file for more answers: a line that was not written to its end is cut off. Gives the number of the last
/// line of the batch that is answered there; 0: none. Error: its last line is no answer of a batch.
Result<std::uint64_t> resume_batch_output(const std::filesystem::path& path);

}  // namespace octavo::cli
