// The arguments of a run: feeds, options, and the types of its results.
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
#include "rill/base/utf8.hpp"
#include "rill/device/observer.hpp"
#include "rill/device/step.hpp"
#include "rill/dsl/expr.hpp"

namespace rill {

namespace detail {
/// Whether a tensor can be fed to a To: a handle, or a name.
template <class To>
concept can_be_fed = std::convertible_to<To const&, value> || std::convertible_to<To const&, std::string_view>;
}  // namespace detail

/// Pairs a value of the graph with the tensor that it has in one step.
struct feed {
  /// Checks the types when the program is compiled.
  template <type T, type U> feed(expr<T> to_feed, tensor_of<U> t) : to(to_feed), with(std::move(t)) {
    if constexpr (!accepts(T, U)) {
      constexpr auto said = detail::sentence_of_types(
          "feed: the tensor does not have the element type and extents of what it is fed to", U, T);
      detail::named<said>().compiles();
    }
  }
  /// The step checks the types.
  feed(value to_feed, tensor t) : to(to_feed), with(std::move(t)) {}
  feed(std::string_view name, tensor t) : by_name(name), with(std::move(t)) {}
  template <class To, class What>
    requires(!detail::can_be_fed<To> || !std::convertible_to<What const&, tensor>)
  feed(To const&, What const&) {
    constexpr bool is_handle = detail::can_be_fed<To>, is_tensor = std::convertible_to<What const&, tensor>;
    static_assert(is_handle, "feed: a tensor is fed to a handle of the graph, or to a name such as \"name:port\"");
    static_assert(
        is_tensor || !is_handle,
        "feed: what is fed is a tensor, as rill::vector, rill::matrix, tensor::copy, adopt and borrow make it");
  }
  /// Refuses an array, or a list in braces. One number in braces is a scalar.
  template <class To, class T, std::size_t N>
    requires(N > 1)
  feed(To const&, T const (&)[N]) {
    constexpr bool is_tensor = N == 0;
    static_assert(is_tensor, "feed: a list or an array is not a tensor; rill::vector({...}) makes one of it");
  }
  template <class To, class T, std::size_t N, std::size_t M>
    requires(N > 1 || M > 1)
  feed(To const&, T const (&)[N][M]) {
    constexpr bool is_tensor = N == 0;
    static_assert(is_tensor, "feed: a list of lists is not a tensor; rill::matrix({{...}, {...}}) makes one of it");
  }

  /// The value that is fed.
  value to;
  std::optional<std::string> by_name = {};  ///< "name:port", if `to` was not given
  /// Its value in the step.
  tensor with;
};

/// Limits the time of one run, which fails with error(deadline_exceeded) afterwards.
struct timeout {
  /// Converts to nanoseconds; a time out of their range becomes the nearest one in range. Throws
  /// error(invalid_argument) for NaN.
  template <class Number, class Unit> constexpr timeout(std::chrono::duration<Number, Unit> time) {
    using std::chrono::nanoseconds;
    using seconds = std::chrono::duration<double>;
    seconds const wanted(time);
    expects(wanted == wanted, "expected a timeout in seconds, got NaN");
    if (wanted <= seconds(nanoseconds::min())) after = nanoseconds::min();
    else if (wanted < seconds(nanoseconds::max())) after = std::chrono::duration_cast<nanoseconds>(time);
  }

  std::chrono::nanoseconds after = std::chrono::nanoseconds::max();
};

/// Names who runs a step, for instance a thread of the program: `s.run(sample, client{"sampler"})`. The steps of each
/// client are counted apart, draw random numbers by that count, and draw other numbers than the steps of other clients.
/// So what a thread draws does not depend on when other threads run steps of the session.
struct client {
  /// Throws error(invalid_argument) if the name is empty, is not UTF-8, or has a colon, which the names of queue
  /// runners have.
  explicit client(std::string_view called) try : name(called) {
    if (name.empty() || name.find(':') != std::string::npos || !decode_utf8(name))
      throw error(code::invalid_argument,
                  "expected the name of a client in UTF-8, not empty and without colons, got '" + name + "'");
  } catch (...) {
    rethrow_as_error();
  }

  std::string name;
};

/// The options of a run, which stand among its fetches.
class run_options {
 public:
  /// Sets a limit on the time.
  void add(timeout const& t) { limit_ = t; }
  /// Sets a token that cancels the step.
  void add(std::stop_token const& t) { stop_ = t; }
  /// Sets an observer of the nodes that run.
  void add(observe const& o) { watch_ = o.who; }
  /// Sets who runs the step.
  void add(client const& c) try { client_ = c.name; } catch (...) {
    rethrow_as_error();
  }

