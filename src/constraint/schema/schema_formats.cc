// The formats of JSON Schema as patterns.
#include <algorithm>
#include <array>

#include "constraint/schema/schema_texts.h"

namespace octavo {
namespace {

// RFC 3339; a leap second is left out, for whether there was one is no question of form.
#define OCTAVO_FULL_DATE                                                                                   \
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"          \
  "02-(?:0[1-9]|1\\d|2[0-8]))|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-" \
  "02-29)"
#define OCTAVO_FULL_TIME "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
// RFC 3986.
#define OCTAVO_OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define OCTAVO_IPV4 OCTAVO_OCTET "(?:\\." OCTAVO_OCTET "){3}"
#define OCTAVO_H16 "[0-9A-Fa-f]{1,4}"
#define OCTAVO_LS32 "(?:" OCTAVO_H16 ":" OCTAVO_H16 "|" OCTAVO_IPV4 ")"
#define OCTAVO_IPV6                                                                                       \
  "(?:(?:" OCTAVO_H16 ":){6}" OCTAVO_LS32 "|::(?:" OCTAVO_H16 ":){5}" OCTAVO_LS32 "|(?:" OCTAVO_H16       \
  ")?::(?:" OCTAVO_H16 ":){4}" OCTAVO_LS32 "|(?:(?:" OCTAVO_H16 ":){0,1}" OCTAVO_H16 ")?::(?:" OCTAVO_H16 \
  ":){3}" OCTAVO_LS32 "|(?:(?:" OCTAVO_H16 ":){0,2}" OCTAVO_H16 ")?::(?:" OCTAVO_H16 ":){2}" OCTAVO_LS32  \
  "|(?:(?:" OCTAVO_H16 ":){0,3}" OCTAVO_H16 ")?::" OCTAVO_H16 ":" OCTAVO_LS32 "|(?:(?:" OCTAVO_H16        \
  ":){0,4}" OCTAVO_H16 ")?::" OCTAVO_LS32 "|(?:(?:" OCTAVO_H16 ":){0,5}" OCTAVO_H16 ")?::" OCTAVO_H16     \
  "|(?:(?:" OCTAVO_H16 ":){0,6}" OCTAVO_H16 ")?::)"
#define OCTAVO_PCT "%[0-9A-Fa-f]{2}"
#define OCTAVO_PCHAR "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|" OCTAVO_PCT ")"
#define OCTAVO_QUERY "(?:\\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|" OCTAVO_PCT ")*)?"
#define OCTAVO_FRAGMENT "(?:#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|" OCTAVO_PCT ")*)?"
#define OCTAVO_AUTHORITY                                                      \
  "//(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|" OCTAVO_PCT ")*@)?(?:\\[" OCTAVO_IPV6 \
  "\\]|\\[v[0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+\\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|" OCTAVO_PCT ")*)(?::\\d*)?"
#define OCTAVO_URI                                                                                                 \
  "[A-Za-z][A-Za-z0-9+.-]*:(?:" OCTAVO_AUTHORITY "(?:/" OCTAVO_PCHAR "*)*|/?(?:" OCTAVO_PCHAR "+(?:/" OCTAVO_PCHAR \
  "*)*)?)" OCTAVO_QUERY OCTAVO_FRAGMENT
#define OCTAVO_SEGMENT_WITHOUT_COLON "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|" OCTAVO_PCT ")+"
#define OCTAVO_RELATIVE_URI                                                               \
  "(?:" OCTAVO_AUTHORITY "(?:/" OCTAVO_PCHAR "*)*|/(?:" OCTAVO_PCHAR "+(?:/" OCTAVO_PCHAR \
  "*)*)?|" OCTAVO_SEGMENT_WITHOUT_COLON "(?:/" OCTAVO_PCHAR "*)*|)" OCTAVO_QUERY OCTAVO_FRAGMENT
#define OCTAVO_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define OCTAVO_HOSTNAME OCTAVO_LABEL "(?:\\." OCTAVO_LABEL ")*"
#define OCTAVO_ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define OCTAVO_POINTER "(?:/(?:[^~/]|~[01])*)*"

struct Format {
  std::string_view name, pattern;
};

constexpr std::array kFormats = {
    Format{"date", OCTAVO_FULL_DATE},
    Format{"time", OCTAVO_FULL_TIME},
    Format{"date-time", OCTAVO_FULL_DATE "[Tt]" OCTAVO_FULL_TIME},
    Format{"duration",
           "P(?:\\d+W|\\d+Y(?:\\d+M(?:\\d+D)?)?(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))?|"
           "\\d+M(?:\\d+D)?(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))?|"
           "\\d+D(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))?|"
           "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))"},
    Format{"email", OCTAVO_ATOM "(?:\\." OCTAVO_ATOM ")*@" OCTAVO_HOSTNAME},
    Format{"hostname", OCTAVO_HOSTNAME},
    Format{"ipv4", OCTAVO_IPV4},
    Format{"ipv6", OCTAVO_IPV6},
    Format{"uuid", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"},
    Format{"uri", OCTAVO_URI},
    Format{"uri-reference", "(?:" OCTAVO_URI "|" OCTAVO_RELATIVE_URI ")"},
    Format{"json-pointer", OCTAVO_POINTER},
    Format{"relative-json-pointer", "(?:0|[1-9]\\d*)(?:#|" OCTAVO_POINTER ")"}};

constexpr std::array<std::string_view, 6> kOtherStandardFormats = {"idn-email",     "idn-hostname", "iri",
                                                                   "iri-reference", "uri-template", "regex"};

}  // namespace

std::optional<std::string_view> pattern_of_format(std::string_view name) {
  const auto format = std::ranges::find(kFormats, name, &Format::name);
  if (format == kFormats.end()) return std::nullopt;
  return format->pattern;
}

bool is_standard_format(std::string_view name) {
  return pattern_of_format(name).has_value() ||
         std::ranges::find(kOtherStandardFormats, name) != kOtherStandardFormats.end();
}

}  // namespace octavo
