// Where a task writes its part of checkpoints, and the values that it keeps until they are written.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
  /// thread, when all are on the disk, or with why one is not; it must not throw. A file's tensors are freed when it is
  /// on the disk, and all before `done` is called. If `write` throws, `done` is not called.
  virtual void write(std::vector<shard> shards, std::function<void(failure)> done) = 0;

 protected:
  shard_store() = default;
  shard_store(shard_store const&) = delete;
  shard_store& operator=(shard_store const&) = delete;
};

namespace detail {

/// Snapshots of a task's variables: for each saver, the one of its latest attempt to save a checkpoint.
class snapshots {
 public:
  /// Keeps the snapshot of an attempt. It replaces that of an earlier, abandoned attempt of the same saver.
  void put(std::string const& saver, std::string attempt, std::vector<named_tensor> values) {
    snapshot next{std::move(attempt), std::move(values)};  // the old one in the end, freed without the lock
    std::lock_guard const lock(mutex_);
    std::swap(all_[saver], next);
  }
  /// Takes the values of an attempt away. Throws error(unavailable) if they are not there: the task was started anew.
  std::vector<named_tensor> take(std::string const& saver, std::string const& attempt) {
    auto found = remove(saver, attempt);
    if (!found)
      throw error({code::unavailable, cause::lost},
                  "the values of this checkpoint are gone: its task was started anew");
    return std::move(*found);
  }
  void drop(std::string const& saver, std::string const& attempt) { remove(saver, attempt); }
  std::size_t size() const {
    std::lock_guard const lock(mutex_);
    return all_.size();
  }

 private:
  struct snapshot {
    std::string attempt;
    std::vector<named_tensor> values;
  };
  std::optional<std::vector<named_tensor>> remove(std::string const& saver, std::string const& attempt) {
    std::lock_guard const lock(mutex_);
    auto const at = all_.find(saver);
    if (at == all_.end() || at->second.attempt != attempt) return {};
    auto values = std::move(at->second.values);
    all_.erase(at);
    return values;
  }

  mutable std::mutex mutex_;
  std::map<std::string, snapshot> all_;
};

}  // namespace detail
}  // namespace rill
