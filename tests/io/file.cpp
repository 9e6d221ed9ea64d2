#include "rill/io/file.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "scratch.hpp"

// The mode that the last file had whose group or owner was set, just before.
static ::mode_t mode_without_owner = 0;

// The C library's, which looks at the mode first.
extern "C" int fchown(int file, ::uid_t owner, ::gid_t group) noexcept {
  struct stat about{};
  if (::fstat(file, &about) == 0) mode_without_owner = about.st_mode & 07777;
  return static_cast<int>(::syscall(SYS_fchown, file, owner, group));
}

namespace rill {
namespace {

TEST(file, writes_and_reads_back_any_bytes) {
  scratch dir;
  std::string bytes(100000, 'x');
  bytes[500] = '\0';
  write_file(dir / "a", bytes);
  EXPECT_EQ(read_file(dir / "a"), bytes);
  write_file(dir / "a", "");
  EXPECT_EQ(read_file(dir / "a"), "");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(file, names_the_path_and_the_reason_when_a_file_is_missing) {
  EXPECT_EQ(refusal([] { read_file("/no/such/file"); }), code::not_found);
  EXPECT_EQ(refusal([] { write_file("/no/such/file", ""); }), code::not_found);
  try {
    read_file("/no/such/file");
  } catch (error const& e) {
    EXPECT_EQ(e.message(), "cannot open '/no/such/file': No such file or directory");
  }
}

TEST(file, refuses_more_bytes_than_it_may_read) {
  scratch dir;
  write_file(dir / "a", "12345");
  EXPECT_EQ(read_file(dir / "a", 5), "12345");
  EXPECT_EQ(refusal([&] { read_file(dir / "a", 4); }), code::resource_exhausted);
  EXPECT_EQ(refusal([&] { read_file("/dev/zero", 1 << 20); }), code::resource_exhausted);
}

TEST(file, reads_files_that_do_not_tell_their_size) { EXPECT_FALSE(read_file("/proc/self/status").empty()); }

TEST(file, refuses_to_read_or_replace_a_directory) {
  scratch dir;
  EXPECT_EQ(refusal([&] { read_file(dir / ""); }), code::failed_precondition);
  std::filesystem::create_directory(dir / "d");
  EXPECT_EQ(refusal([&] { write_file(dir / "d", "x"); }), code::failed_precondition);
  EXPECT_EQ(dir.entries(), 1u) << "the temporary is removed";
}

::mode_t mode_of(std::filesystem::path const& path) {
  struct stat about{};
  EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
  return about.st_mode & 07777;
}

TEST(file, keeps_the_mode_of_the_file_that_it_replaces) {
  scratch dir;
  for (auto const umask : {::mode_t{022}, ::mode_t{077}, ::mode_t{0}}) {
    auto const before = ::umask(umask);
    for (auto const mode : {::mode_t{0600}, ::mode_t{0640}, ::mode_t{0444}, ::mode_t{0777}}) {
      std::filesystem::remove(dir / "a");
      write_file(dir / "a", "old");
      EXPECT_EQ(mode_of(dir / "a"), 0666 & ~umask) << "a new file has the process's mode";
      ASSERT_EQ(::chmod((dir / "a").c_str(), mode), 0);
      output_file f(dir / "a");
      f.write("new");
      for (auto const& entry : std::filesystem::directory_iterator(dir / ""))
        EXPECT_EQ(mode_of(entry.path()), mode) << "nobody else reads what is being written: " << entry.path();
      f.commit();
      EXPECT_EQ(mode_of(dir / "a"), mode);
    }
    ::umask(before);
  }
}

TEST(file, that_replaces_another_is_never_open_to_those_who_may_not_read_that_one) {
  scratch dir;
  ::mode_t const umask_before = ::umask(0);
  for (auto const mode : {::mode_t{0600}, ::mode_t{0640}, ::mode_t{0604}, ::mode_t{0777}}) {
    write_file(dir / "a", "old");
    ASSERT_EQ(::chmod((dir / "a").c_str(), mode), 0);
    mode_without_owner = 0;
    write_file(dir / "a", "new");
    EXPECT_EQ(mode_without_owner, 0600u) << "before it has the group and the owner of a file of mode " << mode;
    EXPECT_EQ(mode_of(dir / "a"), mode);
    std::filesystem::remove(dir / "a");
  }
  ::umask(umask_before);
}

TEST(file, that_takes_the_place_of_a_symbolic_link_has_the_mode_of_its_file) {
  scratch dir;
  write_file(dir / "a", "old");
  ASSERT_EQ(::chmod((dir / "a").c_str(), 0600), 0);
  std::filesystem::create_symlink("a", dir / "link");
  write_file(dir / "link", "new");
  EXPECT_EQ(mode_of(dir / "link"), 0600);
  EXPECT_EQ(read_file(dir / "a"), "old");
  std::filesystem::create_symlink("absent", dir / "dangling");
  write_file(dir / "dangling", "new");
  EXPECT_EQ(read_file(dir / "dangling"), "new");
}

TEST(file, refuses_to_replace_pipes_devices_and_sockets) {
  scratch dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mknod((dir / "socket").c_str(), S_IFSOCK | 0600, 0), 0);
  std::filesystem::create_symlink("/dev/null", dir / "null");
  std::filesystem::create_symlink("pipe", dir / "to_pipe");
  for (auto const& [name, what] : std::vector<std::pair<char const*, std::string>>{
           {"pipe", "a pipe"}, {"socket", "a socket"}, {"null", "a device"}, {"to_pipe", "a pipe"}}) {
    auto const e = error_of([&] { write_file(dir / name, "x"); });
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_EQ(e.message(), "cannot write '" + (dir / name).string() + "': it is " + what +
                               ", and only a file can be replaced by a new one");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(dir / "pipe") && std::filesystem::is_socket(dir / "socket"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "null") && std::filesystem::is_character_file(dir / "null"));
  EXPECT_EQ(dir.entries(), 4u) << "nothing temporary is left";
}

TEST(file, leaves_nothing_behind_unless_it_is_committed) {
  scratch dir;
  write_file(dir / "a", "old");
  {
    output_file f(dir / "a");
    f.write("new");
    EXPECT_EQ(dir.entries(), 2u);
    EXPECT_EQ(read_file(dir / "a"), "old");
  }
  EXPECT_EQ(dir.entries(), 1u);
  EXPECT_EQ(read_file(dir / "a"), "old");
}

TEST(file, lets_two_writers_of_one_name_each_write_a_whole_file) {
  scratch dir;
  output_file a(dir / "a"), b(dir / "a");
  a.write("first");
  b.write("second");
  b.commit();
  a.commit();
  EXPECT_EQ(read_file(dir / "a"), "first");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(file, keeps_the_old_file_when_there_is_no_room_for_the_new_one) {
  scratch dir;
  write_file(dir / "a", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto const handler = signal(SIGXFSZ, SIG_IGN);
  rlimit const small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto const why = refusal([&] { write_file(dir / "a", std::string(1 << 20, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(why, code::resource_exhausted);
  EXPECT_EQ(read_file(dir / "a"), "old");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(file, says_that_a_full_disk_is_full) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  auto const full = files::descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_LT(::write(full.get(), "x", 1), 0);
  EXPECT_EQ(files::code_of(errno), code::resource_exhausted);
}

TEST(file, reads_at_a_place_and_refuses_to_read_beyond_the_end) {
  scratch dir;
  write_file(dir / "a", "0123456789");
  input_file const f(dir / "a");
  char bytes[4] = {};
  EXPECT_EQ(f.size(), 10u);
  f.read_at(6, bytes, 4);
  EXPECT_EQ(std::string(bytes, 4), "6789");
  EXPECT_EQ(refusal([&] { f.read_at(7, bytes, 4); }), code::data_loss);
}

TEST(file, locks_a_directory_against_everybody_else_and_leaves_nothing_in_it) {
  scratch dir;
  std::atomic<bool> inside = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        directory_lock const alone(dir / ".");
        EXPECT_FALSE(inside.exchange(true));
        inside = false;
      }
    });
  threads.clear();
  EXPECT_TRUE(std::filesystem::is_empty(dir / "."));
  EXPECT_EQ(refusal([&] { directory_lock(dir / "nothing"); }), code::not_found);
}

}  // namespace
}  // namespace rill
