#include "rill/train/checkpoint_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <string>
#include <utility>

#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "rill/io.hpp"

namespace rill {
namespace {

TEST(checkpoint_folder, takes_names_of_checkpoints_alone) {
  scratch place;
  auto const store = checkpoint_folder(place / "run");
  for (std::string const name :
       {"../a.safetensors", "/tmp/a.safetensors", ".a.safetensors", "a.txt", "a b.safetensors", ""}) {
    auto const text = sentence([&] { store->write({{name, {}}}, [](failure const&) {}); });
    EXPECT_TRUE(text.starts_with("permission_denied: ")) << text;
  }
  EXPECT_FALSE(std::filesystem::exists(place / "run"));
  std::promise<failure> done;
  store->write({{"a-000001.safetensors", {{"x", tensor(3.f)}}}}, [&](failure why) { done.set_value(std::move(why)); });
  EXPECT_FALSE(done.get_future().get());
  EXPECT_EQ(safetensors_file(place / "run/a-000001.safetensors").read("x").item<float>(), 3.f);
  std::promise<failure> again;
  store->write({{"a-000001.safetensors", {{"x", tensor(4.f)}}}}, [&](failure why) { again.set_value(std::move(why)); });
  auto const why = again.get_future().get();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::permission_denied) << why->what();
}

TEST(checkpoint_folder, says_why_a_file_is_not_written) {
  scratch place;
  write_file(place / "run", "no folder");
  auto const store = checkpoint_folder(place / "run");
  std::promise<failure> done;
  store->write({{"a.safetensors", {{"x", tensor(3.f)}}}}, [&](failure why) { done.set_value(std::move(why)); });
  auto const why = done.get_future().get();
  ASSERT_TRUE(why);
  EXPECT_NE(why->message().find("run"), std::string::npos) << why->what();
}

}  // namespace
}  // namespace rill
