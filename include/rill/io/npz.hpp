// NumPy's archives of named arrays: a zip file with a .npy file for each.
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

/// The arrays that the bytes of a .npz file hold, in the file's order. Throws as `parse_npy`, naming the array;
/// error(data_loss) for a damaged archive, error(resource_exhausted) if all would expand to more than `most` bytes.
std::vector<named_tensor> parse_npz(std::string_view bytes, std::uint64_t most = most_file_bytes);

/// The arrays in a .npz file of at most `most` bytes, compressed or expanded.
std::vector<named_tensor> read_npz(std::filesystem::path const& path, std::uint64_t most = most_file_bytes);

/// Tensors as the bytes of a .npz file, not compressed. The same tensors give the same bytes.
std::string npz_bytes(std::span<named_tensor const> tensors);

/// Writes a .npz file, which appears whole or not at all.
void write_npz(std::filesystem::path const& path, std::span<named_tensor const> tensors);

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::vector<named_tensor> parse_npz(std::string_view bytes, std::uint64_t most) {
  auto const members = zip::members(bytes);
  std::uint64_t left = most;
  for (auto const& m : members) {
    if (!m.name.ends_with(".npy"))
      throw error(code::invalid_argument, "the archive holds '" + m.name + "', which is no .npy file");
    if (m.size > left)
      throw error(code::resource_exhausted,
                  "a .npz file would expand to more than the " + std::to_string(most) + " bytes that it may");
    left -= m.size;
  }
  std::vector<named_tensor> out;
  std::string room;
  for (auto const& m : members) {
    auto const name = m.name.substr(0, m.name.size() - 4);
    try {
      out.push_back({name, parse_npy(zip::contents(m, room))});
    } catch (error const& e) {
      throw error(e.code(), "array '" + name + "': " + e.message());
    }
  }
  return out;
}

RILL_IO_INLINE std::vector<named_tensor> read_npz(std::filesystem::path const& path, std::uint64_t most) {
  auto const bytes = read_file(path, most);
  return files::naming(path, [&] { return parse_npz(bytes, most); });
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

RILL_IO_INLINE std::string npz_bytes(std::span<named_tensor const> tensors) {
  std::string bytes;
  npy::write_archive(tensors, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

RILL_IO_INLINE void write_npz(std::filesystem::path const& path, std::span<named_tensor const> tensors) {
  output_file file(path);
  npy::write_archive(tensors, [&](std::string_view piece) { file.write(piece); });
  file.commit();
}

#endif

}  // namespace rill
