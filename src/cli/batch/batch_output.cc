#include "cli/batch/batch_output.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "base/to_size.h"
#include "cli/batch/batch_line.h"

namespace octavo::cli {
namespace {

constexpr std::uint64_t kMaxAnswerBytes = std::uint64_t{1} << 30;

/// Where the last whole line begins and ends.
struct LastLine {
  std::uint64_t begin = 0, end = 0;
};

LastLine find_last_line(std::istream& file) {
  LastLine last;
  std::array<char, 1 << 16> piece{};
  std::uint64_t offset = 0;
  while (file) {
    file.read(piece.data(), piece.size());
    const auto size = to_size(file.gcount());
    for (std::size_t i = 0; i < size; ++i)
      if (piece[i] == '\n') last = {.begin = last.end, .end = offset + i + 1};
    offset += size;
  }
  return last;
}

}  // namespace

Result<std::uint64_t> resume_batch_output(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  const LastLine last = find_last_line(file);
  if (file.bad()) return fail("{}: cannot read: {}", path.string(), std::strerror(errno));
  std::uint64_t number = 0;
  if (last.end > 0) {
    if (last.end - last.begin > kMaxAnswerBytes)
      return fail("{}: found a last line of {} bytes, expected an answer of a batch", path.string(),
                  last.end - last.begin);
    std::string text(last.end - last.begin - 1, '\0');
    file.clear();
    file.seekg(static_cast<std::streamoff>(last.begin));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const auto line = file ? line_of_answer(text) : std::nullopt;
    if (!line) return fail("{}: its last line is no answer of a batch; name another file", path.string());
    number = *line;
  }
  std::filesystem::resize_file(path, last.end, error);
  if (error) return fail("{}: cannot cut off its last line: {}", path.string(), error.message());
  return number;
}

}  // namespace octavo::cli
