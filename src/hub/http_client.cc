#include "hub/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/text.h"

namespace octavo::hub {
namespace {

constexpr long kSlowBytesPerSecond = 1024;
constexpr std::size_t kMaxDroppedBytes = 1U << 16;  // the most of the body of an answer without success

/// One fetch: what its callbacks share.
class Transfer {
 public:
  Transfer(const HttpSink& sink, std::size_t max_head_bytes) : sink_(sink), max_head_bytes_(max_head_bytes) {}

  /// Takes a line of the head. False ends the fetch.
  bool take_head_line(std::string_view line) {
    head_bytes_ += line.size();
    if (head_bytes_ > max_head_bytes_)
      return stop({fmt::format("the answer's head has more than {} bytes", max_head_bytes_)});
    if (line.starts_with("HTTP/")) {  // each of several answers begins so; the last counts
      head_ = {};
      const std::size_t blank = std::min(line.find(' '), line.size() - 1);
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), head_.status);
      return true;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return true;
    head_.fields.emplace_back(lower_case(line.substr(0, colon)), trimmed(line.substr(colon + 1), " \t\r\n\v\f"));
    return true;
  }

  bool take_body(std::span<const std::byte> bytes) {
    if (head_.status != 200 && head_.status != 206) {
      dropped_ += bytes.size();
      enough_ = dropped_ > kMaxDroppedBytes;
      return !enough_;
    }
    if (!show_head()) return false;
    if (auto taken = sink_.on_body(bytes); !taken) return stop(std::move(taken.error()));
    return true;
  }

  HttpResult finish(CURLcode code, const char* detail) {
    if (enough_) code = CURLE_OK;
    if (!refusal_ && code == CURLE_OK && (head_.status == 200 || head_.status == 206)) show_head();
    if (refusal_) return {.head = std::move(head_), .error = std::move(refusal_)};
    if (code == CURLE_OK) return {.head = std::move(head_)};
    if (code == CURLE_ABORTED_BY_CALLBACK) return {.head = std::move(head_), .error = Error{"fetching was stopped"}};
    const std::string text = detail[0] != '\0' ? printable(detail) : std::string(curl_easy_strerror(code));
    return {.head = std::move(head_), .error = Error{text}, .is_transient = is_of_network(code)};
  }

 private:
  static bool is_of_network(CURLcode code) {
    constexpr std::array kCodes = {CURLE_COULDNT_RESOLVE_HOST,
                                   CURLE_COULDNT_RESOLVE_PROXY,
                                   CURLE_COULDNT_CONNECT,
                                   CURLE_PARTIAL_FILE,
                                   CURLE_OPERATION_TIMEDOUT,
                                   CURLE_GOT_NOTHING,
                                   CURLE_SEND_ERROR,
                                   CURLE_RECV_ERROR,
                                   CURLE_HTTP2,
                                   CURLE_HTTP2_STREAM,
                                   CURLE_SSL_CONNECT_ERROR};
    return std::ranges::find(kCodes, code) != kCodes.end();
  }

  bool show_head() {
    if (std::exchange(head_shown_, true)) return true;
    if (auto taken = sink_.on_head(head_); !taken) return stop(std::move(taken.error()));
    return true;
  }

  bool stop(Error error) {
    refusal_ = std::move(error);
    return false;
  }

  const HttpSink& sink_;
  const std::size_t max_head_bytes_;
  HttpHead head_;
  std::size_t head_bytes_ = 0, dropped_ = 0;
  bool head_shown_ = false, enough_ = false;
  std::optional<Error> refusal_;
};

// libcurl's callbacks: a result other than `count` ends the transfer.
std::size_t on_head_line(char* text, std::size_t, std::size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->take_head_line({text, count}) ? count : 0;
}
std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->take_body(std::as_bytes(std::span(bytes, count))) ? count : 0;
}

/// Called with every piece of an answer, and once a second while nothing comes.
int on_progress(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

/// Sets the trusted authorities. libcurl's own places, which are those of its builder, do not count.
void set_authorities(CURL* easy, const CaBundle& bundle) {
  curl_easy_setopt(easy, CURLOPT_CAINFO, bundle.file.empty() ? nullptr : bundle.file.c_str());
  curl_easy_setopt(easy, CURLOPT_CAPATH, bundle.folder.empty() ? nullptr : bundle.folder.c_str());
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

std::optional<std::string_view> HttpHead::find(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, [](const auto& field) { return std::string_view(field.first); });
  if (found == fields.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint64_t> HttpHead::find_number(std::string_view name) const {
  const auto text = find(name);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

/// Initializes libcurl, which counts how often that was done.
struct HttpClient::Handle {
  Handle() {
    const CURLcode began = curl_global_init(CURL_GLOBAL_DEFAULT);
    easy = curl_easy_init();
    OCTAVO_CHECK(began == CURLE_OK && easy != nullptr);
  }
  ~Handle() {
    curl_easy_cleanup(easy);
    curl_global_cleanup();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CURL* easy;
};

HttpClient::HttpClient(HttpOptions options) : handle_(std::make_unique<Handle>()), options_(std::move(options)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;

HttpResult HttpClient::get(const std::string& url, const std::vector<std::string>& fields, const HttpSink& sink) {
  if (options_.ca_bundle.is_empty() && lower_case(url).starts_with("https:"))
    return {.head = {}, .error = no_ca_bundle()};
  CURL* easy = handle_->easy;
  curl_easy_reset(easy);  // connections stay open
  Transfer transfer(sink, options_.max_head_bytes);
  std::array<char, CURL_ERROR_SIZE> detail{};
  std::unique_ptr<curl_slist, FreeList> list;
  for (const std::string& field : fields) {
    curl_slist* longer = curl_slist_append(list.get(), field.c_str());
    if (longer == nullptr) return {.head = {}, .error = Error{"out of memory"}};
    if (!list) list.reset(longer);  // the list keeps its first element
  }
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "octavo");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list.get());
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.connect.count()));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.stall.count()));
  set_authorities(easy, options_.ca_bundle);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head_line);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &options_.stop);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a fetch that ends while a name is looked up does not wait for that
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  return transfer.finish(code, detail.data());
}

}  // namespace octavo::hub
