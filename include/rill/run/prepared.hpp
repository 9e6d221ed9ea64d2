// Prepared steps: compiled once, and called like functions.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <iterator>
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

/// The part of a prepared step that does not depend on its types.
class prepared_step {
 protected:
  /// Throws error(invalid_argument) if an input belongs to another graph or is empty.
  prepared_step(executor& e, std::span<value const> in, std::span<value const> out, std::span<operation const> targets,
                run_options const& how);
  /// Runs the step with a tensor for each input, and sets `results`, one for each output.
  void run(std::span<tensor const* const> tensors, std::span<tensor> results);
  /// Starts the step with a tensor for each input.
  void start(std::span<tensor const* const> tensors, executor::completion done);

 private:
  // Puts the tensors of one call into the request, and takes them out at its end.
  struct call_inputs {
    explicit call_inputs(std::vector<tensor>& to) : with(to) {}
    ~call_inputs() {
      for (auto& t : with) t = tensor();
    }
    [[gnu::always_inline]] void set(std::span<tensor const* const> tensors) {  // measured: calls take longer without it
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!*tensors[i]) refuse(i);
        with[i] = *tensors[i];
      }
    }
    [[noreturn]] static void refuse(std::size_t i);
    std::vector<tensor>& with;
  };
  bool has_fitting_step() const { return step_ && executor_->fits(*step_, request_.with); }
  // Makes `step_` fit the tensors of a call, which it copies to the host's memory if they lie in a device's.
  [[gnu::cold]] void fit_step(step_context const& step);
  void check_types() const;

  executor* executor_;
  std::vector<value> inputs_;  ///< as given; an `as` among them has a more specific type than the value that is fed
  run_request request_;
  std::shared_ptr<compiled_step> step_;
  run_options how_;
};

/// A prepared step with typed inputs and outputs.
template <class Inputs, class Outputs> class prepared;

namespace detail {

/// What a prepared step gives: the values, of which `outputs(…)` names some and may name operations, too.
template <class Outputs> class step_results;
template <class... O> class step_results<outputs_of<O...>> {
 public:
  step_results(outputs_of<O...> const& out, std::vector<operation>& targets) {
    std::apply([&](auto const&... each) { (add(each, targets), ...); }, out.each);
  }
  std::span<value const> values() const { return values_; }
  static auto room() { return std::array<tensor, count>(); }
  static auto typed(std::span<tensor> all) { return results_of<O...>(all); }

 private:
  static constexpr std::size_t count = (std::size_t{std::derived_from<O, value>} + ... + 0);
  void add(value const& v, std::vector<operation>&) { values_[n_++] = v; }
  void add(operation const& o, std::vector<operation>& targets) { targets.push_back(o); }
  std::array<value, count> values_;
  std::size_t n_ = 0;
};
template <> class step_results<std::vector<value>> {
 public:
  step_results(std::vector<value> out, std::vector<operation>&) : values_(std::move(out)) {}
  std::span<value const> values() const { return values_; }
  std::vector<tensor> room() const { return std::vector<tensor>(values_.size()); }
  static std::vector<tensor> typed(std::span<tensor> all) {
    return {std::move_iterator(all.begin()), std::move_iterator(all.end())};
  }

 private:
  std::vector<value> values_;
};

template <class X>
concept step_inputs = std::same_as<X, std::vector<value>> ||
                      requires(X const& x) { []<class... Input>(inputs_of<Input...> const&) {}(x); };
template <class X>
concept step_outputs =
    std::same_as<X, std::vector<value>> || requires(X const& x) { []<class... O>(outputs_of<O...> const&) {}(x); };

}  // namespace detail

/// A prepared step of many inputs, or of a number that only the run knows. See `prepared` below.
template <class Outputs> class prepared<std::vector<value>, Outputs> : public prepared_step {
 public:
  prepared(executor& e, std::vector<value> const& in, Outputs const& out, std::vector<operation> targets,
           run_options const& how)
      : prepared(e, in, detail::step_results<Outputs>(out, targets), targets, how) {}

  /// Runs the step with a tensor for each input. Throws error(invalid_argument) for another number of tensors, and what
  /// `session::run` throws.
  auto operator()(std::span<tensor const> tensors) {
    if (tensors.size() != inputs_)
      throw error(code::invalid_argument, "a prepared step of " + std::to_string(inputs_) + " inputs was called with " +
                                              std::to_string(tensors.size()) + " tensors");
    std::vector<tensor const*> each;
    for (auto const& t : tensors) each.push_back(&t);
    auto results = out_.room();
    run(each, results);
    return out_.typed(results);
  }
  auto operator()(std::initializer_list<tensor> tensors) { return (*this)(std::span(tensors.begin(), tensors.size())); }

 private:
  prepared(executor& e, std::vector<value> const& in, detail::step_results<Outputs> out,
           std::vector<operation> const& targets, run_options const& how)
      : prepared_step(e, in, out.values(), targets, how), inputs_(in.size()), out_(std::move(out)) {}

  std::size_t inputs_;
  detail::step_results<Outputs> out_;
};

