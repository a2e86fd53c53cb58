// A macro as a value: its definition and the scope that it was defined in.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

struct Frame;
struct Statement;

struct Macro {
  std::string_view name;  // "caller" for the body of a call block
  const Statement* definition;
  Frame* outer;
};

/// An attribute of a macro, or missing.
Value attribute_of_macro(Evaluation& evaluation, const Macro& macro, std::string_view name);

}  // namespace octavo::jinja
