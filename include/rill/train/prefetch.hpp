// Batches that a thread draws, and copies to a device, while a step runs.
#pragma once
#include <array>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/base/thread.hpp"
#include "rill/device/device.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

namespace detail {

template <class T> inline constexpr bool is_batch = std::derived_from<T, tensor>;
template <class... T> inline constexpr bool is_batch<std::tuple<T...>> = (is_batch<T> && ...);
template <class T, class U> inline constexpr bool is_batch<std::pair<T, U>> = is_batch<T> && is_batch<U>;
template <class T, std::size_t N> inline constexpr bool is_batch<std::array<T, N>> = is_batch<T>;

/// A range of tensors, or of tuples, pairs or arrays of them.
template <class R>
concept batch_source = std::ranges::input_range<R> && is_batch<std::ranges::range_value_t<R>>;

/// A range that can be resumed at a saved position, as that of `batches` can.
template <class R>
concept resumable = requires(std::remove_reference_t<R>& r) {
  { r.position() } -> std::equality_comparable;
  r.resume(r.position());
};

struct no_position {};
/// Returns the position of a range; of one that has none, `no_position`.
template <class R> auto position_of(R& range) {
  if constexpr (resumable<R>) return range.position();
  else return no_position();
}

/// Returns a batch whose tensors lie in `memory`, or the tensors as they are if it is null. Strings stay on the host,
/// as nodes that take them do.
template <class Batch> Batch batch_in(allocator* memory, auto const& from) {
  if constexpr (std::derived_from<Batch, tensor>) {
    tensor const& t = from;
    return Batch(memory && t.element() != dtype::string ? t.to(*memory) : t);
  } else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Batch{batch_in<std::tuple_element_t<I, Batch>>(memory, std::get<I>(from))...};
    }(std::make_index_sequence<std::tuple_size_v<Batch>>());
}

/// Returns the memory to which batches are copied; null: none, because the device is absent.
inline allocator* memory_for_batches(std::shared_ptr<device> const& on) {
  if (!on) throw error(code::invalid_argument, "prefetch: expected a device, got null");
  return on->absence() ? nullptr : &on->memory();
}

/// The thread of a prefetch_range, and the batches between it and the caller. `Range` is a reference to the caller's
/// range, or a range of its own.
template <class Range> class prefetch_thread {
 public:
  using batch = std::ranges::range_value_t<Range>;
  using position_type = decltype(position_of(std::declval<Range&>()));

  prefetch_thread(Range&& range, std::shared_ptr<device> on, std::int64_t ahead)
      : range_(std::forward<Range>(range)), on_(std::move(on)), memory_(memory_for_batches(on_)), ahead_(ahead) {
    if (ahead_ < 1)
      throw error(code::invalid_argument, "prefetch: expected 1 or more batches ahead, got " + std::to_string(ahead_));
  }
  prefetch_thread(prefetch_thread const&) = delete;
  prefetch_thread& operator=(prefetch_thread const&) = delete;
  ~prefetch_thread() {
    stop();
    if constexpr (std::is_reference_v<Range> && resumable<Range>) try {
        go_back();
      } catch (...) {  // a destructor has nobody to tell
      }
  }

  /// Moves to the next batch. Returns whether there is one.
  bool next() {
    current_.reset();  // its memory may be what the next copy waits for
    if (!position_) start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty() || has_ended_; });
    if (waiting_.empty()) {
      if (auto const why = std::exchange(error_, nullptr)) only_errors([&] { std::rethrow_exception(why); });
      return false;
    }
    auto& [b, after] = waiting_.front();
    current_.emplace(std::move(b));
    position_.emplace(std::move(after));
    waiting_.pop_front();
    changed_.notify_one();
    return true;
  }
  batch const& current() const { return *current_; }
  bool has_current() const noexcept { return current_.has_value(); }

  position_type position() { return position_ ? *position_ : position_of(range_); }
  void resume(position_type const& at) {
    stop();
    go_back();  // in case `at` is refused
    range_.resume(at);
  }

 private:
  struct drawn_batch {
    batch of;
    position_type after;
  };

  void start() {
    auto at = position_of(range_);
    thread_ = thread([this] { run(); });
    position_.emplace(std::move(at));
  }
  void stop() {
    current_.reset();
    {
      std::lock_guard const lock(mutex_);
      stops_ = true;
    }
    changed_.notify_one();
    thread_.join();
    waiting_.clear();
    error_ = nullptr;
    stops_ = has_ended_ = false;
  }
  // Moves the range to the batch after the one that the caller got last.
  void go_back() {
    if (auto const at = std::exchange(position_, std::nullopt); at && !(*at == range_.position())) range_.resume(*at);
  }

  // On the thread.
  void run() noexcept {
    std::exception_ptr why;  // the thread owns no part of it any more once the caller can see it
    try {
      draw();
    } catch (...) {
      why = std::current_exception();
    }
    std::lock_guard const lock(mutex_);
    error_ = std::move(why);
    has_ended_ = true;
    changed_.notify_one();
  }
  void draw() {
    for (auto&& each : range_) {
      if (!has_room()) return;
      auto made = batch_in<batch>(memory_, each);
      std::lock_guard const lock(mutex_);
      waiting_.push_back({std::move(made), position_of(range_)});
      changed_.notify_one();
    }
  }
  // Waits until another batch may be copied. Returns false if the thread is to end.
  bool has_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stops_ || std::cmp_less(waiting_.size(), ahead_); });
    return !stops_;
  }

  Range range_;  // the thread's from `start` to `stop`
  std::shared_ptr<device> on_;
  allocator* memory_;
  std::int64_t ahead_;
  std::optional<batch> current_;
  std::optional<position_type> position_;  // empty: the thread has not started
  std::mutex mutex_;                       // guards the following
  std::condition_variable changed_;
  std::deque<drawn_batch> waiting_;
  std::exception_ptr error_;
  bool stops_ = false, has_ended_ = false;
  thread thread_;
};

}  // namespace detail

