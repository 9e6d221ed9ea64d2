// What is to be written on a connection: messages before chunks, and streams in turn.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rill/net/asio.hpp"
#include "rill/net/frame.hpp"

namespace rill::net {

/// Bytes that one thread writes, while others add more to `outgoing`.
class batch {
 public:
  bool empty() const { return at_ == bytes_; }
  /// Returns what is left of it.
  std::vector<asio::const_buffer> const& left() const { return left_; }
  /// `n` bytes more of it have been written.
  void wrote(std::size_t n) {
    at_ += n;
    auto full = left_.begin();
    for (; full != left_.end() && n >= full->size(); ++full) n -= full->size();
    left_.erase(left_.begin(), full);
    if (!left_.empty()) left_.front() += n;
  }

  /// Lets go of it.
  void clear() {
    frames_.clear(), left_.clear(), until_sent_.clear();
    keeps_ = {}, text_ = {};
    is_last_ = false;
    at_ = bytes_ = 0;
  }
  /// Returns the tensor or the text whose last bytes it has, if that is so large that to free it takes long.
  std::shared_ptr<void> take_large() {
    if (!is_last_ || (keeps_ ? keeps_.bytes() : text_ ? text_->size() : 0) < large) return nullptr;
    is_last_ = false;
    return std::make_shared<std::pair<tensor, std::shared_ptr<std::string const>>>(std::move(keeps_), std::move(text_));
  }

 private:
  friend class outgoing;
  void add(void const* at, std::size_t n) {
    left_.emplace_back(at, n);
    bytes_ += n;
  }

  static constexpr std::size_t large = std::size_t{16} << 20;

  std::deque<std::string> frames_;           // which the buffers lie in, or
  tensor keeps_;                             // here,
  std::shared_ptr<std::string const> text_;  // or here
  bool is_last_ = false;                     // whether these are the last bytes of the tensor or text
  std::vector<std::shared_ptr<void>> until_sent_;
  std::vector<asio::const_buffer> left_;
  std::size_t at_ = 0, bytes_ = 0;
};

/// What is sent in chunks: a tensor, or a text.
struct outgoing_stream {
  std::uint64_t number = 0;
  tensor keeps = {};
  std::shared_ptr<std::string const> text = {};
  bool is_long = false;  // a long message
  std::size_t at = 0, end = 0;
  std::shared_ptr<void> until_sent = {};

  char const* bytes() const { return text ? text->data() : static_cast<char const*>(keeps.raw()); }
};

/// A message as it goes into the queue of a connection. Making one costs time proportional to its strings.
class parcel {
 public:
  /// `until_sent`: is let go when the message has left, or is lost.
  explicit parcel(message m, std::shared_ptr<void> until_sent = {})
      : kind_(static_cast<std::uint8_t>(m.kind)), until_sent_(std::move(until_sent)) {
    std::vector<tensor_note> notes;
    std::string small;
    for (auto& t : m.tensors) {
      outgoing_stream s{.number = numbers_++, .until_sent = until_sent_};  // behind the number of the message
      auto& note = notes.emplace_back(tensor_note{.element = t.element(), .each = t.shape(), .bytes = t.bytes()});
      if (t.element() == dtype::string) {
        s.text = std::make_shared<std::string const>(joined(t));
        note.bytes = s.text->size();
      } else s.keeps = std::exchange(t, {}).to(host);  // a device's address can't be read by the process that sends
      s.end = note.bytes;
      if (s.end <= most_inline) small.append(s.bytes(), s.end);
      else streams_.push_back(std::move(s));
    }
    described_ = described(notes, small, m.body);
  }
  /// Returns the bytes that its large tensors have.
  std::uint64_t tensor_bytes() const {
    std::uint64_t all = 0;
    for (auto const& s : streams_) all += s.end;
    return all;
  }
  /// Returns the bytes of the message without these.
  std::uint64_t message_bytes() const { return described_.size(); }

