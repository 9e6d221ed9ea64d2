// The folder below which a process writes its part of checkpoints for other processes.
#pragma once
#include <filesystem>
#include <memory>

#include "rill/ops/state/shard_store.hpp"

namespace rill {

/// Returns a store that writes to a folder, for `server_options::checkpoints` and `task_options::checkpoints`. Other
/// processes choose only the names of safetensors files directly in this folder, which must not exist yet. Give all
/// processes the folder of the `saver`, on a file system that they share. It is created when the first file is written.
std::shared_ptr<shard_store> checkpoint_folder(std::filesystem::path folder);

}  // namespace rill

#if RILL_IO_RUNTIME
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "rill/base/thread.hpp"
#include "rill/io/safetensors.hpp"

namespace rill {

namespace detail {

/// Throws error(permission_denied) unless a name is one of a checkpoint's files, without a folder.
RILL_IO_INLINE void check_shard_name(std::string_view file) {
  auto const is_fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  if (file.size() > 200 || file.starts_with('.') || !file.ends_with(".safetensors") ||
      !std::all_of(file.begin(), file.end(), is_fine))
    throw error(code::permission_denied,
                "expected a file name such as 'checkpoint-000001-00001-of-00002.7.safetensors', got '" +
                    std::string(file.substr(0, 200)) + "'");
}

class folder_store final : public shard_store {
 public:
  explicit folder_store(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~folder_store() override {
    {
      std::lock_guard const lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void write(std::vector<shard> shards, std::function<void(failure)> done) override {
    for (auto const& s : shards) check_shard_name(s.file);
    std::lock_guard const lock(mutex_);
    if (!thread_.joinable()) thread_ = thread([this] { serve(); });
    all_.push_back({std::move(shards), std::move(done)});
    changed_.notify_all();
  }

 private:
  struct task {
    std::vector<shard> shards;
    std::function<void(failure)> done;
  };

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || !all_.empty(); });
      if (all_.empty()) return;
      auto next = std::move(all_.front());
      all_.pop_front();
      lock.unlock();
      auto why = written(std::move(next.shards));  // frees the tensors before the step ends
      next.done(std::move(why));
      lock.lock();
    }
  }
  failure written(std::vector<shard> shards) const noexcept try {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) files::fail("create the directory", folder_, failed.value());
    for (auto& s : shards) {
      for (auto& t : s.tensors) t.value = t.value.to(host);  // frees the memory of devices before the file is written
      if (std::filesystem::exists(folder_ / s.file))
        throw error(code::permission_denied,
                    "'" + s.file + "' is there already, and a checkpoint's file stays as it is");
      write_safetensors(folder_ / s.file, s.tensors);
      s.tensors.clear();
    }
    return nullptr;
  } catch (...) {
    return caught_failure();
  }

  std::filesystem::path folder_;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::deque<task> all_;
  bool ending_ = false;
  thread thread_;
};

}  // namespace detail

RILL_IO_INLINE std::shared_ptr<shard_store> checkpoint_folder(std::filesystem::path folder) try {
  return std::make_shared<detail::folder_store>(std::move(folder));
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
#endif
