// Writes zip archives: members uncompressed, large ones as Zip64.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/io/bytes.hpp"
#include "rill/io/crc32.hpp"
#include "rill/io/zip.hpp"

namespace rill::zip {

/// Writes an archive to a callable that takes a string_view. Numbers from `limit` on are written in Zip64's 64 bits;
/// 2^32 - 1 is the format's own limit.
template <class Sink> class writer {
 public:
  explicit writer(Sink sink, std::uint32_t limit = full) : sink_(std::move(sink)), limit_(limit) {}

  /// Adds a member, given in two pieces to avoid joining them.
  void add(std::string const& name, std::string_view head, std::string_view body) {
    check_name(name);
    expects(name.size() <= 0xffff, "the name of a zip member is longer than 65,535 bytes");
    entry const e{name, crc32(body, crc32(head)), head.size() + body.size()};
    bool const large = e.size >= limit_, far = at_ >= limit_;
    std::vector<std::uint64_t> wide;
    if (large) wide = {e.size, e.size};
    auto const local = "PK\3\4" + described(e, large, wide) + name + extra(wide);
    if (far) wide.push_back(at_);
    directory_ += "PK\1\2-" + std::string(1, '\0') + described(e, large, wide) + std::string(10, '\0');
    append_little(directory_, far ? full : static_cast<std::uint32_t>(at_));
    directory_ += name + extra(wide);
    for (auto piece : {std::string_view(local), head, body}) put(piece);
    ++count_;
  }

  /// Writes the directory; nothing may be added afterwards.
  void finish() {
    auto const start = at_;
    put(directory_);
    std::uint64_t const most = std::max<std::uint64_t>({start, directory_.size()});
    if (most >= limit_ || count_ >= std::min<std::uint64_t>(limit_, 0xffff)) put(large_end(start));
    std::string end = "PK\5\6" + std::string(4, '\0');
    for (int twice = 0; twice < 2; ++twice)
      append_little(end, static_cast<std::uint16_t>(std::min<std::uint64_t>(count_, 0xffff)));
    append_little(end, static_cast<std::uint32_t>(std::min<std::uint64_t>(directory_.size(), full)));
    append_little(end, static_cast<std::uint32_t>(std::min<std::uint64_t>(start, full)));
    put(end + std::string(2, '\0'));
  }

 private:
  struct entry {
    std::string const& name;
    std::uint32_t checksum;
    std::uint64_t size;
  };

  /// Returns the fields that a member's header shares with its directory entry: version 4.5, a UTF-8 name, stored, and
  /// the format's first date, so that the same tensors give the same bytes.
  static std::string described(entry const& e, bool large, std::vector<std::uint64_t> const& wide) {
    std::string s;
    for (int field : {45, 0x800, 0, 0, 0x21}) append_little(s, static_cast<std::uint16_t>(field));
    append_little(s, e.checksum);
    for (int twice = 0; twice < 2; ++twice) append_little(s, large ? full : static_cast<std::uint32_t>(e.size));
    append_little(s, static_cast<std::uint16_t>(e.name.size()));
    append_little(s, static_cast<std::uint16_t>(wide.empty() ? 0 : 4 + 8 * wide.size()));
    return s;
  }
  static std::string extra(std::vector<std::uint64_t> const& wide) {
    if (wide.empty()) return {};
    std::string s;
    append_little(s, std::uint16_t{1});
    append_little(s, static_cast<std::uint16_t>(8 * wide.size()));
    for (auto n : wide) append_little(s, n);
    return s;
  }
  /// Returns Zip64's end record, and the locator that points to it.
  std::string large_end(std::uint64_t start) const {
    std::string s = "PK\6\6";
    append_little(s, std::uint64_t{44});
    for (std::uint16_t version : {std::uint16_t{45}, std::uint16_t{45}}) append_little(s, version);
    append_little(s, std::uint64_t{0});
    for (std::uint64_t n : {count_, count_, std::uint64_t{directory_.size()}, start}) append_little(s, n);
    s += "PK\6\7" + std::string(4, '\0');
    append_little(s, at_);
    append_little(s, std::uint32_t{1});
    return s;
  }
  void put(std::string_view bytes) {
    sink_(bytes);
    at_ += bytes.size();
  }

  Sink sink_;
  std::uint32_t limit_;
  std::string directory_;
  std::uint64_t at_ = 0, count_ = 0;
};

}  // namespace rill::zip
