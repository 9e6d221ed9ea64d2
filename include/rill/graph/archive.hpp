// Cereal archives for untrusted bytes: a size is believed only if at least as many bytes remain.
#pragma once
#if !__has_include(<cereal/cereal.hpp>)
#error "rill: graphs as bytes need Cereal; on Debian and Ubuntu: apt-get install libcereal-dev"
#endif
#include <cereal/cereal.hpp>
#include <cereal/types/string.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "rill/base/error.hpp"
#include "rill/io/bytes.hpp"

namespace rill::wire {

/// Writes numbers as they lie in memory, the lowest byte first, and sizes as 64 bits.
class writer : public cereal::OutputArchive<writer, cereal::AllowEmptyClassElision> {
 public:
  /// `rewritten`: whether nodes are written that passes have rewritten and that are a task's share of a step.
  explicit writer(bool rewritten = false) : OutputArchive(this), rewritten_(rewritten) {}
  bool rewritten() const { return rewritten_; }
  void put(void const* from, std::size_t bytes) { bytes_.append(static_cast<char const*>(from), bytes); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  bool rewritten_;
};

/// Reads what a writer wrote. Throws error(data_loss) for bytes that end early or hold an impossible value.
class reader : public cereal::InputArchive<reader, cereal::AllowEmptyClassElision> {
 public:
  /// `rewritten`: whether the writer was told so.
  explicit reader(std::string_view bytes, bool rewritten = false)
      : InputArchive(this), rest_(bytes), rewritten_(rewritten) {}
  bool rewritten() const { return rewritten_; }

  std::size_t remaining() const { return rest_.size(); }
  void get(void* to, std::size_t bytes) {
    require(bytes, 1);
    if (bytes != 0) std::memcpy(to, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }
  /// Throws error(data_loss) if fewer bytes remain than `count` elements of at least `least` bytes take. To be called
  /// before memory is allocated for them.
  void require(std::uint64_t count, std::size_t least) const {
    if (count > rest_.size() / least)
      throw error(code::data_loss, "the bytes end early: expected " + std::to_string(count) + " elements of at least " +
                                       std::to_string(least) + " bytes, got " + std::to_string(rest_.size()) +
                                       " bytes");
  }
  /// Reads a number of elements, each of which takes at least `least` bytes.
  std::size_t count(std::size_t least) {
    std::uint64_t n = 0;
    get(&n, sizeof n);
    require(n, least);
    return static_cast<std::size_t>(n);
  }

 private:
  std::string_view rest_;
  bool rewritten_;
};

template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
void CEREAL_SAVE_FUNCTION_NAME(writer& to, T const& v) {
  to.put(&v, sizeof v);
}
template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
void CEREAL_LOAD_FUNCTION_NAME(reader& from, T& v) {
  from.get(&v, sizeof v);
}

template <std::same_as<bool> T> void CEREAL_SAVE_FUNCTION_NAME(writer& to, T const& v) {
  char const byte = v;
  to.put(&byte, 1);
}
template <std::same_as<bool> T> void CEREAL_LOAD_FUNCTION_NAME(reader& from, T& v) {
  char byte = 0;
  from.get(&byte, 1);
  if (byte != 0 && byte != 1) throw error(code::data_loss, "a bool is neither 0 nor 1");
  v = byte != 0;
}

template <class T> void CEREAL_SAVE_FUNCTION_NAME(writer& to, cereal::SizeTag<T> const& tag) {
  auto const n = static_cast<std::uint64_t>(tag.size);
  to.put(&n, sizeof n);
}
template <class T> void CEREAL_LOAD_FUNCTION_NAME(reader& from, cereal::SizeTag<T>& tag) { tag.size = from.count(1); }

template <class T> void CEREAL_SAVE_FUNCTION_NAME(writer& to, cereal::BinaryData<T> const& data) {
  to.put(data.data, static_cast<std::size_t>(data.size));
}
template <class T> void CEREAL_LOAD_FUNCTION_NAME(reader& from, cereal::BinaryData<T>& data) {
  from.get(data.data, static_cast<std::size_t>(data.size));
}

}  // namespace rill::wire

CEREAL_SETUP_ARCHIVE_TRAITS(rill::wire::reader, rill::wire::writer)
