// Bytes as a .npy file or an archive of them: what is read is what is written of it, whole and row by row.
#include "rill/io/npz.hpp"
#include "rill/io/tensor_rows.hpp"
#include "seeded.hpp"

namespace rill::fuzz {
namespace {

void read_array(std::string_view bytes) {
  auto const whole = unless_refused([&] { return parse_npy(bytes); });
  if (!whole) return;
  require(same_bits(parse_npy(npy_bytes(*whole)), *whole), "an array is read as it was written");
  auto rows = unless_refused([&] { return npy_rows(byte_stream::of(std::string(bytes))); });
  if (!rows) return;  // a scalar, or in Fortran's order
  require(static_cast<std::int64_t>(rows->rows()) == whole->shape()[0], "an array has as many rows");
  if (whole->elements() == 0) return;  // a few bytes may claim very many rows
  for (std::int64_t i = 0; i < whole->shape()[0]; ++i) {
    auto const row = rows->next().value();
    require(same_bits(row, whole->rows(i, i + 1).reshaped(row.shape())), "a row is what it is in the whole");
  }
  require(!rows->next(), "an array ends behind its last row");
}

void read_archive(std::string_view bytes) {
  auto const all = unless_refused([&] { return parse_npz(bytes, 1 << 20); });
  if (!all) return;
  auto const again = parse_npz(npz_bytes(*all));
  require(std::equal(all->begin(), all->end(), again.begin(), again.end(),
                     [](auto const& a, auto const& b) { return a.name == b.name && same_bits(a.value, b.value); }),
          "an archive is read as it was written");
}

}  // namespace

std::vector<std::string> seeds() {
  auto files = files_of_data(".npy");
  for (auto& archive : files_of_data(".npz")) files.push_back(std::move(archive));
  return files;
}

void read(std::string_view bytes) {
  if (bytes.starts_with("PK")) read_archive(bytes);
  else read_array(bytes);
}

}  // namespace rill::fuzz
