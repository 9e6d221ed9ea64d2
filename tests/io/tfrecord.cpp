#include "rill/io/tfrecord.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "rill/io/crc32c.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

/// What TensorFlow 2.21 writes for "abc", "" and "rill".
std::string const recorded(
    "\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99\x49\x0e\x61\x62\x63\x6e\x57\xf1\x21"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x29\x03\x98\x07\xd8\xea\x82\xa2"
    "\x04\x00\x00\x00\x00\x00\x00\x00\x42\x45\x52\x04\x72\x69\x6c\x6c\x7b\x37\xe6\xdf",
    55);

std::vector<std::string> all_of(tfrecord_reader r) {
  std::vector<std::string> all;
  while (auto record = r.next()) all.push_back(*record);
  return all;
}
std::vector<std::string> all_of(std::string const& bytes) { return all_of(tfrecord_reader(byte_stream::of(bytes))); }

std::vector<std::string> const three{"abc", "", "rill"};

std::string sentence(std::string const& bytes, std::uint64_t most = max_record_bytes) {
  tfrecord_reader r(byte_stream::of(bytes, "x.tfrecord"), most);
  try {
    while (r.next()) {
    }
  } catch (error const& e) {
    return std::string(name(e.code())) + ": " + e.message();
  }
  return "";
}

TEST(tfrecord, reads_and_writes_what_tensorflow_wrote) {
  EXPECT_EQ(all_of(recorded), three);
  EXPECT_EQ(all_of(gzip(recorded)), three);
  std::string bytes;
  for (auto const& each : three) append_tfrecord(bytes, each);
  EXPECT_EQ(bytes, recorded);
}

