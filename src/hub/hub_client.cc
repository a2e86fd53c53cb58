#include "hub/hub_client.h"

#include <algorithm>
#include <array>

#include "base/stop_check.h"
#include "base/text.h"
#include "hub/url.h"

namespace octavo::hub {
namespace {

constexpr int kMaxRedirects = 8;
constexpr int kStallsOfAList = 4;  // a list that trickles is cut after so many times the time of a standstill

bool is_redirect(int status) {
  constexpr std::array kStatuses = {301, 302, 303, 307, 308};
  return std::ranges::find(kStatuses, status) != kStatuses.end();
}

void drop(HttpHead& head, std::string_view name) {
  std::erase_if(head.fields, [name](const auto& field) { return field.first == name; });
}

HttpResult refusal(std::string message) { return {.head = {}, .error = Error{std::move(message)}}; }

}  // namespace

Result<HubClient> HubClient::create(const Settings& settings, RetryPolicy policy, Say say, std::stop_token stop) {
  OCTAVO_TRY(std::string token, read_token(settings));
  auto origin = origin_of(settings.endpoint);
  if (!origin) return fail("HF_ENDPOINT: {}", origin.error().message);
  return HubClient(settings, std::move(token), std::move(*origin), policy, std::move(say), std::move(stop));
}

HubClient::HubClient(const Settings& settings, std::string token, std::string origin, RetryPolicy policy, Say say,
                     std::stop_token stop)
    : http_({.ca_bundle = settings.ca_bundle, .stall = settings.stall, .stop = stop}),
      endpoint_(settings.endpoint),
      origin_(std::move(origin)),
      token_(std::move(token)),
      list_time_(kStallsOfAList * settings.stall),
      policy_(policy),
      say_(std::move(say)),
      stop_(std::move(stop)) {}

std::string HubClient::file_url(const std::string& repo, const std::string& commit, const std::string& path) const {
  return endpoint_ + "/" + repo + "/resolve/" + commit + "/" + url_path(path);
}

HttpResult HubClient::get(const std::string& url, const std::vector<std::string>& fields, const HttpSink& sink) {
  std::string at = url;
  std::optional<std::string> linked_etag;
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    const auto origin = origin_of(at);
    if (!origin) return refusal(origin.error().message);
    const bool is_hub = *origin == origin_;
    const auto amend = [&](HttpHead& head) {
      if (!is_hub) drop(head, "etag");
      if (const auto linked = head.find("x-linked-etag"); linked && is_hub) linked_etag = std::string(*linked);
      drop(head, "x-linked-etag");
      if (linked_etag) head.fields.emplace_back("x-linked-etag", *linked_etag);
    };
    const HttpSink amending = {.on_head =
                                   [&](const HttpHead& head) {
                                     HttpHead amended = head;
                                     amend(amended);
                                     return sink.on_head(amended);
                                   },
                               .on_body = sink.on_body};
    std::vector<std::string> all = fields;
    if (is_hub && !token_.empty()) all.push_back("Authorization: Bearer " + token_);
    HttpResult result = http_.get(at, all, amending);
    amend(result.head);
    const auto location = result.head.find("location");
    if (result.error || !is_redirect(result.head.status) || !location) return result;
    auto next = redirected(at, std::string(*location));
    if (!next) return refusal(next.error().message);
    at = std::move(*next);
  }
  return refusal(fmt::format("redirected more than {} times", kMaxRedirects));
}

Error HubClient::error_of(const HttpResult& result, const std::string& url) const {
  const auto words = [&](const std::string& text) {
    const auto said = result.head.find("x-error-message");
    return Error{fmt::format("{}: {}{}", printable(url), text, said ? fmt::format(" ({})", printable(*said)) : "")};
  };
  if (result.error) return words(result.error->message);
  const int status = result.head.status;
  switch (status) {
    case 401:
      return words(token_.empty() ? "there is no such public model, or it wants a token: set HF_TOKEN"
                                  : "the hub does not take this token, or there is no such model");
    case 403: return words("this token may not read it: its owner must grant access, which is asked for on its page");
    case 404: return words("the hub has no such model or file");
    case 429: {
      const auto after = result.head.find("retry-after");
      return words(fmt::format("too many requests{}", after ? fmt::format("; again after {}", printable(*after)) : ""));
    }
    default: return words(fmt::format("the hub answered with status {}", status));
  }
}

Result<void> HubClient::wait(const HttpResult& result, int failures, const std::string& url) {
  Error error = error_of(result, url);
  const auto delay = wait_before_retry(result, failures, policy_);
  if (!delay) return std::unexpected(std::move(error));
  say_(fmt::format("{}; again in {:.1f} s", error.message, static_cast<double>(delay->count()) / 1000));
  wait_unless_stopped(stop_, *delay);
  return check_stop(stop_, "fetching");
}

Result<Listing> HubClient::list(const std::string& repo) {
  const std::string url = endpoint_ + "/api/models/" + repo + "/revision/main?blobs=true";
  for (int failures = 1;; ++failures) {
    std::string text;
    const auto deadline = std::chrono::steady_clock::now() + list_time_;
    const HttpSink sink = {.on_head = [](const HttpHead&) { return Result<void>(); },
                           .on_body = [&](std::span<const std::byte> bytes) -> Result<void> {
                             text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                             if (text.size() > ListingLimits::kBytes)
                               return fail("the list of files has more than {} bytes", ListingLimits::kBytes);
                             if (std::chrono::steady_clock::now() > deadline)
                               return fail("the list of files takes more than {} s", list_time_.count());
                             return {};
                           }};
    const HttpResult result = get(url, {"Accept: application/json"}, sink);
    if (!result.error && result.head.status == 200) {
      auto listing = parse_listing(text);
      if (!listing) return fail("{}: {}", url, listing.error().message);
      return listing;
    }
    OCTAVO_TRY_VOID(wait(result, failures, url));
  }
}

}  // namespace octavo::hub
