#include "rill/cuda/staging.hpp"

#include <future>
#include <numeric>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

struct staged_copies : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);

  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }
  // Bytes that differ from place to place, and for each seed.
  static tensor bytes(std::int64_t n, unsigned seed = 1, allocator& from = host_allocator()) {
    tensor made(dtype::uint8, shape{n}, from);
    for (std::int64_t i = 0; i < n; ++i)
      made.mutable_data<std::uint8_t>()[i] =
          static_cast<std::uint8_t>((static_cast<unsigned>(i) * 2654435761u * seed) >> 24);
    return made;
  }
  // Whether the bytes come to the GPU and back.
  bool arrive(tensor const& t) const {
    tensor const there = t.to(on);
    return there.device() == "gpu:0" && same_bits(there.to(host), t);
  }
};
using emulated_staged_copies = test::only_emulated<staged_copies>;

TEST_F(staged_copies, have_the_bytes_of_any_length) {
  constexpr std::int64_t least = 64 << 10, chunk = 1 << 20;
  for (auto const n : {least, least + 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1, 5 * chunk + 12345})
    EXPECT_TRUE(arrive(bytes(n))) << n;
}

TEST_F(emulated_staged_copies, keep_one_piece_of_page_locked_memory_each_way) {
  auto const now = [] { return RILL_EMULATED(rill_emulated_count)(); };
  EXPECT_TRUE(arrive(bytes(64 << 10)));
  EXPECT_EQ(now().page_locked, 0u);
  tensor const there = bytes(3 << 20).to(on);
  EXPECT_EQ(now().page_locked, 1u);
  EXPECT_TRUE(same_bits(there.to(host), bytes(3 << 20)) && arrive(bytes(5 << 20)));
  EXPECT_EQ(now().page_locked, 2u);
  EXPECT_EQ(now().page_locked_bytes, 4u << 20);
}

TEST_F(emulated_staged_copies, are_not_made_of_page_locked_memory) {
  auto const here = bytes(3 << 20, 1, on->page_locked());
  EXPECT_TRUE(same_bits(here.to(on).clone(on->page_locked()), here));
  EXPECT_EQ(RILL_EMULATED(rill_emulated_count)().page_locked, 1u);  // that of the tensors
}

TEST_F(emulated_staged_copies, are_left_to_the_driver_without_page_locked_memory) {
  auto const locked = [] { return RILL_EMULATED(rill_emulated_count)().page_locked; };
  RILL_EMULATED(rill_emulated_fail_page_locked)(1);
  tensor const there = bytes(3 << 20).to(on);
  EXPECT_EQ(locked(), 0u);
  RILL_EMULATED(rill_emulated_fail_page_locked)(1);
  EXPECT_TRUE(same_bits(there.to(host), bytes(3 << 20)));
  EXPECT_EQ(locked(), 0u);
  EXPECT_TRUE(arrive(bytes(3 << 20)));
  EXPECT_EQ(locked(), 2u);
}

TEST_F(staged_copies, are_made_by_several_threads) {
  auto const copies = [&](unsigned seed) {
    for (std::int64_t i = 1; i < 20; ++i)
      if (!arrive(bytes(i * 131071, seed))) return false;
    return true;
  };
  auto first = std::async(std::launch::async, copies, 3), second = std::async(std::launch::async, copies, 5);
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

TEST_F(emulated_staged_copies, to_and_from_a_lost_gpu_are_refused) {
  tensor there = bytes(3 << 20).to(on);
  EXPECT_TRUE(same_bits(there.to(host), bytes(3 << 20)));  // so that both ways have buffers
  ASSERT_TRUE(RILL_EMULATED(rill_emulated_lose_device)(0, cuda::status::ecc_uncorrectable));
  EXPECT_EQ(test::refusal([&] { there.assign(bytes(3 << 20, 2)); }).code(), code::unavailable);
  EXPECT_EQ(test::refusal([&] { there.to(host); }).code(), code::unavailable);
}

}  // namespace
}  // namespace rill
