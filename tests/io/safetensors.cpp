#include "rill/io/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "scratch.hpp"

namespace rill {
namespace {

/// A file with a header of our own.
std::string file(std::string const& header, std::string const& data = "") {
  std::string bytes;
  append_little(bytes, std::uint64_t{header.size()});
  return bytes + header + data;
}

std::vector<named_tensor> one_of_each() {
  std::vector<named_tensor> all;
  for (auto const& [name, d] : safetensors::types) {
    tensor t(d, {2, 3});
    std::memset(t.mutable_raw(), 1, t.bytes());
    all.push_back({"type/" + std::string(name), t});
  }
  all.push_back({"scalar", tensor(2.5f)});
  all.push_back({"empty", tensor(dtype::float64, {0, 3})});
  all.push_back({"wörd \"quoted\"\n", vector<std::int16_t>({1, -2})});
  return all;
}

void expect_same(std::vector<named_tensor> const& a, std::vector<named_tensor> const& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(same_bits(a[i].value, b[i].value)) << a[i].name;
  }
}

TEST(safetensors, returns_every_type_rank_and_name_in_the_order_given) {
  scratch dir;
  write_safetensors(dir / "a", one_of_each());
  expect_same(read_safetensors(dir / "a"), one_of_each());
  expect_same(parse_safetensors(safetensors_bytes(one_of_each())), one_of_each());
  EXPECT_EQ(read_file(dir / "a"), safetensors_bytes(one_of_each()));
}

TEST(safetensors, returns_the_words_without_its_checksums) {
  safetensors::metadata const words{{"format", "pt"}, {"", "empty key"}, {"zz", "\"\\\n"}};
  safetensors::metadata back;
  expect_same(parse_safetensors(safetensors_bytes(one_of_each(), words), &back), one_of_each());
  EXPECT_EQ(back, words);
}

TEST(safetensors, writes_a_file_without_tensors) {
  EXPECT_EQ(safetensors_bytes({}), file("{}      "));
  EXPECT_TRUE(parse_safetensors(file("{}")).empty());
}

TEST(safetensors, begins_its_data_and_every_tensor_at_a_multiple_of_its_width) {
  auto const bytes = safetensors_bytes(one_of_each());
  auto const start = 8 + load_little<std::uint64_t>(bytes.data());
  EXPECT_EQ(start % 8, 0u);
  for (auto const& e : safetensors::header(bytes.substr(8, start - 8), bytes.size() - start).entries)
    EXPECT_EQ(e.begin % size_of(e.element), 0u) << e.name;
}

TEST(safetensors, reads_one_tensor_without_the_rest_of_the_file) {
  scratch dir;
  auto all = one_of_each();
  all.push_back({"large", tensor(dtype::float32, {1000, 1000})});
  write_safetensors(dir / "a", all);
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  safetensors_file const f(dir / "a");
  EXPECT_TRUE(same_bits(f.read("scalar"), tensor(2.5f)));
  EXPECT_LT(host_allocator().usage().peak - before, 1000);
  EXPECT_TRUE(f.contains("large"));
  EXPECT_FALSE(f.contains("larger"));
  EXPECT_EQ(f.entries().size(), all.size());
  EXPECT_EQ(refusal([&] { f.read("larger"); }), code::not_found);
}

TEST(safetensors, names_the_tensor_whose_bytes_are_damaged) {
  scratch dir;
  auto bytes = safetensors_bytes(std::vector<named_tensor>{{"good", tensor(1.0)}, {"bad", tensor(2.f)}});
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(dir / "a", bytes);
  safetensors_file const f(dir / "a");
  EXPECT_EQ(f.read("good").item<double>(), 1.0);
  try {
    f.read("bad");
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::data_loss);
    EXPECT_NE(e.message().find("'bad'"), std::string::npos);
    EXPECT_NE(e.message().find((dir / "a").string()), std::string::npos);
  }
}

TEST(safetensors, notices_extents_that_were_exchanged) {
  auto bytes = safetensors_bytes(std::vector<named_tensor>{{"a", tensor(dtype::float32, {2, 3})}});
  bytes.replace(bytes.find("[2, 3]"), 6, "[3, 2]");
  EXPECT_EQ(refusal([&] { parse_safetensors(bytes); }), code::data_loss);
}

TEST(safetensors, reads_files_without_checksums) {
  auto const t = parse_safetensors(
      file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}, "__metadata__":{"k":"v"}}   )", "xy"));
  EXPECT_EQ(t.at(0).value.at<std::uint8_t>(1), 'y');
}

TEST(safetensors, refuses_checksums_that_are_none_or_belong_to_no_tensor) {
  for (auto const* words : {R"("rill.crc32/a":"1")", R"("rill.crc32/a":"0000000g")", R"("rill.crc32/b":"00000000")",
                            R"("rill.crc32/a":"00000000")"})
    EXPECT_EQ(refusal([&] {
                parse_safetensors(file(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"__metadata__":{)" +
                                           std::string(words) + "}}",
                                       "x"));
              }),
              code::data_loss)
        << words;
}

