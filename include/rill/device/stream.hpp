// Work that a device does in order.
#pragma once
#include "rill/base/error.hpp"

namespace rill {

/// A piece of work of a stream. Whoever submits it owns it, and keeps it until `done` is called.
class stream_work {
 public:
  virtual ~stream_work() = default;
  /// Does the work, on the device. What it throws is handed to `done`.
  virtual void run() = 0;
  /// Called once, after `run`, by a thread of the device that holds no lock, because the step goes on by it and submits
  /// more work. The stream touches the work no more; it may be gone when this returns.
  virtual void done(failure why) noexcept = 0;

  double seconds = 0;           ///< that a device with a set speed takes for it
  stream_work* next = nullptr;  ///< in the stream's list, which is the stream's own
};

/// An in-order stream of a device: each piece of work begins when all before it are done. Several threads may submit.
class stream {
 public:
  /// Adds work and returns. Throws, before it takes the work, error(unavailable) if the device is lost.
  virtual void submit(stream_work& work) = 0;
  /// Takes work back that has not begun; returns whether it did. Then `done` is not called.
  virtual bool withdraw(stream_work&) { return false; }

 protected:
  stream() = default;
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  ~stream() = default;
};

}  // namespace rill
