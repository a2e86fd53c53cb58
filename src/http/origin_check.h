// Which pages may let a browser send requests. A browser sends what any page asks it to, such as a form or a text,
// without asking the server first, and says in header fields that no page can write which page it was. Programs that
// are no browsers leave these fields out.
//
// Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo {

/// The header fields of a request that tell of the page behind it; empty: the request does not have the field.
struct PageFields {
  std::string_view host = {};     // Host
  std::string_view origin = {};   // Origin (RFC 6454)
  std::string_view site = {};     // Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/)
  bool has_custom_field = false;  // a field that another site must agree to before browsers send it, such as the chat
                                  // page's X-Requested-With
};

/// Whether the request may change something or take time: it comes from no page, from the server's own, or from one of
/// the `allowed` origins ("*": all that have a name). Any page can have the origin "null", which is never let in.
bool may_send(const PageFields& fields, std::span<const std::string> allowed);

/// Error: `text` is neither an origin in the form of browsers nor "*".
Result<void> check_origin(std::string_view text);

}  // namespace octavo
