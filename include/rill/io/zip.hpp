// Reads zip archives: members stored or deflated, Zip64 included, with every claim of the file checked.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/io/bytes.hpp"
#include "rill/io/gzip.hpp"

#if RILL_IO_RUNTIME
#include "rill/io/crc32.hpp"
#endif

namespace rill::zip {

inline constexpr std::uint16_t stored = 0, deflated = 8;
inline constexpr std::uint32_t full = 0xffffffff;  ///< in a 32-bit field: the number is in the Zip64 record

/// A member of an archive.
struct member {
  std::string name;
  std::uint16_t method = stored;
  std::uint32_t checksum = 0;
  std::uint64_t size = 0;    ///< bytes after decompression
  std::uint64_t offset = 0;  ///< position of its local header
  std::string_view bytes;    ///< the bytes in the archive
};

[[noreturn]] void fail(std::string const& why);

/// Returns a range of the archive; throws error(data_loss) if it lies outside.
std::string_view part(std::string_view archive, std::uint64_t offset, std::uint64_t length, char const* what);

/// Throws for names with absolute paths, "..", backslashes or zeros. rill never uses names as paths, but other programs
/// that unpack the archive may.
void check_name(std::string_view name);

/// The directory of an archive, which lists its members.
struct directory {
  std::uint64_t offset = 0, length = 0, count = 0;
};

directory large_directory(std::string_view archive, std::string_view locator, std::uint64_t locator_at);

/// Finds the directory through the end record, searched from the back because a comment may follow it.
directory find_directory(std::string_view archive);

/// Reads the numbers that don't fit 32 bits from the extra fields of a directory entry.
void read_large_numbers(std::string_view extra, std::initializer_list<std::uint64_t*> fields);

/// Finds the bytes of a member after its local header, which must have the same name and method.
void find_bytes(std::string_view archive, member& m, std::uint64_t length);

/// Removes the first entry from the directory `rest` and returns it.
member take_entry(std::string_view archive, std::string_view& rest);

/// Throws if members overlap each other or the directory, or two have the same name.
void check_members(std::string_view archive, std::vector<member> const& members, std::uint64_t directory_at);

/// Returns the members of an archive, whose bytes must outlive them.
std::vector<member> members(std::string_view archive);

/// Returns the bytes of a member, decompressed into `room` if necessary, after checking their checksum.
std::string_view contents(member const& m, std::string& room);

#if RILL_IO_RUNTIME

RILL_IO_INLINE void fail(std::string const& why) { throw error(code::data_loss, "a zip archive is damaged: " + why); }

RILL_IO_INLINE std::string_view part(std::string_view archive, std::uint64_t offset, std::uint64_t length,
                                     char const* what) {
  if (offset > archive.size() || length > archive.size() - offset) fail(std::string(what) + " lies outside of it");
  return archive.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

RILL_IO_INLINE void check_name(std::string_view name) {
  bool ok = !name.empty() && name[0] != '/' && name.find('\\') == name.npos && name.find('\0') == name.npos;
  for (std::size_t from = 0; ok && from <= name.size();) {
    auto const end = std::min(name.find('/', from), name.size());
    ok = name.substr(from, end - from) != "..";
    from = end + 1;
  }
  if (!ok)
    throw error(code::invalid_argument,
                "a zip archive can't contain the name '" + std::string(name) + "': use a relative path without '..'");
}

RILL_IO_INLINE directory large_directory(std::string_view archive, std::string_view locator, std::uint64_t locator_at) {
  auto const at = load_little<std::uint64_t>(&locator[8]);
  auto const end = part(archive, at, 56, "the Zip64 end record");
  if (load_little<std::uint32_t>(&end[0]) != 0x06064b50 || at + 12 + load_little<std::uint64_t>(&end[4]) != locator_at)
    fail("its Zip64 end record is in the wrong place");
  directory const d{load_little<std::uint64_t>(&end[48]), load_little<std::uint64_t>(&end[40]),
                    load_little<std::uint64_t>(&end[32])};
  if (d.offset > at || d.length != at - d.offset) fail("its directory doesn't end where the end record begins");
  return d;
}

RILL_IO_INLINE directory find_directory(std::string_view archive) {
  auto at = archive.rfind("PK\5\6");
  while (at != archive.npos &&
         (archive.size() - at < 22 || archive.size() - at - 22 != load_little<std::uint16_t>(&archive[at + 20])))
    at = at == 0 ? archive.npos : archive.rfind("PK\5\6", at - 1);
  if (at == archive.npos)
    throw error(code::invalid_argument, "these bytes are not a zip archive: they have no end record");
  if (at >= 20 && archive.substr(at - 20, 4) == "PK\6\7")
    return large_directory(archive, archive.substr(at - 20, 20), at - 20);
  auto const* end = &archive[at];
  directory const d{load_little<std::uint32_t>(end + 16), load_little<std::uint32_t>(end + 12),
                    load_little<std::uint16_t>(end + 10)};
  if (d.offset + d.length != at) fail("its directory doesn't end where the end record begins");
  return d;
}

RILL_IO_INLINE void read_large_numbers(std::string_view extra, std::initializer_list<std::uint64_t*> fields) {
  std::string_view large;
  while (extra.size() >= 4) {
    auto const length = load_little<std::uint16_t>(&extra[2]);
    if (length > extra.size() - 4) fail("an extra field is longer than its entry");
    if (load_little<std::uint16_t>(&extra[0]) == 1) large = extra.substr(4, length);
    extra.remove_prefix(4 + std::size_t{length});
  }
  for (auto* number : fields) {
    if (*number != full) continue;
    if (large.size() < 8) fail("a Zip64 number is missing");
    *number = load_little<std::uint64_t>(large.data());
    large.remove_prefix(8);
  }
}

RILL_IO_INLINE void find_bytes(std::string_view archive, member& m, std::uint64_t length) {
  auto const head = part(archive, m.offset, 30, "a member's header");
  auto const name = load_little<std::uint16_t>(&head[26]), extra = load_little<std::uint16_t>(&head[28]);
  if (head.substr(0, 4) != "PK\3\4" || part(archive, m.offset + 30, name, "a member's name") != m.name ||
      load_little<std::uint16_t>(&head[8]) != m.method)
    fail("the header of '" + m.name + "' contradicts the directory");
  m.bytes = part(archive, m.offset + 30 + name + extra, length, "a member");
}

RILL_IO_INLINE member take_entry(std::string_view archive, std::string_view& rest) {
  auto const entry = part(rest, 0, 46, "a directory entry");
  if (entry.substr(0, 4) != "PK\1\2") fail("a directory entry has a wrong signature");
  auto const u16 = [&](std::size_t at) { return load_little<std::uint16_t>(&entry[at]); };
  auto const u32 = [&](std::size_t at) { return load_little<std::uint32_t>(&entry[at]); };
  member m{std::string(part(rest, 46, u16(28), "a name")), u16(10), u32(16), u32(24), u32(42), {}};
  check_name(m.name);
  std::uint64_t length = u32(20);
  read_large_numbers(part(rest, 46u + u16(28), u16(30), "an extra field"), {&m.size, &length, &m.offset});
  rest = rest.substr(part(rest, 0, 46u + u16(28) + u16(30) + u16(32), "a directory entry").size());
  if ((u16(8) & 1) != 0) throw error(code::unimplemented, "the zip member '" + m.name + "' is encrypted");
  if (m.method != stored && m.method != deflated)
    throw error(code::unimplemented, "the zip member '" + m.name + "' is compressed by method " +
                                         std::to_string(m.method) + "; rill reads stored (0) and deflated (8)");
  find_bytes(archive, m, length);
  return m;
}

RILL_IO_INLINE void check_members(std::string_view archive, std::vector<member> const& members,
                                  std::uint64_t directory_at) {
  std::unordered_set<std::string_view> names;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (auto const& m : members) {
    if (!names.insert(m.name).second) fail("two members are named '" + m.name + "'");
    ranges.emplace_back(m.offset, static_cast<std::uint64_t>(m.bytes.data() - archive.data()) + m.bytes.size());
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].second > (i + 1 < ranges.size() ? ranges[i + 1].first : directory_at)) fail("its members overlap");
}

RILL_IO_INLINE std::vector<member> members(std::string_view archive) {
  auto const d = find_directory(archive);
  auto rest = part(archive, d.offset, d.length, "the directory");
  if (d.count > d.length / 46) fail("it claims more members than its directory can list");
  std::vector<member> out;
  for (std::uint64_t i = 0; i < d.count; ++i) out.push_back(take_entry(archive, rest));
  if (!rest.empty()) fail("its directory lists more members than the end record claims");
  check_members(archive, out, d.offset);
  return out;
}

RILL_IO_INLINE std::string_view contents(member const& m, std::string& room) {
  auto bytes = m.bytes;
  if (m.method == deflated) {
    if (m.size / 1032 > m.bytes.size())  // deflate encodes at most 258 bytes in two bits
      fail("'" + m.name + "' claims a larger size than its bytes can encode");
    room.resize(static_cast<std::size_t>(m.size));
    deflate::reader from(m.bytes, deflate::form::raw);
    char beyond = 0;
    if (from.read(room.data(), room.size()) != room.size() || from.read(&beyond, 1) != 0)
      fail("'" + m.name + "' doesn't decompress to the size that it claims");
    bytes = room;
  }
  if (bytes.size() != m.size) fail("'" + m.name + "' doesn't have the size that it claims");
  if (crc32(bytes) != m.checksum) fail("the checksum of '" + m.name + "' is wrong");
  return bytes;
}

#endif

}  // namespace rill::zip
