// A queue's elements as a checkpoint's named tensors: for each component, the concatenated extents and bytes of its
// elements.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/io/named_tensor.hpp"
#include "rill/state/queue.hpp"

namespace rill {

/// Returns the name of a queue's tensor in a checkpoint. Its prefix "queue:" occurs in no variable's name.
std::string saved_queue_name(std::string const& queue, std::string_view what);

namespace detail {

/// Appends the bytes of an element's component, and for strings their lengths.
void append_bytes(std::string& bytes, std::vector<std::int64_t>& lengths, tensor const& part);

tensor as_tensor(std::vector<std::int64_t> const& v);
tensor as_tensor(std::string const& bytes);

[[noreturn]] void refuse_queue(std::string const& queue, std::string const& why);

/// Reads one component of all elements from three lists, and checks every number in them.
class saved_component {
 public:
  saved_component(std::string queue, type const& of, tensor extents, tensor lengths, tensor bytes);

  tensor next();
  bool at_end() const;

 private:
  static std::size_t size(tensor const& t) { return static_cast<std::size_t>(t.elements()); }
  std::uint64_t left() const;
  std::span<std::int64_t const> take(std::size_t n);
  std::string_view bytes(std::uint64_t n);
  void fill(tensor& t, std::size_t count);

  std::string queue_;
  type of_;
  tensor extents_, lengths_, bytes_;
  std::size_t extent_ = 0, length_ = 0, byte_ = 0;
};

}  // namespace detail

/// Returns a queue's elements as named tensors.
std::vector<named_tensor> saved_queue(std::string const& queue, queue_description const& o, queue_contents const& c);

/// Returns the elements that `saved_queue` wrote; `read` returns the tensor with a given name. Throws
/// error(invalid_argument) if the tensors are damaged or belong to a queue of other components.
queue_contents restored_queue(std::string const& queue, queue_description const& o,
                              std::function<tensor(std::string const&)> const& read);

#if RILL_RUNTIME

RILL_INLINE std::string saved_queue_name(std::string const& queue, std::string_view what) {
  return "queue:" + queue + "/" + std::string(what);
}

namespace detail {

RILL_INLINE void append_bytes(std::string& bytes, std::vector<std::int64_t>& lengths, tensor const& part) {
  if (part.element() != dtype::string) {
    bytes.append(static_cast<char const*>(part.raw()), part.bytes());
    return;
  }
  for (auto const& s : part.span<std::string>()) bytes += s, lengths.push_back(static_cast<std::int64_t>(s.size()));
}

RILL_INLINE tensor as_tensor(std::vector<std::int64_t> const& v) {
  tensor t(dtype::int64, {static_cast<std::int64_t>(v.size())});
  std::copy(v.begin(), v.end(), t.mutable_data<std::int64_t>());
  return t;
}

RILL_INLINE tensor as_tensor(std::string const& bytes) {
  tensor t(dtype::uint8, {static_cast<std::int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(t.mutable_raw(), bytes.data(), bytes.size());
  return t;
}

RILL_INLINE void refuse_queue(std::string const& queue, std::string const& why) {
  throw error(code::invalid_argument, "the checkpoint's queue '" + queue + "' " + why);
}

RILL_INLINE saved_component::saved_component(std::string queue, type const& of, tensor extents, tensor lengths,
                                             tensor bytes)
    : queue_(std::move(queue)),
      of_(of),
      extents_(std::move(extents)),
      lengths_(std::move(lengths)),
      bytes_(std::move(bytes)) {
  if (extents_.element() != dtype::int64 || lengths_.element() != dtype::int64 || bytes_.element() != dtype::uint8 ||
      lengths_.rank() != 1 || bytes_.rank() != 1)
    refuse_queue(queue_, "has tensors of the wrong types: expected int64, int64 and uint8, got " +
                             std::string(name(extents_.element())) + ", " + std::string(name(lengths_.element())) +
                             " and " + std::string(name(bytes_.element())));
}

RILL_INLINE tensor saved_component::next() {
  shape s;
  auto const rank = take(1)[0];
  if (rank < 0 || rank > static_cast<std::int64_t>(max_rank))
    refuse_queue(queue_,
                 "has an element of rank " + std::to_string(rank) + ": expected 0 to " + std::to_string(max_rank));
  auto const wide = of_.element == dtype::string ? 1 : size_of(of_.element);
  std::uint64_t count = 1;
  for (auto const e : take(static_cast<std::size_t>(rank))) {
    auto const room =
        static_cast<std::uint64_t>(of_.element == dtype::string ? lengths_.elements() : bytes_.elements());
    if (e < 0 || static_cast<std::uint64_t>(e) > INT64_MAX / (count + 1))
      refuse_queue(queue_, "has an element with an extent of " + std::to_string(e) + ", which no tensor has");
    count *= static_cast<std::uint64_t>(e);
    if (count > room / wide) refuse_queue(queue_, "is truncated");
    s.push_back(e);
  }
  if (count > left() / wide) refuse_queue(queue_, "is truncated");
  tensor t(of_.element, s);
  fill(t, static_cast<std::size_t>(count));
  return t;
}

RILL_INLINE bool saved_component::at_end() const {
  return extent_ == static_cast<std::size_t>(extents_.elements()) && length_ == size(lengths_) && byte_ == size(bytes_);
}

RILL_INLINE std::uint64_t saved_component::left() const {
  return of_.element == dtype::string ? size(lengths_) - length_ : size(bytes_) - byte_;
}

RILL_INLINE std::span<std::int64_t const> saved_component::take(std::size_t n) {
  if (n > size(extents_) - extent_) refuse_queue(queue_, "is truncated");
  return extents_.span<std::int64_t>().subspan(std::exchange(extent_, extent_ + n), n);
}

RILL_INLINE std::string_view saved_component::bytes(std::uint64_t n) {
  if (n > size(bytes_) - byte_) refuse_queue(queue_, "is truncated");
  return {static_cast<char const*>(bytes_.raw()) + std::exchange(byte_, byte_ + n), static_cast<std::size_t>(n)};
}

RILL_INLINE void saved_component::fill(tensor& t, std::size_t count) {
  if (of_.element == dtype::string) {
    auto* to = t.mutable_data<std::string>();
    for (std::size_t i = 0; i < count; ++i) {
      auto const length = lengths_.span<std::int64_t>()[length_++];
      if (length < 0) refuse_queue(queue_, "has a string of negative length");
      to[i] = bytes(static_cast<std::uint64_t>(length));
    }
    return;
  }
  auto const from = bytes(t.bytes());
  if (of_.element == dtype::boolean && from.find_first_not_of(std::string_view("\0\1", 2)) != from.npos)
    refuse_queue(queue_, "has bools that are neither 0 nor 1");
  if (!from.empty()) std::memcpy(t.mutable_raw(), from.data(), from.size());
}

}  // namespace detail

RILL_INLINE std::vector<named_tensor> saved_queue(std::string const& queue, queue_description const& o,
                                                  queue_contents const& c) {
  std::vector<named_tensor> all{
      {saved_queue_name(queue, "counts"), detail::as_tensor(std::vector{static_cast<std::int64_t>(c.elements.size()),
                                                                        static_cast<std::int64_t>(c.draws)})}};
  for (std::size_t i = 0; i < o.components.size(); ++i) {
    std::vector<std::int64_t> extents, lengths;
    std::string bytes;
    for (auto const& parts : c.elements) {
      auto const& s = parts[i].shape();
      extents.push_back(static_cast<std::int64_t>(s.count));
      for (std::size_t k = 0; k < s.count; ++k) extents.push_back(s[k]);
      detail::append_bytes(bytes, lengths, parts[i]);
    }
    auto const which = std::to_string(i) + "/" + std::string(name(o.components[i].element)) + "/";
    all.push_back({saved_queue_name(queue, which + "extents"), detail::as_tensor(extents)});
    all.push_back({saved_queue_name(queue, which + "lengths"), detail::as_tensor(lengths)});
    all.push_back({saved_queue_name(queue, which + "bytes"), detail::as_tensor(bytes)});
  }
  return all;
}

RILL_INLINE queue_contents restored_queue(std::string const& queue, queue_description const& o,
                                          std::function<tensor(std::string const&)> const& read) {
  auto const counts = read(saved_queue_name(queue, "counts"));
  if (counts.type() != type(dtype::int64, {2}) || counts.at<std::int64_t>(0) < 0 || counts.at<std::int64_t>(1) < 0)
    detail::refuse_queue(queue, "has damaged counts: expected two, from 0 on");
  std::vector<detail::saved_component> components;
  for (std::size_t i = 0; i < o.components.size(); ++i) {
    auto const which = std::to_string(i) + "/" + std::string(name(o.components[i].element)) + "/";
    auto const part = [&](char const* what) { return read(saved_queue_name(queue, which + what)); };
    components.emplace_back(queue, o.components[i], part("extents"), part("lengths"), part("bytes"));
  }
  queue_contents c{{}, static_cast<std::uint64_t>(counts.at<std::int64_t>(1))};
  for (std::int64_t n = counts.at<std::int64_t>(0); n > 0; --n) {
    auto& parts = c.elements.emplace_back();
    for (std::size_t i = 0; i < components.size(); ++i) {
      parts.push_back(components[i].next());
      if (!accepts(o.components[i], parts.back().type()))
        detail::refuse_queue(queue, "has " + with_article(parts.back().type()) + " as component " + std::to_string(i) +
                                        "; the queue expects " + with_article(o.components[i]));
    }
  }
  for (auto const& each : components)
    if (!each.at_end()) detail::refuse_queue(queue, "has bytes after its last element");
  return c;
}

#endif

}  // namespace rill
