// Bytes as a TFRecord file, and as a tf.train.Example in one: records that are written again are the file's bytes, an
// Example is what is written of it.
#include "rill/io/tfrecord.hpp"

#include "rill/io/example.hpp"
#include "seeded.hpp"

namespace rill::fuzz {
namespace {

void read_example(std::string_view bytes) {
  auto const all = unless_refused([&] { return example_bytes(parse_example(bytes)); });
  require(!all || example_bytes(parse_example(*all)) == *all, "an Example is read as it was written");
}

/// The records up to the first that is refused, as they are written.
std::string records_of(std::string_view bytes, std::uint64_t& read) {
  tfrecord_reader file(byte_stream::of(std::string(bytes)));
  std::string again;
  unless_refused([&] {
    while (auto const record = file.next()) append_tfrecord(again, *record), read_example(*record);
    return true;
  });
  read = file.position().byte;
  return again;
}

}  // namespace

std::vector<std::string> seeds() {
  auto const some = example_bytes({{"x", std::vector<float>{1, -2.5f}},
                                   {"label", std::vector<std::int64_t>{-1, 300}},
                                   {"name", std::vector<std::string>{"a", ""}},
                                   {"nothing", std::monostate{}}});
  std::string file;
  for (auto const& record : {std::string("abc"), std::string(), some}) append_tfrecord(file, record);
  return {some, file, gzip(file)};
}

void read(std::string_view bytes) {
  read_example(bytes);
  std::uint64_t end = 0;
  auto const again = records_of(bytes, end);
  require(again.size() == end, "a record has the bytes that it was read from");
  if (!is_gzip(bytes)) require(again == bytes.substr(0, again.size()), "records are written as they were read");
  std::string as_record;
  append_tfrecord(as_record, bytes);
  require(records_of(as_record, end) == as_record, "a record is read as it was written");
}

}  // namespace rill::fuzz