/// The range that `prefetch` returns. Its thread starts with `begin`; a second loop continues where the first one
/// stopped.
template <class Range> class prefetch_range {
 public:
  /// What the range has: a tensor, or a tuple of tensors, of the same types.
  using batch = std::ranges::range_value_t<Range>;
  using position_type = typename detail::prefetch_thread<Range>::position_type;

  prefetch_range(Range&& range, std::shared_ptr<device> on, std::int64_t ahead)
      : thread_(std::make_unique<detail::prefetch_thread<Range>>(std::forward<Range>(range), std::move(on), ahead)) {}

  class iterator {
   public:
    using value_type = batch;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    explicit iterator(detail::prefetch_thread<Range>& of) : of_(&of) {}
    batch const& operator*() const { return of_->current(); }
    iterator& operator++() {
      of_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(iterator const& i, std::default_sentinel_t) { return !i.of_->has_current(); }

   private:
    detail::prefetch_thread<Range>* of_;
  };
  iterator begin() {
    thread_->next();
    return iterator(*thread_);
  }
  std::default_sentinel_t end() const { return {}; }

  /// Returns the position after the batch that the loop got last, whatever the thread has drawn since; save it with the
  /// variables to resume there.
  position_type position() const
    requires detail::resumable<Range>
  {
    return thread_->position();
  }
  /// Resumes at a saved position; batches that wait are dropped. Throws what `resume` of the range throws.
  void resume(position_type const& at)
    requires detail::resumable<Range>
  {
    thread_->resume(at);
  }

 private:
  std::unique_ptr<detail::prefetch_thread<Range>> thread_;
};

/// Returns the batches of a range in the memory of a device, in their order. A thread draws and copies them while the
/// caller works, so a step that is fed one has nothing to copy:
/// `for (auto const& [images, labels] : prefetch(batches(…), gpu)) s.run({{x, images}, {y, labels}}, train);`.
///
/// At most `ahead` batches wait on the device, beside the one that the loop has. With 1, a copy to a GPU may not
/// overlap a step, because copies wait for the updates that have been launched. Strings stay on the host, and so does
/// everything if the device is absent: sessions with soft placement do without it, too. What the range or a copy
/// throws, such as error(resource_exhausted), is thrown at the batch for which it was thrown, and ends the range.
///
/// A temporary range is moved in. Another one must outlive this range and is the thread's until this range is
/// destroyed; then one with `position` and `resume` is again at the batch after the last one that the loop got. The
/// range must not change the elements of a tensor of which copies exist; `batches` does not. Destroying this range
/// waits until the thread has drawn its present batch. Throws error(invalid_argument) if `on` is null or
/// `ahead` is below 1.
template <class Range>
  requires detail::batch_source<Range>
prefetch_range<Range> prefetch(Range&& range, std::shared_ptr<device> on, std::int64_t ahead = 2) {
  return only_errors([&] { return prefetch_range<Range>(std::forward<Range>(range), std::move(on), ahead); });
}

}  // namespace rill
