// A GPU as a device of sessions.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "rill/cuda/card.hpp"
#include "rill/cuda/gpu_memory.hpp"
#include "rill/cuda/kernel_cache.hpp"
#include "rill/cuda/kernel_stream.hpp"
#include "rill/cuda/loaded_texts.hpp"
#include "rill/cuda/nvrtc.hpp"
#include "rill/cuda/page_locked_memory.hpp"
#include "rill/device/device.hpp"
#include "rill/device/step.hpp"
#include "rill/device/thread_stream.hpp"

namespace rill {

/// What a session may use of a GPU.
struct gpu_options {
  std::size_t memory = 0;        ///< the limit of its tensors, in bytes; 0: `memory_fraction` of all its memory
  double memory_fraction = 0.9;  ///< above 0, at most 1
  void* context = nullptr;       ///< a CUcontext of yours, which must outlive the device and its tensors; null: the
                                 ///< GPU's primary context, which the CUDA runtime uses too
  void* stream = nullptr;        ///< a CUstream of yours in that context, which must outlive the device, for its
                                 ///< kernels; null: a stream of its own
  /// The folder in which compiled kernels are kept for later runs and other processes; empty: they are not kept. It is
  /// created if need be. Its files are of this user's alone: a folder to which others may write is not used. Beyond
  /// 512 MiB or 10,000 files, those that were not used for the longest time are removed. The default is
  /// RILL_KERNEL_CACHE of the environment, else XDG_CACHE_HOME/rill, else HOME/.cache/rill.
  std::filesystem::path cache = cuda::kernel_cache_folder();
  /// Is told, once, why compiled kernels can't be kept. Empty: nobody is told.
  log_callback log = {};
};

/// A GPU. It may be absent: then `absence` says why, and a session with soft placement does without it. The driver
/// and NVRTC, CUDA's compiler, are opened when it is made.
class gpu_device final : public device {
 public:
  /// `which`: its number among those that are visible, or a UUID or the beginning of one. `number`: of the name gpu:N.
  /// `kernels` must outlive it.
  gpu_device(std::string_view which, unsigned number, gpu_options const& options, kernel_table const& kernels);
  ~gpu_device() override;

  std::string const& name() const noexcept override { return name_; }
  failure absence() const noexcept override { return why_; }
  allocator& memory() noexcept override;
  std::size_t memory_limit() const noexcept override;
  device_speed speed() const noexcept override { return speed_; }
  kernel_table const* kernels() const noexcept override { return &kernels_; }
  stream& compute() noexcept override;
  stream& copies_in() noexcept override { return *in_; }
  stream& copies_out() noexcept override { return *out_; }

  /// Returns what the card is called, "NVIDIA H100 80GB HBM3". Throws if it is absent.
  std::string model() const;
  /// Returns page-locked memory of the host: tensors in it are copied to the GPU and back at the full speed of the
  /// link, which is four to six times that of others. `session_options::memory` may be it, for what is fetched, and so
  /// may the memory of tensors that are fed. Throws if the GPU is absent.
  allocator& page_locked();
  /// Gives memory that nobody uses back to the driver.
  void trim();
  /// Returns the CUstream on which its kernels are put. Throws if the GPU is absent.
  void* stream_of_kernels() const;

  /// A kernel on the card.
  struct function;
  /// How many blocks run a kernel, and how many threads each of them has.
  struct launch_shape {
    unsigned blocks, threads;
  };
  /// Returns a kernel of CUDA source. It is compiled when it is first launched, together with all others that wait for
  /// that.
  std::shared_ptr<function const> find(std::string const& text, char const* kernel) const;
  /// Compiles a kernel, with all others that wait, if that was not done yet. Throws error(internal) with NVRTC's
  /// messages if it refuses the text.
  void compile(function const& f) const;
  /// Returns blocks for a kernel whose threads take `n` elements in turns; of no elements one block.
  launch_shape shape_for(std::size_t n) const noexcept;
  /// Puts a kernel on the stream of kernels, with these parameters, and compiles it first if need be. Called from work
  /// on that stream.
  void launch(function const& f, launch_shape how, void** parameters) const;
  /// Waits for the kernels on the stream. Called from work on that stream.
  void wait() const;
  /// Makes copies from now on wait for the kernels that have been launched. Called, before it unlocks a variable, by a
  /// kernel of an operation that has launched what reads or writes the variable; it needn't wait then.
  void order_copies_after_kernels() const;
  /// Copies bytes of the GPU to the host. Kernels that are still running are not waited for.
  void read(void* to, void const* from, std::size_t bytes) const;

