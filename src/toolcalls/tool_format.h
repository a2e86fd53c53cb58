// The ways in which models write calls of tools: one row for each family, and the row that a chat template asks for.
//
// Each row stands in a file of its own in formats/, with the coroutine that reads its calls. Immutable; any thread.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "octavo/constraint.h"
#include "toolcalls/call_reader.h"

namespace octavo {

/// How calls are written, for answers that are held to it. In it stand $NAME; $ARGS, an object, or $PARAMETERS, each of
/// which is `parameter` with $KEY, $VALUE and perhaps $KIND, "true" of a string and else "false"; and $INDEX, a small
/// number. Strings are texts as they are where the notation of the values of parameters is kJson.
struct CallForm {
  std::string_view open = {}, call = {}, between = {}, close = {};  // open call (between call)* close
  std::string_view parameter = {}, between_parameters = {};
  bool is_repeated = true;  // an answer may have several calls
  ValueNotation notation = ValueNotation::kJson;
  std::string_view mark = {};  // the mark around strings, in kMarked
};

struct ToolFormat {
  std::string_view name;
  /// Texts that a chat template has, all of them, where its model writes calls in this form.
  std::array<std::string_view, 3> signs = {};
  std::string_view other_sign = {};  // a text of another family, whose template has these too
  /// Texts with which a call, or a list of calls, begins.
  std::array<std::string_view, 4> opens = {};
  /// Control tokens within calls, which must be shown; elsewhere such tokens are not.
  std::array<std::string_view, 9> tokens = {};
  /// The end of a call, at which generation can stop if it is to be the only one; empty: no text is a sure end.
  std::string_view end = {};
  bool at_beginning = false;  // whether calls open only where the answer has no other content in front
  bool only_known = false;    // whether a call counts only if there is such a tool, because nothing else marks it
  bool in_reasoning = false;  // a call of a known tool may end the reasoning
  bool always_held = false;   // whether calls are held to their tools' schemas, be these strict or not
  CallForm form = {};
  /// Takes the text behind the open text of that index. False: the bytes taken since the last call are no call.
  Reading<bool> (*read)(CallReader& in, std::size_t open) = nullptr;
};

/// All formats; where several fit a template, the first counts. The last one fits any template.
std::span<const ToolFormat* const> tool_formats();
/// The format of a template; `takes_tools`: the template shows tools to its model. A template that neither does so nor
/// has the signs of a format has the one in which described tools are called (docs/tools.md).
const ToolFormat& tool_format_of(std::string_view chat_template, bool takes_tools);
/// A format by name; null: there is none.
const ToolFormat* find_tool_format(std::string_view name);

}  // namespace octavo
