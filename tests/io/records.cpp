#include "rill/io/records.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "scratch.hpp"

namespace rill {
namespace {

TEST(records, come_from_every_source_in_one_shape) {
  scratch dir;
  write_file(dir / "lines", "one\ntwo\n");
  write_idx(dir / "rows", matrix<std::int32_t>({{1, 2}, {3, 4}}));
  write_npy(dir / "npy", matrix<float>({{1, 2}, {3, 4}}));
  tfrecord_writer w(dir / "tfrecord.gz");
  w.write("one"), w.write("two");
  w.commit();
  std::vector<record_reader> all;
  all.emplace_back(text_line_reader(dir / "lines"));
  all.emplace_back(csv_record_reader(dir / "lines"));
  all.emplace_back(fixed_record_reader(dir / "lines", {4, 0, 0}));
  all.emplace_back(tfrecord_reader(dir / "tfrecord.gz"));
  all.emplace_back(idx_rows(dir / "rows"));
  all.emplace_back(npy_rows(dir / "npy"));
  for (auto& r : all) {
    auto const first = r.next();
    auto const at = r.position();
    auto const second = r.next();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->key, r.name() + ":1");
    EXPECT_EQ(second->key, r.name() + ":2");
    EXPECT_EQ(at.record, 1u);
    EXPECT_FALSE(r.next());
    r.seek(at);
    EXPECT_TRUE(same_bits(r.next()->value, second->value));
  }
  record_reader whole(whole_file_reader(dir / "lines"));
  EXPECT_EQ(whole.next()->value.item<std::string>(), "one\ntwo\n");
  EXPECT_FALSE(whole.next());
}

TEST(records, may_come_from_a_source_of_the_users_own) {
  struct countdown {
    std::uint64_t left;
    std::optional<tensor> next() { return left == 0 ? std::nullopt : std::optional<tensor>(tensor(double(left--))); }
    std::string name() const { return "countdown"; }
    record_position position() const { return {0, 10 - left}; }
    void seek(record_position to) { left = 10 - to.record; }
  };
  record_reader r(countdown{10});
  r.seek({0, 8});
  EXPECT_EQ(r.next()->value.item<double>(), 2);
  auto const last = r.next();
  EXPECT_EQ(last->key, "countdown:10");
  EXPECT_FALSE(r.next());
}

TEST(records, of_a_file_that_is_gone_are_refused_by_its_name) {
  scratch dir;
  for (auto const& open : std::vector<std::function<void()>>{
           [&] { text_line_reader(dir / "a"); }, [&] { tfrecord_reader(dir / "a"); },
           [&] { fixed_record_reader(dir / "a", {1, 0, 0}); }, [&] { idx_rows(dir / "a"); }})
    try {
      open();
      FAIL();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::not_found);
      EXPECT_NE(e.message().find((dir / "a").string()), std::string::npos);
    }
}

}  // namespace
}  // namespace rill