/// A prepared step, made by `session::prepare`. Only one thread at a time may call it; other threads can call copies.
template <class... Input, class Outputs> class prepared<inputs_of<Input...>, Outputs> : public prepared_step {
 public:
  prepared(executor& e, inputs_of<Input...> const& in, Outputs const& out, std::vector<operation> targets,
           run_options const& how)
      : prepared(e, in, detail::step_results<Outputs>(out, targets), targets, how) {}

  /// Runs the step with a tensor, or a number, for each input. Throws what `session::run` throws.
  template <std::convertible_to<tensor const&>... T> auto operator()(T const&... tensors) {
    constexpr bool for_each_input = sizeof...(T) == sizeof...(Input);
    static_assert(for_each_input, "a prepared step is called with a tensor for each of its inputs");
    if constexpr (for_each_input) {
      if constexpr (!(fits<Input, T>() && ...)) {
        constexpr auto said = first_complaint<T...>();
        detail::named<said>().compiles();
      }
    }
    auto results = out_.room();
    run(std::array<tensor const*, sizeof...(Input)>{address(tensors)...}, results);
    return out_.typed(results);
  }

  /// Starts the step with a tensor, or a number, for each input, and returns. The last argument is called when the step
  /// has ended, as in `session::start`, and may start this again. Several calls may run at once, and may outlive this.
  template <class... A> void start(A&&... tensors_and_done) {
    constexpr bool for_each_input = sizeof...(A) == sizeof...(Input) + 1;
    static_assert(for_each_input,
                  "a prepared step is started with a tensor for each of its inputs, and with a function for its end");
    if constexpr (for_each_input) {
      auto all = std::forward_as_tuple(std::forward<A>(tensors_and_done)...);
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        start_with(std::get<sizeof...(Input)>(std::move(all)), std::get<K>(all)...);
      }(std::index_sequence_for<Input...>{});
    }
  }

 private:
  template <class Done, std::convertible_to<tensor const&>... T> void start_with(Done&& done, T const&... tensors) {
    if constexpr (!(fits<Input, T>() && ...)) {
      constexpr auto said = first_complaint<T...>();
      detail::named<said>().compiles();
    }
    auto const typed = [](std::span<tensor> all) { return detail::step_results<Outputs>::typed(all); };
    only_errors([&] {  // one expression, which keeps the tensors alive that numbers are converted to
      prepared_step::start(std::array<tensor const*, sizeof...(Input)>{address(tensors)...},
                           detail::completion_of(typed, std::forward<Done>(done)));
    });
  }
  prepared(executor& e, inputs_of<Input...> const& in, detail::step_results<Outputs> out,
           std::vector<operation> const& targets, run_options const& how)
      : prepared_step(e, std::apply(erased<Input...>, in.each), out.values(), targets, how), out_(std::move(out)) {}
  template <class... X> static std::array<value, sizeof...(X)> erased(X const&... x) { return {x...}; }
  static tensor const* address(tensor const& t) {
    return &t;
  }  // numbers are converted to tensors that live until the end of the call
  template <class T> static constexpr type type_of() {
    if constexpr (element<T>) return of<T>;
    else return T::static_type;
  }
  /// Whether a T, as far as its static type is known, fits the input X.
  template <class X, class T> static constexpr bool fits() {
    if constexpr (typed<X> && (element<T> || requires { T::static_type; }))
      return accepts(X::static_type, type_of<T>());
    else return true;
  }
  /// Returns a sentence about the first tensor that does not fit its input.
  template <class... T> static constexpr detail::sentence first_complaint() {
    detail::sentence first;
    [[maybe_unused]] auto const look = [&]<class X, class Given>(std::type_identity<X>, std::type_identity<Given>) {
      if constexpr (!fits<X, Given>())
        if (first.size == 0)
          first = detail::sentence_of_types("a prepared step is called with a tensor of another type", type_of<Given>(),
                                            X::static_type);
    };
    (look(std::type_identity<Input>{}, std::type_identity<T>{}), ...);
    return first;
  }

  detail::step_results<Outputs> out_;
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
  if (!has_fitting_step()) fit_step(step);
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

RILL_INLINE void prepared_step::fit_step(step_context const& step) {
  for (auto& t : request_.with) t = t.to(host);
  if (has_fitting_step()) return;
  check_types();
  step_ = executor_->find(request_, &step);
}

RILL_INLINE void prepared_step::check_types() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    auto const& to = inputs_[i];
    if (!accepts(to.type(), request_.with[i].type()))
      throw error(code::invalid_argument,
                  "it is " + with_article(to.type()) + " and was fed " + with_article(request_.with[i].type()),
                  to.name());
  }
}

#endif

}  // namespace rill
