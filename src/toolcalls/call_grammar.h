// The calls that an answer may make, as a grammar in GBNF: what holds answers that must call, and calls of tools that
// are strict.
//
// Free functions; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/constraint.h"
#include "octavo/kv/types.h"
#include "toolcalls/tool_format.h"

namespace octavo {

/// A parameter of a tool.
struct OfferedParameter {
  std::string name;
  std::string place = {};                 // of its schema in the tool's, a JSON pointer
  std::string schema = {};                // a schema of its own, in place of that, in JSON; empty: it has none
  std::vector<std::string> choices = {};  // texts, where it must be one of them
  std::string pattern = {};               // that a text must match; empty: none
  std::uint8_t types = kAnyJson;          // bits of JsonType
  bool is_required = false;
};

/// A tool that may be called.
struct OfferedTool {
  std::string name;
  std::string schema;       // of its arguments, in JSON
  std::string origin = {};  // where the schema stands in what the client wrote, for errors
  bool takes_any = false;   // arguments that are written as one object may be any
  bool is_strict = false;
  std::vector<OfferedParameter> parameters = {};  // in the order in which a call has them
};

struct CallGrammarOptions {
  bool must_call = false;  // else text may stand before the calls, or alone
  bool is_single = false;  // one call
  /// The form of an answer that does not call, a JSON schema; empty: any text. Not with must_call.
  std::string content_schema = {};
  std::string content_origin = {};  // where it stands, for errors
  bool is_content_strict = false;
};

/// The grammar, and the rules that it names. `token_of` gives the token that a text is; nothing: it is several, or
/// none.
ConstraintSource call_grammar(const ToolFormat& format, std::vector<OfferedTool> tools,
                              const CallGrammarOptions& options,
                              const std::function<std::optional<TokenId>(std::string_view)>& token_of);

}  // namespace octavo
