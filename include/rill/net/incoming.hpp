// What comes on a connection, frame by frame, as messages. The bytes may be anybody's.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/net/frame.hpp"
#include "rill/net/options.hpp"
#include "rill/net/receive_memory.hpp"

namespace rill::net {

/// Thrown when the other side exceeds a limit; the text is sent to it.
class over_limit final : public error {
 public:
  explicit over_limit(std::string const& what) : error(code::resource_exhausted, what) {}
};

/// How many bytes a connection takes.
struct incoming_limits {
  std::uint64_t bytes = 0;  ///< of messages and tensors that are on their way at once
  std::uint64_t share = 0;  ///< of a message that has a share of a step
};

/// Counts what goes over all connections of a process.
struct traffic_count {
  std::atomic<std::uint64_t> messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0;

  net_traffic get() const { return {messages_sent, messages_received, bytes_sent, bytes_received}; }
};

/// What the messages of a connection are for. All calls come from the connection's thread, and none comes after
/// `closed`.
class link_handler {
 public:
  virtual ~link_handler() = default;
  /// A message begins to come; its tensors follow. Messages with fewer bytes may come between.
  virtual void begins(message const&) {}
  /// A message has come with all its tensors.
  virtual void came(message) = 0;
  /// The connection has ended, for this reason. Once.
  virtual void closed(failure why) = 0;
};

/// The messages that have begun to come. They go to a handler, which is null once the connection has ended. All members
/// throw error(data_loss) for bytes that are no frames, and over_limit.
class incoming {
 private:
  struct partial_message {
    message m;
    std::size_t left = 0;  // tensors that have not come yet
  };
  struct stream {
    std::shared_ptr<partial_message> of;  // null: a long message
    std::size_t which = 0;                // of its tensors
    extents each = {};                    // of that
    tensor text = {};                     // the bytes of strings, or of a long message
    std::uint64_t at = 0, end = 0;
    message_kind kind = message_kind::hello;  // of a long message
  };
  // What may be on its way at once, and how much of that is left.
  struct room {
    std::uint64_t most = 0, left = 0;
    void take(std::uint64_t bytes) {
      if (bytes > left)
        throw over_limit("messages in transit would exceed " + std::to_string(most) +
                         " bytes (net_options::most_incoming, client_limits::incoming)");
      left -= bytes;
    }
  };
  // A message as its description says it, and the streams that it begins.
  struct described_message {
    std::shared_ptr<partial_message> of;
    std::vector<stream> streams;
    std::uint64_t bytes = 0;  // of these
  };

 public:
  /// A complete stream, not yet decoded: a message, or the elements of a tensor. It is part of no connection.
  class unread {
   public:
    /// Whether decoding takes long enough to need another thread.
    bool is_long() const {
      if (!of_.of) return true;
      if (of_.text) return of_.end > most_strings;
      return of_.of->m.tensors[of_.which].element() == dtype::boolean && of_.end > most_bools;
    }
    /// Decodes it, once; on any thread. Throws error(data_loss) and over_limit.
    void read() {
      auto const text = std::exchange(of_.text, {});
      std::string_view const bytes(text ? static_cast<char const*>(text.raw()) : "", text ? of_.end : 0);
      if (!of_.of) {
        message_ = describe(of_.kind, bytes, true, left_, *memory_);
        return;
      }
      auto& t = of_.of->m.tensors[of_.which];
      if (text) t = strings(of_.each, bytes);
      else check_elements(t);
    }

   private:
    friend class incoming;
    // What a thread decodes in about as long as it takes to hand it to another.
    static constexpr std::uint64_t most_strings = std::uint64_t{16} << 10, most_bools = std::uint64_t{256} << 10;
    std::uint64_t number_ = 0;
    room left_;
    std::shared_ptr<receive_memory> memory_;
    stream of_;
    described_message message_;
  };

  incoming(std::shared_ptr<traffic_count> traffic, std::shared_ptr<receive_memory> memory)
      : traffic_(std::move(traffic)), memory_(std::move(memory)) {}

  /// From now on takes tensors and long messages, for the other side has said who it is.
  void trust(incoming_limits const& most) {
    trusted_ = true;
    most_ = most;
  }
  /// Returns how many bytes are on their way.
  std::uint64_t bytes() const { return bytes_; }
  /// Takes a frame that is no chunk.
  void take(frame_head const& head, std::string_view text, std::shared_ptr<link_handler> const& to) {
    if (head.kind == frame_kind::whole)
      begin(describe(static_cast<message_kind>(head.message), text, trusted_, left(), *memory_), head.stream, to);
    else if (head.kind == frame_kind::long_) begin_long(head, text);
  }
  /// Returns where the bytes of a chunk belong.
  char* place(frame_head const& head);
  /// Call after the chunk's bytes have been written. Returns their stream if it is complete, to be decoded and handed
  /// to `done` before another frame is taken; null: it is not.
  std::shared_ptr<unread> placed(frame_head const& head);
  /// A stream has been decoded.
  void done(unread& what, std::shared_ptr<link_handler> const& to);

