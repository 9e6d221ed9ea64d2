#include "rill/io/npz.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

tensor weights() { return matrix<float>({{0, 1, 2}, {3, 4, 5}}); }

tensor counting() {
  tensor t(dtype::int64, {200});
  for (std::int64_t i = 0; i < 200; ++i) t.mutable_data<std::int64_t>()[i] = i;
  return t;
}

void expect_three(std::vector<named_tensor> const& all) {
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "weights");
  EXPECT_TRUE(same_bits(all[0].value, weights()));
  EXPECT_EQ(all[1].name, "a/b");
  EXPECT_TRUE(same_bits(all[1].value, counting()));
  EXPECT_EQ(all[2].value.item<std::string>(), "x");
}

TEST(npz, reads_what_numpy_stored_and_what_it_compressed) {
  expect_three(read_npz(data_file("stored.npz")));
  expect_three(read_npz(data_file("deflated.npz")));
  EXPECT_TRUE(read_npz(data_file("nothing.npz")).empty());
}

TEST(npz, reads_archives_that_were_streamed_or_end_with_a_comment) {
  for (auto const* name : {"streamed.npz", "commented.npz"})
    EXPECT_TRUE(same_bits(read_npz(data_file(name)).at(0).value, weights())) << name;
}

TEST(npz, returns_what_it_writes_with_the_same_bytes_each_time) {
  scratch dir;
  std::vector<named_tensor> const all{{"weights", weights()}, {"a/b", counting()}, {"word", tensor(std::string("x"))}};
  write_npz(dir / "a.npz", all);
  expect_three(read_npz(dir / "a.npz"));
  EXPECT_EQ(read_file(dir / "a.npz"), npz_bytes(all));
  EXPECT_TRUE(parse_npz(npz_bytes({})).empty());
}

TEST(npz, refuses_archives_with_other_files_paths_or_methods) {
  for (auto const* name : {"text.npz", "name_up.npz", "name_root.npz", "name_backslash.npz"})
    EXPECT_EQ(refusal([&] { read_npz(data_file(name)); }), code::invalid_argument) << name;
  EXPECT_EQ(refusal([&] { read_npz(data_file("bzip2.npz")); }), code::unimplemented);
}

TEST(npz, refuses_to_expand_to_more_than_it_may) {
  auto const bytes = read_file(data_file("deflated.npz"));
  EXPECT_EQ(refusal([&] { parse_npz(bytes, 1000); }), code::resource_exhausted);
}

TEST(npz, names_the_array_that_is_damaged) {
  auto bytes = npz_bytes(std::vector<named_tensor>{{"good", weights()}, {"bad", counting()}});
  bytes[bytes.size() - 400] = 'x';
  try {
    parse_npz(bytes);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::data_loss);
    EXPECT_NE(e.message().find("'bad'"), std::string::npos) << e.message();
  }
}

TEST(npz, refuses_to_write_one_name_twice_or_no_tensor) {
  EXPECT_EQ(refusal([] { npz_bytes(std::vector<named_tensor>{{"a", weights()}, {"a", weights()}}); }),
            code::invalid_argument);
  EXPECT_EQ(refusal([] { npz_bytes(std::vector<named_tensor>{{"a", {}}}); }), code::failed_precondition);
  EXPECT_EQ(refusal([] { npz_bytes(std::vector<named_tensor>{{"../a", weights()}}); }), code::invalid_argument);
}

TEST(npz, ends_with_an_error_or_tensors_on_damaged_files) {
  for (auto const* name : {"deflated.npz", "streamed.npz"}) {
    auto const bytes = read_file(data_file(name));
    EXPECT_GE(damage(bytes, [](auto const& b) { parse_npz(b, 1 << 20); }), bytes.size()) << name;
  }
}

}  // namespace
}  // namespace rill
