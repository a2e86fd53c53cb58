// Which pages may have a browser send requests. A browser sends what any page asks it to, a form or a text without
// asking the server first, and says in header fields that no page can write whose page it was. Programs that are no
// browsers leave them out.
//
// Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo {

/// The header fields of a request that tell of the page behind it; empty: it has no such field.
struct PageFields {
  std::string_view host = {};     // Host
  std::string_view origin = {};   // Origin (RFC 6454)
  std::string_view site = {};     // Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/)
  bool has_custom_field = false;  // one that browsers send to another site only after it has agreed, such as the chat
                                  // page's X-Requested-With
};

/// Whether the request may change something or take time: it comes from no page, from the server's own, or from one of
/// the `allowed` origins ("*": every one that has a name). The origin "null" is any page's that wants it, and is not
/// let in.
bool may_send(const PageFields& fields, std::span<const std::string> allowed);

/// Error: `text` is neither an origin as browsers write it nor "*".
Result<void> check_origin(std::string_view text);

}  // namespace octavo