 private:
  static described_message describe(message_kind kind, std::string_view text, bool trusted, room left,
                                    receive_memory& memory);
  void begin(described_message m, std::uint64_t first, std::shared_ptr<link_handler> const& to);
  void begin_long(frame_head const& head, std::string_view text);
  room left() const { return {most_.bytes, most_.bytes - bytes_}; }
  void add(std::uint64_t number, stream s) {
    if (!streams_.emplace(number, std::move(s)).second)
      throw error(code::data_loss, "two streams of a connection have one number");
  }
  void check_message(message_kind kind, std::uint64_t bytes) const {
    if (kind == message_kind::add) {
      if (bytes > most_.share)
        throw over_limit("a share of a step has more than " + std::to_string(most_.share) +
                         " bytes (net_options::most_share, client_limits::share): feed large arrays, or make them "
                         "variables");
    } else if (bytes > most_bytes_of(kind)) {
      throw over_limit("a message has " + std::to_string(bytes) + " bytes besides its tensors; at most " +
                       std::to_string(most_bytes_of(kind)) + " are allowed");
    }
  }
  static tensor strings(extents const& each, std::string_view text) {
    tensor t(dtype::string, shape(each));
    divide(text, t);
    return t;
  }
  static tensor small_tensor(tensor_note const& n, std::string_view bytes) {
    if (n.element == dtype::string) return strings(n.each, bytes);
    tensor t(n.element, shape(n.each));
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(t.mutable_raw()));
    check_elements(t);
    return t;
  }
  stream& find(frame_head const& head) {
    auto const at = streams_.find(head.stream);
    if (at == streams_.end()) throw error(code::data_loss, "bytes came for a stream that was not announced");
    return at->second;
  }
  [[noreturn]] static void refuse_stranger() {
    throw error(code::unauthenticated, "it sends more than who it is before it has said that");
  }

  void arrive(message m, std::shared_ptr<link_handler> const& to) {
    ++traffic_->messages_received;
    if (auto const handler = to) handler->came(std::move(m));
  }

  std::shared_ptr<traffic_count> traffic_;
  std::shared_ptr<receive_memory> memory_;
  std::uint64_t bytes_ = 0;
  incoming_limits most_;
  std::map<std::uint64_t, stream> streams_;
  bool trusted_ = false;
};

inline char* incoming::place(frame_head const& head) {
  auto& s = find(head);
  if (head.bytes > s.end - s.at) throw error(code::data_loss, "a stream has more bytes than were announced");
  auto& to = s.text ? s.text : s.of->m.tensors[s.which];
  return static_cast<char*>(to.mutable_raw()) + s.at;
}
inline std::shared_ptr<incoming::unread> incoming::placed(frame_head const& head) {
  auto& s = find(head);
  if ((s.at += head.bytes) < s.end) return nullptr;
  auto const all = std::make_shared<unread>();
  all->of_ = std::move(s);
  streams_.erase(head.stream);
  bytes_ -= all->of_.end;
  all->number_ = head.stream;
  all->left_ = left();
  all->memory_ = memory_;
  return all;
}
inline void incoming::done(unread& what, std::shared_ptr<link_handler> const& to) {
  auto const of = what.of_.of;
  if (!of) return begin(std::move(what.message_), what.number_ + 1, to);
  if (--of->left == 0) arrive(std::move(of->m), to);
}

// `trusted`: whether the other side has said who it is.
inline auto incoming::describe(message_kind kind, std::string_view text, bool trusted, room left,
                               receive_memory& memory) -> described_message {
  auto [notes, small, body] = read_description(text);
  if (!trusted && !notes.empty()) refuse_stranger();
  if (notes.size() > most_tensors)
    throw over_limit("a message has " + std::to_string(notes.size()) + " tensors; at most " +
                     std::to_string(most_tensors) + " are allowed");
  described_message made{.of = std::make_shared<partial_message>(), .streams = {}};
  made.of->m = {.kind = kind, .body = std::string(body), .tensors = {}};
  for (auto const& n : notes) {
    if (n.bytes <= most_inline) continue;
    left.take(n.bytes);
    made.bytes += n.bytes;
  }
  for (auto const& n : notes) {
    auto& all = made.of->m.tensors;
    if (n.bytes <= most_inline) {
      all.push_back(small_tensor(n, small.substr(0, n.bytes)));
      small.remove_prefix(n.bytes);
      continue;
    }
    auto& s = made.streams.emplace_back(stream{.of = made.of, .which = all.size(), .each = n.each, .end = n.bytes});
    bool const later = n.element == dtype::string;  // strings are made when their text has come
    if (later) s.text = memory.make(dtype::uint8, shape{static_cast<std::int64_t>(n.bytes)});
    all.push_back(later ? tensor() : memory.make(n.element, shape(n.each)));
    ++made.of->left;
  }
  return made;
}
inline void incoming::begin(described_message m, std::uint64_t first, std::shared_ptr<link_handler> const& to) {
  bytes_ += m.bytes;
  for (auto& s : m.streams) {
    auto const number = first + s.which;
    add(number, std::move(s));
  }
  if (auto const handler = to) handler->begins(m.of->m);
  if (m.of->left == 0) arrive(std::move(m.of->m), to);
}
inline void incoming::begin_long(frame_head const& head, std::string_view text) {
  std::uint64_t bytes = 0;
  if (text.size() != sizeof bytes) throw error(code::data_loss, "what came is no frame");
  std::memcpy(&bytes, text.data(), sizeof bytes);
  if (!trusted_) refuse_stranger();
  if (bytes == 0) throw error(code::data_loss, "a long message has no bytes");
  auto const kind = static_cast<message_kind>(head.message);
  left().take(bytes);
  check_message(kind, bytes);
  bytes_ += bytes;
  add(head.stream, {.of = nullptr,
                    .text = memory_->make(dtype::uint8, shape{static_cast<std::int64_t>(bytes)}),
                    .end = bytes,
                    .kind = kind});
}

}  // namespace rill::net