 private:
  friend class outgoing;
  std::uint8_t kind_;
  std::string described_;
  std::vector<outgoing_stream> streams_;
  std::uint64_t numbers_ = 0;
  std::shared_ptr<void> until_sent_;
};

/// Bytes that have not left this process: of messages, and of their tensors.
struct unsent_bytes {
  std::uint64_t messages = 0, tensors = 0;
};

/// The queue of a connection.
class outgoing {
 public:
  bool empty() const { return frames_.empty() && streams_.empty(); }
  /// Returns what waits in it.
  unsent_bytes const& unsent() const { return unsent_; }
  /// The sender is there.
  void add_beat() { add_frame(text_of({.kind = frame_kind::beat}), nullptr); }
  void add(parcel p);
  void add(message m) { add(parcel(std::move(m))); }
  /// Makes `b` the next messages, and the next chunk if there is one and it is asked for.
  void take(batch& b, bool with_chunk);

 private:
  struct frame {
    std::string bytes;
    std::shared_ptr<void> until_sent;
  };
  void add_frame(std::string bytes, std::shared_ptr<void> until_sent) {
    unsent_.messages += bytes.size();
    frames_.push_back({std::move(bytes), std::move(until_sent)});
  }
  void add_chunk(batch& b);

  std::deque<frame> frames_;
  std::deque<outgoing_stream> streams_;
  std::uint64_t next_ = 1;
  std::size_t long_ = 0;  // long messages that are not sent yet
  unsent_bytes unsent_;
};

inline void outgoing::add(parcel p) {
  auto first = next_;
  next_ += p.numbers_;
  auto const bytes = p.described_.size();
  if (bytes <= most_whole && long_ == 0) {  // it may not pass a long one
    auto const head = text_of(
        {.bytes = static_cast<std::uint32_t>(bytes), .kind = frame_kind::whole, .message = p.kind_, .stream = first});
    add_frame(head + p.described_, std::move(p.until_sent_));
  } else {
    std::uint64_t const announced = bytes;
    auto head = text_of({.bytes = sizeof announced, .kind = frame_kind::long_, .message = p.kind_, .stream = first});
    head.append(reinterpret_cast<char const*>(&announced), sizeof announced);
    add_frame(std::move(head), nullptr);
    unsent_.messages += bytes;
    streams_.push_back({.number = first,
                        .text = std::make_shared<std::string const>(std::move(p.described_)),
                        .is_long = true,
                        .end = bytes,
                        .until_sent = std::move(p.until_sent_)});
    ++first;  // its tensors come behind it, so they are announced before their first chunk
    ++next_;
    ++long_;
  }
  for (auto& s : p.streams_) {
    s.number += first;
    unsent_.tensors += s.end;
    streams_.push_back(std::move(s));
  }
}

inline void outgoing::take(batch& b, bool with_chunk) {
  b.clear();
  for (; !frames_.empty() && b.bytes_ < most_whole; frames_.pop_front()) {
    auto& f = frames_.front();
    auto const& bytes = b.frames_.emplace_back(std::move(f.bytes));
    b.add(bytes.data(), bytes.size());
    unsent_.messages -= bytes.size();
    if (f.until_sent) b.until_sent_.push_back(std::move(f.until_sent));
  }
  if (with_chunk && !streams_.empty()) add_chunk(b);
}

// Streams take turns. A long message goes before its tensors.
inline void outgoing::add_chunk(batch& b) {
  auto s = std::move(streams_.front());
  streams_.pop_front();
  auto const n = std::min(most_chunk, s.end - s.at);
  auto const& head = b.frames_.emplace_back(
      text_of({.bytes = static_cast<std::uint32_t>(n), .kind = frame_kind::chunk, .message = 0, .stream = s.number}));
  b.add(head.data(), head.size());
  b.add(s.bytes() + s.at, n);
  b.keeps_ = s.keeps, b.text_ = s.text;
  s.at += n;
  (s.is_long ? unsent_.messages : unsent_.tensors) -= n;
  b.is_last_ = s.at == s.end;
  if (b.is_last_) {
    long_ -= s.is_long;
    if (s.until_sent) b.until_sent_.push_back(std::move(s.until_sent));
  } else if (s.keeps) streams_.push_back(std::move(s));
  else streams_.push_front(std::move(s));
}

}  // namespace rill::net
