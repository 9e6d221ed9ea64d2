// Steps that are compiled once and called like functions.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/run/executor.hpp"
#include "rill/run/feed.hpp"

namespace rill {

/// What a prepared step is, apart from its types.
class prepared_step {
 protected:
  /// Throws error(invalid_argument) if an input belongs to another graph or is empty.
  prepared_step(executor& e, std::span<value const> in, std::span<value const> out, std::span<operation const> targets,
                run_options const& how);
  /// Runs the step with a tensor for each input, and fills `results`, one for each output.
  void run(std::span<tensor const* const> tensors, std::span<tensor> results);
  /// Starts the step with a tensor for each input.
  void start(std::span<tensor const* const> tensors, executor::completion done);

 private:
  // The tensors of one call, in the request as long as it lives.
  struct call_inputs {
    explicit call_inputs(std::vector<tensor>& to) : with(to) {}
    ~call_inputs() {
      for (auto& t : with) t = tensor();
    }
    [[gnu::always_inline]] void set(std::span<tensor const* const> tensors) {  // or calls would take longer
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!*tensors[i]) refuse(i);
        with[i] = *tensors[i];
      }
    }
    [[noreturn]] static void refuse(std::size_t i);
    std::vector<tensor>& with;
  };
  bool has_fitting_step() const { return step_ && executor_->fits(*step_, request_.with); }
  void check_types() const;

  executor* executor_;
  std::vector<value> inputs_;  ///< as they were given: they may say more than what is fed in their place
  run_request request_;
  std::shared_ptr<compiled_step> step_;
  run_options how_;
};

/// A step as a function, by the types of its inputs and outputs.
template <class Inputs, class Outputs> class prepared;

/// A step as a function; made by `session::prepare`. One thread at a time calls one of it; each thread can have a copy.
template <class... I, class... O> class prepared<inputs_of<I...>, outputs_of<O...>> : public prepared_step {
 public:
  prepared(executor& e, inputs_of<I...> in, outputs_of<O...> out, std::span<operation const> targets,
           run_options const& how)
      : prepared_step(e, std::apply(erased<I...>, in.each), std::apply(erased<O...>, out.each), targets, how) {}

  /// Runs the step with a tensor, or a number, for each input. Throws what `session::run` throws.
  template <std::convertible_to<tensor const&>... T> auto operator()(T const&... tensors) {
    constexpr bool for_each_input = sizeof...(T) == sizeof...(I);
    static_assert(for_each_input, "a prepared step is called with a tensor for each of its inputs");
    if constexpr (for_each_input) {
      constexpr auto said = first_complaint<T...>();
      if constexpr (said.size > 0) detail::named<said>().compiles();
    }
    std::array<tensor, sizeof...(O)> results;
    run(std::array<tensor const*, sizeof...(I)>{address(tensors)...}, results);
    return typed_results(results);
  }

  /// Starts the step with a tensor, or a number, for each input, and returns; the last argument is called when it has
  /// ended, as in `session::start`, and may start this again. Several calls may be under way, and outlive this.
  template <class... A> void start(A&&... tensors_and_done) {
    constexpr bool for_each_input = sizeof...(A) == sizeof...(I) + 1;
    static_assert(for_each_input,
                  "a prepared step is started with a tensor for each of its inputs, and with a function for its end");
    if constexpr (for_each_input) {
      auto all = std::forward_as_tuple(std::forward<A>(tensors_and_done)...);
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        start_with(std::get<sizeof...(I)>(std::move(all)), std::get<K>(all)...);
      }(std::index_sequence_for<I...>{});
    }
  }

 private:
  template <class Done, std::convertible_to<tensor const&>... T> void start_with(Done&& done, T const&... tensors) {
    constexpr auto said = first_complaint<T...>();
    if constexpr (said.size > 0) detail::named<said>().compiles();
    auto const typed = [](std::span<tensor> all) { return typed_results(all); };
    only_errors([&] {  // one expression, for it has the tensors that numbers become
      prepared_step::start(std::array<tensor const*, sizeof...(I)>{address(tensors)...},
                           detail::completion_of(typed, std::forward<Done>(done)));
    });
  }
  static auto typed_results([[maybe_unused]] std::span<tensor> all) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      if constexpr (sizeof...(O) == 1) return (typed_result<O>(std::move(all[K])), ...);
      else if constexpr (sizeof...(O) > 1) return std::tuple{typed_result<O>(std::move(all[K]))...};
    }(std::make_index_sequence<sizeof...(O)>{});
  }
  template <class... X> static std::array<value, sizeof...(X)> erased(X const&... x) { return {x...}; }
  template <class X> static auto typed_result(tensor&& t) {
    if constexpr (typed<X>) return tensor_of<X::static_type>(std::move(t));
    else return std::move(t);
  }
  static tensor const* address(tensor const& t) { return &t; }  // of what a number became, within the whole expression
  template <class T> static constexpr type type_of() {
    if constexpr (element<T>) return of<T>;
    else return T::static_type;
  }
  /// What is wrong with a tensor for an input; empty: nothing, as far as the compiler knows.
  template <class X, class T> static constexpr detail::sentence complaint() {
    if constexpr (typed<X> && (element<T> || requires { T::static_type; }))
      if constexpr (!accepts(X::static_type, type_of<T>()))
        return detail::sentence_of_types("a prepared step is called with a tensor of another type", type_of<T>(),
                                         X::static_type);
    return {};
  }
  template <class... T> static constexpr detail::sentence first_complaint() {
    detail::sentence first;
    ((first = first.size > 0 ? first : complaint<I, T>()), ...);
    return first;
  }
};

