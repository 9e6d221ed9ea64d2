// Accumulators, which add up the gradients of several steps until there are enough: one update then serves many batches
// or workers.
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

/// Returns a copy of a gradient as the beginning of a sum: 16-bit floats as float32, so that no addend is lost.
tensor begin_sum(tensor const& gradient);
/// Computes to += from for n elements of a differentiable type; 16-bit floats are added to a sum of float32.
void add_elements(dtype d, void* to, void const* from, std::size_t n, parallel const& threads = {});
/// Returns sum / by, rounded to the element type `of` of the gradients; in the memory of the sum if it has that type.
tensor average_of(tensor sum, std::int64_t by, dtype of, parallel const& threads = {});

}  // namespace detail

/// The sum of dense gradients; the average is over all gradients added.
class dense_sum {
 public:
  using part = tensor;
  /// Adds a gradient; throws error(invalid_argument), and adds nothing, if its extents differ from the first
  /// gradient's.
  void add(tensor const& gradient, type const& of, parallel const& threads);
  /// Returns the average; in the memory of the sum unless that is float32 for 16-bit floats.
  std::vector<tensor> average(type const& of, std::int64_t count, parallel const& threads) &&;

 private:
  tensor sum_;
};

/// The sum of sparse gradients; the average of a row is over the gradients of that row.
class sparse_sum {
 public:
  struct part {
    tensor indices, rows;  ///< int64 [n], and a row for each index
  };
  /// Adds a gradient; throws error(invalid_argument), and adds nothing, if an index is not a row of a tensor of type
  /// `of`.
  void add(part const& gradient, type const& of, parallel const& threads);
  /// Returns the indices of the rows in ascending order, and the average of each row.
  std::vector<tensor> average(type const& of, std::int64_t count, parallel const& threads) &&;

 private:
  std::map<std::int64_t, std::pair<tensor, std::int64_t>> rows_;
};

/// Adds up gradients of its own step or of later steps in their order of arrival, and returns their average as soon as
/// there are enough. A caller that has to wait leaves a request and is notified. Sums and averages are computed without
/// the lock that requests and queries take; their bits don't depend on the number of threads.
template <class Sum> class accumulator_state {
 public:
  /// Creates an empty accumulator for gradients of type `of`.
  accumulator_state(std::string name, type of) : name_(std::move(name)), of_(of) {}
  std::string const& name() const { return name_; }
  rill::type const& type() const { return of_; }

  /// A request for the average of at least `wanted` gradients.
  struct request {
    std::int64_t wanted = 1;
    std::vector<tensor> average = {};
    std::function<void(request&, failure)> finished = {};  ///< called once, without the lock; must not throw
  };

  /// Adds a gradient that was computed from the variables of the given step, and returns true. Drops a stale gradient,
  /// whose step is before the accumulator's, and returns false. The gradient's memory need not outlive the call.
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
  /// Requests the average of all gradients, to be returned as soon as there are enough. Then the sum is emptied, and
  /// the step raised by one.
  void take(std::shared_ptr<request> const& r, parallel const& threads = {}) {
    std::unique_lock lock(mutex_);
    waiting_.push_back(r);
    serve(lock, threads);
  }
  /// Ends a request that still waits with the failure `why`.
  void give_up(request const& wanted, failure why) {
    std::unique_lock lock(mutex_);
    auto const at = std::find_if(waiting_.begin(), waiting_.end(), [&](auto const& r) { return r.get() == &wanted; });
    if (at == waiting_.end()) return;
    auto const r = *at;
    waiting_.erase(at);
    serve(lock, {});  // the next request may want fewer gradients
    if (lock) lock.unlock();
    r->finished(*r, std::move(why));
  }
  /// Returns the number of gradients added since the last average.
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
  /// Returns to the initial state; waiting requests fail with error(aborted).
  void reset() {
    auto const why = failed(code::aborted, {"the accumulator '", name_, "' was reset with its container"});
    std::unique_lock lock(mutex_);
    auto const all = std::exchange(waiting_, {});
    sum_ = {};
    count_ = step_ = 0;
    ++resets_;
    lock.unlock();
    for (auto const& r : all) r->finished(*r, why);
  }

 private:
  // Serves the first request without the lock, if there are enough gradients.
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
  std::mutex adding_;         // held while a gradient is added; locked before mutex_
  mutable std::mutex mutex_;  // guards the members below; held briefly
  Sum sum_;
  bool away_ = false;  // whether the sum has been moved out to add a gradient
  std::int64_t count_ = 0, step_ = 0;
  std::uint64_t resets_ = 0;
  std::deque<std::shared_ptr<request>> waiting_;
};

