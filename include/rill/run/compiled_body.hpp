// Compiled bodies of loops, branches and functions: nested plans, in sequential execution. A body with open extents is
// planned when it runs.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/pass/bind.hpp"
#include "rill/run/compile.hpp"
#include "rill/run/free_list.hpp"
#include "rill/run/plan/deferred.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/program_body.hpp"
#include "rill/run/tagged/kernel.hpp"

namespace rill {

#if RILL_RUNTIME
namespace detail {

/// The setting in which a body is compiled, without references to the request, which ends before.
struct body_setting {
  explicit body_setting(kernel_request const& r)
      : state(&r.state),
        seed(r.seed),
        threads(r.threads),
        memory(r.memory),
        passes(*r.passes),
        functions(r.functions),
        devices(r.devices),
        on(r.on) {}

  container* state;
  std::uint64_t seed;
  int threads;
  allocator* memory;
  pass_options passes;
  compiled_functions* functions;
  session_devices* devices;
  device const* on;
  std::size_t most = costs::most_deferred_bodies;  // forms of a body that are kept; fewer of those within them
};

std::shared_ptr<compiled_body> compile_subgraph(body_setting const& s, subgraph sub, std::span<type const> arguments,
                                                step_context const* step);

/// A body with a plan, and its idle plan_instances.
class planned_body final : public compiled_body {
 public:
  /// `on`: the device that it runs on, whose memory is too small to keep results for the next run; null: the host.
  /// `placement`: where its nodes run, and why.
  explicit planned_body(rill::plan p, device const* on = nullptr, std::string placement = {})
      : plan_(std::move(p)), placement_(std::move(placement)), keeps_results_(!on) {}

  bool open() const override { return false; }
  std::unique_ptr<body_run, giving_back> start() override {
    return std::unique_ptr<body_run, giving_back>(take().release());
  }
  std::vector<tensor> run(std::span<tensor const> arguments, parallel const& threads, step_context& step) override {
    std::unique_ptr<running, giving_back> const one(take().release());
    return one->run(arguments, threads, step);
  }
  std::int64_t overwritten(std::size_t i) const override { return plan_.overwritten(i); }
  bool holds() const override { return plan_.holds(); }
  void trim() override {
    plan_.trim();
    idle_.clear();
  }
  std::string explain(stages which) const override {
    return (has(which, stages::place) ? paragraph("place", placement_) : "") + text(plan_, which);
  }
  rill::plan const* planned() const override { return &plan_; }

 private:
  class running final : public body_run {
   public:
    explicit running(planned_body& of) : of_(of), instance_(of.plan_) {}
    void argument(std::size_t i, void const* elements) override { instance_.argument(i, elements); }
    void result(std::size_t i, void* elements) override { instance_.result(i, elements); }
    void flip() override { instance_.flip(); }
    void run(parallel const& threads, step_context& step) override { run_body(instance_, threads, step); }
    void run_while(bool const& go_on, parallel const& threads, step_context& step) override {
      while (go_on) {
        flip();
        ++step.iteration;
        if (step.can_end_early()) step.check();
        run(threads, step);
      }
    }
    std::vector<tensor> run(std::span<tensor const> arguments, parallel const& threads, step_context& step) {
      run_open_body(instance_, arguments, threads, step);
      std::vector<tensor> made(instance_.results());
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = instance_.result(i, arguments);
      return made;
    }
    void give_back() noexcept override {
      instance_.release();
      if (!of_.keeps_results_) instance_.drop_outputs();
      instance_.give_back_arena();
      of_.idle_.give_back(std::unique_ptr<running>(this));
    }

   private:
    planned_body& of_;
    plan_instance instance_;
  };

  std::unique_ptr<running> take() {
    auto one = idle_.take();
    return one ? std::move(one) : std::make_unique<running>(*this);
  }

  rill::plan plan_;
  std::string placement_;
  bool keeps_results_;
  free_list<running> idle_;
};

/// A body of which some extents are known only when it runs.
class open_body : public compiled_body {
 public:
  bool open() const final { return true; }
  std::unique_ptr<body_run, giving_back> start() final {
    throw error(code::internal, "a body with open extents was started: it can only be run");
  }
};

/// A body that is compiled when it runs, for the extents of its arguments.
class body_by_extents final : public open_body {
 public:
  body_by_extents(body_setting s, subgraph sub)
      : setting_(std::move(s)), subgraph_(std::move(sub)), compiled_(setting_.most) {}

  std::vector<tensor> run(std::span<tensor const> given, parallel const& threads, step_context& step) override {
    auto const made = compiled_.find(given, [&](std::vector<type> const& types) { return compile(types, step); });
    return made->run(given, threads, step);
  }
  void trim() override { compiled_.trim(); }
  std::string explain(stages) const override {
    return std::string("it is ") + (has_devices(setting_.devices) ? "placed and " : "") +
           "compiled when it runs, for the extents of its arguments\n" + paragraph("nodes", nodes_text(subgraph_));
  }

