// A GPU as the driver knows it: its primary context, streams and memory.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "rill/base/process.hpp"
#include "rill/cuda/driver.hpp"

namespace rill::cuda {

/// A GPU and a context there: its primary one, which all CUDA code of the process shares, or the caller's own.
class card {
 public:
  /// Retains the primary context of a device of the driver. With a context of the caller's, which must outlive it,
  /// takes that; throws error(invalid_argument) if it is of another device.
  card(std::shared_ptr<cuda::driver const> d, device_id id, context of_caller = nullptr);
  card(card const&) = delete;
  card& operator=(card const&) = delete;
  ~card();

  cuda::driver const& driver() const noexcept { return *driver_; }
  /// Whether this is a child process of the one that retained the context: CUDA can't be used in it.
  bool is_of_parent() const noexcept { return forks_ != rill::detail::forks(); }
  /// Throws error(failed_precondition) in a child process.
  void expect_own_process() const {
    if (is_of_parent())
      throw error(code::failed_precondition,
                  "the GPU was opened before fork(): CUDA can't be used in the child process. Open it after the fork");
  }
  /// Makes its context current on this thread. Throws in a child process.
  context_scope use() const {
    expect_own_process();
    return {*driver_, context_};
  }
  /// Returns what `f`, which calls the driver, returns in the card's context, or why the context can't be made current.
  /// For what must not throw; in a child process nothing is called.
  template <class F> status within(F const& f) const noexcept {
    if (is_of_parent()) return status::not_initialized;
    auto const& call = driver_->call();
    if (auto const refused = call.push_context(context_); refused != status::success) return refused;
    auto const result = f();
    context popped;
    call.pop_context(&popped);
    return result;
  }
  int attribute(device_attribute which) const;
  /// Returns 10 times the major number of its compute capability plus the minor one: 90.
  int capability() const;
  std::size_t memory() const;
  std::string name() const;
  /// Returns its CUdevice.
  device_id id() const noexcept { return id_; }
  /// Returns its CUcontext.
  context its_context() const noexcept { return context_; }

 private:
  std::shared_ptr<cuda::driver const> driver_;
  device_id id_;
  unsigned forks_ = rill::detail::forks();
  context context_;
  bool retained_;
};

/// Returns the text of a UUID, as nvidia-smi prints it: "GPU-8f5a…".
std::string text(uuid const& id);

/// Returns the number of the device that a text names: a number among those that are visible (CUDA_VISIBLE_DEVICES),
/// or the UUID of a GPU or of a slice of one (MIG), or a prefix of it. Throws error(not_found).
device_id find_device(driver const& d, std::string_view which);

/// A stream of a card.
class stream_owner {
 public:
  /// Creates one. With a stream of the caller's, which must outlive it, takes that.
  explicit stream_owner(card const& on, stream_handle of_caller = nullptr);
  stream_owner(stream_owner const&) = delete;
  stream_owner& operator=(stream_owner const&) = delete;
  ~stream_owner();

  stream_handle get() const noexcept { return handle_; }
  /// Waits until all that was put on it is done. The card's context must be current.
  void wait() const { on_.driver()(on_.driver().call().wait_for_stream, handle_); }

 private:
  card const& on_;
  stream_handle handle_;
  bool created_;
};

/// A point in the order of a stream, for which another stream or the host can wait.
class event_owner {
 public:
  explicit event_owner(card const& on);
  event_owner(event_owner const&) = delete;
  event_owner& operator=(event_owner const&) = delete;
  ~event_owner();

  event_handle get() const noexcept { return handle_; }
  /// Sets the point behind what has been put on a stream so far. The card's context must be current.
  void record(stream_handle on) const { on_.driver()(on_.driver().call().record_event, handle_, on); }
  /// Makes what is put on a stream from now on wait for the point.
  void order_before(stream_handle later) const {
    on_.driver()(on_.driver().call().make_stream_wait, later, handle_, 0u);
  }

