// A body that computes only with single numbers, such as the body of a counting loop, is a program instead of a plan. A
// line of it is a call of a tile function, with pointers that are set before it runs.
#pragma once
#include <optional>

#include "rill/graph/subgraph.hpp"
#include "rill/program/program.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rill/device/observer.hpp"
#include "rill/device/step.hpp"
#include "rill/pass/elementwise_program.hpp"
#include "rill/program/passes.hpp"
#include "rill/run/free_list.hpp"
#include "rill/run/plan/costs.hpp"
#include "rill/run/plan/double_buffer.hpp"
#endif

namespace rill::detail {

/// Returns a bound subgraph as a program; nullopt unless it consists of elementwise operations on values of one
/// element.
std::optional<program> program_of(subgraph const& sub);

#if RILL_RUNTIME
/// A body that is a program.
class program_body final : public compiled_body {
 public:
  program_body(subgraph const& sub, program const& p, allocator& memory);

  bool open() const override { return false; }
  std::unique_ptr<body_run, giving_back> start() override {
    return std::unique_ptr<body_run, giving_back>(take().release());
  }
  std::vector<tensor> run(std::span<tensor const> given, parallel const& threads, step_context& step) override {
    std::unique_ptr<running, giving_back> const one(take().release());
    std::vector<tensor> made;
    for (std::size_t i = 0; i < given.size(); ++i) one->argument(i, given[i].raw());
    for (std::size_t o = 0; o < results_.size(); ++o) {
      made.emplace_back(results_[o].element, results_[o].shape(), *memory_);
      one->result(o, made[o].mutable_raw());
    }
    one->run(threads, step);
    return made;
  }
  void trim() override { idle_.clear(); }
  std::string explain(stages) const override {
    return "a program of " + std::to_string(lines_.size()) + " lines on single numbers, without a plan\n";
  }

 private:
  struct alignas(16) number {
    std::array<std::byte, 16> bytes;
  };
  // A call of a tile function: the numbers of the pointers to its first operand and to its result.
  struct line {
    tile_function run;
    std::uint32_t operands, result;
  };

  class running final : public body_run {
   public:
    explicit running(program_body& of) : of_(of), numbers_(of.places_.size()) {
      pointers_->resize(of.pointers_);
      for (auto& each : laps_) each.resize(of.lines_.size());
      for (std::size_t r = 0; r < numbers_.size(); ++r) point(r, numbers_[r].bytes.data());
      for (std::size_t i = 0; i < of.constants_.size(); ++i) numbers_[of.arguments_ + i].bytes = of.constants_[i].bytes;
    }
    void argument(std::size_t i, void const* elements) override { point(i, const_cast<void*>(elements)); }
    void result(std::size_t o, void* elements) override { point(of_.written_[o], elements); }
    void flip() override { pointers_.flip(); }
    void run(parallel const&, step_context& step) override {
      if (step.watch) run_watched(step);
      else run_lines();
    }
    void run_while(bool const& go_on, parallel const&, step_context& step) override {
      for (auto& each : laps_) {
        flip();
        link(each);
      }
      bool const may_end = step.can_end_early();
      while (go_on) {
        run_lap(laps_[0], step);
        if (!go_on) return flip();
        run_lap(laps_[1], step);
        if (may_end && step.iteration % costs::laps_between_checks < 2) step.check();
      }
    }
    void give_back() noexcept override {
      pointers_.rest();
      of_.idle_.give_back(std::unique_ptr<running>(this));
    }

