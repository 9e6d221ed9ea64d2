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
    frames_.clear(), left_.clear();
    keeps_ = {}, text_ = {};
    at_ = bytes_ = 0;
  }

 private:
  friend class outgoing;
  void add(void const* at, std::size_t n) {
    left_.emplace_back(at, n);
    bytes_ += n;
  }

  std::deque<std::string> frames_;           // which the buffers lie in, or
  tensor keeps_;                             // here,
  std::shared_ptr<std::string const> text_;  // or here
  std::vector<asio::const_buffer> left_;
  std::size_t at_ = 0, bytes_ = 0;
};

/// The queue of a connection.
class outgoing {
 public:
  bool empty() const { return frames_.empty() && streams_.empty(); }
  /// The sender is there.
  void add_beat() { frames_.push_back(text_of({.kind = frame_kind::beat})); }
  void add(message m);
  /// Makes `b` the next messages, and the next chunk if there is one and it is asked for.
  void take(batch& b, bool with_chunk);

 private:
  // What is sent in chunks: a tensor, or a text.
  struct stream {
    std::uint64_t number;
    tensor keeps = {};
    std::shared_ptr<std::string const> text = {};
    bool is_long = false;  // a long message
    std::size_t at = 0, end = 0;

    char const* bytes() const { return text ? text->data() : static_cast<char const*>(keeps.raw()); }
  };
  void add_chunk(batch& b);

  std::deque<std::string> frames_;
  std::deque<stream> streams_;
  std::uint64_t next_ = 1;
  std::size_t long_ = 0;  // long messages that are not sent yet
};

inline void outgoing::add(message m) {
  std::vector<tensor_note> notes;
  std::vector<stream> streams;
  std::string small;
  auto const first = next_;
  for (auto& t : m.tensors) {
    stream s{.number = next_++};
    auto& note = notes.emplace_back(tensor_note{.element = t.element(), .each = t.shape(), .bytes = t.bytes()});
    if (t.element() == dtype::string) {
      s.text = std::make_shared<std::string const>(joined(t));
      note.bytes = s.text->size();
    } else s.keeps = std::exchange(t, {}).to(host);  // of a device, whose addresses say nothing here
    s.end = note.bytes;
    if (s.end <= most_inline) small.append(s.bytes(), s.end);
    else streams.push_back(std::move(s));
  }
  auto described = net::described(notes, small, m.body);
  auto const kind = static_cast<std::uint8_t>(m.kind);
  if (described.size() <= most_whole && long_ == 0) {  // it may not pass a long one
    frames_.push_back(text_of({.bytes = static_cast<std::uint32_t>(described.size()),
                               .kind = frame_kind::whole,
                               .message = kind,
                               .stream = first}) +
                      described);
  } else {
    std::uint64_t const bytes = described.size();
    auto frame = text_of({.bytes = sizeof bytes, .kind = frame_kind::long_, .message = kind, .stream = first});
    frame.append(reinterpret_cast<char const*>(&bytes), sizeof bytes);
    frames_.push_back(std::move(frame));
    streams_.push_back({.number = first,
                        .text = std::make_shared<std::string const>(std::move(described)),
                        .is_long = true,
                        .end = bytes});
    for (auto& s : streams) ++s.number;  // its tensors come behind it, so they are announced before their first chunk
    ++next_;
    ++long_;
  }
  for (auto& s : streams) streams_.push_back(std::move(s));
}

inline void outgoing::take(batch& b, bool with_chunk) {
  b.clear();
  for (; !frames_.empty() && b.bytes_ < most_whole; frames_.pop_front()) {
    auto const& frame = b.frames_.emplace_back(std::move(frames_.front()));
    b.add(frame.data(), frame.size());
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
  if (s.at == s.end) long_ -= s.is_long;
  else if (s.keeps) streams_.push_back(std::move(s));
  else streams_.push_front(std::move(s));
}

}  // namespace rill::net