 private:
  struct parts;
  parts& present() const;

  std::string name_;
  kernel_table const& kernels_;
  failure why_;
  device_speed speed_;
  std::unique_ptr<parts> parts_;             // null: it is absent
  std::unique_ptr<thread_stream> in_, out_;  // destroyed first, with the next: their work uses `parts_`
  std::unique_ptr<cuda::kernel_stream> compute_;
};

}  // namespace rill

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

namespace rill {

namespace cuda {

inline std::size_t memory_limit(card const& c, gpu_options const& options) {
  auto const all = c.memory();
  if (options.memory == 0)
    return static_cast<std::size_t>(std::floor(static_cast<double>(all) * options.memory_fraction));
  if (options.memory > all)
    throw error(code::invalid_argument, "gpu_options::memory asks for " + std::to_string(options.memory) +
                                            " bytes of a GPU that has " + std::to_string(all));
  return options.memory;
}

}  // namespace cuda

struct gpu_device::function {
  std::shared_ptr<cuda::loaded_texts::text> const of;
  std::string const name;
  // Set once, with `program`, when the kernel is first wanted.
  mutable std::atomic<cuda::function_handle> handle{nullptr};
  mutable std::shared_ptr<cuda::loaded_program const> program = {};

  function(std::shared_ptr<cuda::loaded_texts::text> text, char const* kernel) : of(std::move(text)), name(kernel) {}
};

// Members are destroyed from the last to the first: the context goes last.
struct gpu_device::parts {
  std::shared_ptr<cuda::card const> card;
  unsigned most_blocks;
  cuda::stream_owner kernels;
  cuda::gpu_space space;
  cuda::gpu_memory memory;
  cuda::page_locked_memory page_locked;
  cuda::loaded_texts texts;
  std::mutex mutex = {};
  std::map<std::pair<cuda::loaded_texts::text const*, std::string>, std::weak_ptr<function const>> known = {};
  std::size_t most_known = cuda::most_unused;

