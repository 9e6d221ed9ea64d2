#include "rill/cuda/page_locked_memory.hpp"

#include <algorithm>
#include <cstring>
#include <future>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

struct page_locked : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);

  static unsigned long long blocks() { return RILL_EMULATED(rill_emulated_count)().page_locked; }
  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }
};
using emulated_page_locked = test::only_emulated<page_locked>;

TEST_F(emulated_page_locked, is_kept_until_it_is_trimmed) {
  auto& memory = on->page_locked();
  EXPECT_EQ(memory.space(), nullptr);  // host code may touch it
  EXPECT_EQ(blocks(), 0u);
  {
    tensor const small(dtype::float32, shape{3}, memory), other(dtype::float32, shape{1 << 20}, memory);
    EXPECT_EQ(blocks(), 1u);
    tensor const large(dtype::float32, shape{5 << 20}, memory);
    EXPECT_EQ(blocks(), 2u);
    on->trim();
    EXPECT_EQ(blocks(), 2u);
  }
  EXPECT_EQ(blocks(), 2u);
  tensor const one(dtype::float32, shape{3}, memory);
  on->trim();
  EXPECT_EQ(blocks(), 1u);
}

TEST_F(emulated_page_locked, that_the_driver_does_not_give_is_refused) {
  auto& memory = on->page_locked();
  RILL_EMULATED(rill_emulated_fail_page_locked)(1);
  try {
    tensor(dtype::float32, shape{3}, memory);
    ADD_FAILURE();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::resource_exhausted);
    EXPECT_NE(e.message().find("no page-locked memory for a buffer of "), std::string::npos) << e.what();
  }
  tensor const next(dtype::float32, shape{3}, memory);
  EXPECT_EQ(next.elements(), 3);
}

TEST_F(page_locked, holds_what_a_session_is_fed_and_what_is_fetched) {
  graph g;
  auto const x = placeholder<float, 4>(g);
  auto const y = g.on("gpu:0", [&] { return exp(x) * 2.f; });
  session s{g, {.threads = 1, .memory = &on->page_locked(), .devices = {on}}};
  tensor fed(dtype::float32, shape{4}, on->page_locked());
  for (int i = 0; i < 4; ++i) fed.mutable_data<float>()[i] = static_cast<float>(i);
  auto step = s.prepare(inputs(x), outputs(y + 1.f));
  auto const before = on->page_locked().usage().total;
  tensor const made = step(tensor_of<of<float, 4>>(fed));
  EXPECT_GT(on->page_locked().usage().total, before);
  EXPECT_EQ(made.at<float>(0), 3);
}

TEST_F(page_locked, is_shared_by_threads) {
  auto& memory = on->page_locked();
  auto const fill = [&](unsigned char with) {
    for (std::int64_t i = 1; i < 200; ++i) {
      tensor t(dtype::uint8, shape{i * 37 % 4001 + 1}, memory);
      std::memset(t.mutable_raw(), with, t.bytes());
      auto const* const bytes = static_cast<unsigned char const*>(t.raw());
      if (!std::all_of(bytes, bytes + t.bytes(), [&](unsigned char b) { return b == with; })) return false;
    }
    return true;
  };
  auto first = std::async(std::launch::async, fill, 1), second = std::async(std::launch::async, fill, 2);
  EXPECT_TRUE(first.get() && second.get());
  EXPECT_EQ(memory.usage().current, 0);
}

TEST_F(page_locked, of_an_absent_gpu_is_refused) { EXPECT_THROW(gpu(999)->page_locked(), error); }

}  // namespace
}  // namespace rill
