// Streams of the emulated driver: threads that do what was enqueued, in its order.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace rill::emulated {

class context;
class stream;

/// The work of a stream up to some piece.
struct work_mark {
  std::shared_ptr<stream> of;
  std::uint64_t number = 0;

  bool done() const;
  void wait() const;
};

/// All functions may be called by several threads at a time.
class stream : public std::enable_shared_from_this<stream> {
 public:
  /// A stream that `blocks` is ordered with the stream that has no handle.
  stream(std::shared_ptr<context> owner, bool blocks) : owner_(std::move(owner)), blocks_(blocks) {}
  stream(stream const&) = delete;

  context& owner() const { return *owner_; }
  bool blocks() const { return blocks_; }

  /// Starts the thread, which keeps the stream alive until `close` was called and all work is done.
  void start();
  void close();
  /// Waits until the thread is done, after `close`.
  void wait_for_end();

  /// Enqueues work that runs when `before` is done.
  void enqueue(std::function<void()> work, std::vector<work_mark> before = {});
  /// Returns the work that was enqueued so far.
  work_mark mark();
  bool done(std::uint64_t number);
  void wait(std::uint64_t number);

 private:
  struct piece {
    std::function<void()> work;
    std::vector<work_mark> before;
  };
  void run();

  std::shared_ptr<context> const owner_;
  bool const blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<piece> queue_;
  std::uint64_t enqueued_ = 0, done_ = 0;
  bool closed_ = false, ended_ = false;
};

/// An event: the work that was enqueued on a stream when it was recorded.
class event {
 public:
  explicit event(std::shared_ptr<context> owner) : owner_(std::move(owner)) {}

  context& owner() const { return *owner_; }
  void record(work_mark mark);
  /// Returns what was recorded last, if anything was.
  work_mark recorded() const;

 private:
  std::shared_ptr<context> const owner_;
  mutable std::mutex mutex_;
  work_mark mark_;
};

}  // namespace rill::emulated