 private:
  struct with_functions {
    std::shared_ptr<compiled_functions> functions;
    std::shared_ptr<compiled_body> body;
  };
  std::shared_ptr<compiled_body> compile(std::vector<type> const& types, step_context const& step) const {
    auto setting = setting_;
    auto made = std::make_shared<with_functions>(setting.functions ? setting.functions->at_run() : nullptr);
    setting.functions = made->functions.get();
    setting.most = std::max<std::size_t>(setting.most / 16, 4);
    made->body = compile_subgraph(setting, subgraph_, types, &step);
    return {made, made->body.get()};
  }

  body_setting setting_;
  subgraph subgraph_;
  deferred_cache<compiled_body> compiled_;
};

/// A body that was cut in two: the deferred subgraph is planned when the rest has run.
class body_with_deferred_rest final : public open_body {
 public:
  body_with_deferred_rest(body_setting const& s, std::shared_ptr<compiled_body> first, deferred_subgraph deferred)
      : first_(std::move(first)), cut_(std::move(deferred)), deferred_(s, std::exchange(cut_.subgraph, {})) {}

  std::vector<tensor> run(std::span<tensor const> given, parallel const& threads, step_context& step) override {
    auto const first = first_->run(given, threads, step);
    auto const then = deferred_.run(cut_.given(given, first), threads, step);
    std::vector<tensor> made;
    for (std::size_t i = 0; i < cut_.results.size(); ++i) made.push_back(cut_.result(i, first, then));
    return made;
  }
  bool holds() const override { return first_->holds(); }
  void trim() override { first_->trim(), deferred_.trim(); }
  std::string explain(stages which) const override {
    return first_->explain(which) +
           (has(which, stages::deferred) ? paragraph("deferred", deferred_.explain(which)) : "");
  }

 private:
  std::shared_ptr<compiled_body> first_;
  deferred_subgraph cut_;
  body_by_extents deferred_;
};

/// A body with axis names in its results that are bound when it has run. It checks that equal names have equal extents.
class body_of_named_results final : public open_body {
 public:
  body_of_named_results(std::shared_ptr<compiled_body> body, step_names names)
      : body_(std::move(body)), names_(std::move(names)) {}

  std::vector<tensor> run(std::span<tensor const> given, parallel const& threads, step_context& step) override {
    auto made = body_->run(given, threads, step);
    axis_binding axes(names_.axes);
    for (auto const& r : names_.open) axes.bind(r.said, made[r.at].type(), r.node);
    return made;
  }
  bool holds() const override { return body_->holds(); }
  void trim() override { body_->trim(); }
  std::string explain(stages which) const override { return body_->explain(which); }

 private:
  std::shared_ptr<compiled_body> body_;
  step_names names_;
};

/// A function compiled for one list of argument types.
class function_form final : public compiled_body {
 public:
  function_form(function_definition const& f, std::span<type const> arguments, kernel_request const& r)
      : of_(&f),
        arguments_(arguments.begin(), arguments.end()),
        results_(r.outputs.begin(), r.outputs.end()),
        defers_bodies_(r.defer_bodies) {}
  bool is_of(function_definition const& f) const { return of_ == &f; }
  bool is(function_definition const& f, std::span<type const> types, bool defers_bodies) const {
    return is_of(f) && defers_bodies_ == defers_bodies &&
           std::equal(types.begin(), types.end(), arguments_.begin(), arguments_.end());
  }

  void compile(body_setting const& s, step_context const* step) {
    auto sub = *of_->body;
    bind_extents(sub, arguments_, *s.state);
    std::vector<type> made;
    for (auto e : sub.outputs) made.push_back(sub.type_of(e));
    check(made);
    results_known_ = all_known(made);
    body_ = compile_subgraph(s, *of_->body, arguments_, step);
  }
  /// Makes calls use `body`, which compiles the function when it runs.
  void look_up(body_by_extents& body) { body_ = {std::shared_ptr<void>(), &body}; }

  bool open() const override { return !results_known_ || body_->open(); }
  std::int64_t overwritten(std::size_t i) const override { return body_ ? body_->overwritten(i) : -1; }
  std::unique_ptr<body_run, giving_back> start() override { return body_->start(); }
  void trim() override { body_->trim(); }
  std::string explain(stages which) const override {
    return paragraph("function '" + of_->name + "' of " + text_of(arguments_), body_->explain(which));
  }
  std::vector<tensor> run(std::span<tensor const> given, parallel const& threads, step_context& step) override {
    auto made = body_->run(given, threads, step);
    std::vector<type> types;
    for (auto const& t : made) types.push_back(t.type());
    check(types);
    return made;
  }

 private:
  // Checks that the results have the types that calls were planned for, from the signature.
  void check(std::vector<type> const& made) const {
    for (std::size_t o = 0; o < made.size(); ++o)
      if (!accepts(results_[o], made[o]))
        throw error(code::invalid_argument, "the function '" + of_->name + "' returns " + with_article(made[o]) +
                                                " where its signature says " + results_[o].text());
  }

