// What a run is given and what it is asked for.
#pragma once
#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/base/deadline.hpp"
#include "rill/base/expected.hpp"
#include "rill/device/observer.hpp"
#include "rill/device/step.hpp"
#include "rill/dsl/expr.hpp"

namespace rill {

/// A value of the graph and the tensor that stands for it in one step.
struct feed {
  /// Checked while this compiles.
  template <type T, type U> feed(expr<T> to_feed, tensor_of<U> t) : to(to_feed), with(std::move(t)) {
    if constexpr (!accepts(T, U)) {
      constexpr auto said = detail::sentence_of_types(
          "feed: the tensor does not have the element type and extents of what it is fed to", U, T);
      detail::named<said>().compiles();
    }
  }
  /// Checked when it runs.
  feed(value to_feed, tensor t) : to(to_feed), with(std::move(t)) {}
  feed(std::string_view name, tensor t) : by_name(name), with(std::move(t)) {}
  template <class To, class What>
    requires((std::convertible_to<To const&, value> || std::convertible_to<To const&, std::string_view>) &&
             !std::convertible_to<What const&, tensor>)
  feed(To const&, What const&) {
    constexpr bool is_tensor = std::convertible_to<What const&, tensor>;
    static_assert(
        is_tensor,
        "feed: what is fed is a tensor, as rill::vector, rill::matrix, tensor::copy, adopt and borrow make it");
  }

  /// The value that is fed.
  value to;
  std::optional<std::string> by_name = {};  ///< "name:port", if `to` was not given
  /// What it is in this step.
  tensor with;
};

/// A limit on the time of one run: error(deadline_exceeded) when it has passed.
struct timeout {
  /// No time is too long or too short: what nanoseconds can't count is the nearest that they can. Throws
  /// error(invalid_argument) for what is not a number.
  template <class Number, class Unit> constexpr timeout(std::chrono::duration<Number, Unit> time) {
    using std::chrono::nanoseconds;
    using seconds = std::chrono::duration<double>;
    seconds const wanted(time);
    expects(wanted == wanted, "a timeout is NaN, and not a number of seconds");
    if (wanted <= seconds(nanoseconds::min())) after = nanoseconds::min();
    else if (wanted < seconds(nanoseconds::max())) after = std::chrono::duration_cast<nanoseconds>(time);
  }

  std::chrono::nanoseconds after = std::chrono::nanoseconds::max();
};

/// What may stand among fetches and says how they are run.
class run_options {
 public:
  /// Takes a limit on the time.
  void add(timeout const& t) { limit_ = t; }
  /// Takes what may stop the step.
  void add(std::stop_token const& t) { stop_ = t; }
  /// Takes who is told of the nodes that run.
  void add(observe const& o) { watch_ = o.who; }

  /// A step that begins now.
  step_context begin() const {
    step_context step;
    step.watch = watch_;
    step.stop = stop_;
    if (limit_) step.deadline = deadline_after(limit_->after);
    return step;
  }

 private:
  observer* watch_ = nullptr;
  std::stop_token stop_;
  std::optional<timeout> limit_;
};

namespace detail {

template <class F>
concept run_option = requires(run_options& all, F const& one) { all.add(one); };

/// Whether a run has at most one option of each kind, so that none is passed over.
template <class... F>
inline constexpr bool one_of_each =
    (std::same_as<F, timeout> + ... + 0) <= 1 && (std::same_as<F, std::stop_token> + ... + 0) <= 1 &&
    (std::same_as<F, observe> + ... + 0) <= 1;

template <class F> constexpr bool yields() { return !std::same_as<F, operation> && !run_option<F>; }

// One fetch as a tuple of its results: one, or none for operations and options.
template <class F> auto fetched([[maybe_unused]] std::span<tensor>& rest) {
  if constexpr (run_option<F> || std::same_as<F, operation>) return std::tuple<>{};
  else {
    auto t = std::move(rest.front());
    rest = rest.subspan(1);
    if constexpr (typed<F>) return std::tuple{tensor_of<F::static_type>(std::move(t))};
    else return std::tuple{std::move(t)};
  }
}

// The results of a run of such fetches: void, one, or a tuple.
template <class... F> auto results_of(std::span<tensor> results) {
  std::tuple<decltype(fetched<F>(results))...> parts{fetched<F>(results)...};
  auto all = std::apply([](auto&... each) { return std::tuple_cat(std::move(each)...); }, parts);
  if constexpr (std::tuple_size_v<decltype(all)> == 0) return;
  else if constexpr (std::tuple_size_v<decltype(all)> == 1) return std::get<0>(std::move(all));
  else return all;
}

// Calls the function that a started step was given: with what `typed` makes of the results, or with the error. Once,
// so it need not be copyable.
template <class Typed, class Done> auto completion_of(Typed typed, Done&& done) {
  using result = decltype(typed(std::span<tensor>()));
  using function = std::decay_t<Done>;
  static_assert(std::is_invocable_v<function&, expected<result>>,
                "start: its last argument is called with a rill::expected of what run returns");
  return
      [typed, done = std::make_shared<function>(std::forward<Done>(done))](std::vector<tensor> results, failure why) {
        (*done)([&]() -> expected<result> {
          if (why) return why;
          if constexpr (std::is_void_v<result>) return typed(std::span(results)), expected<void>();
          else return typed(std::span(results));
        }());
      };
}

}  // namespace detail

/// The placeholders of a prepared call, in order.
template <operand... X> struct inputs_of {
  std::tuple<X...> each;
};
/// Names the placeholders of a prepared call, in order.
template <operand... X> inputs_of<X...> inputs(X... x) { return {{x...}}; }

/// The results of a prepared call, in order.
template <operand... X> struct outputs_of {
  std::tuple<X...> each;
};
/// Names the results of a prepared call, in order.
template <operand... X> outputs_of<X...> outputs(X... x) { return {{x...}}; }

}  // namespace rill