TEST(safetensors, refuses_headers_that_the_format_does_not_allow) {
  std::string const good = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  EXPECT_EQ(parse_safetensors(file("{" + good + "}", "xy")).size(), 1u);
  std::vector<std::string> const bad{
      std::string(""),
      std::string("[]"),
      std::string("{"),
      std::string("\xef\xbb\xbf{}"),
      " {" + good + "}",
      "{" + good + "}x",
      "{" + good + "}" + std::string("\0{", 2),
      "{" + good + "," + good + "}",
      "{" + good + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",  // overlaps
      "{" + good + R"(,"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})",  // lies within
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",               // a hole before
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",               // bytes behind
      R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})",               // another size
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})",               // backwards
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2,2]}})",
      R"({"a":{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":"U8","shape":[[2]],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":"U8","shape":2,"data_offsets":[0,2]}})",
      R"({"a":{"dtype":8,"shape":[2],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":"U8","shape":[2]}})",
      R"({"a":{}})",
      R"({"a":null})",
      R"({"a":{"dtype":"U8","dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"more":true}})",
      "{" + good + R"(,"__metadata__":{"k":1}})",
      "{" + good + R"(,"__metadata__":{"k":"v","k":"v"}})",
      "{" + good + R"(,"__metadata__":{},"__metadata__":{}})",
      "{" + good + R"(,"__metadata__":{"k":{}}})",
      "{\"\xff\":{}}"};
  for (auto const& header : bad)
    EXPECT_EQ(refusal([&] { parse_safetensors(file(header, "xy")); }), code::data_loss) << header;
}

TEST(safetensors, refuses_types_that_rill_does_not_have) {
  EXPECT_EQ(
      refusal([] { parse_safetensors(file(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x")); }),
      code::unimplemented);
  for (auto const& t : {tensor(std::string("a")), tensor(std::complex<double>(1, 2))})
    EXPECT_EQ(refusal([&] { safetensors_bytes(std::vector<named_tensor>{{"a", t}}); }), code::unimplemented);
}

TEST(safetensors, refuses_bools_that_are_neither_true_nor_false) {
  EXPECT_EQ(
      refusal([] { parse_safetensors(file(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\2")); }),
      code::data_loss);
}

TEST(safetensors, refuses_to_write_names_and_words_that_would_not_come_back) {
  auto const written = [](std::string const& name, safetensors::metadata const& words = {}) {
    return refusal([&] { safetensors_bytes(std::vector<named_tensor>{{name, tensor(1.f)}}, words); });
  };
  EXPECT_EQ(written("__metadata__"), code::invalid_argument);
  EXPECT_EQ(written("\xff"), code::invalid_argument);
  EXPECT_EQ(written("a", {{"rill.crc32/a", "00000000"}}), code::invalid_argument);
  EXPECT_EQ(refusal([] { safetensors_bytes(std::vector<named_tensor>{{"a", tensor(1.f)}, {"a", tensor(1.f)}}); }),
            code::invalid_argument);
  EXPECT_EQ(refusal([] { safetensors_bytes(std::vector<named_tensor>{{"a", {}}}); }), code::failed_precondition);
}

TEST(safetensors, refuses_hostile_sizes_before_it_allocates) {
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  std::string large;
  append_little(large, std::uint64_t{100'000'001});
  EXPECT_THROW(parse_safetensors(std::string(8, '\xff')), error);
  EXPECT_THROW(parse_safetensors(large + std::string(100'000'001, ' ')), error);
  for (auto const* shape : {"[9223372036854775807,2]", "[18446744073709551615]", "[1000000000000]",
                            "[99999999999999999999]", "[0,9223372036854775807,9223372036854775807]"})
    EXPECT_THROW(parse_safetensors(file(
                     R"({"a":{"dtype":"F32","shape":)" + std::string(shape) + R"(,"data_offsets":[0,4]}})", "abcd")),
                 error)
        << shape;
  EXPECT_THROW(
      parse_safetensors(file(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", "abcd")),
      error);
  EXPECT_THROW(parse_safetensors(file(R"({"a":)" + std::string(100000, '['))), error);
  EXPECT_EQ(host_allocator().usage().peak, before);
}

TEST(safetensors, refuses_what_is_no_file) {
  scratch dir;
  EXPECT_EQ(refusal([] { safetensors_file("/no/such/file"); }), code::not_found);
  EXPECT_EQ(refusal([] { safetensors_file("/dev/zero"); }), code::data_loss);
  write_file(dir / "short", "1234567");
  EXPECT_EQ(refusal([&] { safetensors_file(dir / "short"); }), code::data_loss);
}

TEST(safetensors, notices_every_lost_byte_and_nearly_every_turned_bit) {
  auto const bytes =
      safetensors_bytes(std::vector<named_tensor>{{"a", vector<float>({1, 2})}, {"b", tensor(true)}}, {{"k", "v"}});
  auto const refused = damage(bytes, [](auto const& b) { parse_safetensors(b); });
  // What may turn unnoticed: the word that belongs to nobody, a space between, and a letter's case in a checksum.
  EXPECT_GT(refused, bytes.size() + bytes.size() * 8 - 60);
}

TEST(safetensors, copies_a_file_for_the_python_package_that_compares_it) {
  auto const *from = std::getenv("RILL_SAFETENSORS_FROM"), *to = std::getenv("RILL_SAFETENSORS_TO");
  if (from == nullptr || to == nullptr) GTEST_SKIP() << "safetensors_oracle.py runs this";
  safetensors::metadata words;
  auto const all = read_safetensors(from, &words);
  write_safetensors(to, all, words);
}

TEST(safetensors, writes_a_file_of_its_own_for_the_python_package_that_reads_it) {
  auto const* to = std::getenv("RILL_SAFETENSORS_TO");
  if (to == nullptr) GTEST_SKIP() << "safetensors_oracle.py runs this";
  write_safetensors(to, one_of_each());
}

}  // namespace
}  // namespace rill
