#include "rill/io/tensor_rows.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

tensor counted(dtype d, shape const& s) {
  tensor t(d, s);
  auto* p = static_cast<unsigned char*>(t.mutable_raw());
  for (std::size_t i = 0; i < t.bytes(); ++i) p[i] = static_cast<unsigned char>(i * 37 % 251);
  return t;
}

void expect_rows(tensor_row_reader r, tensor const& whole) {
  EXPECT_EQ(r.rows(), static_cast<std::uint64_t>(whole.shape()[0]));
  for (std::int64_t i = 0; i < whole.shape()[0]; ++i) {
    auto const row = r.next();
    ASSERT_TRUE(row);
    EXPECT_EQ(row->type(), r.row_type());
    EXPECT_TRUE(same_bits(*row, whole.rows(i, i + 1).reshaped(row->shape()))) << i;
  }
  EXPECT_FALSE(r.next());
}

TEST(tensor_rows, are_those_of_the_whole_array) {
  scratch dir;
  for (auto const& t : {counted(dtype::uint8, {5, 28, 28}), counted(dtype::int16, {7}), counted(dtype::float32, {0, 3}),
                        counted(dtype::int32, {3, 0})}) {
    for (auto const* name : {"a.idx", "a.idx.gz"}) {
      write_idx(dir / name, t);
      expect_rows(idx_rows(dir / name), t);
    }
    write_npy(dir / "a.npy", t);
    expect_rows(npy_rows(dir / "a.npy"), t);
    expect_rows(npy_rows(byte_stream::of(gzip(npy_bytes(t)))), t);
  }
}

TEST(tensor_rows, are_read_from_the_files_that_numpy_wrote) {
  for (auto const* name :
       {"big_f4.npy", "little_c16.npy", "unicode.npy", "bytes.npy", "version2.npy", "version3.npy"}) {
    auto const whole = read_npy(data_file(name));
    if (whole.rank() > 0) expect_rows(npy_rows(data_file(name)), whole);
  }
  EXPECT_EQ(refusal([] { npy_rows(data_file("scalar.npy")); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { npy_rows(data_file("fortran_f4.npy")); }), code::unimplemented);
  EXPECT_EQ(refusal([] { npy_rows(data_file("object.npy")); }), code::unimplemented);
}

TEST(tensor_rows, resume_at_every_row) {
  auto const t = counted(dtype::int32, {9, 4});
  for (auto const& bytes : {idx_bytes(t), gzip(idx_bytes(t))}) {
    auto r = idx_rows(byte_stream::of(bytes)), other = idx_rows(byte_stream::of(bytes));
    for (int i = 0; i < 5; ++i) r.next();
    auto const at = r.position();
    EXPECT_EQ(at, (record_position{12 + 5 * 16, 5}));
    other.seek(at);
    EXPECT_TRUE(same_bits(*r.next(), *other.next()));
    EXPECT_EQ(refusal([&] { r.seek({13, 0}); }), code::invalid_argument);
    EXPECT_EQ(refusal([&] { r.seek({12 + 10 * 16, 10}); }), code::invalid_argument);
  }
}

TEST(tensor_rows, notice_bytes_that_lack_and_bytes_too_many) {
  auto const t = counted(dtype::int32, {9, 4});
  auto const walk = [](tensor_row_reader r) {
    while (r.next()) {
    }
  };
  for (auto const& bytes : {idx_bytes(t) + "x", idx_bytes(t).substr(0, 100)}) {
    EXPECT_EQ(refusal([&] { idx_rows(byte_stream::of(bytes)); }), code::data_loss);
    EXPECT_EQ(refusal([&] { walk(idx_rows(byte_stream::of(gzip(bytes)))); }), code::data_loss);
  }
  auto const npy = npy_bytes(t);
  EXPECT_EQ(refusal([&] { npy_rows(byte_stream::of(npy + "x")); }), code::data_loss);
  EXPECT_EQ(refusal([&] { npy_rows(byte_stream::of(npy.substr(0, 7))); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { npy_rows(byte_stream::of("")); }), code::invalid_argument);
}

TEST(tensor_rows, ask_for_no_memory_on_account_of_a_header) {
  std::string huge{0, 0, 14, 3};
  huge += std::string(12, '\x7f');
  std::string large{0, 0, 8, 2, 0, 0, 0, 1, 0x30, 0, 0, 0};
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  for (auto const& bytes : {huge, gzip(huge)}) EXPECT_THROW(idx_rows(byte_stream::of(bytes)).next(), error);
  EXPECT_EQ(refusal([&] { idx_rows(byte_stream::of(large)); }), code::data_loss);
  EXPECT_EQ(refusal([&] { idx_rows(byte_stream::of(gzip(large))).next(); }), code::data_loss);
  EXPECT_EQ(refusal([&] { npy_rows(byte_stream::of(std::string("\x93NUMPY\2\0\xff\xff\xff\x7f", 12))); }),
            code::data_loss);
  EXPECT_EQ(host_allocator().usage().peak, before);
}

TEST(tensor_rows, end_with_an_error_or_rows_on_damaged_files) {
  auto const walk = [](tensor_row_reader r) {
    for (int i = 0; i < 100 && r.next(); ++i) {
    }
  };
  auto const t = counted(dtype::int16, {2, 2});
  EXPECT_GT(damage(idx_bytes(t), [&](auto const& b) { walk(idx_rows(byte_stream::of(b))); }), 10u);
  EXPECT_GT(damage(npy_bytes(t), [&](auto const& b) { walk(npy_rows(byte_stream::of(b))); }), 100u);
}

}  // namespace
}  // namespace rill
