// The state of the emulated driver: devices, their contexts, and what is alive.
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "handles.hpp"
#include "kernel.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace rill::emulated {

struct device;

/// The primary context of a device, from the first cuDevicePrimaryCtxRetain to the last release.
class context : public std::enable_shared_from_this<context> {
 public:
  explicit context(device& of) : of_(of) {}

  device& of() const { return of_; }
  /// Returns success, or the error that all calls return from now on.
  status error() const { return error_; }
  void fail(status why);

  std::shared_ptr<stream> make_stream(bool blocks);
  /// Returns the stream that has no handle.
  std::shared_ptr<stream> legacy_stream();

  /// What becomes of work in a context that has failed.
  enum class after_failure { skip, run };
  /// Enqueues work on one of its streams. If the work throws, the context fails.
  void enqueue(stream& on, std::function<void()> work, after_failure then = after_failure::skip);
  /// Makes what is enqueued on a stream from now on wait for work of another one, which may be of another context.
  void enqueue_wait(stream& on, work_mark for_work);
  /// Returns the work of a stream that was enqueued so far.
  work_mark mark(stream& on);
  /// Waits for all work of a stream, and for that which is ordered with it.
  void wait_for(stream& on);
  /// Does all work, and ends. The memory of its device goes, too.
  void end();
  /// Whether `end` was called.
  bool ending() const { return ending_; }

 private:
  std::vector<work_mark> ordered_with(stream const& on);

  device& of_;
  std::atomic<status> error_{status::success};
  std::atomic<bool> ending_{false};
  std::mutex enqueueing_;  // orders the stream that has no handle with the others
  std::vector<std::weak_ptr<stream>> streams_;
  std::shared_ptr<stream> legacy_;
};

struct device {
  device(int number_, std::size_t bytes) : number(number_), memory(bytes) {}

  int const number;
  device_memory memory;
  std::mutex mutex;
  unsigned retained = 0;
  std::shared_ptr<context> primary;
  cuda::context handle = nullptr;
};

struct loaded_module {
  std::shared_ptr<context> owner;
  std::vector<std::shared_ptr<kernel_object const>> objects;
};
struct loaded_function {
  std::shared_ptr<loaded_module> of;
  std::shared_ptr<kernel_object const> object;
  kernel_entry const* kernel;
};

struct driver {
  std::vector<std::unique_ptr<device>> devices;
  handles<context, cuda::context> contexts;
  handles<memory_pool, cuda::pool_handle> pools;
  handles<stream, cuda::stream_handle> streams;
  handles<event, cuda::event_handle> events;
  handles<loaded_module, cuda::module_handle> modules;
  handles<loaded_function, cuda::function_handle> functions;
};

/// Initializes the driver: cuInit. Throws failure{no_device}.
void initialize();
/// Returns the driver. Throws failure{not_initialized}, in a child process of fork() too.
driver& the_driver();

/// The contexts that are current on the calling thread, the last one is the current one. It has no destructor: static
/// objects of a program may call the driver when the thread's objects are gone.
struct context_stack {
  cuda::context all[64];
  std::size_t count;

  bool empty() const { return count == 0; }
  cuda::context back() const { return all[count - 1]; }
  void push_back(cuda::context c) {
    expect(count < std::size(all), status::invalid_value);
    all[count++] = c;
  }
  void pop_back() { --count; }
};
context_stack& current_contexts();
/// Returns the context that is current on the calling thread. Throws failure if there is none, or with its error if it
/// has failed.
std::shared_ptr<context> current_context();

}  // namespace rill::emulated