#if RILL_RUNTIME

RILL_INLINE prepared_step::prepared_step(executor& e, std::span<value const> in, std::span<value const> out,
                                         std::span<operation const> targets, run_options const& how) try
    : executor_(&e), inputs_(in.begin(), in.end()), how_(how) {
  for (auto const& x : in) {
    if (x.graph != &e.graph())
      throw error(code::invalid_argument, x.graph ? "a prepared step's input belongs to another graph"
                                                  : "a prepared step's input is an empty handle");
    auto const at = detail::fed_endpoint(x);
    if (std::find(request_.feeds.begin(), request_.feeds.end(), at) != request_.feeds.end())
      throw error(code::invalid_argument, "it is an input of a prepared step twice", x.name());
    request_.feeds.push_back(at);
  }
  for (auto const& x : out) e.add_fetch(request_, x);
  for (auto const& t : targets) e.add_target(request_, t);
  request_.with.resize(in.size());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void prepared_step::call_inputs::refuse(std::size_t i) {
  throw error(code::invalid_argument,
              "input " + std::to_string(i) + " of a prepared step was given an empty tensor handle");
}

RILL_INLINE void prepared_step::run(std::span<tensor const* const> tensors, std::span<tensor> results) try {
  call_inputs inputs(request_.with);
  inputs.set(tensors);
  auto step = how_.begin();
  if (!has_fitting_step()) {
    check_types();
    step_ = executor_->find(request_, &step);
  }
  executor_->run(*step_, inputs.with, step, results);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void prepared_step::start(std::span<tensor const* const> tensors, executor::completion done) try {
  auto const step = how_.begin();
  std::vector<tensor> fed;
  for (auto const* t : tensors) fed.push_back(*t);
  auto compiled = [&]() -> expected<std::shared_ptr<compiled_step>> {
    call_inputs inputs(request_.with);
    inputs.set(tensors);
    if (has_fitting_step()) return step_;
    check_types();
    auto found = executor_->find_to_start(request_, step);
    if (found) step_ = *found;
    return found;
  }();
  // From here on `done` may start this again.
  executor_->start(std::move(compiled), std::move(fed), step, std::move(done));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void prepared_step::check_types() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    auto const& to = inputs_[i];
    if (!accepts(to.type(), request_.with[i].type()))
      throw error(code::invalid_argument,
                  "it is a " + to.type().text() + " and was fed a " + request_.with[i].type().text(), to.name());
  }
}

#endif

}  // namespace rill