#if RILL_RUNTIME
namespace detail {

// The type in which elements of a type are added.
template <class T> using summed = std::conditional_t<sizeof(T) == 2, float, T>;

template <class F> void visit_differentiable(dtype d, F&& f) {
  visit(d, [&]<class T>() {
    if constexpr (is_differentiable(dtype_of<T>)) f.template operator()<T>();
  });
}

// Calls `f(begin, end)` for consecutive ranges of n elements, on several threads.
template <class F> void in_ranges(std::size_t n, parallel const& threads, F const& f) {
  constexpr std::size_t range = 16384;
  threads((n + range - 1) / range, [&](std::size_t i) { f(i * range, std::min(n, (i + 1) * range)); });
}

RILL_INLINE void add_elements(dtype d, void* to, void const* from, std::size_t n, parallel const& threads) {
  visit_differentiable(d, [&]<class T>() {
    auto* y = static_cast<summed<T>*>(to);
    auto const* x = static_cast<T const*>(from);
    in_ranges(n, threads, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) y[i] += static_cast<summed<T>>(x[i]);
    });
  });
}
RILL_INLINE tensor begin_sum(tensor const& gradient) {
  if (size_of(gradient.element()) != 2) return gradient.clone();
  tensor sum(dtype::float32, gradient.shape());
  auto const n = static_cast<std::size_t>(sum.elements());
  std::fill_n(sum.mutable_data<float>(), n, -0.f);  // -0 + x is x, also if x is -0
  add_elements(gradient.element(), sum.mutable_raw(), gradient.raw(), n);
  return sum;
}
RILL_INLINE tensor average_of(tensor sum, std::int64_t by, dtype of, parallel const& threads) {
  bool const in_place = sum.element() == of;
  tensor mean = in_place ? std::move(sum) : tensor(of, sum.shape());
  void* const to = mean.mutable_raw();
  void const* const from = in_place ? to : sum.raw();
  visit_differentiable(of, [&]<class T>() {
    using real = typename decltype([] {
      if constexpr (requires { typename T::value_type; }) return std::type_identity<typename T::value_type>();
      else return std::type_identity<summed<T>>();
    }())::type;
    auto* y = static_cast<T*>(to);
    auto const divide = [&](auto const* x) {
      in_ranges(static_cast<std::size_t>(mean.elements()), threads, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) y[i] = T(static_cast<summed<T>>(x[i]) / static_cast<real>(by));
      });
    };
    if (in_place) divide(static_cast<T const*>(from));
    else divide(static_cast<summed<T> const*>(from));
  });
  return mean;
}

}  // namespace detail

RILL_INLINE void dense_sum::add(tensor const& gradient, type const&, parallel const& threads) {
  if (!sum_) sum_ = detail::begin_sum(gradient);
  else if (sum_.shape() != gradient.shape())
    throw error(code::invalid_argument, "expected a gradient of " + sum_.shape().text() +
                                            ", as added to this accumulator before, got one of " +
                                            gradient.shape().text());
  else
    detail::add_elements(gradient.element(), sum_.mutable_raw(), gradient.raw(),
                         static_cast<std::size_t>(sum_.elements()), threads);
}
RILL_INLINE std::vector<tensor> dense_sum::average(type const& of, std::int64_t count, parallel const& threads) && {
  return {detail::average_of(std::move(sum_), count, of.element, threads)};
}

RILL_INLINE void sparse_sum::add(part const& gradient, type const& of, parallel const&) {
  auto const which = gradient.indices.span<std::int64_t>();
  for (std::size_t i = 0; i < which.size(); ++i)
    if (which[i] < 0 || (of[0].known() && which[i] >= of[0].extent))
      throw error(code::invalid_argument, "index " + std::to_string(i) + " is " + std::to_string(which[i]) +
                                              ", which is not a row of a tensor of type " + of.text());
  auto const row = [&](std::size_t i) {
    auto const at = static_cast<std::int64_t>(i);
    return gradient.rows.rows(at, at + 1);
  };
  auto const add_to = [](std::pair<tensor, std::int64_t>& sum, tensor const& x) {
    detail::add_elements(x.element(), sum.first.mutable_raw(), x.raw(), static_cast<std::size_t>(x.elements()));
    ++sum.second;
  };
  // Rows that need memory come first: if it can't be allocated, nothing is added.
  decltype(rows_) fresh;
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (rows_.contains(which[i])) continue;
    if (auto const again = fresh.find(which[i]); again != fresh.end()) add_to(again->second, row(i));
    else fresh.emplace(which[i], std::pair(detail::begin_sum(row(i)), std::int64_t{1}));
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
    auto const mean = detail::average_of(row.first, row.second, of.element);
    if (elements != 0) std::memcpy(to, mean.raw(), mean.bytes());
    to += mean.bytes();
  }
  return {ascending, rows};
}

#endif

}  // namespace rill
