#include "rill/cuda/kernel_cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "emulated.hpp"
#include "io/scratch.hpp"

namespace rill::cuda {
namespace {

struct kernel_files : testing::Test {
  scratch in;
  std::filesystem::path const folder = in / "kernels";
  std::string told;

  std::unique_ptr<kernel_cache> open(kernel_cache::bounds most = {}) { return open(folder, most); }
  std::unique_ptr<kernel_cache> open(std::filesystem::path const& at, kernel_cache::bounds most = {}) {
    return std::make_unique<kernel_cache>(at, [this](std::string_view text) { told += text; }, most);
  }
  static std::shared_ptr<kernel_image const> image(std::string code) {
    auto const name = digest_of(code);
    return std::make_shared<kernel_image const>(kernel_image{std::move(code), name});
  }
  static digest key(std::string const& text) { return digest_of("key " + text); }
  std::filesystem::path file(std::string const& text) const { return folder / (hexadecimal(key(text)) + ".kernel"); }
  static ::mode_t mode(std::filesystem::path const& of) {
    struct ::stat about{};
    EXPECT_EQ(::stat(of.c_str(), &about), 0) << of;
    return about.st_mode & 0777;
  }
  std::size_t entries() const { return std::filesystem::exists(folder) ? in_folder() : 0; }

  /// What a new cache finds; "-": nothing.
  std::string found(std::string const& text) {
    auto const image = open()->find(key(text));
    return image ? image->code : "-";
  }
  void keep(std::vector<std::string> const& texts, std::string const& code) {
    std::vector<digest> keys;
    for (auto const& each : texts) keys.push_back(key(each));
    open()->keep(keys, image(code));
  }

 private:
  std::size_t in_folder() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
  }
};

TEST_F(kernel_files, hold_an_image_once_for_all_of_its_texts) {
  EXPECT_EQ(found("a"), "-");
  keep({"a", "b", "c"}, "code");
  for (auto const* each : {"a", "b", "c"}) EXPECT_EQ(found(each), "code");
  EXPECT_EQ(found("d"), "-");
  EXPECT_EQ(entries(), 3u);
  EXPECT_TRUE(std::filesystem::equivalent(file("a"), file("c")));
  auto const one = open();
  auto const first = one->find(key("a"));
  EXPECT_EQ(one->find(key("b")), first);
  EXPECT_EQ(first->name, digest_of("code"));
  EXPECT_EQ(told, "");
}

TEST_F(kernel_files, and_folders_are_the_owners_alone) {
  auto const before = ::umask(0);
  open(in / "x/y/z")->keep(std::vector{key("a")}, image("code"));
  ::umask(before);
  for (auto const* each : {"x", "x/y", "x/y/z"}) EXPECT_EQ(mode(in / each), 0700u) << each;
  EXPECT_EQ(mode(in / "x/y/z" / file("a").filename()), 0600u);
}

TEST_F(kernel_files, that_are_damaged_are_not_found_and_are_replaced) {
  keep({"a"}, "some code");
  auto const bytes = read_file(file("a"));
  auto const refused = damage(bytes, [&](std::string const& damaged) {
    std::ofstream(file("a"), std::ios::binary) << damaged;
    if (found("a") == "-") throw error(code::data_loss, "");
  });
  EXPECT_EQ(refused, bytes.size() * 9);
  write_file(file("a"), bytes + "more");
  EXPECT_EQ(found("a"), "-");
  keep({"a"}, "some code");
  EXPECT_EQ(found("a"), "some code");
  EXPECT_EQ(told, "");
}

TEST_F(kernel_files, of_other_texts_and_of_other_kinds_are_not_found) {
  keep({"a"}, "code");
  std::filesystem::copy_file(file("a"), file("b"));
  EXPECT_EQ(found("b"), "-");
  std::filesystem::create_symlink(file("a"), file("c"));
  std::filesystem::remove(file("b"));
  std::filesystem::create_directory(file("b"));
  ASSERT_EQ(::mkfifo(file("d").c_str(), 0600), 0);
  for (auto const* each : {"b", "c", "d"}) EXPECT_EQ(found(each), "-") << each;
  keep({"c", "d"}, "other code");
  for (auto const* each : {"c", "d"}) EXPECT_EQ(found(each), "other code") << each;
  EXPECT_EQ(found("a"), "code");
  ASSERT_EQ(::chmod(file("a").c_str(), 0620), 0);  // a group may write to it
  EXPECT_EQ(found("a"), "-");
  EXPECT_EQ(told, "");
}

TEST_F(kernel_files, are_not_taken_from_a_folder_that_others_may_write_to) {
  keep({"a"}, "code");
  for (::mode_t const open_to_others : {0720u, 0702u, 01777u}) {
    told.clear();
    ASSERT_EQ(::chmod(folder.c_str(), open_to_others), 0);
    EXPECT_EQ(found("a"), "-");
    EXPECT_NE(told.find("compiled kernels are not kept for later runs: '" + folder.string() + "' belongs to another"),
              std::string::npos)
        << told;
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(found("a"), "code");
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
  EXPECT_EQ(found("a"), "-");
}

TEST_F(kernel_files, are_done_without_where_there_can_be_none) {
  write_file(in / "file", "");
  for (auto const& at : {in / "file", in / "file/kernels", std::filesystem::path("/proc/rill/kernels")}) {
    told.clear();
    auto const none = open(at);
    none->keep(std::vector{key("a")}, image("code"));
    EXPECT_EQ(none->find(key("a")), nullptr);
    EXPECT_TRUE(told.starts_with("compiled kernels are not kept for later runs: cannot ")) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  }
  told.clear();
  auto const off = open("");
  off->keep(std::vector{key("a")}, image("code"));
  EXPECT_EQ(off->find(key("a")), nullptr);
  EXPECT_EQ(told, "");
}

TEST_F(kernel_files, that_can_not_be_written_are_told_of_once) {
  auto const cache = open();
  std::filesystem::remove(folder);
  for (int i = 0; i < 3; ++i) cache->keep(std::vector{key("a")}, image("code"));
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  EXPECT_NE(told.find("cannot create '" + folder.string()), std::string::npos) << told;
  kernel_cache unheard(in / "file", {});
  unheard.keep(std::vector{key("a")}, image("code"));
}

// Sets when a file was used, in hours before now.
void use(std::filesystem::path const& file, int hours) {
  ::timespec const at{::time(nullptr) - hours * 3600, 0}, both[] = {at, at};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), both, 0), 0);
}