  /// Returns the context of a step that begins now. It refers to these options until the step has its number.
  step_context begin() const {
    step_context step;
    step.watch = watch_;
    step.stop = stop_;
    if (!client_.empty()) step.client = &client_;
    if (limit_) step.deadline = deadline_after(limit_->after);
    return step;
  }

 private:
  observer* watch_ = nullptr;
  std::stop_token stop_;
  std::optional<timeout> limit_;
  std::string client_;
};

/// What a step gives, in order: values, and operations, which it runs.
template <class... X> struct outputs_of {
  std::tuple<X...> each;
};
/// Names what a step gives, in order: `step = s.prepare(inputs(x), outputs(loss, train))`, `s.run(outputs(y, z))`. An
/// operation is run and gives nothing.
template <class... X> outputs_of<X...> outputs(X... x) {
  constexpr bool all_are_of_the_graph = (std::convertible_to<X, operation> && ...);
  static_assert(all_are_of_the_graph, "outputs: an output is a handle, or an operation that the step runs");
  return {{x...}};
}

namespace detail {

template <class F>
concept run_option = requires(run_options& all, F const& one) { all.add(one); };

/// Whether an F may stand among the targets of a prepared step.
template <class F>
inline constexpr bool is_target =
    run_option<F> || std::convertible_to<F const&, operation> || std::same_as<F, std::vector<operation>>;

/// Whether an F may stand among the fetches of a run.
template <class F> inline constexpr bool is_fetch = is_target<F> || std::convertible_to<F const&, std::string_view>;
template <class... X> inline constexpr bool is_fetch<outputs_of<X...>> = true;
template <class... F> inline constexpr bool are_fetches = (is_fetch<F> && ...);
/// Whether an F may stand among the fetches of `explain` and `memory`, which return no results.
template <class F> inline constexpr bool is_fetch_or_values = is_fetch<F> || std::same_as<F, std::vector<value>>;
/// Whether all arguments but the last are fetches of a run; `start` calls the last when the step has ended.
template <class Arguments, class Numbers> inline constexpr bool are_fetches_and_done = false;
template <class... A, std::size_t... K>
inline constexpr bool are_fetches_and_done<std::tuple<A...>, std::index_sequence<K...>> =
    are_fetches<std::remove_cvref_t<std::tuple_element_t<K, std::tuple<A...>>>...>;

/// Whether a run has at most one option of each kind.
template <class... F>
inline constexpr bool one_of_each =
    (std::same_as<F, timeout> + ... + 0) <= 1 && (std::same_as<F, std::stop_token> + ... + 0) <= 1 &&
    (std::same_as<F, observe> + ... + 0) <= 1;
template <class... F> inline constexpr bool one_client = (std::same_as<F, client> + ... + 0) <= 1;

// Takes the result of a fetch, the first of `rest`, as a tuple; an empty tuple for an operation or option.
template <class F> struct fetched {
  static auto take([[maybe_unused]] std::span<tensor>& rest) {
    if constexpr (run_option<F> || std::same_as<F, operation> || std::same_as<F, std::vector<operation>>)
      return std::tuple<>{};
    else {
      auto t = std::move(rest.front());
      rest = rest.subspan(1);
      if constexpr (typed<F>) return std::tuple{tensor_of<F::static_type>(std::move(t))};
      else return std::tuple{std::move(t)};
    }
  }
};
// Those of `outputs(…)` stand in a run as if they were its fetches.
template <class... X> struct fetched<outputs_of<X...>> {
  static auto take(std::span<tensor>& rest) {
    std::tuple<decltype(fetched<X>::take(rest))...> parts{fetched<X>::take(rest)...};
    return std::apply([](auto&... each) { return std::tuple_cat(std::move(each)...); }, parts);
  }
};

// Returns the results of a run with these fetches: void, one, or a tuple.
template <class... F> auto results_of([[maybe_unused]] std::span<tensor> results) {
  auto all = fetched<outputs_of<F...>>::take(results);
  if constexpr (std::tuple_size_v<decltype(all)> == 0) return;
  else if constexpr (std::tuple_size_v<decltype(all)> == 1) return std::get<0>(std::move(all));
  else return all;
}

// Returns a completion that calls `done` once with `typed(results)` or the error. `done` need not be copyable.
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

}  // namespace rill