  function_definition const* of_;
  std::vector<type> arguments_, results_;
  bool defers_bodies_;
  bool results_known_ = false;  // whether all extents of its results are known before it runs
  std::shared_ptr<compiled_body> body_;
};

/// The compiled functions of a step, one for each list of argument types. Calls within a function point to this object,
/// because owning it would be a cycle.
class planned_functions final : public compiled_functions {
 public:
  compiled_body* find(kernel_request const& r, function_definition const& f, std::span<type const> arguments) override {
    std::size_t forms = 0;
    for (auto& known : all_) {
      if (known.is(f, arguments, r.defer_bodies)) return &known;
      forms += known.is_of(f);
    }
    if (forms == costs::most_function_forms)
      throw error(code::resource_exhausted, "the function '" + f.name + "' is called with arguments of more than " +
                                                std::to_string(costs::most_function_forms) + " types in one step");
    auto& made = all_.emplace_back(f, arguments, r);
    try {
      if (r.defer_bodies) made.look_up(by_extents(f, r));
      else made.compile(body_setting(r), r.step);
    } catch (error const& e) {
      forget_from(made);
      if (forms == 0) throw;
      auto const innermost =
          e.message().rfind("in a body, node '");  // without the path through the function's calls of itself
      throw error(e.kind(), innermost == std::string::npos ? e.message() : e.message().substr(innermost), e.node());
    } catch (...) {
      forget_from(made);
      throw;
    }
    return &made;
  }
  std::shared_ptr<compiled_functions> at_run() override;

  void trim() override {
    for (auto& form : all_) form.trim();
    std::lock_guard lock(mutex_);
    for (auto& [function, body] : by_extents_) body->trim();
  }
  std::string explain(stages which) const override {
    std::string all;
    for (auto const& form : all_) all += form.explain(which);
    return all;
  }

  /// Returns the function for calls in subgraphs that are compiled while the step runs.
  body_by_extents& by_extents(function_definition const& f, kernel_request const& r) {
    std::lock_guard lock(mutex_);
    auto& body = by_extents_[&f];
    if (!body) {
      body_setting s(r);
      s.functions = this;
      body = std::make_unique<body_by_extents>(std::move(s), *f.body);
    }
    return *body;
  }

 private:
  // Removes a function whose compilation failed, and the functions compiled for it since, which may point to it.
  void forget_from(function_form const& failed) {
    while (&all_.back() != &failed) all_.pop_back();
    all_.pop_back();
  }
  std::deque<function_form> all_;
  std::mutex mutex_;
  std::map<function_definition const*, std::unique_ptr<body_by_extents>> by_extents_;
};

/// The functions that one subgraph calls which is compiled while the step runs.
class functions_at_run final : public compiled_functions {
 public:
  explicit functions_at_run(planned_functions& all) : all_(all) {}
  compiled_body* find(kernel_request const& r, function_definition const& f, std::span<type const> arguments) override {
    auto& made = calls_.emplace_back(f, arguments, r);
    made.look_up(all_.by_extents(f, r));
    return &made;
  }
  std::shared_ptr<compiled_functions> at_run() override { return all_.at_run(); }

 private:
  planned_functions& all_;
  std::deque<function_form> calls_;
};

inline std::shared_ptr<compiled_functions> planned_functions::at_run() {
  return std::make_shared<functions_at_run>(*this);
}

// Compiles a body of single numbers as a program, and any other body as a plan.
inline std::shared_ptr<compiled_body> compile_rewritten(body_setting const& s, rewritten_subgraph& ready,
                                                        plan_request const& with) {
  if (with.passes.fuse && !ready.deferred)
    if (auto const p = program_of(ready.subgraph)) return std::make_shared<program_body>(ready.subgraph, *p, *s.memory);
  auto planned = std::make_shared<planned_body>(make_plan(ready.subgraph, with), s.on, std::move(ready.placement));
  if (!ready.deferred) return planned;
  return std::make_shared<body_with_deferred_rest>(s, std::move(planned), std::move(*ready.deferred));
}

RILL_INLINE std::shared_ptr<compiled_body> compile_subgraph(body_setting const& s, subgraph sub,
                                                            std::span<type const> arguments, step_context const* step) {
  if (!all_known(arguments)) return std::make_shared<body_by_extents>(s, std::move(sub));
  plan_request const with{*s.state, s.seed,      *s.memory, s.threads, execution::sequential,
                          s.passes, s.functions, step,      s.devices, s.on};
  auto ready = bind_and_rewrite(std::move(sub), {arguments.begin(), arguments.end()}, with, compiled_as::body);
  auto made = compile_rewritten(s, ready, with);
  if (ready.names.open.empty()) return made;
  return std::make_shared<body_of_named_results>(std::move(made), std::move(ready.names));
}

}  // namespace detail

RILL_INLINE std::shared_ptr<compiled_body> compile_body(kernel_request const& r, subgraph const& body,
                                                        std::span<type const> arguments) {
  auto const setting = detail::body_setting(r);
  auto made = r.defer_bodies ? std::make_shared<detail::body_by_extents>(setting, body)
                             : detail::compile_subgraph(setting, body, arguments, r.step);
  if (r.bodies) r.bodies->push_back(made);
  return made;
}
RILL_INLINE std::shared_ptr<compiled_functions> no_functions() { return std::make_shared<detail::planned_functions>(); }
#endif

}  // namespace rill
