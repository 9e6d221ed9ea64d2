// Kernels of the host and of a GPU on the same inputs.
#pragma once
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill::test {

/// Calls `f.template operator()<T>()` for a type of real numbers.
template <class F> void visit_real(dtype element, F const& f) {
  visit(element, [&]<class T>() {
    if constexpr (dtypes::reals.contains(dtype_of<T>)) f.template operator()<T>();
    else throw error(code::internal, "a test has only real numbers");
  });
}

/// Returns a tensor of f(i) for each element i.
template <class F> tensor filled(dtype element, shape const& extents, F const& f) {
  tensor made(element, extents);
  visit_real(element, [&]<class T>() {
    auto* const at = static_cast<T*>(made.mutable_raw());
    for (std::int64_t i = 0; i < elements(extents); ++i) at[i] = static_cast<T>(f(i));
  });
  return made;
}

/// Returns rows of floats of every kind: small and large numbers, with infinities and NaNs, and zeros of both signs.
inline tensor rows_of_every_kind(dtype element, shape const& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::int64_t const n = extents.rank() > 0 && extents[extents.rank() - 1] > 0 ? extents[extents.rank() - 1] : 1;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  return filled(element, extents, [&](std::int64_t i) -> double {
    double const small = static_cast<double>(static_cast<std::int64_t>(random() % 20'001) - 10'000) / 2500;
    bool const rare = random() % 7 == 0;
    switch ((static_cast<std::uint64_t>(i / n) + seed) % 8) {
      case 1:
        return small * 20;
      case 2:
        return rare ? std::nan("") : small;
      case 3:
        return rare ? infinite : small;
      case 4:
        return -infinite;
      case 5:
        return rare ? -infinite : small * 5;
      case 6:
        return rare ? -0.0 : random() % 2 == 0 ? 0.0 : small < 0 ? -60 : -0.0;
      case 7:
        return small * 1000;
      default:
        return small;
    }
  });
}

/// Tests of kernels on a GPU.
class on_both : public on_gpu {
 protected:
  std::shared_ptr<gpu_device> on = gpu(0);
  /// Makes kernels there; empty: as the device's table says.
  std::function<kernel(kernel_request const&)> factory = {};

  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }

  /// Records what `f` returns of placeholders for these inputs, and runs its kernels here and there, in two orders of
  /// threads there if it is emulated. Expects equal bits.
  template <class F> void compare(std::vector<tensor> const& inputs, F const& f, std::string const& of) {
    one_node n(inputs, f);
    auto const expected = run_here(n, inputs);
    for (auto const order : thread_orders()) {
      set_thread_order(order);
      for (bool const in_place : {false, true}) {
        std::vector<tensor> found;
        if (auto const why = run_there(n, inputs, in_place, found)) {
          ADD_FAILURE() << of << ": " << why->what();
          return;
        }
        for (std::size_t o = 0; o < found.size(); ++o)
          expect_same_numbers(found[o], expected[o], of + " (output " + std::to_string(o) + ")");
      }
    }
  }
  /// Returns why the kernel can't be made or fails, there or here; null: it succeeds.
  template <class F> failure failure_there(std::vector<tensor> const& inputs, F const& f) {
    std::vector<tensor> found;
    return failure_of([&](one_node& n) { return run_there(n, inputs, false, found); }, inputs, f);
  }
  template <class F> failure failure_here(std::vector<tensor> const& inputs, F const& f) {
    return failure_of([&](one_node& n) { return run_here(n, inputs), nullptr; }, inputs, f);
  }

 private:
  /// A node, and what kernels are requested with.
  struct one_node {
    graph g;
    container state;
    host_memory memory;
    std::vector<type> given, out;
    std::vector<std::shared_ptr<variable_state>> const variables;
    node const* at = nullptr;

    template <class F> one_node(std::vector<tensor> const& inputs, F const& f) : variables(inputs.size()) {
      std::vector<value> values;
      for (auto const& x : inputs) {
        given.emplace_back(x.element(), x.shape());
        values.push_back(placeholder(g, given.back()));
      }
      value const made = f(values);
      at = &made.origin();
      out = at->outputs;
    }
    kernel_request request(device const* of) {
      return {.at = *at,
              .inputs = given,
              .outputs = out,
              .variables = variables,
              .state = state,
              .seed = 0,
              .memory = &memory,
              .on = of};
    }
  };

  template <class Run, class F>
  static failure failure_of(Run const& run, std::vector<tensor> const& inputs, F const& f) {
    one_node n(inputs, f);
    try {
      return run(n);
    } catch (error const& e) {
      return as_failure(e);
    }
  }

  static tensor bytes_of(std::size_t n, allocator& memory) {
    return {dtype::uint8, shape{static_cast<std::int64_t>(n)}, memory};
  }

  static std::vector<tensor> run_here(one_node& n, std::vector<tensor> const& inputs) {
    auto const k = n.at->op->cpu(n.request(nullptr));
    std::vector<tensor> given = inputs, out;
    std::vector<void*> pointers;
    for (auto& t : given) pointers.push_back(t.mutable_raw());
    for (auto const& t : n.out) pointers.push_back(out.emplace_back(t.element, t.shape()).mutable_raw());
    tensor scratch = bytes_of(k.scratch(), n.memory);
    pointers.push_back(scratch.mutable_raw());
    step_context step;
    k({.pointers = pointers.data(),
       .inputs = given.size(),
       .outputs = out.size(),
       .threads = parallel{},
       .step = step});
    return out;
  }

  // In place, an output has the memory of an input that it may share.
  failure run_there(one_node& n, std::vector<tensor> const& inputs, bool in_place, std::vector<tensor>& found) {
    auto const listed = on->kernels()->rule()(*n.at, n.given);
    if (listed == nullptr) return as_failure(error(code::internal, "there is no kernel"));
    auto const k = factory ? factory(n.request(on.get())) : listed(n.request(on.get()));
    std::vector<tensor> given, out;
    for (auto const& t : inputs) given.push_back(t.to(on->memory()));
    for (auto const& t : n.out) out.emplace_back(t.element, t.shape(), on->memory());
    if (in_place) {
      for (auto const& [i, o] : k.input_output_aliases) out[o] = given[i];
      for (std::size_t i = 0; i < out.size(); ++i)
        if (n.at->op->updates_in_place >> i & 1) out[i] = given[i];
    }
    tensor const scratch = bytes_of(k.scratch(), on->memory());
    std::vector<void*> pointers;
    for (auto const* all : {&given, &out})
      for (auto const& t : *all) pointers.push_back(t.storage().data());
    pointers.push_back(scratch.storage().data());

    struct work final : stream_work {
      kernel const& k;
      kernel_call const& call;
      std::promise<failure> over = {};
      work(kernel const& of, kernel_call const& with) : k(of), call(with) {}
      void run() override { k(call); }
      void done(failure why) noexcept override { over.set_value(std::move(why)); }
    };
    step_context step;
    parallel const threads;
    kernel_call const call{
        .pointers = pointers.data(), .inputs = given.size(), .outputs = out.size(), .threads = threads, .step = step};
    work w(k, call);
    on->compute().submit(w);
    auto why = w.over.get_future().get();
    for (auto const& t : out) found.push_back(why ? t : t.to(host));
    return why;
  }
};

}  // namespace rill::test
