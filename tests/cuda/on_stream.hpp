// A GPU's memory and its stream, for tests of kernels that are no operation's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill::test {

/// Tests that launch kernels themselves.
class on_stream : public on_gpu {
 protected:
  std::shared_ptr<gpu_device> on = gpu(0);

  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }

  /// Returns memory of the GPU.
  tensor memory_there(std::size_t bytes) {
    return {dtype::uint8, shape{static_cast<std::int64_t>(bytes)}, on->memory()};
  }
  /// Copy numbers to a place in such memory, and n numbers from there.
  template <class T> static void write(tensor const& memory, void* to, std::vector<T> const& numbers) {
    if (!numbers.empty()) copy_bytes(memory.space(), to, nullptr, numbers.data(), numbers.size() * sizeof(T));
  }
  template <class T> static std::vector<T> read(tensor const& memory, void const* from, std::size_t n) {
    std::vector<T> numbers(n);
    if (n > 0) copy_bytes(nullptr, numbers.data(), memory.space(), from, n * sizeof(T));
    return numbers;
  }

  /// Runs `f` on the stream of kernels, and waits for the kernels that it launches. Throws what it throws.
  void run(std::function<void()> f) {
    work w(*on, std::move(f));
    on->compute().submit(w);
    if (auto const why = w.over.get_future().get()) throw error(why->code(), why->message());
  }

 private:
  struct work final : stream_work {
    gpu_device const& on;
    std::function<void()> f;
    std::promise<failure> over = {};
    work(gpu_device const& of, std::function<void()> with) : on(of), f(std::move(with)) {}
    void run() override {
      f();
      on.wait();
    }
    void done(failure why) noexcept override { over.set_value(std::move(why)); }
  };
};

}  // namespace rill::test
