#include "rill/io/named_tensor.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "scratch.hpp"

namespace rill {
namespace {

TEST(named_tensor, is_written_under_a_name_of_its_own) {
  std::vector<named_tensor> all{{"a", tensor(1.f)}, {"", tensor(2.f)}};
  EXPECT_NO_THROW(check_names(all));
  all.push_back({"a", tensor(3.f)});
  EXPECT_EQ(refusal([&] { check_names(all); }), code::invalid_argument);
  all.back() = {"b", {}};
  EXPECT_EQ(refusal([&] { check_names(all); }), code::failed_precondition);
}

}  // namespace
}  // namespace rill
