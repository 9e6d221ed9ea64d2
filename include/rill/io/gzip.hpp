// gzip and deflate through zlib, with a bound on the decompressed size.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/io/file.hpp"
#if __has_include(<zlib.h>)
#include <zlib.h>
#endif

namespace rill {

/// Whether `bytes` begin with gzip's magic number.
inline bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

namespace deflate {

enum class form { raw = -15, gzip = 31 };  // zlib's values of windowBits

#if __has_include(<zlib.h>)

[[noreturn]] void fail(std::string const& why);

/// A source of compressed bytes: each call returns a piece, valid until the next call; an empty piece is the end.
using pieces = std::function<std::string_view()>;

/// Decompresses piece by piece; allocates nothing for bytes that were not asked for.
class reader {
 public:
  reader(std::string_view from, deflate::form f);
  reader(deflate::pieces from, deflate::form f);
  reader(reader const&) = delete;
  reader& operator=(reader const&) = delete;
  ~reader() { inflateEnd(&stream_); }

  /// Decompresses `n` bytes into `to` and returns their number, which is smaller only at the end; throws
  /// error(data_loss).
  std::size_t read(char* to, std::size_t n);
  /// The same, but may return fewer bytes: at least one, or none at the end. Valid bytes before damaged ones are
  /// returned; the next call throws.
  std::size_t read_some(char* to, std::size_t n);

 private:
  static constexpr std::size_t piece = std::size_t{1} << 30;  // zlib counts in 32 bits

  std::size_t step(char* to, std::size_t n);
  /// A gzip file may consist of several members, one after the other.
  void end_member();

  /// If a piece ends after the first byte of the magic number, zlib checks the second.
  static bool begins_as_gzip(std::string_view piece_of) { return is_gzip(piece_of) || piece_of == "\x1f"; }

  std::string_view rest_;
  deflate::pieces more_;
  deflate::form form_;
  bool ended_ = false;
  z_stream stream_{};
};

/// Compresses piece by piece; the output is appended to a string, which the caller may empty between calls.
class writer {
 public:
  explicit writer(form f);
  writer(writer const&) = delete;
  writer& operator=(writer const&) = delete;
  ~writer() { deflateEnd(&stream_); }

  /// Compresses `bytes` and appends output to `to`; all remaining output if this is the `last` call.
  void write(std::string_view bytes, std::string& to, bool last);

