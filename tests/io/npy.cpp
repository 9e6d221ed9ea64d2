#include "rill/io/npy.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

template <class T> T nth(std::int64_t i) { return static_cast<T>(static_cast<float>(i)); }
template <> bool nth<bool>(std::int64_t i) { return i != 0; }
template <> std::complex<float> nth(std::int64_t i) { return std::complex<float>(1.5f, 2) * static_cast<float>(i); }
template <> std::complex<double> nth(std::int64_t i) { return std::complex<double>(1.5, 2) * static_cast<double>(i); }
template <> std::string nth(std::int64_t i) { return std::string(static_cast<std::size_t>(i), 'x'); }

tensor counting(dtype d, shape const& s) {
  tensor t(d, s);
  visit(d, [&]<class T>() {
    for (std::int64_t i = 0; i < t.elements(); ++i) t.mutable_data<T>()[i] = nth<T>(i);
  });
  return t;
}

/// A file of version 1 with a header of our own.
std::string file(std::string const& header, std::string const& elements = "") {
  std::string bytes = std::string(npy::magic) + '\1' + '\0';
  append_little(bytes, static_cast<std::uint16_t>(header.size()));
  return bytes + header + elements;
}
std::string described(std::string const& type, std::string const& extents, std::string const& elements = "") {
  return file("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + extents + ", }\n", elements);
}

TEST(npy, reads_every_element_type_that_numpy_wrote_in_either_byte_order) {
  for (auto const& [kind, d] : npy::known_types) {
    if (d == dtype::bfloat16) continue;
    for (std::string const order : {"little_", "big_"}) {
      if (order == "big_" && kind.back() == '1') continue;
      EXPECT_TRUE(same_bits(read_npy(data_file(order + std::string(kind) + ".npy")), counting(d, {2, 3})))
          << order << kind;
    }
  }
}

TEST(npy, reads_fortran_order_row_after_row) {
  EXPECT_TRUE(same_bits(read_npy(data_file("fortran_f4.npy")), counting(dtype::float32, {2, 3, 4})));
  EXPECT_TRUE(same_bits(read_npy(data_file("fortran_string.npy")), matrix<std::string>({{"a", "bc"}, {"d", "déjà"}})));
}

TEST(npy, reads_characters_and_bytes_as_strings) {
  std::string const inside("in\0side", 7);
  EXPECT_TRUE(same_bits(read_npy(data_file("unicode.npy")),
                        vector<std::string>({"word", "déjà", "", "\xf0\x9f\x98\x80", inside})));
  EXPECT_TRUE(same_bits(read_npy(data_file("unicode_big.npy")), vector<std::string>({"word", "é"})));
  EXPECT_TRUE(same_bits(read_npy(data_file("bytes.npy")), vector<std::string>({"ab", "\xff", ""})));
}

TEST(npy, reads_scalars_empty_arrays_and_later_versions) {
  EXPECT_EQ(read_npy(data_file("scalar.npy")).item<double>(), 2.5);
  EXPECT_EQ(read_npy(data_file("empty.npy")).shape(), (shape{3, 0, 2}));
  for (auto const* name : {"version2.npy", "version3.npy"})
    EXPECT_TRUE(same_bits(read_npy(data_file(name)), counting(dtype::float32, {2, 3})));
}

TEST(npy, refuses_python_objects_records_and_dates) {
  for (auto const* name : {"object.npy", "record.npy", "date.npy"})
    EXPECT_EQ(refusal([&] { read_npy(data_file(name)); }), code::unimplemented) << name;
}

TEST(npy, writes_the_same_bytes_as_numpy) {
  for (auto const* kind : {"b1", "i1", "u1", "i2", "u8", "f2", "f4", "c16"}) {
    auto const path = data_file("little_" + std::string(kind) + ".npy");
    EXPECT_EQ(npy_bytes(read_npy(path)), read_file(path)) << kind;
  }
  for (auto const* name : {"unicode.npy", "bytes.npy", "scalar.npy", "empty.npy"})
    EXPECT_EQ(npy_bytes(read_npy(data_file(name))), read_file(data_file(name))) << name;
}

TEST(npy, returns_every_element_type_that_it_writes) {
  scratch dir;
  for (std::size_t i = 0; i < dtype_count; ++i)
    for (auto const& s : {shape{}, shape{3}, shape{0}, shape{2, 1, 3}, shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
      auto const t = counting(static_cast<dtype>(i), s);
      write_npy(dir / "a.npy", t);
      EXPECT_TRUE(same_bits(read_npy(dir / "a.npy"), t)) << t.type().text();
    }
}

TEST(npy, reads_any_byte_but_zero_as_true) { EXPECT_TRUE(parse_npy(described("|b1", "()", "\x07")).item<bool>()); }

TEST(npy, refuses_to_write_what_numpy_would_lose) {
  EXPECT_EQ(refusal([] { npy_bytes(tensor(std::string("a\0", 2))); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { npy_bytes(tensor()); }), code::failed_precondition);
}

TEST(npy, reads_headers_written_by_other_hands) {
  EXPECT_EQ(parse_npy(file("{\"shape\":(1L,),'fortran_order':False,'descr':'=f4'}", "abcd")).shape(), (shape{1}));
}

TEST(npy, refuses_headers_that_are_not_what_they_should_be) {
  for (auto const* h :
       {"", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "{'descr' '<f4'",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}"})
    EXPECT_EQ(refusal([&] { parse_npy(file(h, "abcd")); }), code::data_loss) << h;
  for (auto const* type : {"", "<f4, ", "<", "<f16", "<c32", "f", "<U", "<Ux", "<U99999999999", "|V3", "<m8[s]"})
    EXPECT_EQ(refusal([&] { parse_npy(described(type, "(1,)", "abcd")); }), code::unimplemented) << type;
  EXPECT_EQ(refusal([] { parse_npy("no such file"); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { parse_npy(std::string(npy::magic) + std::string("\4\0abcdef", 8)); }), code::unimplemented);
}

TEST(npy, refuses_hostile_sizes_before_it_allocates) {
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  for (auto const* extents : {"(4294967296, 4294967296)", "(9223372036854775807,)", "(1000000000000,)", "(2,)", "(0,)"})
    EXPECT_THROW(parse_npy(described("<f4", extents, "abcd")), error) << extents;
  EXPECT_THROW(parse_npy(described("<f4", "(1,1,1,1,1,1,1,1,1)", "abcd")), error);
  EXPECT_THROW(parse_npy(described("<U0", "(1000000000000,)")), error);
  EXPECT_THROW(parse_npy(described("|S4294967295", "(4294967295,)", "abcd")), error);
  EXPECT_EQ(host_allocator().usage().peak, before);
  EXPECT_EQ(refusal([] { parse_npy(described("<U1", "(1,)", std::string("\0\xd8\0\0", 4))); }), code::data_loss);
  EXPECT_EQ(refusal([] { parse_npy(described("<U1", "(1,)", std::string("\0\0\0\x11", 4))); }), code::data_loss);
}

TEST(npy, ends_with_an_error_or_a_tensor_on_damaged_files) {
  for (auto const* name : {"little_f4.npy", "big_c16.npy", "fortran_string.npy", "unicode.npy", "version2.npy"}) {
    auto const bytes = read_file(data_file(name));
    EXPECT_GE(damage(bytes, [](auto const& b) { parse_npy(b); }), bytes.size()) << name;
  }
}

}  // namespace
}  // namespace rill
