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

#include "rill/net/frame.hpp"
#include "rill/net/options.hpp"
#include "rill/net/receive_memory.hpp"

namespace rill::net {

/// Thrown when the other side sends more than may be on its way at once. It is told so.
class over_limit final : public error {
 public:
  explicit over_limit(std::uint64_t most)
      : error(code::resource_exhausted,
              "more than " + std::to_string(most) +
                  " bytes would have been on their way at once (net_options::most_incoming, client_limits::incoming)") {
  }
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
 public:
  incoming(std::shared_ptr<traffic_count> traffic, std::shared_ptr<receive_memory> memory)
      : traffic_(std::move(traffic)), memory_(std::move(memory)) {}

  /// From now on takes tensors and long messages, for the other side has said who it is: of them `most` bytes may be on
  /// their way at once.
  void trust(std::uint64_t most) {
    trusted_ = true;
    most_ = most;
  }
  /// Takes a frame that is no chunk.
  void take(frame_head const& head, std::string_view text, std::shared_ptr<link_handler> const& to) {
    if (head.kind == frame_kind::whole) begin(static_cast<message_kind>(head.message), head.stream, text, to);
    else if (head.kind == frame_kind::long_) begin_long(head, text);
  }
  /// Returns where the bytes of a chunk belong.
  char* place(frame_head const& head);
  /// The bytes of that chunk have been put there.
  void placed(frame_head const& head, std::shared_ptr<link_handler> const& to);

 private:
  struct partial_message {
    message m;
    std::size_t left = 0;  // tensors that have not come yet
  };
  struct stream {
    std::shared_ptr<partial_message> of;  // null: a long message
    std::size_t which = 0;                // of its tensors
    extents each = {};                    // of that
    std::string text;                     // of strings, or of a long message
    std::uint64_t at = 0, end = 0;
    message_kind kind = message_kind::hello;  // of a long message
  };

  void begin(message_kind kind, std::uint64_t first, std::string_view text, std::shared_ptr<link_handler> const& to);
  void begin_long(frame_head const& head, std::string_view text);
  void finish(std::uint64_t number, stream s, std::shared_ptr<link_handler> const& to);
  void add(std::uint64_t number, stream s) {
    if (!streams_.emplace(number, std::move(s)).second)
      throw error(code::data_loss, "two streams of a connection have one number");
  }
  void reserve(std::uint64_t bytes) {
    if (bytes > most_ - bytes_) throw over_limit(most_);
    bytes_ += bytes;
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
  std::uint64_t bytes_ = 0, most_ = 0;
  std::map<std::uint64_t, stream> streams_;
  bool trusted_ = false;
};

inline char* incoming::place(frame_head const& head) {
  auto& s = find(head);
  if (head.bytes > s.end - s.at) throw error(code::data_loss, "a stream has more bytes than were announced");
  if (s.of && s.of->m.tensors[s.which]) return static_cast<char*>(s.of->m.tensors[s.which].mutable_raw()) + s.at;
  s.text.resize(s.text.size() + head.bytes);  // as the bytes come, whatever was announced
  return s.text.data() + s.at;
}
inline void incoming::placed(frame_head const& head, std::shared_ptr<link_handler> const& to) {
  auto& s = find(head);
  if ((s.at += head.bytes) < s.end) return;
  auto done = std::move(s);
  streams_.erase(head.stream);
  finish(head.stream, std::move(done), to);
}

inline void incoming::begin(message_kind kind, std::uint64_t first, std::string_view text,
                            std::shared_ptr<link_handler> const& to) {
  auto [notes, small, body] = read_description(text);
  auto const of = std::make_shared<partial_message>();
  of->m = {.kind = kind, .body = std::string(body), .tensors = {}};
  if (!trusted_ && !notes.empty()) refuse_stranger();
  for (auto const& n : notes)
    if (n.bytes > most_inline) reserve(n.bytes);
  for (std::size_t k = 0; k < notes.size(); ++k) {
    auto const& n = notes[k];
    if (n.bytes <= most_inline) {
      of->m.tensors.push_back(small_tensor(n, small.substr(0, n.bytes)));
      small.remove_prefix(n.bytes);
      continue;
    }
    bool const later = n.element == dtype::string;  // strings are made when their text has come
    of->m.tensors.push_back(later ? tensor() : memory_->make(n.element, shape(n.each)));
    ++of->left;
    add(first + k, {.of = of, .which = k, .each = n.each, .text = {}, .end = n.bytes});
  }
  if (auto const handler = to) handler->begins(of->m);
  if (of->left == 0) arrive(std::move(of->m), to);
}
inline void incoming::begin_long(frame_head const& head, std::string_view text) {
  std::uint64_t bytes = 0;
  if (text.size() != sizeof bytes) throw error(code::data_loss, "what came is no frame");
  std::memcpy(&bytes, text.data(), sizeof bytes);
  if (!trusted_) refuse_stranger();
  if (bytes == 0) throw error(code::data_loss, "a long message has no bytes");
  reserve(bytes);
  add(head.stream, {.of = nullptr, .text = {}, .end = bytes, .kind = static_cast<message_kind>(head.message)});
}
inline void incoming::finish(std::uint64_t number, stream s, std::shared_ptr<link_handler> const& to) {
  bytes_ -= s.end;
  if (!s.of) return begin(s.kind, number + 1, s.text, to);
  auto& t = s.of->m.tensors[s.which];
  if (t) check_elements(t);
  else {
    t = strings(s.each, s.text);
  }
  if (--s.of->left == 0) arrive(std::move(s.of->m), to);
}

}  // namespace rill::net
