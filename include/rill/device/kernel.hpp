// A kernel: an operation bound to element types and extents, ready to be called with pointers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rill/base/parallel.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

class step_context;
class suspendable;

/// What a kernel is handed when it runs: the elements of its inputs and outputs, scratch, threads, and the step.
struct kernel_call {
  void* const* pointers;  ///< the inputs', then the outputs' elements, then the scratch
  std::size_t inputs, outputs;
  rill::parallel const& threads;
  step_context& step;

  template <class T> T const* in(std::size_t i) const { return static_cast<T const*>(pointers[i]); }
  template <class T> T* out(std::size_t i) const { return static_cast<T*>(pointers[inputs + i]); }
  void const* in(std::size_t i) const { return pointers[i]; }
  void* out(std::size_t i) const { return pointers[inputs + i]; }
  void* scratch() const { return pointers[inputs + outputs]; }

  /// For kernels that bring their outputs themselves: hands over output `o`.
  void give(std::size_t o, tensor t) const { owned[o] = std::move(t); }
  tensor* owned = nullptr;      ///< of such kernels: where the outputs go; stays there until the step ends
  suspendable* from = nullptr;  ///< of kernels that may wait: by which they do
};

/// An operation bound to types. Many threads may call it at once.
class kernel {
 public:
  kernel() = default;
  template <class F>
    requires std::is_invocable_v<F const&, kernel_call const&>
  kernel(F f, std::size_t scratch = 0)
      : run_([](void const* state, kernel_call const& call) { (*static_cast<F const*>(state))(call); }),
        state_(static_cast<void const*>(new F(std::move(f))), drop<F>),
        scratch_(scratch) {}

  explicit operator bool() const { return run_ != nullptr; }
  void operator()(kernel_call const& call) const { run_(state_.get(), call); }

  /// What a call needs of a kernel, without the rest; it can be called as long as the kernel is there.
  struct entry {
    void (*run)(void const*, kernel_call const&) = nullptr;
    void const* state = nullptr;
  };
  entry called() const { return {run_, state_.get()}; }
  /// Bytes of scratch that a call needs.
  std::size_t scratch() const { return scratch_; }

  /// The kernel brings tensors of its own as outputs (a variable's snapshot) and gives them by `kernel_call::give`.
  bool allocates_outputs = false;
  /// The kernel may return before it is done, by `kernel_call::from`.
  bool waits = false;
  /// Pairs of an input and an output that may lie in the same memory.
  struct shared_memory {
    std::uint32_t input, output;
  };
  std::vector<shared_memory> input_output_aliases;
  /// Those of them whose output is the input but for some rows: they are to, where nobody else reads the input. The
  /// kernel looks whether they do.
  std::vector<shared_memory> updates_in_place;

 private:
  // One kind of deleter for all kernels: a control block for each is as long to compile as the kernel's own call.
  template <class F> static void drop(void const* state) { delete static_cast<F const*>(state); }
  void (*run_)(void const*, kernel_call const&) = nullptr;
  std::shared_ptr<void const> state_;
  std::size_t scratch_ = 0;
};

}  // namespace rill
