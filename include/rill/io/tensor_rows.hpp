// The rows of an array in an IDX or .npy file as records, read one by one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rill/io/bytes.hpp"
#include "rill/io/idx.hpp"
#include "rill/io/npy.hpp"
#include "rill/io/record_stream.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

namespace records {

/// The layout of a file's array: `rows` rows of a type, `width` bytes each, from byte `start` on.
struct row_layout {
  type row;
  std::uint64_t rows = 0, width = 0, start = 0;
  std::function<tensor(std::string_view)> decode;
};

shape row_shape(shape const& all);

row_layout idx_layout(byte_stream& from);

row_layout npy_layout(byte_stream& from);

}  // namespace records

/// Reads the rows of an array; created by `idx_rows` and `npy_rows`. Throws error(data_loss), with the position, if the
/// size of the file contradicts its header.
class tensor_row_reader : public record_stream {
 public:
  /// Reads from a stream, whose header `header` parses.
  tensor_row_reader(byte_stream from, std::function<records::row_layout(byte_stream&)> const& header);

  /// Returns the type of each row.
  type const& row_type() const { return layout_.row; }
  std::uint64_t rows() const { return layout_.rows; }

  /// Returns the next row; empty at the end.
  std::optional<tensor> next();

  /// Moves to a position that `position` returned; throws error(invalid_argument) for a position of another file.
  void seek(record_position to);

 private:
  std::uint64_t end() const { return layout_.start + layout_.rows * layout_.width; }

  records::row_layout layout_;
};

/// Reads the rows of an IDX file, compressed or not: for MNIST, an image or a label each.
inline tensor_row_reader idx_rows(byte_stream from) { return {std::move(from), records::idx_layout}; }
inline tensor_row_reader idx_rows(std::filesystem::path const& path) { return idx_rows(byte_stream(path)); }

/// Reads the rows of a .npy file; throws error(unimplemented) for arrays in Fortran order.
inline tensor_row_reader npy_rows(byte_stream from) { return {std::move(from), records::npy_layout}; }
inline tensor_row_reader npy_rows(std::filesystem::path const& path) { return npy_rows(byte_stream(path)); }

#if RILL_IO_RUNTIME

namespace records {

RILL_IO_INLINE shape row_shape(shape const& all) {
  if (all.rank() == 0) throw error(code::invalid_argument, "the file has a scalar, which has no rows");
  shape row;
  for (std::size_t axis = 1; axis < all.rank(); ++axis) row.push_back(all[axis]);
  return row;
}

RILL_IO_INLINE row_layout idx_layout(byte_stream& from) {
  std::string start;
  from.append(start, idx::longest_header);
  idx::header const h(start);
  auto const row = row_shape(h.shape);
  auto const width = static_cast<std::uint64_t>(elements(row)) * size_of(h.element);
  auto decode = [element = h.element, row](std::string_view bytes) {
    tensor t(element, row);
    if (!bytes.empty()) std::memcpy(t.mutable_raw(), bytes.data(), bytes.size());
    reverse_bytes(t.mutable_raw(), static_cast<std::size_t>(t.elements()), size_of(element));
    return t;
  };
  return {type(h.element, row), static_cast<std::uint64_t>(h.shape[0]), width, h.length, decode};
}

RILL_IO_INLINE row_layout npy_layout(byte_stream& from) {
  constexpr std::uint64_t longest_header = 1 << 20;
  std::string start;
  if (from.append(start, 12) == 12) {
    auto const length = start[6] == 1 ? load_little<std::uint16_t>(&start[8]) : load_little<std::uint32_t>(&start[8]);
    if (length > longest_header)
      throw error(code::data_loss, "the header of a .npy file claims to be longer than 1 MiB");
    from.append(start, length);
  }
  std::string_view rest(start);
  auto const h = npy::take_header(rest);
  if (h.fortran && h.shape.rank() > 1)
    throw error(code::unimplemented, "the rows of an array in Fortran order are not contiguous: read the whole array");
  auto const row = row_shape(h.shape);
  auto const width = checked_product(elements(row), static_cast<std::int64_t>(h.layout.width));
  checked_product(h.shape[0], width);
  if (h.layout.width == 0 && elements(row) != 0)
    throw error(code::data_loss, "a .npy file claims to have strings of width 0");
  auto decode = [layout = h.layout, row](std::string_view bytes) { return npy::read_elements(bytes, layout, row); };
  return {type(h.layout.element, row), static_cast<std::uint64_t>(h.shape[0]), static_cast<std::uint64_t>(width),
          start.size() - rest.size(), decode};
}

}  // namespace records

RILL_IO_INLINE tensor_row_reader::tensor_row_reader(byte_stream from,
                                                    std::function<records::row_layout(byte_stream&)> const& header) try
    : record_stream(std::move(from)), layout_(files::naming(name(), [&] { return header(from_); })) {
  files::naming(name(), [&] {
    records::check_length(layout_.width, max_record_bytes);
    if (auto const size = from_.size(); size && *size != end())
      throw error(code::data_loss,
                  "it has " + std::to_string(*size) + " bytes, but its header gives " + std::to_string(end()));
  });
  at_.byte = layout_.start;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<tensor> tensor_row_reader::next() try {
  return take_record([&]() -> std::optional<tensor> {
    if (at_.record == layout_.rows) {
      if (!from_.ready().empty()) throw error(code::data_loss, "there are other bytes after the last row");
      return std::nullopt;
    }
    std::string bytes;
    if (from_.append(bytes, layout_.width) != layout_.width)
      throw error(code::data_loss, "the file ends within a row, after " + std::to_string(bytes.size()) + " of " +
                                       std::to_string(layout_.width) + " bytes");
    return layout_.decode(bytes);
  });
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void tensor_row_reader::seek(record_position to) {
  expects(to.record <= layout_.rows && to.byte == layout_.start + to.record * layout_.width,
          "no row of this file begins at the given position: take it from a reader of the same file");
  record_stream::seek(to);
}

#endif

}  // namespace rill
