// NumPy's .npz archives of named arrays: zip files with a .npy file for each array.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/io/file.hpp"
#include "rill/io/named_tensor.hpp"

#if RILL_IO_RUNTIME
#include "rill/io/npy.hpp"
#include "rill/io/zip.hpp"
#include "rill/io/zip_writer.hpp"
#endif

namespace rill {

/// Parses the bytes of a .npz file to its arrays, in the file's order. Throws as `parse_npy`, naming the array,
/// error(data_loss) for a damaged archive, and error(resource_exhausted) if the arrays decompress to more than `most`
/// bytes.
std::vector<named_tensor> parse_npz(std::string_view bytes, std::uint64_t most = max_file_bytes);

/// Reads the arrays of a .npz file of at most `most` bytes, compressed and decompressed.
std::vector<named_tensor> read_npz(std::filesystem::path const& path, std::uint64_t most = max_file_bytes);

/// Returns tensors as the bytes of an uncompressed .npz file. The same tensors give the same bytes.
std::string npz_bytes(std::span<named_tensor const> tensors);

/// Writes a .npz file, which appears whole or not at all.
void write_npz(std::filesystem::path const& path, std::span<named_tensor const> tensors);

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::vector<named_tensor> parse_npz(std::string_view bytes, std::uint64_t most) try {
  auto const members = zip::members(bytes);
  std::uint64_t left = most;
  for (auto const& m : members) {
    if (!m.name.ends_with(".npy"))
      throw error(code::invalid_argument, "a .npz file contains '" + m.name + "', which is not a .npy file");
    if (m.size > left)
      throw error(code::resource_exhausted,
                  "a .npz file decompresses to more than the " + std::to_string(most) + " bytes allowed");
    left -= m.size;
  }
  std::vector<named_tensor> out;
  std::string room;
  for (auto const& m : members) {
    auto const name = m.name.substr(0, m.name.size() - 4);
    try {
      out.push_back({name, parse_npy(zip::contents(m, room))});
    } catch (error const& e) {
      throw error(e.kind(), "array '" + name + "': " + e.message());
    }
  }
  return out;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::vector<named_tensor> read_npz(std::filesystem::path const& path, std::uint64_t most) try {
  auto const bytes = read_file(path, most);
  return files::naming(path, [&] { return parse_npz(bytes, most); });
} catch (...) {
  rethrow_as_error();
}

namespace npy {

template <class Sink> void write_archive(std::span<named_tensor const> tensors, Sink sink) {
  check_names(tensors);
  zip::writer<Sink> archive(std::move(sink));
  for (auto const& [name, value] : tensors) {
    pieces const p(value);
    archive.add(name + ".npy", p.head, p.elements);
  }
  archive.finish();
}

}  // namespace npy

RILL_IO_INLINE std::string npz_bytes(std::span<named_tensor const> tensors) try {
  std::string bytes;
  npy::write_archive(tensors, [&](std::string_view piece) { bytes += piece; });
  return bytes;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void write_npz(std::filesystem::path const& path, std::span<named_tensor const> tensors) try {
  output_file file(path);
  npy::write_archive(tensors, [&](std::string_view piece) { file.write(piece); });
  file.commit();
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
