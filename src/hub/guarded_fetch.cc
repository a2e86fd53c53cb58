#include "hub/guarded_fetch.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "base/to_size.h"
#include "hub/url.h"

namespace octavo::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAtOnce = 6;                   // fetches at a time, of one call
constexpr std::size_t kMaxUrl = 8192;                // in bytes
constexpr std::size_t kMaxHeadBytes = 1U << 16;      // in bytes, of one answer
constexpr std::string_view kLocation = "location:";  // the field of a head, in lower case
constexpr std::array<long, 5> kRedirects = {301, 302, 303, 307, 308};
constexpr std::chrono::milliseconds kLookAgain{50};  // how often to look whether the call is to stop

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

/// Initializes libcurl, which counts how often that was done.
struct Library {
  Library() { OCTAVO_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); }
  ~Library() { curl_global_cleanup(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

/// The beginning of an address, for a message.
std::string shown(const std::string& url) { return quote(url); }

/// One fetch, from its first address through all redirects.
class Get {
 public:
  /// `left`: how many bytes the bodies of the call may still have.
  Get(const FetchRules& rules, const FetchAsk& ask, std::uint64_t& left)
      : rules_(rules), count_(static_cast<std::uint64_t>(ask.count)), left_(left), first_(ask.url), url_(ask.url) {}

  CURL* easy() const { return easy_.get(); }
  /// Prepares the next address. False: it must not be connected to; result() says why.
  bool begin() {
    if (deadline_ == Clock::time_point()) deadline_ = Clock::now() + rules_.time;
    if (auto set = set_up(); !set) return refuse(std::move(set.error().message), set.error().kind);
    return true;
  }
  /// Ends the transfer. True: there is another address, which begin() prepares.
  bool goes_on(CURLcode code) {
    long status = 0;
    curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
    if (error_) return false;
    const bool was_cut = code == CURLE_WRITE_ERROR && status != 200;  // a body that nobody wants was cut
    if (code != CURLE_OK && !was_cut) return refuse(words_of(code));
    if (status == 200) return false;
    if (std::ranges::find(kRedirects, status) == kRedirects.end() || location_.empty())
      return refuse(fmt::format("found the status {} at {}, expected 200", status, shown(url_)));
    if (redirects_++ == rules_.redirects)
      return refuse(
          fmt::format("found more than {} redirects at {}, expected at most so many", rules_.redirects, shown(first_)));
    auto target = redirected(url_, location_);
    if (!target) return refuse("found " + target.error().message);
    url_ = std::move(*target);
    return true;
  }
  void stop() { refuse("fetching was stopped", ErrorKind::kStopped); }
  Result<std::string> result() {
    if (error_) return std::unexpected(std::move(*error_));
    return std::move(body_);
  }

 private:
  /// Frees the part of the body that came, and sets the error. Returns false, for `return`.
  bool refuse(std::string message, ErrorKind kind = ErrorKind::kOther) {
    if (!error_) error_ = Error{.message = std::move(message), .kind = kind};
    left_ += count_ * body_.size();
    body_ = {};
    return false;
  }

  Result<void> set_up() {
    if (url_.size() > kMaxUrl) return fail("found an address of {} bytes, expected at most {}", url_.size(), kMaxUrl);
    auto parsed = parse_web_address(url_);
    if (!parsed) return fail("found {}", parsed.error().message);
    const WebAddress& address = *parsed;
    if (!rules_.allows_host(address.host, address.port))
      return fail("found the address {} at the host {}, port {}, expected one that {} names", shown(url_),
                  shown(address.host), address.port, rules_.option);
    if (address.is_secure && rules_.ca_bundle.is_empty()) return std::unexpected(no_ca_bundle());
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) return fail("{}", words_of(CURLE_OPERATION_TIMEDOUT));
    easy_.reset(curl_easy_init());
    if (easy_ == nullptr) throw std::bad_alloc();
    url_ = address.url;
    port_ = address.port;
    head_bytes_ = 0;
    location_.clear();
    set_options(left);
    return {};
  }

  void set_options(std::chrono::milliseconds left) {
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, "");  // nor any of the environment
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_USERAGENT, "octavo");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // a fetch that ends while a name is looked up does not wait for that
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
    set(CURLOPT_CAINFO, rules_.ca_bundle.file.empty() ? nullptr : rules_.ca_bundle.file.c_str());
    set(CURLOPT_CAPATH, rules_.ca_bundle.folder.empty() ? nullptr : rules_.ca_bundle.folder.c_str());
    set(CURLOPT_OPENSOCKETFUNCTION, &Get::on_socket);
    set(CURLOPT_OPENSOCKETDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Get::on_head);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Get::on_body);
    set(CURLOPT_WRITEDATA, this);
  }
  template <class T>
  void set(CURLoption option, T value) {
    const CURLcode code = curl_easy_setopt(easy(), option, value);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    OCTAVO_CHECK(code == CURLE_OK, "option {}: {}", static_cast<int>(option), curl_easy_strerror(code));
  }

  /// Called with each address before it is connected to.
  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& get = *static_cast<Get*>(self);
    if (!get.may_connect(*address)) {
      get.is_inward_ = true;
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
  bool may_connect(const curl_sockaddr& address) const {
    const bool is_v4 = address.family == AF_INET;
    if (!is_v4 && address.family != AF_INET6) return false;
    sockaddr_storage whole = {};
    std::memcpy(&whole, &address.addr, std::min<std::size_t>(address.addrlen, sizeof(whole)));
    const auto bytes = std::bit_cast<std::array<unsigned char, sizeof(whole)>>(whole);
    return rules_.allows_address(is_v4 ? std::span(bytes).subspan(offsetof(sockaddr_in, sin_addr), 4)
                                       : std::span(bytes).subspan(offsetof(sockaddr_in6, sin6_addr), 16),
                                 port_);
  }

  static std::size_t on_head(char* text, std::size_t, std::size_t count, void* self) {
    return static_cast<Get*>(self)->take_head_line({text, count}) ? count : 0;
  }
  bool take_head_line(std::string_view line) try {
    head_bytes_ += line.size();
    if (head_bytes_ > kMaxHeadBytes)
      return refuse(fmt::format("found an answer whose head has more than {} bytes at {}", kMaxHeadBytes, shown(url_)));
    if (lower_case(line.substr(0, kLocation.size())) != kLocation) return true;
    location_ = trimmed(line.substr(kLocation.size()));
    return true;
  } catch (const std::bad_alloc&) {
    return refuse("the system has no memory for the picture", ErrorKind::kOutOfMemory);
  }
  static std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* self) {
    return static_cast<Get*>(self)->take({bytes, count}) ? count : 0;
  }
  bool take(std::string_view piece) try {
    long status = 0;
    curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return false;
    const std::uint64_t size = body_.size() + piece.size();
    if (size > rules_.bytes)
      return refuse(fmt::format("found more than {} bytes at {}, expected at most so many", rules_.bytes, shown(url_)),
                    ErrorKind::kPictureTooLarge);
    if (count_ * piece.size() > left_)
      return refuse(fmt::format("found {} and others, which have more than {} bytes, expected at most so many together",
                                shown(url_), rules_.all_bytes),
                    ErrorKind::kPictureTooLarge);
    body_.append(piece);
    left_ -= count_ * piece.size();
    return true;
  } catch (const std::bad_alloc&) {
    return refuse("the system has no memory for the picture", ErrorKind::kOutOfMemory);
  }

  std::string words_of(CURLcode code) const {
    if (code == CURLE_OPERATION_TIMEDOUT)
      return fmt::format("found no end of {} within {} s", shown(first_),
                         std::chrono::duration<double>(rules_.time).count());
    if (is_inward_)
      return fmt::format(
          "found the address {}, which leads inward, expected one that is public, or a network that {} names",
          shown(url_), rules_.option);
    return fmt::format("found nothing at {}: {}", shown(url_), curl_easy_strerror(code));
  }

  const FetchRules& rules_;
  const std::uint64_t count_;
  std::uint64_t& left_;
  const std::string first_;
  std::string url_;  // first_, or the address of a redirect
  std::uint16_t port_ = 0;
  int redirects_ = 0;
  Clock::time_point deadline_ = {};
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::size_t head_bytes_ = 0;
  std::string location_;  // the redirect in the answer
  std::string body_;
  bool is_inward_ = false;  // an address was not allowed
  std::optional<Error> error_;
};

