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
  std::string_view mark = {};  // around strings, of kMarked
};

struct ToolFormat {
  std::string_view name;
  /// That a chat template has, all of them, where its model writes calls in this way.
  std::array<std::string_view, 3> signs = {};
  std::string_view other_sign = {};  // of another family, whose template has these too
  /// Texts with which a call, or a list of calls, begins.
  std::array<std::string_view, 4> opens = {};
  /// Control tokens that stand in calls. Elsewhere such tokens are not shown; these must be.
  std::array<std::string_view, 6> tokens = {};
  /// Ends a call, so that generation can stop there if it is to be the only one; empty: none does for certain.
  std::string_view end = {};
  bool at_beginning = false;  // calls open where the answer has no other content in front; elsewhere it is content
  bool only_known = false;    // a call is one only if there is such a tool: it has nothing else to be told by
  bool in_reasoning = false;  // a call of a known tool may end the reasoning
  bool always_held = false;   // calls are held to their tools' schemas, whether these are strict or not
  CallForm form = {};
  /// Reads what stands behind the open text of that index. False: what was taken since the last call is none.
  Reading<bool> (*read)(CallReader& in, std::size_t open) = nullptr;
};

/// All of them; of several that fit a template, the first counts. The last one fits any.
std::span<const ToolFormat* const> tool_formats();
/// The format of a template. `takes_tools`: it shows them to its model. A template that neither does nor has the signs
/// of a format has that in which described tools are called (docs/tools.md).
const ToolFormat& tool_format_of(std::string_view chat_template, bool takes_tools);
/// Null: there is none of this name.
const ToolFormat* find_tool_format(std::string_view name);

}  // namespace octavo