   private:
    // A line with its pointers.
    struct linked_line {
      tile_function run;
      void* result;
      void const* const* operands;
    };
    void link(std::vector<linked_line>& lap) {
      auto* const at = pointers_->data();
      for (std::size_t i = 0; i < lap.size(); ++i) {
        auto const& l = of_.lines_[i];
        lap[i] = {l.run, at[l.result], const_cast<void const* const*>(at + l.operands)};
      }
    }
    static void run_lap(std::vector<linked_line> const& lap, step_context& step) {
      ++step.iteration;
      for (auto const& l : lap) l.run(l.result, l.operands, 1);
    }
    void run_lines() {
      auto* const at = pointers_->data();
      for (auto const& l : of_.lines_) l.run(at[l.result], const_cast<void const* const*>(at + l.operands), 1);
    }
    [[gnu::noinline]] void run_watched(step_context& step) {
      auto const begin = std::chrono::steady_clock::now();
      run_lines();
      step.watch->node_ran(
          {of_.name_, definition<ops::fused_op>().name, step.number, begin, std::chrono::steady_clock::now()});
    }
    void point(std::size_t r, void* to) {
      for (auto p : of_.places_[r]) (*pointers_)[p] = to;
    }
    program_body& of_;
    std::vector<number> numbers_;  // the memory of each register, if no argument or result has another
    double_buffer<std::vector<void*>> pointers_;
    std::vector<linked_line> laps_[2];  // the lines with the pointers of either set
  };
  std::unique_ptr<running> take() {
    auto one = idle_.take();
    return one ? std::move(one) : std::make_unique<running>(*this);
  }

  template <std::size_t Bytes> static void copy(void* to, void const* const* from, std::size_t) {
    std::memcpy(to, from[0], Bytes);
  }
  static tile_function copy_of(std::size_t bytes) {
    return bytes == 1 ? copy<1> : bytes == 2 ? copy<2> : bytes == 4 ? copy<4> : bytes == 8 ? copy<8> : copy<16>;
  }
  void add_line(tile_function tile, std::span<std::uint16_t const> operands, std::size_t result);

  std::string name_;  // of the last node
  std::size_t arguments_, pointers_ = 0;
  std::vector<immediate> constants_;
  std::vector<line> lines_;
  std::vector<std::vector<std::uint32_t>> places_;  // the pointers to each register and copied result
  std::vector<std::size_t> written_;                // of each result, its index in places_
  std::vector<type> results_;
  allocator* memory_;
  free_list<running> idle_;
};

RILL_INLINE std::optional<program> program_of(subgraph const& sub) {
  elementwise_program p(sub);
  auto const is_one = [](type const& t) { return t.is_known() && elements(t.shape()) == 1; };
  for (auto i : sub.inputs) p.add_input({i, 0});
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    auto const& n = sub[i];
    if (n.outputs.empty() || !std::all_of(n.outputs.begin(), n.outputs.end(), is_one) ||
        n.outputs[0].element == dtype::string || p.so_far().registers() > costs::most_registers)
      return {};
    if (n.op == &fed_op) continue;
    if (n.op->aliases_input) p.alias({i, 0}, p.find(n.inputs[0]));
    else if (is_constant(n)) p.add_constant({i, 0});
    else if (elementwise_program::takes(sub, i)) p.add(i);
    else return {};
  }
  auto const& made = p.so_far();
  if (made.instructions.empty() || sub.outputs.empty() || made.registers() > costs::most_registers) return {};
  return p.finish(sub.outputs);
}

RILL_INLINE program_body::program_body(subgraph const& sub, program const& p, allocator& memory)
    : arguments_(p.inputs.size()), constants_(p.immediates), places_(p.registers()), memory_(&memory) {
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    if (elementwise_program::takes(sub, i)) name_ = sub[i].name;
  for (auto e : sub.outputs) results_.push_back(sub.type_of(e));
  try {
    for (auto const& each : passes_of(p)) add_line(each.run, {each.operands.data(), each.arity}, each.result);
  } catch (error const& e) {
    throw error(e.kind(), e.message(), name_);
  }
  for (auto r : p.outputs) {
    bool const made_there = r >= p.first_result() && std::find(written_.begin(), written_.end(), r) == written_.end();
    written_.push_back(made_there ? r : places_.size());
    if (made_there) continue;
    places_.emplace_back();
    add_line(copy_of(size_of(p.element(r))), {&r, 1}, written_.back());
  }
}

RILL_INLINE void program_body::add_line(tile_function tile, std::span<std::uint16_t const> operands,
                                        std::size_t result) {
  auto const at = static_cast<std::uint32_t>(pointers_);
  for (auto r : operands) places_[r].push_back(static_cast<std::uint32_t>(pointers_++));
  places_[result].push_back(static_cast<std::uint32_t>(pointers_++));
  lines_.push_back({tile, at, static_cast<std::uint32_t>(pointers_ - 1)});
}

#endif

}  // namespace rill::detail
