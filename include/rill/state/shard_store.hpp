// Where a task writes its part of checkpoints, and the values that it keeps until they are written.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/io/named_tensor.hpp"

namespace rill {

/// A place for files of tensors, which the task's own process chooses: `rill::checkpoint_folder(path)` (rill/io.hpp).
/// All functions may be called by several threads at a time.
class shard_store {
 public:
  virtual ~shard_store() = default;
  /// A file and its tensors. A file's name is one of a checkpoint, without a folder.
  struct shard {
    std::string file;
    std::vector<named_tensor> tensors;
  };
  /// Writes files, each of which appears whole or not at all, and returns at once. `done` is called once, by another
  /// thread, when all are on the disk, or with why one is not; it must not throw. A tensor is let go of when it is
  /// written.
  virtual void write(std::vector<shard> shards, std::function<void(failure)> done) = 0;

 protected:
  shard_store() = default;
  shard_store(shard_store const&) = delete;
  shard_store& operator=(shard_store const&) = delete;
};

namespace detail {

/// The values of a task's variables at one moment, by the key of a checkpoint that is being made.
class snapshots {
 public:
  void put(std::string key, std::vector<named_tensor> values) {
    std::lock_guard const lock(mutex_);
    all_.insert_or_assign(std::move(key), std::move(values));
  }
  /// Takes the values of a key away. Throws error(not_found) if there are none: the task was started anew since.
  std::vector<named_tensor> take(std::string const& key) {
    std::lock_guard const lock(mutex_);
    auto const at = all_.find(key);
    if (at == all_.end())
      throw error(code::not_found, "the values of this checkpoint are gone: its task was started anew");
    auto values = std::move(at->second);
    all_.erase(at);
    return values;
  }
  void drop(std::string const& key) {
    std::vector<named_tensor> gone;  // freed without the lock
    std::lock_guard const lock(mutex_);
    if (auto const at = all_.find(key); at != all_.end()) gone = std::move(at->second), all_.erase(at);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<named_tensor>> all_;
};

}  // namespace detail
}  // namespace rill
