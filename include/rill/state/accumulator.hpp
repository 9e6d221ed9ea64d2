// Gradients of several steps, added up until there are enough: what makes one update of many batches or workers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/parallel.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

namespace detail {

/// to += from, and to /= n, element by element, of a type that has derivatives.
void add_elements(dtype d, void* to, void const* from, std::size_t n, parallel const& threads = {});
void divide_elements(dtype d, void* to, std::int64_t by, std::size_t n, parallel const& threads = {});

}  // namespace detail

/// The sum of dense gradients; its average is over all that came.
class dense_sum {
 public:
  using part = tensor;
  /// error(invalid_argument) for a gradient of other extents than the first one; nothing is added then.
  void add(tensor const& gradient, type const& of, parallel const& threads);
  /// Computed in the place of the sum.
  std::vector<tensor> average(type const& of, std::int64_t count, parallel const& threads) &&;

 private:
  tensor sum_;
};

/// The sum of rows of a tensor, each row's average over those that came for it.
class sparse_sum {
 public:
  struct part {
    tensor indices, rows;  ///< int64 [n], and n rows
  };
  /// error(invalid_argument) for a row that a tensor of type `of` has not; nothing is added then.
  void add(part const& gradient, type const& of, parallel const& threads);
  /// The numbers of the rows, ascending, and their averages.
  std::vector<tensor> average(type const& of, std::int64_t count, parallel const& threads) &&;

 private:
  std::map<std::int64_t, std::pair<tensor, std::int64_t>> rows_;
};

/// Adds up gradients of its own step or later ones, one after the other in the order in which they come, and hands out
/// their average when there are enough. Who must wait for it leaves a request, and is told. Sums and averages are
/// computed without the lock that requests and questions take; their bits don't depend on the number of threads.
template <class Sum> class accumulator_state {
 public:
  /// `of` is the type of a gradient.
  accumulator_state(std::string name, type of) : name_(std::move(name)), of_(of) {}
  std::string const& name() const { return name_; }
  rill::type const& type() const { return of_; }

  /// Somebody who waits for the average of at least `wanted` gradients.
  struct request {
    std::int64_t wanted = 1;
    std::vector<tensor> average = {};
    std::function<void(request&, failure)> finished = {};  ///< called once, without the lock; must not throw
  };

  /// Adds a gradient that was computed from the variables of that step; a stale one, of an earlier step than the
  /// accumulator's, is dropped. Whether it was taken. What it refers to need not outlive the call.
  bool apply(typename Sum::part const& gradient, std::int64_t step, parallel const& threads = {}) {
    std::unique_lock in_order(adding_);
    Sum sum;
    std::uint64_t resets = 0;
    {
      std::lock_guard const lock(mutex_);
      if (step < step_) return false;
      sum = std::exchange(sum_, {});
      away_ = true;
      resets = resets_;
    }
    auto const put_back = [&](bool added) {
      std::unique_lock lock(mutex_);
      away_ = false;
      if (resets == resets_) sum_ = std::move(sum), count_ += added;
      in_order.unlock();
      serve(lock, threads);
    };
    try {
      sum.add(gradient, of_, threads);
    } catch (...) {
      put_back(false);
      throw;
    }
    put_back(true);
    return true;
  }
  /// The average of all gradients that came, as soon as there are enough; then the sum is empty, and the step raised by
  /// one.
  void take(std::shared_ptr<request> const& r, parallel const& threads = {}) {
    std::unique_lock lock(mutex_);
    waiting_.push_back(r);
    serve(lock, threads);
  }
  /// A request that still waits ends with `why`.
  void give_up(request const& wanted, failure why) {
    std::unique_lock lock(mutex_);
    auto const at = std::find_if(waiting_.begin(), waiting_.end(), [&](auto const& r) { return r.get() == &wanted; });
    if (at == waiting_.end()) return;
    auto const r = *at;
    waiting_.erase(at);
    serve(lock, {});  // those behind may want fewer
    if (lock) lock.unlock();
    r->finished(*r, std::move(why));
  }
  /// Gradients that have come since the last average.
  std::int64_t count() const {
    std::lock_guard lock(mutex_);
    return count_;
  }
  std::int64_t step() const {
    std::lock_guard lock(mutex_);
    return step_;
  }
  void set_step(std::int64_t step) {
    std::lock_guard lock(mutex_);
    step_ = step;
  }
  /// As new; those who wait fail with error(aborted).
  void reset() {
    auto const why = failed(code::aborted, {"the container of accumulator '", name_, "' was reset"});
    std::unique_lock lock(mutex_);
    auto const all = std::exchange(waiting_, {});
    sum_ = {};
    count_ = step_ = 0;
    ++resets_;
    lock.unlock();
    for (auto const& r : all) r->finished(*r, why);
  }

 private:
  // Hands the average to the first request, if there are enough gradients, without the lock.
  void serve(std::unique_lock<std::mutex>& lock, parallel const& threads) {
    if (away_ || waiting_.empty() || count_ < waiting_.front()->wanted) return;
    auto const r = waiting_.front();
    waiting_.pop_front();
    auto sum = std::exchange(sum_, {});
    auto const count = std::exchange(count_, 0);
    ++step_;
    lock.unlock();
    failure why;
    try {
      r->average = std::move(sum).average(of_, count, threads);
    } catch (...) {
      why = caught_failure();
    }
    r->finished(*r, why);
  }

  std::string name_;
  rill::type of_;
  std::mutex adding_;         // held while a gradient is added; taken before the other
  mutable std::mutex mutex_;  // guards what follows, for a moment
  Sum sum_;
  bool away_ = false;  // the sum, for a gradient is being added
  std::int64_t count_ = 0, step_ = 0;
  std::uint64_t resets_ = 0;
  std::deque<std::shared_ptr<request>> waiting_;
};

