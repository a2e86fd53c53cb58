#include "cli/picture_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "base/to_size.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kEndings[] = {".jpg", ".jpeg", ".png", ".webp", ".gif"};

/// The text without quotes around it or, where it has none, without backslashes before characters.
std::string unquoted(std::string_view text) {
  const bool is_quoted =
      text.size() > 1 && text.front() == text.back() && (text.front() == '\'' || text.front() == '"');
  if (is_quoted) return std::string(text.substr(1, text.size() - 2));
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

}  // namespace

Result<PictureInput> read_picture(const std::string& path, const PictureBounds& bounds) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail("{}: is a directory, expected a picture", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot open: {}", path, std::strerror(errno));
  std::string bytes;
  std::string piece(std::size_t{1} << 16, '\0');
  while (file && bytes.size() <= bounds.bytes) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    bytes.append(piece, 0, to_size(file.gcount()));
  }
  if (file.bad()) return fail("{}: cannot read: {}", path, std::strerror(errno));
  if (bytes.size() > bounds.bytes)
    return fail_as(ErrorKind::kPictureTooLarge, "{}: found more than {} bytes, expected at most so many", path,
                   bounds.bytes);
  return PictureInput{.bytes = std::make_shared<const std::string>(std::move(bytes)), .place = path};
}

Result<void> check_sees(const ModelInfo& info, std::string_view asked) {
  if (info.vision.sees()) return {};
  return fail("{}: {} reads text only; a model that sees does so with --mmproj FILE, the encoder of its pictures",
              asked, info.name);
}

ChatMessage user_message(const std::string& text, std::span<const PictureInput> pictures) {
  ChatMessage message{.role = "user", .content = text};
  if (pictures.empty()) return message;
  for (const PictureInput& picture : pictures)
    message.parts.push_back({.kind = ContentPart::Kind::kPicture, .picture = picture});
  message.parts.push_back({.text = std::exchange(message.content, {})});
  return message;
}

std::optional<std::string> dropped_picture(std::string_view line) {
  std::string path = unquoted(trimmed(line));
  const std::string name = lower_case(path);
  if (std::ranges::none_of(kEndings, [&name](std::string_view ending) { return name.ends_with(ending); }))
    return std::nullopt;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  return path;
}

}  // namespace octavo::cli
