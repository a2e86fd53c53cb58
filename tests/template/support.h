// What the tests of templates share.
#pragma once

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>

#include "template/template.h"

namespace octavo::test {

/// The text of a template with some names, or the error's message.
inline std::string render_or_error(std::string_view source, const jinja::TemplateInput& input) {
  const auto compiled = jinja::Template::compile(source);
  if (!compiled) return compiled.error().message;
  const auto spans = compiled->render(input, std::tm{});
  if (!spans) return spans.error().message;
  std::string text;
  for (const jinja::RenderedSpan& span : *spans) text += span.text;
  return text;
}

inline std::string render_or_error(std::string_view source) { return render_or_error(source, jinja::TemplateInput()); }

}  // namespace octavo::test
