#include "chat/template_probe.h"

#include <cstddef>
#include <ctime>

namespace octavo {
namespace {

// The least budget for one rendering.
constexpr jinja::Budget kRest{.bytes = std::size_t{40} << 20, .steps = 600'000};

}  // namespace

bool TemplateProbe::is_over() const { return left_.steps < kRest.steps || left_.bytes < kRest.bytes; }

std::optional<std::string> TemplateProbe::render(std::span<const ChatMessage> messages, const TemplateCaps& caps,
                                                 const ChatTemplateOptions& options) {
  if (is_over()) return std::nullopt;
  const auto shaped = shape_conversation(messages, caps, options);
  if (!shaped) return std::nullopt;
  const auto input = conversation_input(*shaped, caps, {.bos = "<s>", .eos = "</s>"}, options);
  if (!input) return std::nullopt;
  std::tm now{};
  now.tm_year = 125;
  now.tm_mday = 1;
  const auto spans = template_.render(*input, now, left_);
  if (!spans) return std::nullopt;
  std::string text;
  for (const jinja::RenderedSpan& span : *spans) text += span.text;
  return text;
}

}  // namespace octavo
