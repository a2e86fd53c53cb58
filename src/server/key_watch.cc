#include "server/key_watch.h"

#include <utility>

#include "base/started_thread.h"

namespace octavo::server {

Result<std::unique_ptr<KeyWatch>> KeyWatch::open(std::filesystem::path file, std::chrono::milliseconds interval,
                                                 const KeySalt& salt) {
  const auto stamp = stamp_of(file);  // taken before the file is read: a change meanwhile is then seen later
  OCTAVO_TRY(ApiKeys keys, ApiKeys::read(file, salt));
  return std::unique_ptr<KeyWatch>(new KeyWatch(std::move(file), interval, salt, std::move(keys), stamp));
}

KeyWatch::KeyWatch(std::filesystem::path file, std::chrono::milliseconds interval, const KeySalt& salt, ApiKeys keys,
                   std::optional<FileStamp> stamp)
    : file_(std::move(file)),
      interval_(interval),
      salt_(salt),
      first_keys_(keys),
      keys_(std::move(keys)),
      stamp_(stamp),
      thread_(start_thread([this](const std::stop_token& stop) { run(stop); }, [](const Error&) {})) {
}  // an exception ends this look alone

KeyWatch::~KeyWatch() {
  thread_.request_stop();
  thread_.join();
}

KeyWatch::News KeyWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void KeyWatch::run(const std::stop_token& stop) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, stop, interval_, [&] { return stop.stop_requested(); })) return;
    }
    try {
      look();
    } catch (...) {  // there is no memory; the next look may find some
      num_reads_due_ = 1;
    }
  }
}

void KeyWatch::look() {
  const auto stamp = stamp_of(file_);
  if (stamp != stamp_) {
    // Another change within the same tick of the file system's clock may leave no trace, so the file is read twice.
    num_reads_due_ = 2;
  } else if (num_reads_due_ == 0) {
    return;
  }
  Result<ApiKeys> keys = ApiKeys::read(file_, salt_);
  News news;
  if (!keys) {
    if (keys.error().message != complaint_) {
      complaint_ = keys.error().message;
      news.notice = complaint_ + "; the keys from before stay valid";
    }
  } else {
    if (*keys != keys_) {
      news.keys = *keys;
      news.notice = fmt::format("{}: read again, {} keys are valid", file_.string(), keys->size());
    } else if (!complaint_.empty()) {
      news.notice = fmt::format("{}: can be read again, with the same keys", file_.string());
    }
    complaint_.clear();
  }
  const std::lock_guard lock(mutex_);
  if (news.keys) news_.keys = std::move(news.keys);
  if (!news.notice.empty()) news_.notice = std::move(news.notice);
  if (keys) keys_ = std::move(*keys);
  stamp_ = stamp;
  --num_reads_due_;
}

}  // namespace octavo::server