TEST_F(kernel_files, that_were_not_used_for_the_longest_time_make_room) {
  for (int i = 0; i < 16; ++i) {
    auto const text = std::to_string(i);
    keep({text}, "code " + text);
    use(file(text), 100 - i);
  }
  EXPECT_EQ(found("0"), "code 0");  // so it was used just now
  write_file(folder / "notes", "not ours");
  write_file(folder / "7-7.tmp", "left behind");
  use(folder / "7-7.tmp", 2);
  auto const cache = open({.files = 16});
  cache->keep(std::vector{key("16")}, image("code 16"));
  EXPECT_EQ(entries(), 14u + 1);
  EXPECT_EQ(found("0"), "code 0");
  for (auto const* gone : {"1", "2", "3"}) EXPECT_EQ(found(gone), "-") << gone;
  for (auto const* left : {"4", "15", "16"}) EXPECT_NE(found(left), "-") << left;
  EXPECT_TRUE(std::filesystem::exists(folder / "notes"));
  // The next look comes with the file that is one too many.
  for (int i = 17; i < 20; ++i) cache->keep(std::vector{key(std::to_string(i))}, image(std::to_string(i)));
  EXPECT_EQ(entries(), 14u + 1);
}

TEST_F(kernel_files, have_a_bound_on_their_bytes_in_which_links_count_once) {
  auto const cache = open({.bytes = 10'000});
  cache->keep(std::vector{key("a"), key("b"), key("c")}, image(std::string(6000, 'a')));
  cache->keep(std::vector{key("d")}, image(std::string(2000, 'd')));
  EXPECT_EQ(entries(), 4u);
  for (auto const* each : {"a", "b", "c"}) use(file(each), 1);
  cache->keep(std::vector{key("e")}, image(std::string(5000, 'e')));
  EXPECT_EQ(found("d").size(), 2000u);
  EXPECT_EQ(found("e").size(), 5000u);
  EXPECT_EQ(entries(), 2u);
}

TEST(kernel_cache_folder, is_that_of_the_environment) {
  test::environment_scope const own("RILL_KERNEL_CACHE", "/own"), xdg("XDG_CACHE_HOME", "/xdg"),
      home("HOME", "/home/me");
  EXPECT_EQ(kernel_cache_folder(), "/own");
  {
    test::environment_scope const off("RILL_KERNEL_CACHE", "");
    EXPECT_EQ(kernel_cache_folder(), "");
  }
  ::unsetenv("RILL_KERNEL_CACHE");
  EXPECT_EQ(kernel_cache_folder(), "/xdg/rill");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(kernel_cache_folder(), "/home/me/.cache/rill");
  ::unsetenv("HOME");
  EXPECT_EQ(kernel_cache_folder(), "");
}

}  // namespace
}  // namespace rill::cuda
