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
#include "octavo/token.h"
#include "toolcalls/tool_format.h"

namespace octavo {

/// A parameter of a tool.
struct OfferedParameter {
  std::string name;
  std::string place = {};                 // the JSON pointer of its schema within the tool's
  std::string schema = {};                // a JSON schema of its own, in place of that one; empty: it has none
  std::vector<std::string> choices = {};  // the only texts that it may be, if there are any
  std::string pattern = {};               // a pattern that a text must match; empty: none
  std::uint8_t types = kAnyJson;          // the bits of JsonType that it may have
  bool is_required = false;
};

/// A tool that may be called.
struct OfferedTool {
  std::string name;
  std::string schema;       // the JSON schema of its arguments
  std::string origin = {};  // the place of the schema in the client's text, for errors
  bool takes_any = false;   // whether arguments that are written as one object may be any
  bool is_strict = false;
  std::vector<OfferedParameter> parameters = {};  // parameters in the order in which a call has them
};

struct CallGrammarOptions {
  bool must_call = false;  // whether there must be a call; otherwise text may stand before the calls, or alone
  bool is_single = false;  // one call
  /// The JSON schema of an answer that does not call; empty: any text. It is empty with must_call.
  std::string content_schema = {};
  std::string content_origin = {};  // the place of that schema, for errors
  bool is_content_strict = false;
};

/// The grammar, and the rules that it names. `token_of` gives the token of a text; none: the text is several tokens, or
/// none.
ConstraintSource call_grammar(const ToolFormat& format, std::vector<OfferedTool> tools,
                              const CallGrammarOptions& options,
                              const std::function<std::optional<TokenId>(std::string_view)>& token_of);

}  // namespace octavo
