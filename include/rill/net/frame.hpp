// The bytes on a connection: frames, each with a head of 16 bytes.
//
//   head:   bytes behind it (4) | kind of frame (1) | kind of message (1) | 0 (2) | number of a stream (8)
//
//   whole   a message: the description of its tensors, the bytes of small ones, and its body. It begins a stream for
//           each other tensor.
//   long    announces a message whose description and body are a stream of their own; its length in bytes (8)
//   chunk   the next bytes of a stream
//   beat    nothing: the sender is there
//
// Numbers lie as in memory, the lowest byte first. Chunks of several streams alternate, and messages pass between them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/graph/codec_words.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill::net {

/// What a message says (messages.hpp).
enum class message_kind : std::uint8_t {
  hello,        ///< the first message of both sides
  refused,      ///< a `hello` is not accepted, or more came than may: the connection ends, and this is why
  have_values,  ///< which of these variables have a value?
  add,          ///< compile this share of a step
  drop,         ///< forget that share
  run,          ///< run a share
  stop,         ///< end a run
  forget,       ///< a step has failed and ended everywhere
  explain,      ///< describe the plan of a share
  trim,         ///< give memory back
  pull,         ///< send me this value of a step when it is there
  give_up,      ///< don't send it
  took,         ///< values of a loop have been taken
  push,         ///< here is a value of a step
  pushed,       ///< how many more of the pushed values have been received
  answer,       ///< what was asked for
  ended,        ///< the same for a run, of which a value that was pushed may still be lost
  failed,       ///< why it is not there
  ran,          ///< nodes that have run, for an observer
  print,        ///< a line for the log of the session
  status,       ///< what a run has been doing for long
  moved,        ///< which values of a step have you sent and received?
};
inline constexpr auto message_kinds = static_cast<std::uint8_t>(message_kind::moved) + 1;

/// A message: a body, and tensors whose elements are sent as they lie in memory.
struct message {
  message_kind kind = message_kind::hello;
  std::string body = {};
  std::vector<tensor> tensors = {};
};

enum class frame_kind : std::uint8_t { whole, long_, chunk, beat };

struct frame_head {
  std::uint32_t bytes = 0;
  frame_kind kind = frame_kind::beat;
  std::uint8_t message = 0;
  std::uint16_t zero = 0;
  std::uint64_t stream = 0;
};
static_assert(sizeof(frame_head) == 16);

/// The most bytes of a `whole` frame, and of a chunk.
inline constexpr std::size_t most_whole = std::size_t{64} << 10;
inline constexpr std::size_t most_chunk = std::size_t{256} << 10;
/// The most bytes of a tensor that lies in the frame of its message. A stream of its own would take a second frame.
inline constexpr std::size_t most_inline = std::size_t{1} << 10;

/// The most tensors of a message.
inline constexpr std::size_t most_tensors = std::size_t{64} << 10;
/// The most bytes of a message besides the tensors that have streams of their own, but for `add`, which has an option.
inline constexpr std::uint64_t most_bytes_of(message_kind k) {
  switch (k) {
    case message_kind::run:
    case message_kind::answer:
    case message_kind::ended:  // with small tensors
      return std::uint64_t{64} << 20;
    case message_kind::have_values:
    case message_kind::print:
      return std::uint64_t{16} << 20;
    default:
      return std::uint64_t{1} << 20;
  }
}

/// Returns a head as bytes.
inline std::string text_of(frame_head const& h) { return {reinterpret_cast<char const*>(&h), sizeof h}; }
/// Returns the head that these 16 bytes are. Throws error(data_loss).
inline frame_head head_of(char const* bytes) {
  frame_head h;
  std::memcpy(&h, bytes, sizeof h);
  auto const kind = static_cast<std::uint8_t>(h.kind);
  if (kind > static_cast<std::uint8_t>(frame_kind::beat) || h.zero != 0 || h.message >= message_kinds)
    throw error(code::data_loss, "what came is no frame");
  auto const most = h.kind == frame_kind::whole   ? most_whole
                    : h.kind == frame_kind::chunk ? most_chunk
                    : h.kind == frame_kind::long_ ? sizeof(std::uint64_t)
                                                  : 0;
  if (h.bytes > most) throw error(code::data_loss, "a frame has more bytes than one may have");
  return h;
}

/// What is said of a tensor before its elements come.
struct tensor_note {
  dtype element = dtype::float32;
  extents each = {};
  std::uint64_t bytes = 0;  ///< of its stream: for strings, of these as text
};

/// Returns what a message's frame has behind the head. `small`: the bytes of the tensors that lie in it.
inline std::string described(std::vector<tensor_note> const& tensors, std::string_view small, std::string_view body) {
  wire::writer to;
  wire::save_list(to, tensors, [&](tensor_note const& t) {
    wire::save(to, t.element);
    wire::save(to, t.each);
    to(t.bytes);
  });
  to.put(small.data(), small.size());
  to.put(body.data(), body.size());
  return to.take();
}
/// What a message's frame has behind the head, as it was read.
struct description {
  std::vector<tensor_note> tensors = {};
  std::string_view small = {};  ///< the bytes of the tensors that lie in it, one after the other
  std::string_view body = {};
};
/// Reads that. Throws error(data_loss).
inline description read_description(std::string_view bytes) {
  wire::reader from(bytes);
  std::vector<tensor_note> tensors;
  std::uint64_t small = 0;
  wire::load_list(from, 2 + sizeof(std::uint64_t), [&] {
    auto& t = tensors.emplace_back();
    wire::load(from, t.element);
    wire::load(from, t.each);
    from(t.bytes);
    auto const n = wire::elements_of(t.each);
    bool const strings = t.element == dtype::string;
    if (n > SIZE_MAX / 64 || n > (std::uint64_t{1} << 48) ||
        (strings ? t.bytes / sizeof(std::uint64_t) < n : t.bytes != n * size_of(t.element)))
      wire::fail("a tensor has other bytes than its extents say");
    if (t.bytes <= most_inline) small += t.bytes;
  });
  if (small > from.remaining()) wire::fail("a message ends within a tensor");
  auto const rest = bytes.substr(bytes.size() - from.remaining());
  return {std::move(tensors), rest.substr(0, small), rest.substr(small)};
}

/// Returns the strings of a tensor as one text, and reads them again. Throws error(data_loss).
inline std::string joined(tensor const& strings) {
  wire::writer to;
  for (auto const& s : strings.span<std::string>()) to(s);
  return to.take();
}
inline void divide(std::string_view text, tensor& strings) {
  wire::reader from(text);
  for (auto& s : std::span(strings.mutable_data<std::string>(), static_cast<std::size_t>(strings.elements()))) from(s);
  if (from.remaining() != 0) wire::fail("more bytes follow after a tensor's strings");
}
/// Throws error(data_loss) if a bool is neither 0 nor 1.
inline void check_elements(tensor const& t) {
  if (t.element() != dtype::boolean) return;
  auto const* const bytes = static_cast<std::uint8_t const*>(t.raw());
  for (std::size_t i = 0; i < t.bytes(); ++i)
    if (bytes[i] > 1) wire::fail("a bool is neither 0 nor 1");
}

}  // namespace rill::net