  parts(std::shared_ptr<cuda::card const> c, std::string const& name, gpu_options const& options)
      : card(std::move(c)),
        most_blocks(static_cast<unsigned>(card->attribute(cuda::device_attribute::multiprocessors)) * 32),
        kernels(*card, static_cast<cuda::stream_handle>(options.stream)),
        space(*card, name, kernels.get()),
        memory(*card, space, kernels.get(), cuda::memory_limit(*card, options)),
        page_locked(*card),
        texts(card, cuda::open_nvrtc(card->capability(), card->driver().version()), options.cache, options.log) {}
};

namespace cuda {

// Peak speed by clocks and bus width, for 128 lanes of float32 in each multiprocessor, two operations a cycle, and two
// transfers a cycle of the memory's clock. Links are taken to be PCI Express 4 with 16 lanes.
inline device_speed speed_of(card const& c) {
  auto const value = [&](device_attribute which) { return static_cast<double>(c.attribute(which)); };
  double const lanes = 128 * value(device_attribute::multiprocessors);
  return {.flops = 2 * lanes * 1e3 * value(device_attribute::clock_rate),
          .memory_bytes =
              2 * 1e3 * value(device_attribute::memory_clock_rate) * value(device_attribute::memory_bus_width) / 8,
          .link_bytes = 25e9};
}

inline void check(gpu_options const& options) {
  if (!(options.memory_fraction > 0 && options.memory_fraction <= 1))
    throw error(code::invalid_argument, "gpu_options::memory_fraction is above 0 and at most 1, not " +
                                            std::to_string(options.memory_fraction));
}

// The memory of a GPU that is absent.
inline allocator& memory_of_none() noexcept {
  class none final : public allocator {
    void* acquire(std::size_t) noexcept override { return nullptr; }
    void release(void*, std::size_t) noexcept override {}
    std::string refusal(std::size_t) const override { return "the GPU is absent (device::absence says why)"; }
  };
  static none memory;
  return memory;
}

}  // namespace cuda

RILL_CUDA_INLINE gpu_device::gpu_device(std::string_view which, unsigned number, gpu_options const& options,
                                        kernel_table const& kernels)
    : name_("gpu:" + std::to_string(number)), kernels_(kernels) {
  cuda::check(options);
  try {
    auto const driver = std::make_shared<cuda::driver const>();
    auto const card = std::make_shared<cuda::card const>(driver, cuda::find_device(*driver, which),
                                                         static_cast<cuda::context>(options.context));
    if (card->attribute(cuda::device_attribute::memory_pools) == 0)
      throw error(code::unavailable, "'" + card->name() + "' doesn't support memory pools (cuMemAllocFromPoolAsync)");
    speed_ = cuda::speed_of(*card);
    parts_ = std::make_unique<parts>(card, name_, options);
    // What is wrong with driver, compiler and GPU together shows here, while a session can still do without it.
    compile(*find("extern \"C\" __global__ void nothing() {}\n", "nothing"));
    compute_ = std::make_unique<cuda::kernel_stream>(*parts_->card, parts_->kernels, parts_->space);
  } catch (error const& e) {
    if (e.code() == code::invalid_argument) throw;
    why_ = as_failure(e);
    parts_.reset();
  }
  auto const on_card = [this](stream_work& work) {
    auto const current = present().card->use();
    work.run();
  };
  in_ = std::make_unique<thread_stream>(on_card);
  out_ = std::make_unique<thread_stream>(on_card);
}
RILL_CUDA_INLINE gpu_device::~gpu_device() = default;

RILL_CUDA_INLINE stream& gpu_device::compute() noexcept {
  if (compute_) return *compute_;
  return *in_;  // its work is told that the GPU is absent
}
RILL_CUDA_INLINE gpu_device::parts& gpu_device::present() const {
  if (!parts_) throw error(why_->kind(), why_->message(), {}, name_);
  return *parts_;
}
RILL_CUDA_INLINE allocator& gpu_device::memory() noexcept {
  return parts_ ? static_cast<allocator&>(parts_->memory) : cuda::memory_of_none();
}
RILL_CUDA_INLINE std::size_t gpu_device::memory_limit() const noexcept { return parts_ ? parts_->memory.limit() : 0; }
RILL_CUDA_INLINE std::string gpu_device::model() const { return present().card->name(); }
RILL_CUDA_INLINE allocator& gpu_device::page_locked() { return present().page_locked; }
RILL_CUDA_INLINE void* gpu_device::stream_of_kernels() const { return present().kernels.get(); }
RILL_CUDA_INLINE void gpu_device::trim() {
  present().memory.trim();
  present().page_locked.trim();
}

RILL_CUDA_INLINE std::shared_ptr<gpu_device::function const> gpu_device::find(std::string const& text,
                                                                              char const* kernel) const {
  auto& p = present();
  auto of = p.texts.add(text);
  std::lock_guard const lock(p.mutex);
  cuda::forget(p.known, p.most_known, [](auto const& each) { return each.second.expired(); });
  auto& known = p.known[{of.get(), kernel}];
  if (auto found = known.lock()) return found;
  auto made = std::make_shared<function>(std::move(of), kernel);
  known = made;
  return made;
}

RILL_CUDA_INLINE void gpu_device::compile(function const& f) const {
  if (f.handle.load(std::memory_order_acquire)) return;
  auto& p = present();
  auto const& driver = p.card->driver();
  auto const current = p.card->use();
  auto program = p.texts.load(*f.of);
  std::lock_guard const lock(p.mutex);
  if (f.handle.load(std::memory_order_relaxed)) return;
  cuda::function_handle handle = nullptr;
  driver(driver.call().find_function, &handle, program->module, f.of->in_program.name_of(f.name).c_str());
  f.program = std::move(program);
  f.handle.store(handle, std::memory_order_release);
}

RILL_CUDA_INLINE gpu_device::launch_shape gpu_device::shape_for(std::size_t n) const noexcept {
  constexpr unsigned threads = 256;
  auto const wanted = std::clamp<std::size_t>((n + threads - 1) / threads, 1, parts_->most_blocks);
  return {static_cast<unsigned>(wanted), threads};
}

RILL_CUDA_INLINE void gpu_device::launch(function const& f, launch_shape how, void** parameters) const {
  compile(f);
  auto const& driver = parts_->card->driver();
  driver(driver.call().launch, f.handle.load(std::memory_order_relaxed), how.blocks, 1u, 1u, how.threads, 1u, 1u, 0u,
         parts_->kernels.get(), parameters, static_cast<void**>(nullptr));
}

RILL_CUDA_INLINE void gpu_device::wait() const { parts_->kernels.wait(); }
RILL_CUDA_INLINE void gpu_device::order_copies_after_kernels() const { parts_->space.order_after_kernels(); }
RILL_CUDA_INLINE void gpu_device::read(void* to, void const* from, std::size_t bytes) const {
  parts_->space.read(to, from, bytes);
}

}  // namespace rill
#endif
