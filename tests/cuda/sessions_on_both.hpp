// Steps of sessions on the host and on a GPU.
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill::test {

/// Tests that record the same for the host and for a GPU. What they record is a function of the graph, or of
/// placeholders for what is fed, that returns values. Graphs that record the same draw the same random numbers.
class sessions_on_both : public on_gpu {
 protected:
  using values = std::vector<value>;

  std::shared_ptr<gpu_device> on = gpu(0);

  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }

  /// Expects that the values have the host's bits in each of three steps, in two orders of threads.
  template <class F>
  void compare(std::vector<tensor> const& fed, F const& record, std::string const& of, session_options how = {}) {
    how.threads = 1;
    auto const here = results(fed, record, "cpu:0", how);
    how.devices = {on};
    for (auto const order : thread_orders()) {
      set_thread_order(order);
      auto const there = results(fed, record, "gpu:0", how);
      ASSERT_EQ(there.size(), here.size());
      for (std::size_t i = 0; i < here.size(); ++i) {
        ASSERT_EQ(there[i].shape(), here[i].shape()) << of;
        expect_same_numbers(there[i], here[i], of);
      }
    }
  }
  template <class F> void compare(F const& record, std::string const& of, session_options how = {}) {
    compare({}, record, of, std::move(how));
  }

  /// Expects that a step fails on both with the same error, and that the GPU's names the device. Returns the message.
  template <class F> std::string failure_of_both(std::vector<tensor> const& fed, F const& record) {
    auto const there = failure_of(fed, record, "gpu:0"), here = failure_of(fed, record, "cpu:0");
    EXPECT_EQ(there.code(), here.code());
    EXPECT_EQ(there.message(), here.message());
    EXPECT_EQ(there.node(), here.node());
    EXPECT_EQ(there.device(), "/device:gpu:0");
    return there.message();
  }

 private:
  template <class F>
  static std::vector<tensor> results(std::vector<tensor> const& fed, F const& record, char const* where,
                                     session_options const& how) {
    graph g{7};
    values given, of;
    std::vector<feed> feeds;
    for (auto const& t : fed) feeds.emplace_back(given.emplace_back(placeholder(g, t.type())), t);
    g.on(where, [&] {
      if constexpr (std::invocable<F const&, graph&>) of = record(g);
      else of = record(given);
    });
    session s{g, how};
    std::vector<tensor> all;
    for (int step = 0; step < 3; ++step)
      for (auto const& t : s.run(std::span<feed const>(feeds), of)) {
        EXPECT_EQ(t.space() != nullptr, std::string(where) == "gpu:0");
        all.push_back(t.to(host));
      }
    return all;
  }
  template <class F> error failure_of(std::vector<tensor> const& fed, F const& record, char const* where) {
    try {
      results(fed, record, where, {.threads = 1, .devices = {on}});
    } catch (error const& e) {
      return e;
    }
    ADD_FAILURE() << "the step succeeded " << where;
    return error(code::internal, "");
  }
};

}  // namespace rill::test
