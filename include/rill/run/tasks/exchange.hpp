// Where the tasks of a step leave values for each other (white paper §3.2.2: Send and Receive).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/run/tasks/send_windows.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// An edge of a step that goes from one task to another, as a Send or a Receive sees it.
struct cut_edge {
  std::uint32_t number = 0;  ///< among those of the step
  std::uint32_t peer = 0;    ///< the task at the other end: its number among the tasks of the session
  bool pushed = false;       ///< whether the sender hands its small values over at once, unasked
  /// How many values may wait for their receiver: of an edge in a body, where one thread sends and receives, so that a
  /// Send must not wait until its receiver asks; 0: it is in no body.
  std::uint32_t window = 0;

  static constexpr std::uint32_t any_number = INT32_MAX;  ///< a window: of a branch that is in no loop

  bool is_in_body() const { return window > 0; }
  /// Whether its receiver tells how many values it has taken.
  bool is_counted() const { return window > 0 && window != any_number; }
};

/// Names a value that one task sends to another within a step.
struct edge_key {
  std::uint32_t edge = 0;  ///< the number of the edge
  std::uint64_t path = 0;  ///< which of its uses in the step: mixed from the iterations and calls around it
  friend constexpr auto operator<=>(edge_key, edge_key) = default;
};

/// A request for a value that another task sends.
struct receive_request {
  cut_edge edge = {};
  std::uint64_t path = 0;
  std::shared_ptr<std::string const> node = {};  ///< whose input it is, for reports
  tensor came = {};                              ///< the value that has come
  /// Called once, on any thread, without a lock; the failure is null for success. Must not throw.
  std::function<void(receive_request&, failure)> finished = {};

  edge_key key() const { return {edge.number, path}; }
};

/// The values on their way between the tasks of one step. Each is sent once and received once, in either order.
class exchange : public std::enable_shared_from_this<exchange> {
 public:
  virtual ~exchange() = default;
  /// Hands over a value, which nobody changes any more. Does not wait for its receiver.
  virtual void send(cut_edge const&, std::uint64_t path, tensor) = 0;
  /// How far Sends in loops have run ahead of their receivers.
  std::shared_ptr<send_windows> const& windows() const { return windows_; }
  /// The receiver of an edge with a window has got a value.
  virtual void took(cut_edge const&) = 0;
  /// Whether values are copied to their receivers, so that it lets go of a value that it was handed when that is done.
  virtual bool copies() const { return false; }
  /// Returns the value if it has come.
  virtual std::optional<tensor> try_receive(edge_key) = 0;
  /// Finishes the request when the value has come.
  virtual void receive(std::shared_ptr<receive_request> const&) = 0;
  /// Ends a request that still waits with the failure `why`.
  virtual void give_up(receive_request const&, failure why) = 0;

 private:
  std::shared_ptr<send_windows> const windows_ = std::make_shared<send_windows>();
};

/// An exchange between tasks in one process: a value is handed over without a copy.
class memory_exchange final : public exchange {
 public:
  void send(cut_edge const&, std::uint64_t path, tensor) override;
  std::optional<tensor> try_receive(edge_key) override;
  void receive(std::shared_ptr<receive_request> const&) override;
  void give_up(receive_request const&, failure why) override;
  void took(cut_edge const& edge) override { windows()->took(edge.number, 1); }

 private:
  std::mutex mutex_;
  std::map<edge_key, tensor> values_;
  std::map<edge_key, std::shared_ptr<receive_request>> requests_;
};

#if RILL_RUNTIME

RILL_INLINE void memory_exchange::send(cut_edge const& edge, std::uint64_t path, tensor value) {
  edge_key const key{edge.number, path};
  std::shared_ptr<receive_request> waiting;
  {
    std::lock_guard lock(mutex_);
    if (auto const at = requests_.find(key); at != requests_.end()) waiting = std::move(requests_.extract(at).mapped());
    else values_.emplace(key, std::move(value));
  }
  if (!waiting) return;
  waiting->came = std::move(value);
  waiting->finished(*waiting, {});
}

RILL_INLINE std::optional<tensor> memory_exchange::try_receive(edge_key key) {
  std::lock_guard lock(mutex_);
  auto const at = values_.find(key);
  if (at == values_.end()) return {};
  return std::move(values_.extract(at).mapped());
}

RILL_INLINE void memory_exchange::receive(std::shared_ptr<receive_request> const& r) {
  {
    std::lock_guard lock(mutex_);
    auto const at = values_.find(r->key());
    if (at == values_.end()) {
      requests_.emplace(r->key(), r);
      return;
    }
    r->came = std::move(values_.extract(at).mapped());
  }
  r->finished(*r, {});
}

RILL_INLINE void memory_exchange::give_up(receive_request const& wanted, failure why) {
  std::shared_ptr<receive_request> mine;
  {
    std::lock_guard lock(mutex_);
    auto const at = requests_.find(wanted.key());
    if (at != requests_.end() && at->second.get() == &wanted) mine = std::move(requests_.extract(at).mapped());
  }
  if (mine) mine->finished(*mine, std::move(why));
}

#endif

}  // namespace rill
