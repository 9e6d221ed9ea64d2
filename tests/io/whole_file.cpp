#include "rill/io/whole_file.hpp"

#include <gtest/gtest.h>

#include "rill/io/gzip.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

TEST(whole_file, gives_all_bytes_once_as_they_are_stored) {
  scratch dir;
  for (auto const& bytes : {std::string(), std::string("a\0b", 3), gzip("packed")}) {
    write_file(dir / "a", bytes);
    whole_file_reader r(dir / "a");
    EXPECT_EQ(r.next(), bytes);
    auto const end = r.position();
    EXPECT_FALSE(r.next());
    r.seek({});
    EXPECT_EQ(r.next(), bytes);
    r.seek(end);
    EXPECT_FALSE(r.next());
  }
}

TEST(whole_file, says_what_is_missing_or_too_large) {
  scratch dir;
  write_file(dir / "a", "abc");
  whole_file_reader vanished(dir / "a");
  EXPECT_EQ(refusal([&] { whole_file_reader(dir / "a", 2).next(); }), code::resource_exhausted);
  std::filesystem::remove(dir / "a");
  EXPECT_EQ(refusal([&] { vanished.next(); }), code::not_found);
}

}  // namespace
}  // namespace rill
