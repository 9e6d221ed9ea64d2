#include "rill/cuda/index_check.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "on_stream.hpp"

namespace rill {
namespace {

struct index_checks : test::on_stream {
  // Returns the position of the first index that a check finds.
  template <class T> std::optional<std::int64_t> first_bad(std::vector<T> const& which, std::int64_t extent) {
    auto const indices = memory_there(which.size() * sizeof(T) + 1), memory = memory_there(cuda::bytes_for_checks);
    auto *const at = indices.storage().data(), *const word = memory.storage().data();
    write(indices, at, which);
    cuda::first_bad const first(*on);
    cuda::range_check const check(*on, dtype_of<T>, static_cast<std::int64_t>(which.size()), extent);
    std::optional<std::int64_t> found;
    run([&] {
      first.begin(word);
      check(at, word);
      found = first.find(word);
    });
    return found;
  }
  // Checks 5000 indices of 0 to 4, of which some from 1003 on are `bad`.
  template <class T> void expect_first_at_1003(T bad) {
    std::vector<T> which(5000);
    for (std::size_t i = 0; i < which.size(); ++i) which[i] = i >= 1003 && i % 7 < 3 ? bad : static_cast<T>(i % 5);
    for (unsigned long long const order : {0ull, 5ull, 9ull}) {
      test::set_thread_order(order);
      EXPECT_EQ(first_bad(which, 5), 1003) << bad;
    }
  }
};

TEST_F(index_checks, find_the_first_of_several_bad_indices) {
  for (std::int32_t const bad : {-1, 5, INT32_MIN, INT32_MAX}) {
    expect_first_at_1003(bad);
    expect_first_at_1003(std::int64_t{bad});
  }
  for (std::int64_t const bad : {INT64_MIN, INT64_MAX, std::int64_t{1} << 32}) expect_first_at_1003(bad);
}
TEST_F(index_checks, find_nothing_among_good_indices) {
  EXPECT_EQ(first_bad(std::vector<std::int32_t>{0, 4, 2, 4}, 5), std::nullopt);
  EXPECT_EQ(first_bad(std::vector<std::int64_t>{0, 4, 2, 4}, 5), std::nullopt);
  EXPECT_EQ(first_bad(std::vector<std::int64_t>{std::int64_t{1} << 32}, (std::int64_t{1} << 32) + 1), std::nullopt);
}
TEST_F(index_checks, of_no_elements_refuse_every_index) {
  EXPECT_EQ(first_bad(std::vector<std::int32_t>{0, 0}, 0), 0);
  EXPECT_EQ(first_bad(std::vector<std::int64_t>{0, 0}, 0), 0);
  EXPECT_EQ(first_bad(std::vector<std::int32_t>{}, 0), std::nullopt);
  EXPECT_EQ(first_bad(std::vector<std::int32_t>{}, 5), std::nullopt);
}
TEST_F(index_checks, find_the_last_index_alone) {
  std::vector<std::int32_t> which(3001);
  which.back() = 1;
  EXPECT_EQ(first_bad(which, 1), 3000);
}

TEST_F(index_checks, throw_the_error_with_the_index) {
  auto const indices = memory_there(24), memory = memory_there(cuda::bytes_for_checks);
  auto *const at = indices.storage().data(), *const word = memory.storage().data();
  write(indices, at, std::vector<std::int64_t>{1, -7, 9});
  auto const refused_by = [&](cuda::bad_index_message message, code of_error) {
    cuda::checked_indices const checked(*on, dtype::int64, std::move(message), of_error);
    cuda::range_check const check(*on, dtype::int64, 3, 5);
    return test::refusal([&] {
      run([&] {
        checked.begin(word);
        check(at, word);
        checked.expect_good(at, word);
      });
    });
  };
  auto const row = refused_by(cuda::no_row_of(5), code::invalid_argument);
  EXPECT_EQ(row.code(), code::invalid_argument);
  EXPECT_EQ(row.message(), "index 1 is -7, and there are 5 rows");
  auto const element = refused_by(cuda::no_element_of(2, 5), code::failed_precondition);
  EXPECT_EQ(element.code(), code::failed_precondition);
  EXPECT_EQ(element.message(), "index 1 is -7, and axis 2 has 5 elements");
}

}  // namespace
}  // namespace rill
