// Writes element types, extents, types and tensors as bytes and reads them. Sizes are checked before memory is
// allocated.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/graph/archive.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill::wire {

[[noreturn]] inline void fail(char const* why) { throw error(code::data_loss, why); }

inline void save(writer& to, dtype d) { to(static_cast<std::uint8_t>(d)); }
inline void load(reader& from, dtype& d) {
  std::uint8_t number = 0;
  from(number);
  if (number >= dtype_count) fail("unknown element type");
  d = static_cast<dtype>(number);
}

inline void save(writer& to, dim const& d) {
  to(d.extent);
  to.put(d.name, sizeof d.name);
}
inline void load(reader& from, dim& d) {
  from(d.extent);
  from.get(d.name, sizeof d.name);
  auto* const end = std::find(std::begin(d.name), std::end(d.name), '\0');
  if (end == std::end(d.name) || std::any_of(end, std::end(d.name), [](char c) { return c != '\0'; }))
    fail("an axis has a name without a terminating zero");
  if (d.extent < -1 || (d.named() && d.known())) fail("an extent is less than -1, or has a name and a number");
}

inline void save(writer& to, type const& t) {
  save(to, t.element);
  to(t.rank);
  for (std::size_t i = 0; t.has_rank() && i < t.rank; ++i) save(to, t[i]);
}
inline void load(reader& from, type& t) {
  dtype element{};
  std::uint8_t rank = 0;
  load(from, element);
  from(rank);
  t = type::of_unknown_rank(element);
  if (rank == unknown_rank) return;
  if (rank > max_rank) fail("a type's rank is higher than 8");
  t.rank = rank;
  for (std::size_t i = 0; i < rank; ++i) load(from, t[i]);
}

inline void save(writer& to, extents const& e) {
  to(e.count);
  for (auto v : e) to(v);
}
inline void load(reader& from, extents& e) {
  std::uint8_t count = 0;
  from(count);
  if (count > max_rank) fail("a list of extents is longer than 8");
  e = {};
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t v = 0;
    from(v);
    e.push_back(v);
  }
}

template <class T, class Each> void save_list(writer& to, T const& list, Each const& each) {
  to(cereal::make_size_tag(static_cast<std::uint64_t>(list.size())));
  for (auto const& v : list) each(v);
}
/// Calls `each()` as often as the list is long; each element takes at least `least` bytes.
template <class Each> void load_list(reader& from, std::size_t least, Each const& each) {
  for (auto n = from.count(least); n > 0; --n) each();
}

inline void save(writer& to, tensor const& t) {
  expects(static_cast<bool>(t), "a graph with an empty tensor handle can't be written as bytes");
  save(to, t.element());
  save(to, static_cast<extents const&>(t.shape()));
  if (t.element() != dtype::string) return to.put(t.raw(), t.bytes());
  for (auto const& s : t.span<std::string>()) to(s);
}
/// Returns the number of elements of extents that were read; throws error(data_loss) if they are out of range.
inline std::uint64_t elements_of(extents const& each) {
  try {
    return static_cast<std::uint64_t>(elements(each));
  } catch (error const& e) {
    throw error(code::data_loss, "a tensor's extents are out of range: " + e.message());
  }
}
inline void load(reader& from, tensor& t) {
  dtype element{};
  extents each;
  load(from, element);
  load(from, each);
  auto const n = elements_of(each);
  bool const strings = element == dtype::string;
  from.require(n, strings ? sizeof(std::uint64_t) : size_of(element));
  t = tensor(element, shape(each));
  if (strings)
    for (std::uint64_t i = 0; i < n; ++i) from(t.mutable_data<std::string>()[i]);
  else from.get(t.mutable_raw(), t.bytes());
  auto const* const bytes = static_cast<std::uint8_t const*>(t.raw());
  if (element == dtype::boolean && std::any_of(bytes, bytes + n, [](std::uint8_t b) { return b > 1; }))
    fail("a bool is neither 0 nor 1");
}

}  // namespace rill::wire