 private:
  card const& on_;
  event_handle handle_ = nullptr;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <charconv>
#include <utility>

namespace rill::cuda {

RILL_CUDA_INLINE card::card(std::shared_ptr<cuda::driver const> d, device_id id, context of_caller)
    : driver_(std::move(d)), id_(id), context_(of_caller), retained_(!of_caller) {
  auto const& on = *driver_;
  if (retained_) {
    on(on.call().retain_primary_context, &context_, id);
    return;
  }
  auto const current = use();
  device_id where = -1;
  on(on.call().device_of_context, &where);
  if (where != id)
    throw error(code::invalid_argument, "gpu_options::context is a context of device " + std::to_string(where) +
                                            ", and the GPU is device " + std::to_string(id));
}
RILL_CUDA_INLINE card::~card() {
  if (retained_ && !is_of_parent()) driver_->call().release_primary_context(id_);
}

RILL_CUDA_INLINE int card::attribute(device_attribute which) const {
  int value = 0;
  (*driver_)(driver_->call().attribute_of, &value, which, id_);
  return value;
}
RILL_CUDA_INLINE int card::capability() const {
  return 10 * attribute(device_attribute::compute_capability_major) +
         attribute(device_attribute::compute_capability_minor);
}
RILL_CUDA_INLINE std::size_t card::memory() const {
  std::size_t bytes = 0;
  (*driver_)(driver_->call().device_memory, &bytes, id_);
  return bytes;
}
RILL_CUDA_INLINE std::string card::name() const {
  char text[256] = {};
  (*driver_)(driver_->call().device_name, text, static_cast<int>(sizeof text), id_);
  return text;
}

RILL_CUDA_INLINE std::string text(uuid const& id) {
  std::string all = "GPU-";
  for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) all += '-';
    auto const byte = static_cast<unsigned char>(id.bytes[i]);
    all += "0123456789abcdef"[byte >> 4];
    all += "0123456789abcdef"[byte & 15];
  }
  return all;
}

RILL_CUDA_INLINE device_id find_device(driver const& d, std::string_view which) {
  int count = 0;
  d(d.call().device_count, &count);
  auto const refuse = [&](std::string const& why) -> device_id {
    throw error(code::not_found, "there is no GPU '" + std::string(which) + "': " + why);
  };
  device_id found = 0;
  int number = 0;
  auto const [end, wrong] = std::from_chars(which.data(), which.data() + which.size(), number);
  if (wrong != std::errc::invalid_argument && end == which.data() + which.size()) {
    if (wrong != std::errc() || number < 0 || number >= count)
      return refuse("the driver sees " + std::to_string(count) + " (after CUDA_VISIBLE_DEVICES), numbered from 0");
    d(d.call().device, &found, number);
    return found;
  }
  // For a slice the driver reports the slice's UUID, so only the prefix differs.
  auto const digits = which.substr(which.starts_with("GPU-") || which.starts_with("MIG-") ? 4 : which.size());
  if (digits.empty()) return refuse("a number was expected, or a UUID that begins with GPU- or MIG-");
  int matches = 0;
  for (int i = 0; i < count; ++i) {
    device_id each = 0;
    uuid id;
    d(d.call().device, &each, i);
    d(d.call().device_uuid, &id, each);
    if (std::string_view(text(id)).substr(4).starts_with(digits)) ++matches, found = each;
  }
  if (matches == 1) return found;
  return refuse(matches == 0 ? "no UUID of the driver's " + std::to_string(count) + " begins with that"
                             : std::to_string(matches) + " UUIDs begin with that");
}

RILL_CUDA_INLINE stream_owner::stream_owner(card const& on, stream_handle of_caller)
    : on_(on), handle_(of_caller), created_(!of_caller) {
  if (!created_) return;
  auto const current = on.use();
  on.driver()(on.driver().call().create_stream, &handle_, stream_non_blocking);
}
RILL_CUDA_INLINE stream_owner::~stream_owner() {
  if (created_) on_.within([&] { return on_.driver().call().destroy_stream(handle_); });
}

RILL_CUDA_INLINE event_owner::event_owner(card const& on) : on_(on) {
  auto const current = on.use();
  on.driver()(on.driver().call().create_event, &handle_, event_without_time);
}
RILL_CUDA_INLINE event_owner::~event_owner() {
  on_.within([&] { return on_.driver().call().destroy_event(handle_); });
}

}  // namespace rill::cuda
#endif
