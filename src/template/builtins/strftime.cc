#include "template/builtins/strftime.h"

#include <array>

namespace octavo::jinja {

namespace {

// Directives of C's strftime that give a bounded text and look at nothing but the time.
constexpr std::string_view kDirectives = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyY%";

/// The text of one directive with its flag; nothing where it is unknown.
std::string_view format_directive(std::span<char> buffer, std::string_view directive, const std::tm& time) {
  const char letter = directive.back();
  if (letter == 'f') return "000000";
  if (letter == 'z' || letter == 'Z') return {};
  const std::string format = fmt::format("%{}", directive);
  // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the directive is one of those above
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), format.c_str(), &time)};
}

}  // namespace

const Text* format_time(Evaluation& evaluation, const Text& format, const std::tm& time) {
  TextBuilder out(evaluation.arena());
  const std::string_view bytes = format.bytes;
  for (std::size_t at = 0; at < bytes.size();) {
    evaluation.step();
    const std::size_t percent = std::min(bytes.size(), bytes.find('%', at));
    out.append_part(format, at, percent);
    if (percent == bytes.size()) break;
    std::size_t letter = percent + 1;
    if (letter < bytes.size() && std::string_view("-_0^#").find(bytes[letter]) != std::string_view::npos) ++letter;
    const bool known = letter < bytes.size() && (kDirectives.find(bytes[letter]) != std::string_view::npos ||
                                                 bytes[letter] == 'f' || bytes[letter] == 'z' || bytes[letter] == 'Z');
    if (!known) evaluation.fail("strftime_now() knows no directive '{}'", bytes.substr(percent, letter + 1 - percent));
    std::array<char, 128> buffer;
    out.append(format_directive(buffer, bytes.substr(percent + 1, letter - percent), time), format.origin_at(percent));
    at = letter + 1;
  }
  return out.finish();
}

}  // namespace octavo::jinja
