#include "rill/device/emulated.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <limits>
#include <string>

#include "rill/io/csv.hpp"
#include "rill/io/idx.hpp"
#include "rill/io/npy.hpp"
#include "rill/io/safetensors.hpp"
#include "rill/tensor/dlpack.hpp"
#include "rill/tensor/print.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {
namespace {

tensor numbers() { return tensor::copy<float>(std::vector<float>{1, 2, 3, 4}, shape{2, 2}); }

// Work that calls a function.
template <class F> struct task final : stream_work {
  explicit task(F f) : work(std::move(f)) {}
  void run() override { work(); }
  void done(failure why) noexcept override { over.set_value(std::move(why)); }
  F work;
  std::promise<failure> over;
};

std::string message_of(auto&& f) {
  try {
    f();
  } catch (error const& e) {
    return std::string(e.message());
  }
  return "";
}

TEST(emulated, copies_tensors_there_and_back) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20});
  auto const here = numbers();
  auto const there = here.to(fast);
  EXPECT_EQ(there.space()->name(), "accelerator:0");
  EXPECT_EQ(there.device(), "accelerator:0");
  EXPECT_EQ(here.device(), "host");
  EXPECT_EQ(fast->memory().usage().count, 1);
  auto const back = there.to(host);
  EXPECT_EQ(back.space(), nullptr);
  EXPECT_TRUE(same_bits(here, back));
  EXPECT_TRUE(same_bits(here, there));
  EXPECT_TRUE(same_bits(there.clone(fast->memory()), there));
}

TEST(emulated, a_tensor_that_is_there_already_is_not_copied) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20});
  auto const there = numbers().to(fast);
  EXPECT_EQ(there.to(fast).storage(), there.storage());
  auto const here = numbers();
  EXPECT_EQ(here.to(host).storage(), here.storage());
  EXPECT_FALSE(tensor().to(fast));
}

TEST(emulated, copies_between_two_devices) {
  auto const one = emulated("accelerator:0", {.memory = 1 << 20}), two = emulated("accelerator:1", {.memory = 1 << 20});
  EXPECT_TRUE(same_bits(numbers().to(one).to(two), numbers()));
}

TEST(emulated, copies_between_two_devices_without_the_host_if_both_are_peers) {
  auto const device = [](char const* name, bool peers) { return emulated(name, {.memory = 1 << 20, .peers = peers}); };
  auto const one = device("accelerator:0", true), two = device("accelerator:1", true);
  auto const alone = device("accelerator:2", false);
  auto const peers = [](auto const& a, auto const& b) { return a->memory().space()->is_peer(*b->memory().space()); };
  EXPECT_TRUE(peers(one, two) && peers(two, one));
  EXPECT_FALSE(peers(one, alone) || peers(alone, one) || peers(alone, alone));
  EXPECT_TRUE(same_bits(numbers().to(one).to(two).to(alone).to(one), numbers()));
}

TEST(emulated, host_code_that_reads_its_memory_gets_a_sentence) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20});
  auto there = numbers().to(fast);
  auto const said =
      "a tensor of type float32[2, 2] lies in the memory of 'accelerator:0', which host code can't touch: copy it by "
      "t.to(rill::host)";
  EXPECT_EQ(message_of([&] { there.span<float>(); }), said);
  EXPECT_EQ(message_of([&] { there.mutable_data<float>(); }), said);
  EXPECT_EQ(message_of([&] { there.at<float>(0, 0); }), said);
  EXPECT_NE(message_of([&] { there.span<int>(); }), said);  // the wrong type is said first
}

TEST(emulated, one_element_and_text_are_copied_by_themselves) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20});
  EXPECT_EQ(tensor(2.5f).to(fast).item<float>(), 2.5f);
  EXPECT_EQ(text(numbers().to(fast)), text(numbers()));
}

