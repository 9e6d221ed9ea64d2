// A session in each execution, whose steps are expected to give the same bits, or to fail with the same words.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/run/session.hpp"

namespace rill::test {

inline constexpr std::array all_executions{execution::sequential, execution::parallel, execution::tagged};

inline bool alike(tensor const& a, tensor const& b) { return same_bits(a, b); }
inline bool alike(std::vector<tensor> const& a, std::vector<tensor> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_bits);
}
template <class... T> bool alike(std::tuple<T...> const& a, std::tuple<T...> const& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (alike(std::get<I>(a), std::get<I>(b)) && ...);
  }(std::index_sequence_for<T...>{});
}

/// What `step(k)` gives for k = 0 (sequential execution); those of the other executions are expected to give, or say,
/// the same.
template <class Step> auto same_in_all_executions(Step const& step) {
  constexpr bool silent = std::is_void_v<decltype(step(std::size_t{}))>;
  struct outcome {
    std::optional<std::conditional_t<silent, std::tuple<>, decltype(step(std::size_t{}))>> result;
    std::optional<error> failure;
    std::string said() const { return failure ? failure->what() : ""; }
  };
  auto const run = [&](std::size_t k) {
    outcome made;
    try {
      if constexpr (silent) step(k), made.result.emplace();
      else made.result.emplace(step(k));
    } catch (error const& e) {
      made.failure.emplace(e);
    }
    return made;
  };
  auto first = run(0);
  for (std::size_t k = 1; k < all_executions.size(); ++k) {
    auto const other = run(k);
    EXPECT_EQ(other.said(), first.said()) << "in execution " << static_cast<int>(all_executions[k]);
    if constexpr (!silent)
      if (first.result && other.result) {
        EXPECT_TRUE(alike(*other.result, *first.result)) << "in execution " << static_cast<int>(all_executions[k]);
      }
  }
  if (first.failure) throw error(*first.failure);
  if constexpr (!silent) return std::move(*first.result);
}

/// Runs like a session does, in all executions; what it returns is what the straight one gave. Each has a container of
/// its own.
class each_execution {
 public:
  explicit each_execution(graph& g, session_options const& like = {}) {
    for (std::size_t k = 0; k < all_executions.size(); ++k) {
      auto options = like;
      options.execution = all_executions[k];
      all_[k] = std::make_unique<session>(g, options);
    }
  }
  template <class... F> auto run(std::vector<feed> const& feeds, F const&... fetches) {
    return same_in_all_executions([&](std::size_t k) { return all_[k]->run(feeds, fetches...); });
  }
  template <class... F> auto run(std::initializer_list<feed> feeds, F const&... fetches) {
    return run(std::vector<feed>(feeds), fetches...);
  }
  template <class... F>
    requires(sizeof...(F) > 0 && (!std::same_as<F, std::vector<feed>> && ...))
  auto run(F const&... fetches) {
    return run(std::vector<feed>(), fetches...);
  }
  template <class... X> auto prepare(X const&... x) {
    return [steps = std::array{all_[0]->prepare(x...), all_[1]->prepare(x...), all_[2]->prepare(x...)}](
               auto const&... in) mutable {
      return same_in_all_executions([&](std::size_t k) { return steps[k](in...); });
    };
  }

 private:
  std::array<std::unique_ptr<session>, all_executions.size()> all_;
};

}  // namespace rill::test
