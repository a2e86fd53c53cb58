// A chat template: a text in Jinja, compiled once, rendered for each conversation.
//
// It takes the Jinja of the templates that models come with, as Python's jinja2 renders them with the settings of the
// transformers library (docs/chat_templates.md). A template reaches its inputs and nothing else. Hostile templates and
// conversations end with an error: memory, steps and nesting are bounded.
// A compiled template does not change; several threads may render it at once.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/result.h"
#include "template/values/template_input.h"

namespace octavo::jinja {

struct Tree;

/// Consecutive bytes of a rendered text with one origin.
struct RenderedSpan {
  std::string text;
  Origin origin;
};

class Template {
 public:
  /// The most bytes of a template; real ones have some ten thousand.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  /// Compiles a template. Errors name the place: "line 3, column 14: found '}', expected an expression".
  static Result<Template> compile(std::string_view source);

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// The text for the values of `input`, cut where origins change. strftime_now tells the time `now`.
  Result<std::vector<RenderedSpan>> render(const TemplateInput& input, const std::tm& now) const;
  /// Renders within what is left of a budget, from which the memory and the steps of the rendering are taken.
  Result<std::vector<RenderedSpan>> render(const TemplateInput& input, const std::tm& now, Budget& left) const;

 private:
  Template();

  std::unique_ptr<std::string> source_;  // the source, whose bytes do not move: the tree points to them
  std::unique_ptr<Arena> arena_;
  const Tree* tree_ = nullptr;
};

}  // namespace octavo::jinja
