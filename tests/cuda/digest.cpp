#include "rill/cuda/digest.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rill::cuda {
namespace {

// Examples of FIPS 180 (csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values).
TEST(digest, is_that_of_the_standard) {
  EXPECT_EQ(hexadecimal(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexadecimal(digest_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexadecimal(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexadecimal(digest_of(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(digest, differs_at_all_lengths_around_a_block) {
  std::string before;
  for (std::size_t n = 50; n < 140; ++n) {
    auto const d = hexadecimal(digest_of(std::string(n, '\0')));
    EXPECT_EQ(d.size(), 64u);
    EXPECT_NE(d, before) << n;
    before = d;
  }
}

}  // namespace
}  // namespace rill::cuda
