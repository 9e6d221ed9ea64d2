#include "rill/io/matching_files.hpp"

#include <gtest/gtest.h>

#include "rill/io/file.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

TEST(matching_files, lists_files_in_one_order) {
  scratch dir;
  for (auto const* name : {"b-2", "b-1", "B-1", "c-1", "a", ".hidden"}) write_file(dir / name, "");
  std::filesystem::create_directory(dir / "b-dir");
  using paths = std::vector<std::filesystem::path>;
  EXPECT_EQ(matching_files((dir / "b-*").string()), (paths{dir / "b-1", dir / "b-2"}));
  EXPECT_EQ(matching_files((dir / "[Bbc]-1").string()), (paths{dir / "B-1", dir / "b-1", dir / "c-1"}));
  EXPECT_EQ(matching_files((dir / "a").string()), (paths{dir / "a"}));
  EXPECT_EQ(matching_files((dir / "*").string()).size(), 5u);
}

TEST(matching_files, says_that_nothing_matches) {
  scratch dir;
  EXPECT_EQ(refusal([&] { matching_files((dir / "*.tfrecord").string()); }), code::not_found);
  EXPECT_EQ(refusal([&] { matching_files((dir / "no/such/*").string()); }), code::not_found);
}

}  // namespace
}  // namespace rill