/// All fetches of one call.
class Gets {
 public:
  Gets(const FetchRules& rules, std::span<const FetchAsk> asks) : left_(rules.all_bytes), multi_(curl_multi_init()) {
    if (multi_ == nullptr) throw std::bad_alloc();
    for (const FetchAsk& ask : asks) gets_.push_back(std::make_unique<Get>(rules, ask, left_));
  }
  ~Gets() {
    for (const Get* get : running_) curl_multi_remove_handle(multi_.get(), get->easy());
  }
  Gets(const Gets&) = delete;
  Gets& operator=(const Gets&) = delete;

  std::vector<Result<std::string>> run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      while (running_.size() < kAtOnce && next_ < gets_.size()) start(*gets_[next_++]);
      if (running_.empty()) break;
      int num_running = 0;
      curl_multi_perform(multi_.get(), &num_running);
      if (take_ended()) continue;
      curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(kLookAgain.count()), nullptr);
    }
    for (Get* get : running_) get->stop();
    for (; next_ < gets_.size(); ++next_) gets_[next_]->stop();
    std::vector<Result<std::string>> results;
    results.reserve(gets_.size());
    for (const auto& get : gets_) results.push_back(get->result());
    return results;
  }

 private:
  void start(Get& get) {
    if (!get.begin()) return;
    if (curl_multi_add_handle(multi_.get(), get.easy()) != CURLM_OK) throw std::bad_alloc();
    running_.push_back(&get);
  }

  /// Takes a fetch that has ended. False: none has.
  bool take_ended() {
    bool has_ended = false;
    int num_left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &num_left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const auto place = std::ranges::find(running_, message->easy_handle, &Get::easy);
      OCTAVO_CHECK(place != running_.end(), "a transfer of nobody's");
      Get& get = **place;
      running_.erase(place);
      curl_multi_remove_handle(multi_.get(), get.easy());
      if (get.goes_on(code)) start(get);
      has_ended = true;
    }
    return has_ended;
  }

  std::uint64_t left_;
  std::vector<std::unique_ptr<Get>> gets_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::vector<Get*> running_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Result<std::string>> fetch_guarded(const FetchRules& rules, std::span<const FetchAsk> asks,
                                               const std::stop_token& stop) {
  const Library library;
  return Gets(rules, asks).run(stop);
}

}  // namespace octavo::hub