TEST(emulated, writers_of_files_copy_what_lies_there) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20});
  auto const here = numbers(), there = here.to(fast);
  EXPECT_EQ(npy_bytes(there), npy_bytes(here));
  EXPECT_EQ(csv_text({there, here}), csv_text({here, there}));
  EXPECT_EQ(idx_bytes(there), idx_bytes(here));
  auto const saved = [](tensor const& t) { return safetensors_bytes(std::vector<named_tensor>{named_tensor{"a", t}}); };
  EXPECT_EQ(saved(there), saved(here));
  EXPECT_EQ(message_of([&] { to_dlpack(there); }),
            "to_dlpack lends the host's memory alone, and the tensor lies in that of 'accelerator:0': copy it by "
            "t.to(rill::host)");
}

TEST(emulated, has_no_strings) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20});
  EXPECT_EQ(message_of([&] { tensor(std::string("x")).to(fast); }),
            "strings lie in the host's memory alone, not in that of 'accelerator:0'");
}

TEST(emulated_death, a_thread_of_the_host_that_touches_its_memory_ends_the_program) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20});
  auto const there = numbers().to(fast);
  EXPECT_DEATH(std::printf("%f", static_cast<double>(*static_cast<float const volatile*>(there.raw()))), "");
}

TEST(emulated, its_own_thread_touches_its_memory) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 20}), other = emulated("accelerator:1");
  auto there = numbers().to(fast);
  auto const elsewhere = numbers().to(other);
  bool own = false, others = true;
  task work([&] {
    own = there.raw() != nullptr && there.at<float>(1, 1) == 4;
    there.mutable_data<float>()[0] = 7;
    others = message_of([&] { elsewhere.span<float>(); }).empty();
  });
  fast->compute().submit(work);
  EXPECT_EQ(work.over.get_future().get(), nullptr);
  EXPECT_TRUE(own);
  EXPECT_FALSE(others);
  EXPECT_EQ(there.to(host).at<float>(0, 0), 7);
}

TEST(emulated, no_room_is_an_error_that_names_who_has_it) {
  auto const small = emulated("accelerator:0", {.memory = 1 << 12});
  tensor weights, bias;
  {
    allocation_scope const of("weights");
    weights = tensor(dtype::float32, shape{512}, small->memory());
  }
  {
    allocation_scope const of("bias");
    bias = tensor(dtype::float32, shape{16}, small->memory());
  }
  auto const said = message_of([&] { tensor(dtype::float32, shape{1024}, small->memory()); });
  EXPECT_EQ(said,
            "no room for a buffer of 4096 bytes in the memory of 'accelerator:0': 1984 of 4096 bytes are free, the "
            "largest range has 1984; the largest tensors are that of 'weights' with 2048 bytes, that of 'bias' with 64 "
            "bytes");
  EXPECT_EQ(small->memory().free().bytes, 1984u);
}

TEST(emulated, what_was_given_back_is_not_a_number) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 12});
  {
    auto const gone = numbers().to(fast);
  }
  tensor const same_place(dtype::float32, shape{4}, fast->memory());
  EXPECT_TRUE(std::isnan(same_place.to(host).at<float>(2)));
}

TEST(emulated, a_lost_device_refuses_work_until_it_is_back) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 12});
  fast->lose();
  task work([] {});
  EXPECT_EQ(message_of([&] { fast->compute().submit(work); }), "the device 'accelerator:0' was lost");
  fast->recover();
  fast->compute().submit(work);
  EXPECT_EQ(work.over.get_future().get(), nullptr);
}

TEST(emulated, the_work_of_a_stream_is_done_in_order_and_its_exceptions_are_failures) {
  auto const fast = emulated("accelerator:0", {.memory = 1 << 12});
  std::string order;
  fast->compute().stall(true);
  task a([&] { order += 'a'; });
  task b([&] { throw error(code::internal, "broken"); });
  task c([&] { order += 'c'; });
  fast->compute().submit(a);
  fast->compute().submit(b);
  fast->compute().submit(c);
  fast->compute().stall(false);
  EXPECT_EQ(b.over.get_future().get()->message(), "broken");
  EXPECT_EQ(c.over.get_future().get(), nullptr);
  EXPECT_EQ(order, "ac");
}

}  // namespace
}  // namespace rill