#if RILL_RUNTIME
namespace detail {

template <class F> void visit_differentiable(dtype d, F&& f) {
  visit(d, [&]<class T>() {
    if constexpr (is_differentiable(dtype_of<T>)) f.template operator()<T>();
  });
}

// Calls `f(begin, end)` for stretches of n elements, which the threads share out.
template <class F> void in_stretches(std::size_t n, parallel const& threads, F const& f) {
  constexpr std::size_t stretch = 16384;
  threads((n + stretch - 1) / stretch, [&](std::size_t i) { f(i * stretch, std::min(n, (i + 1) * stretch)); });
}

RILL_INLINE void add_elements(dtype d, void* to, void const* from, std::size_t n, parallel const& threads) {
  visit_differentiable(d, [&]<class T>() {
    auto* y = static_cast<T*>(to);
    auto const* x = static_cast<T const*>(from);
    in_stretches(n, threads, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if constexpr (sizeof(T) == 2) y[i] = T(static_cast<float>(y[i]) + static_cast<float>(x[i]));
        else y[i] += x[i];
    });
  });
}
RILL_INLINE void divide_elements(dtype d, void* to, std::int64_t by, std::size_t n, parallel const& threads) {
  visit_differentiable(d, [&]<class T>() {
    auto* y = static_cast<T*>(to);
    in_stretches(n, threads, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if constexpr (sizeof(T) == 2) y[i] = T(static_cast<float>(y[i]) / static_cast<float>(by));
        else if constexpr (requires { typename T::value_type; }) y[i] /= static_cast<typename T::value_type>(by);
        else y[i] /= static_cast<T>(by);
    });
  });
}

}  // namespace detail

RILL_INLINE void dense_sum::add(tensor const& gradient, type const&, parallel const& threads) {
  if (!sum_) sum_ = gradient.clone();
  else if (sum_.shape() != gradient.shape())
    throw error(code::invalid_argument, "an accumulator was given a gradient of other extents than the one before");
  else
    detail::add_elements(sum_.element(), sum_.mutable_raw(), gradient.raw(), static_cast<std::size_t>(sum_.elements()),
                         threads);
}
RILL_INLINE std::vector<tensor> dense_sum::average(type const&, std::int64_t count, parallel const& threads) && {
  std::vector<tensor> mean(1);
  mean[0] = std::move(sum_);
  detail::divide_elements(mean[0].element(), mean[0].mutable_raw(), count, static_cast<std::size_t>(mean[0].elements()),
                          threads);
  return mean;
}

RILL_INLINE void sparse_sum::add(part const& gradient, type const& of, parallel const&) {
  auto const which = gradient.indices.span<std::int64_t>();
  for (std::size_t i = 0; i < which.size(); ++i)
    if (which[i] < 0 || (of[0].known() && which[i] >= of[0].extent))
      throw error(code::invalid_argument, "index " + std::to_string(i) + " is " + std::to_string(which[i]) +
                                              ", which is no row of a " + of.text());
  auto const row = [&](std::size_t i) {
    auto const at = static_cast<std::int64_t>(i);
    return gradient.rows.rows(at, at + 1);
  };
  auto const add_to = [](std::pair<tensor, std::int64_t>& sum, tensor const& x) {
    detail::add_elements(x.element(), sum.first.mutable_raw(), x.raw(), static_cast<std::size_t>(x.elements()));
    ++sum.second;
  };
  // What needs memory first: without it nothing is added.
  decltype(rows_) fresh;
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (rows_.contains(which[i])) continue;
    if (auto const again = fresh.find(which[i]); again != fresh.end()) add_to(again->second, row(i));
    else fresh.emplace(which[i], std::pair(row(i).clone(), std::int64_t{1}));
  }
  for (std::size_t i = 0; i < which.size(); ++i)
    if (auto const known = rows_.find(which[i]); known != rows_.end()) add_to(known->second, row(i));
  rows_.merge(fresh);
}
RILL_INLINE std::vector<tensor> sparse_sum::average(type const& of, std::int64_t, parallel const&) && {
  auto const n = static_cast<std::int64_t>(rows_.size());
  tensor ascending(dtype::int64, {n}), rows(of.element, stacked(row_of(of), dim(n)).shape());
  auto const elements = static_cast<std::size_t>(n == 0 ? 0 : rows.elements() / n);
  auto* to = static_cast<std::byte*>(rows.mutable_raw());
  auto* number = ascending.mutable_data<std::int64_t>();
  for (auto const& [which, row] : rows_) {
    *number++ = which;
    if (elements != 0) std::memcpy(to, row.first.raw(), row.first.bytes());
    detail::divide_elements(of.element, to, row.second, elements);
    to += row.first.bytes();
  }
  return {ascending, rows};
}

#endif

}  // namespace rill