 private:
  z_stream stream_{};
};

/// Compresses `bytes`.
std::string compress(std::string_view bytes, form f);

#else

[[noreturn]] inline void missing() {
  throw error(code::unimplemented, "this program was compiled without zlib: install zlib's headers and rebuild");
}
using pieces = std::function<std::string_view()>;
struct reader {
  reader(std::string_view, form) { missing(); }
  reader(deflate::pieces, form) { missing(); }
  std::size_t read(char*, std::size_t) { missing(); }
  std::size_t read_some(char*, std::size_t) { missing(); }
};
struct writer {
  explicit writer(form) { missing(); }
  void write(std::string_view, std::string&, bool) { missing(); }
};
inline std::string compress(std::string_view, form) { missing(); }

#endif

}  // namespace deflate

/// Decompresses a gzip file. Throws error(resource_exhausted) if the result has more than `most` bytes,
/// error(data_loss) if the data is damaged, and error(unimplemented) in a program that was compiled without zlib.
std::string gunzip(std::string_view bytes, std::uint64_t most = max_file_bytes);

/// Decompresses the first `count` bytes of a gzip file, or all if there are fewer.
std::string gunzip_start(std::string_view bytes, std::size_t count);

/// Compresses `bytes` to a gzip file; the same bytes give the same file.
std::string gzip(std::string_view bytes);

#if RILL_IO_RUNTIME

namespace deflate {

RILL_IO_INLINE void fail(std::string const& why) { throw error(code::data_loss, "compressed data is damaged: " + why); }

RILL_IO_INLINE reader::reader(std::string_view from, deflate::form f) : reader([] { return std::string_view(); }, f) {
  rest_ = from;
}

RILL_IO_INLINE reader::reader(deflate::pieces from, deflate::form f) : more_(std::move(from)), form_(f) {
  if (inflateInit2(&stream_, static_cast<int>(f)) != Z_OK)
    throw error(code::resource_exhausted, "zlib has no memory to decompress");
}

RILL_IO_INLINE std::size_t reader::read(char* to, std::size_t n) {
  auto const wanted = n;
  while (n > 0 && !ended_) {
    auto const written = step(to, n);
    to += written, n -= written;
  }
  return wanted - n;
}

RILL_IO_INLINE std::size_t reader::read_some(char* to, std::size_t n) {
  std::size_t written = 0;
  while (written == 0 && !ended_) written = step(to, n);
  return written;
}

RILL_IO_INLINE std::size_t reader::step(char* to, std::size_t n) {
  if (rest_.empty()) rest_ = more_();
  auto const in = static_cast<uInt>(std::min(rest_.size(), piece)), out = static_cast<uInt>(std::min(n, piece));
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
  stream_.avail_in = in;
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = out;
  int const result = inflate(&stream_, Z_NO_FLUSH);
  rest_.remove_prefix(in - stream_.avail_in);
  auto const written = out - stream_.avail_out;
  if (written > 0 && result != Z_OK && result != Z_STREAM_END) return written;  // zlib repeats the error
  if (result == Z_MEM_ERROR) throw error(code::resource_exhausted, "zlib has no memory to decompress");
  if (result == Z_BUF_ERROR) fail("it ends too early");
  if (result != Z_OK && result != Z_STREAM_END) fail(stream_.msg != nullptr ? stream_.msg : "zlib gives no reason");
  if (result == Z_STREAM_END) end_member();
  return written;
}

RILL_IO_INLINE void reader::end_member() {
  if (rest_.empty()) rest_ = more_();
  ended_ = rest_.empty();
  if (ended_) return;
  if (form_ != form::gzip || !begins_as_gzip(rest_)) fail("other bytes follow its end");
  inflateReset(&stream_);
}

RILL_IO_INLINE writer::writer(form f) {
  if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, static_cast<int>(f), 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw error(code::resource_exhausted, "zlib has no memory to compress");
}

RILL_IO_INLINE void writer::write(std::string_view bytes, std::string& to, bool last) {
  char block[1 << 15];
  int result = Z_OK;
  do {
    auto const in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), 1u << 30));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = in;
    stream_.next_out = reinterpret_cast<Bytef*>(block);
    stream_.avail_out = sizeof block;
    result = ::deflate(&stream_, last && in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    // Z_BUF_ERROR only means that there was nothing to do.
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      throw error(code::internal, "zlib failed to compress");
    bytes.remove_prefix(in - stream_.avail_in);
    to.append(block, sizeof block - stream_.avail_out);
  } while (last ? result != Z_STREAM_END : !bytes.empty() || stream_.avail_out == 0);
}

RILL_IO_INLINE std::string compress(std::string_view bytes, form f) {
  std::string out;
  writer(f).write(bytes, out, true);
  return out;
}

}  // namespace deflate

RILL_IO_INLINE std::string gunzip(std::string_view bytes, std::uint64_t most) try {
  deflate::reader from(bytes, deflate::form::gzip);
  std::string out;
  for (std::size_t filled = 0;;) {
    out.resize(std::max<std::size_t>(4096, filled + filled / 2));
    filled += from.read(&out[filled], out.size() - filled);
    if (filled > most)
      throw error(code::resource_exhausted, "gzip data decompresses to more than the " + std::to_string(most) +
                                                " bytes allowed: raise the bound if the data is trusted");
    if (filled == out.size()) continue;
    out.resize(filled);
    return out;
  }
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::string gunzip_start(std::string_view bytes, std::size_t count) try {
  std::string out(count, '\0');
  out.resize(deflate::reader(bytes, deflate::form::gzip).read(out.data(), count));
  return out;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::string gzip(std::string_view bytes) try {
  return deflate::compress(bytes, deflate::form::gzip);
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
