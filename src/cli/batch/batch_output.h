// The file with a batch's answers: a new one, or one that an earlier run has begun. One thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"

namespace octavo::cli {

/// Prepares a file for more answers: an incomplete line at its end is cut off. Gives the number of the last line of the
/// batch that has an answer there; 0: none. Error: the last line is no answer of a batch.
Result<std::uint64_t> resume_batch_output(const std::filesystem::path& path);

}  // namespace octavo::cli
