// Bodies of loops and branches as nested plans: the straight gear.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rill/pass/bind.hpp"
#include "rill/pass/passes.hpp"
#include "rill/run/activation.hpp"

namespace rill {

#if RILL_RUNTIME
namespace detail {

/// A body's plan, and the activations that don't run now.
class planned_body final : public compiled_body {
 public:
  explicit planned_body(rill::plan p) : plan_(std::move(p)) {}

  std::unique_ptr<body_run, giving_back> start() override {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::unique_ptr<body_run, giving_back>(new running(*this));
    auto* const last = idle_.back().release();
    idle_.pop_back();
    return std::unique_ptr<body_run, giving_back>(last);
  }

  std::int64_t overwritten(std::size_t i) const override { return plan_.overwritten(i); }

 private:
  class running final : public body_run {
   public:
    explicit running(planned_body& of) : of_(of), activation_(of.plan_) {}
    void argument(std::size_t i, void const* elements) override { activation_.argument(i, elements); }
    void result(std::size_t i, void* elements) override { activation_.result(i, elements); }
    void run(parallel const& threads, step_context& step) override { activation_.run_body(threads, step); }
    void give_back() noexcept override {
      activation_.release();
      std::lock_guard lock(of_.mutex_);
      of_.idle_.emplace_back(this);
    }

   private:
    planned_body& of_;
    activation activation_;
  };

  rill::plan plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<running>> idle_;
};

}  // namespace detail

RILL_INLINE std::shared_ptr<compiled_body> compile_body(kernel_request const& r, subgraph const& body,
                                                        std::span<type const> arguments) {
  auto part = body;
  bind_extents(part, {arguments.begin(), arguments.end()}, r.state);
  rewrite(part, *r.passes, r.state, nullptr);
  return std::make_shared<detail::planned_body>(
      plan(part, r.state, r.seed, *r.memory, r.threads, gear::straight, *r.passes));
}
#endif

}  // namespace rill
