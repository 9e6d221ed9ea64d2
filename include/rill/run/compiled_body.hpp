// Bodies of loops, branches and functions as nested plans: the straight gear.
#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
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

/// A function's plans, one for the types of its arguments. Calls in them point here rather than own what owns them.
class planned_functions final : public compiled_functions {
 public:
  compiled_body* find(kernel_request const& r, function_definition const& f, std::span<type const> arguments) override {
    std::size_t forms = 0;
    for (auto& known : all_)
      if (known.of == &f) {
        if (std::equal(arguments.begin(), arguments.end(), known.arguments.begin(), known.arguments.end()))
          return &known;
        ++forms;
      }
    if (forms == most_forms)
      throw error(code::resource_exhausted, "the function '" + f.name + "' is called with arguments of more than " +
                                                std::to_string(most_forms) + " types in one step");
    check_results(r, f, arguments);
    auto& made = all_.emplace_back();
    made.of = &f;
    made.arguments.assign(arguments.begin(), arguments.end());
    try {
      made.body = compile_body(r, *f.body, arguments);
    } catch (error const& e) {
      forget_from(made);
      if (forms == 0) throw;
      auto const innermost = e.message().rfind("in a body, node '");  // not the path through calls of itself
      throw error(e.code(), innermost == std::string::npos ? e.message() : e.message().substr(innermost), e.node());
    } catch (...) {
      forget_from(made);
      throw;
    }
    return &made;
  }

 private:
  static constexpr std::size_t most_forms = 64;  // each may be compiled within the one before
  struct form final : compiled_body {
    function_definition const* of = nullptr;
    std::vector<type> arguments;
    std::shared_ptr<compiled_body> body;
    std::unique_ptr<body_run, giving_back> start() override { return body->start(); }
    std::int64_t overwritten(std::size_t) const override { return -1; }
  };

  // Those that were compiled for it may point to it.
  void forget_from(form const& failed) {
    while (&all_.back() != &failed) all_.pop_back();
    all_.pop_back();
  }

  // Where a call's types are those of the signature, the body must keep what that says: room was made for it.
  static void check_results(kernel_request const& r, function_definition const& f, std::span<type const> arguments) {
    auto part = *f.body;
    bind_extents(part, {arguments.begin(), arguments.end()}, r.state);
    for (std::size_t o = 0; o < part.outputs.size(); ++o)
      if (auto const& made = part.type_of(part.outputs[o]); made != r.outputs[o])
        throw error(code::invalid_argument, "the function '" + f.name + "' returns a " + made.text() +
                                                " where its signature says " + r.outputs[o].text());
  }
  std::deque<form> all_;
};

}  // namespace detail

RILL_INLINE std::shared_ptr<compiled_body> compile_body(kernel_request const& r, subgraph const& body,
                                                        std::span<type const> arguments) {
  auto part = body;
  bind_extents(part, {arguments.begin(), arguments.end()}, r.state);
  rewrite(part, *r.passes, r.state, nullptr);
  return std::make_shared<detail::planned_body>(
      plan(part, r.state, r.seed, *r.memory, r.threads, gear::straight, *r.passes, r.functions));
}
RILL_INLINE std::shared_ptr<compiled_functions> no_functions() { return std::make_shared<detail::planned_functions>(); }
#endif

}  // namespace rill
