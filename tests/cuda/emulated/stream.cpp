#include "stream.hpp"

#include <pthread.h>
#include <signal.h>

#include <optional>
#include <thread>
#include <utility>

#include "running_block.hpp"

namespace rill::emulated {
namespace {

/// Threads that start while this lives take no signals, which are the program's.
class without_signals {
 public:
  without_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  without_signals(without_signals const&) = delete;
  ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

bool work_mark::done() const { return !of || of->done(number); }
void work_mark::wait() const {
  if (of) of->wait(number);
}

void stream::start() {
  without_signals const quiet;
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

void stream::run() {
  std::optional<thread_fibers> fibers(std::in_place);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) break;
    auto next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    for (auto const& mark : next.before) mark.wait();
    next.work();
    next = {};
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
  fibers.reset();  // before others see that the thread ends
  ended_ = true;
  changed_.notify_all();
}

void stream::close() {
  std::lock_guard const lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}
void stream::wait_for_end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_; });
}
void stream::enqueue(std::function<void()> work, std::vector<work_mark> before) {
  std::lock_guard const lock(mutex_);
  queue_.push_back({std::move(work), std::move(before)});
  ++enqueued_;
  changed_.notify_all();
}
work_mark stream::mark() {
  std::lock_guard const lock(mutex_);
  return {shared_from_this(), enqueued_};
}
bool stream::done(std::uint64_t number) {
  std::lock_guard const lock(mutex_);
  return done_ >= number;
}
void stream::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= number; });
}

void event::record(work_mark mark) {
  std::lock_guard const lock(mutex_);
  mark_ = std::move(mark);
}
work_mark event::recorded() const {
  std::lock_guard const lock(mutex_);
  return mark_;
}

}  // namespace rill::emulated
