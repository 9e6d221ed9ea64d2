#include "rill/base/philox.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

// Random123 1.14, tests/kat_vectors: philox4x32 with 10 rounds.
TEST(philox, gives_the_published_answers) {
  EXPECT_EQ(philox::words({0, 0, 0, 0}, {0, 0}), (philox::counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox::words({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (philox::counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox::words({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (philox::counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(philox, works_while_programs_compile) { static_assert(philox::words({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5); }

TEST(random_stream, has_other_numbers_for_each_block_step_and_key) {
  auto const first = random_stream{1, 0}.block(0);
  EXPECT_NE(first, (random_stream{1, 0}.block(1)));
  EXPECT_NE(first, (random_stream{1, 0}.block(std::uint64_t{1} << 32)));
  EXPECT_NE(first, (random_stream{1, 1}.block(0)));
  EXPECT_NE(first, (random_stream{1, std::uint64_t{1} << 32}.block(0)));
  EXPECT_NE(first, (random_stream{2, 0}.block(0)));
  EXPECT_NE(first, (random_stream{std::uint64_t{1} << 32 | 1, 0}.block(0)));
  EXPECT_EQ(first, (random_stream{1, 0}.block(0)));
}

TEST(random_stream, makes_unlike_keys_of_numbers_that_are_alike) {
  EXPECT_NE(random_stream::key_of(0, 1), random_stream::key_of(1, 0));
  EXPECT_NE(random_stream::key_of(0, 0), random_stream::key_of(0, 1));
}

}  // namespace
}  // namespace rill
