// Kernels: operations bound to element types and extents, called with pointers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/base/parallel.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

class step_context;
class suspendable;

/// The arguments of a kernel: the elements of its inputs and outputs, scratch memory, threads, and the step.
struct kernel_call {
  void* const* pointers;  ///< the elements of the inputs, then of the outputs, then the scratch memory
  std::size_t inputs, outputs;
  rill::parallel const& threads;
  step_context& step;

  template <class T> T const* in(std::size_t i) const { return static_cast<T const*>(pointers[i]); }
  template <class T> T* out(std::size_t i) const { return static_cast<T*>(pointers[inputs + i]); }
  void const* in(std::size_t i) const { return pointers[i]; }
  void* out(std::size_t i) const { return pointers[inputs + i]; }
  void* scratch() const { return pointers[inputs + outputs]; }

  /// Sets output `o`; for kernels that allocate their outputs.
  void give(std::size_t o, tensor t) const { owned[o] = std::move(t); }
  tensor* owned = nullptr;      ///< the outputs of such kernels; kept until the step ends
  suspendable* from = nullptr;  ///< for kernels that may wait: gives them a continuation
  /// For kernels that keep their first input while they wait: a tensor that shares its memory. Null: they have to copy
  /// it.
  tensor const* kept = nullptr;
  /// Where kernels that carry failures may leave one and return without outputs; null: they throw it.
  failure* carried = nullptr;
};

/// An operation bound to types. Several threads may call it at once.
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

  /// The part of a kernel that a call needs; it can be called as long as the kernel exists.
  struct entry {
    void (*run)(void const*, kernel_call const&) = nullptr;
    void const* state = nullptr;
  };
  entry called() const { return {run_, state_.get()}; }
  /// Returns the bytes of scratch memory that a call needs.
  std::size_t scratch() const { return scratch_; }

  /// Whether the kernel allocates its outputs, such as a variable's snapshot, and sets them by `kernel_call::give`.
  bool allocates_outputs = false;
  /// Whether the kernel may return before it is done, through `kernel_call::from`.
  bool waits = false;
  /// Whether it waits for another task, which may wait for nodes of this step that stand behind it: the step forks.
  bool waits_for_tasks = false;
  /// Whether it keeps its first input while it waits, by `kernel_call::kept`.
  bool keeps_input = false;
  /// The number of the session's device in whose memory it allocates its outputs; -1: the host's.
  std::int32_t outputs_on = -1;
  /// The device that holds the inputs; -1: the host, or the device that holds the outputs.
  std::int32_t inputs_on = -1;
  /// The bytes that a call copies from one memory to another.
  std::size_t copied = 0;
  /// Whether a call does no more than hand work to a device's stream, and resumes from a thread of the stream that
  /// holds no lock. Such a thread goes on with the step itself, up to calls of other kernels like this one.
  bool enqueues = false;
  /// Whether its errors name the node themselves, because it runs several.
  bool names_nodes = false;
  /// Whether it leaves failures of its bodies in `kernel_call::carried`.
  bool carries_failures = false;
  /// An input and an output that may share memory.
  struct shared_memory {
    std::uint32_t input, output;
  };
  std::vector<shared_memory> input_output_aliases;
  /// The pairs whose output is the input except for some rows. They do share memory where no other node reads the
  /// input; the kernel has to check whether they do.
  std::vector<shared_memory> updates_in_place;

 private:
  // One type of deleter for all kernels: a control block for each would take as long to compile as the kernel's call.
  template <class F> static void drop(void const* state) { delete static_cast<F const*>(state); }
  void (*run_)(void const*, kernel_call const&) = nullptr;
  std::shared_ptr<void const> state_;
  std::size_t scratch_ = 0;
};

}  // namespace rill
