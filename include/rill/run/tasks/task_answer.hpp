// Answers of tasks, which may be on their way, so that many tasks can be asked at once.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/base/expected.hpp"
#include "rill/base/thread.hpp"

namespace rill {

/// A future of a task's answer, which unlike std::future may be computed in `get`, on the caller's thread. Destroying
/// it abandons the answer.
template <class T> class task_answer {
 public:
  /// `get` waits for it and returns it, or throws the error of the request; is called once at the most.
  explicit task_answer(std::function<T()> get) : get_(std::move(get)) {}
  /// Returns an answer that is there.
  static task_answer ready(T value) {
    return task_answer([value = std::move(value)]() mutable { return std::move(value); });
  }
  /// Returns an answer that `get` computes, on the thread that wants it.
  static task_answer computed(std::function<T()> get) {
    task_answer made(std::move(get));
    made.is_computed_ = true;
    return made;
  }

  /// Waits for it and returns it, or throws the error of the request. Is called once at the most.
  T get() { return std::exchange(get_, {})(); }
  /// Whether the thread that calls `get` computes it.
  bool is_computed() const { return is_computed_; }
  /// Returns the answer `f(answer)`.
  template <class F> auto then(F f) && {
    using result = std::invoke_result_t<F&, T>;
    task_answer<result> made([mine = std::move(*this), f = std::move(f)]() mutable { return f(mine.get()); });
    made.is_computed_ = is_computed_;
    return made;
  }

 private:
  template <class> friend class task_answer;
  std::function<T()> get_;
  bool is_computed_ = false;
};

namespace detail {

/// Asks each of a list by `ask(each)`, which returns a task_answer, and waits for none. What `ask` throws is what the
/// answer throws.
template <class List, class Ask> auto ask_all(List&& of, Ask const& ask) {
  using answer = decltype(ask(*std::begin(of)));
  std::vector<answer> all;
  all.reserve(std::size(of));
  for (auto& each : of) try {
      all.push_back(ask(each));
    } catch (...) {
      all.push_back(
          answer([why = caught_failure()]() -> decltype(std::declval<answer&>().get()) { throw error(*why); }));
    }
  return all;
}

/// Waits for all answers, and returns them in their order, each with its value or its error. Up to `threads` threads,
/// the caller's among them, compute what is computed here; if fewer can be started, those that were do it all.
template <class T> std::vector<expected<T>> wait_for_all(std::vector<task_answer<T>> asked, int threads) {
  std::vector<std::optional<expected<T>>> got(asked.size());
  auto const take = [&](std::size_t i) noexcept {
    try {
      got[i].emplace(asked[i].get());
    } catch (...) {
      got[i].emplace(caught_failure());
    }
  };
  std::vector<std::size_t> computed;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (asked[i].is_computed()) computed.push_back(i);
  std::vector<expected<T>> all;
  all.reserve(asked.size());
  std::atomic<std::size_t> next = 0;
  auto const compute = [&]() noexcept {
    for (std::size_t k; (k = next.fetch_add(1)) < computed.size();) take(computed[k]);
  };
  std::vector<thread> others;
  try {
    auto const most = std::min(computed.size(), static_cast<std::size_t>(std::max(threads, 1)));
    others.reserve(most);
    while (others.size() + 1 < most) others.emplace_back(compute);
  } catch (...) {  // those that were started do all of it
  }
  compute();
  for (auto& t : others) t.join();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!got[i]) take(i);
    all.push_back(*std::move(got[i]));
  }
  return all;
}

/// Returns the values of all answers, or throws the first error in their order when all have come.
template <class T> std::vector<T> values_of_all(std::vector<task_answer<T>> asked, int threads = 1) {
  std::vector<T> values;
  for (auto& each : wait_for_all(std::move(asked), threads)) values.push_back(std::move(each).value());
  return values;
}

}  // namespace detail
}  // namespace rill