TEST(tfrecord, returns_what_it_wrote_plain_and_compressed) {
  scratch dir;
  std::vector<std::string> records{std::string(300'000, 'x'), ""};
  for (unsigned i = 0; i < 5000; ++i) records.push_back(std::to_string(i * 2654435761u));
  for (auto const* name : {"a.tfrecord", "a.tfrecord.gz"}) {
    tfrecord_writer w(dir / name);
    for (auto const& each : records) w.write(each);
    EXPECT_FALSE(std::filesystem::exists(dir / name));
    w.commit();
    EXPECT_EQ(all_of(tfrecord_reader(dir / name)), records);
  }
  EXPECT_TRUE(is_gzip(read_file(dir / "a.tfrecord.gz")));
  EXPECT_FALSE(is_gzip(read_file(dir / "a.tfrecord")));
}

TEST(tfrecord, resumes_at_every_position) {
  scratch dir;
  for (auto const* name : {"a", "a.gz"}) {
    tfrecord_writer w(dir / name);
    for (auto const& each : three) w.write(each);
    w.commit();
    tfrecord_reader r(dir / name), other(dir / name);
    for (std::size_t i = 0; i < 3; ++i) {
      auto const at = r.position();
      EXPECT_EQ(at.record, i);
      other.seek(at);
      EXPECT_EQ(r.next(), three[i]);
      EXPECT_EQ(other.next(), three[i]);
    }
    EXPECT_EQ(r.position(), (record_position{55, 3}));
    other.seek({});
    EXPECT_EQ(other.next(), "abc");
    EXPECT_EQ(refusal([&] { other.seek({56, 4}); }), code::data_loss);
  }
}

TEST(tfrecord, names_file_record_and_byte_of_what_is_damaged) {
  auto turned = recorded;
  turned[47] = 'X';
  EXPECT_EQ(sentence(turned), "data_loss: 'x.tfrecord', record 3 at byte 35: the checksum of the record is wrong");
  EXPECT_EQ(
      sentence(recorded.substr(0, 52)),
      "data_loss: 'x.tfrecord', record 3 at byte 35: the file ends within the record: 5 of 4 + 4 bytes are present");
  EXPECT_EQ(sentence(recorded.substr(0, 24)),
            "data_loss: 'x.tfrecord', record 2 at byte 19: the file ends within a record's length: 5 of 8 + 4 bytes "
            "are present");
}

TEST(tfrecord, gives_the_records_before_the_place_where_compressed_bytes_end_and_names_that) {
  std::vector<std::string> const records{std::string(3000, 'x'), "second", "\1\2\3the third one\4\5\6"};
  std::string bytes;
  std::vector<std::size_t> begins;
  for (auto const& each : records) begins.push_back(bytes.size()), append_tfrecord(bytes, each);
  auto const whole = gzip(bytes);
  auto const damaged = [&](std::string const& stored, char const* why) {
    tfrecord_reader r(byte_stream::of(stored, "x.tfrecord.gz"));
    std::size_t n = 0;
    auto const e = error_of([&] {
      for (; auto const record = r.next(); ++n) EXPECT_EQ(*record, records.at(n));
    });
    EXPECT_EQ(e.code(), code::data_loss);
    if (n < 3) {
      EXPECT_EQ(e.message(), "'x.tfrecord.gz', record " + std::to_string(n + 1) + " at byte " +
                                 std::to_string(begins[n]) + ": compressed data is damaged: " + why);
      EXPECT_EQ(r.position(), (record_position{begins[n], n}));
    }
    return n;
  };
  EXPECT_EQ(damaged(whole.substr(0, whole.size() - 12), "it ends too early"), 2u);
  EXPECT_EQ(damaged(whole.substr(0, whole.size() - 8), "it ends too early"), 3u);  // its checksum is missing
  std::set<std::size_t> seen;
  for (std::size_t cut = 20; cut < whole.size(); ++cut) seen.insert(damaged(whole.substr(0, cut), "it ends too early"));
  EXPECT_EQ(seen, (std::set<std::size_t>{0, 1, 2, 3}));
}

TEST(tfrecord, stays_before_a_damaged_record) {
  auto turned = recorded;
  turned[47] = 'X';
  tfrecord_reader r(byte_stream::of(turned));
  r.next(), r.next();
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(refusal([&] { r.next(); }), code::data_loss);
    EXPECT_EQ(r.position(), (record_position{35, 2}));
  }
}

TEST(tfrecord, notices_every_lost_byte_and_every_turned_bit) {
  auto const whole = [](std::string const& b) {
    if (all_of(b).size() != 3) throw error(code::data_loss, "a record less");
  };
  EXPECT_EQ(damage(recorded, whole), recorded.size() * 9);
  EXPECT_GE(damage(gzip(recorded), whole), recorded.size());
}

TEST(tfrecord, asks_for_no_memory_on_account_of_a_length) {
  for (std::uint64_t length : {std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - 3}) {
    std::string bytes;
    append_little(bytes, length);
    append_little(bytes, masked_crc32c(bytes));
    EXPECT_NE(sentence(bytes).find("resource_exhausted: 'x.tfrecord', record 1 at byte 0"), std::string::npos);
  }
  std::string bytes;
  append_little(bytes, max_record_bytes);
  append_little(bytes, masked_crc32c(bytes));
  EXPECT_NE(sentence(bytes + "abc").find("ends within the record: 3 of"), std::string::npos);
  bytes.clear();
  append_little(bytes, ~std::uint64_t{0});
  append_little(bytes, masked_crc32c(bytes));
  EXPECT_NE(sentence(bytes + "abc", ~std::uint64_t{0}).find("ends within the record: 3 of"), std::string::npos);
  EXPECT_NE(sentence(recorded, 3).find("has 4 bytes, more than the 3"), std::string::npos);
}

TEST(tfrecord, copies_a_file_for_tensorflow_which_compares_it) {
  auto const *from = std::getenv("RILL_TFRECORD_FROM"), *to = std::getenv("RILL_TFRECORD_TO");
  if (from == nullptr || to == nullptr) GTEST_SKIP() << "tfrecord_oracle.py runs this";
  tfrecord_writer w(to);
  tfrecord_reader r(from);
  while (auto record = r.next()) w.write(*record);
  w.commit();
}

}  // namespace
}  // namespace rill
