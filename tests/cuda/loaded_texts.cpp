#include "rill/cuda/loaded_texts.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulated.hpp"
#include "io/scratch.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// A text that no other test has, with two kernels.
std::string text(std::string const& name) {
  return "// " + name +
         "\nextern \"C\" __global__ void first(unsigned n) {}\nextern \"C\" __global__ void second(unsigned n) {}\n";
}
std::string const broken = "extern \"C\" __global__ void first(unsigned n) { no_such_name(); }\n";

// Every device compiles one text when it is made.
struct compiled_texts : test::on_emulated_gpu {
  scratch in;
  std::filesystem::path folder = in / "kernels";
  unsigned long long before = programs();

  static unsigned long long programs() {
    return test::on_own_gpu() ? 0 : RILL_EMULATED(rill_emulated_compiled_programs)();
  }
  /// How many programs were compiled since the last call.
  unsigned long long compiled() {
    auto const last = before;
    return (before = programs()) - last;
  }
  std::shared_ptr<gpu_device> device() const { return gpu(0, {.cache = folder}); }
  static std::shared_ptr<gpu_device> without_files() { return gpu(0, {.cache = {}}); }
  static void compile(gpu_device const& on, std::string const& source, char const* kernel = "first") {
    on.compile(*on.find(source, kernel));
  }
  static std::string refusal(gpu_device const& on, std::string const& source) {
    try {
      compile(on, source);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::internal);
      return e.message();
    }
    return "";
  }
};

TEST_F(compiled_texts, that_wait_are_one_program) {
  auto const on = without_files();
  EXPECT_EQ(compiled(), 1u);
  std::vector<std::shared_ptr<gpu_device::function const>> all;
  for (auto const* each : {"a", "b", "c"})
    for (auto const* kernel : {"first", "second"}) all.push_back(on->find(text(each), kernel));
  EXPECT_EQ(compiled(), 0u);
  on->compile(*all[3]);
  EXPECT_EQ(compiled(), 1u);
  for (auto const& each : all) on->compile(*each);
  EXPECT_EQ(compiled(), 0u);
  on->find(text("never wanted"), "first");
}

TEST_F(compiled_texts, that_no_kernel_uses_are_unloaded_when_there_are_many) {
  auto const on = without_files();
  auto const modules = [] { return RILL_EMULATED(rill_emulated_count)().modules; };
  auto const kept = on->find(text("kept"), "first");
  on->compile(*kept);
  compile(*on, text("a"));
  auto const before_many = modules();
  for (std::size_t i = 0; i <= cuda::most_unused; ++i) on->find(text("many " + std::to_string(i)), "first");
  EXPECT_LT(modules(), before_many);
  EXPECT_GE(modules(), 1u);
  EXPECT_EQ(on->find(text("kept"), "first"), kept);
  compiled();
  on->compile(*kept);
  EXPECT_EQ(compiled(), 0u);
}

TEST_F(compiled_texts, of_a_second_device_come_from_files) {
  for (auto const programs : {2u, 0u}) {
    auto const on = device();
    auto const other = on->find(text("b"), "second");
    compile(*on, text("a"));
    on->compile(*other);
    EXPECT_EQ(compiled(), programs);
    EXPECT_EQ(RILL_EMULATED(rill_emulated_count)().modules, 2u);  // a program that several files have is loaded once
  }
  // A text and its neighbours need not be wanted together again.
  compile(*device(), text("b"));
  EXPECT_EQ(compiled(), 0u);
}

TEST_F(compiled_texts, run_alike_from_files) {
  graph g;
  auto const x = placeholder<float, 3>(g);
  auto const y = g.on("gpu:0", [&] { return value(sum(tanh(x) * 2.f)); });
  std::vector<tensor> made;
  for (bool const again : {false, true}) {
    session s{g, {.threads = 1, .devices = {device()}}};
    made.push_back(tensor(s.run({{x, vector({1.f, 2.f, 3.f})}}, y)).to(host));
    EXPECT_EQ(compiled() == 0, again);
  }
  EXPECT_TRUE(same_bits(made[0], made[1]));
}

TEST_F(compiled_texts, that_are_refused_say_why_and_harm_no_others) {
  auto const on = without_files();
  auto const good = on->find(text("good"), "first"), bad = on->find(broken, "first"),
             other = on->find(text("other"), "second");
  compiled();
  on->compile(*good);
  EXPECT_EQ(compiled(), 1u + 2 + 2);  // one program, each good text, and the bad one with and without its namespace
  on->compile(*other);
  auto const why = refusal(*on, broken);
  EXPECT_NE(why.find("NVRTC refuses a kernel's text:\n"), std::string::npos) << why;
  EXPECT_NE(why.find("rill.cu:1:"), std::string::npos) << why;
  EXPECT_NE(why.find("no_such_name"), std::string::npos) << why;
  EXPECT_EQ(compiled(), 2u);  // once more, for memory may have been short: by itself
  on->find(broken, "first");
  compile(*on, text("third"));
  EXPECT_EQ(compiled(), 1u);
}

TEST_F(compiled_texts, that_need_to_be_outside_of_a_namespace_are) {
  auto const on = without_files();
  std::string const outside = "namespace own { int a; }\nnamespace b { int c = sizeof(::own::a); }\n" + text("outside");
  auto const other = on->find(text("inside"), "first");
  on->compile(*on->find(outside, "second"));
  on->compile(*other);
}

TEST_F(compiled_texts, with_directives_are_compiled_by_themselves) {
  auto const on = without_files();
  std::string const alone =
      "int before;\n#define NAME first\nextern \"C\" __global__ void NAME(unsigned n) {}\n" + text("with a directive");
  auto const other = on->find(text("d"), "first");
  compiled();
  compile(*on, alone, "second");
  EXPECT_EQ(compiled(), 2u);
  on->compile(*other);
  EXPECT_EQ(compiled(), 0u);
}

TEST_F(compiled_texts, are_compiled_once_for_all_threads_that_want_them) {
  auto const on = without_files();
  compiled();
  std::atomic<unsigned> failed{0};
  std::vector<std::thread> all;
  for (int thread = 0; thread < 8; ++thread)
    all.emplace_back([&, thread] {
      for (int i = 0; i < 4; ++i) try {
          compile(*on, text("shared " + std::to_string((i + thread) % 4)), i % 2 ? "first" : "second");
        } catch (error const&) {
          ++failed;
        }
    });
  for (auto& each : all) each.join();
  EXPECT_EQ(failed, 0u);
  auto const programs = compiled();
  EXPECT_GE(programs, 1u);
  EXPECT_LE(programs, 4u);
  compile(*on, text("shared 0"));
  EXPECT_EQ(compiled(), 0u);
}

TEST_F(compiled_texts, of_damaged_files_are_compiled_anew) {
  compile(*device(), text("e"));
  for (auto const& each : std::filesystem::directory_iterator(folder)) {
    auto bytes = read_file(each.path());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(each.path(), bytes);
  }
  compiled();
  for (auto const programs : {2u, 0u}) {
    compile(*device(), text("e"));
    EXPECT_EQ(compiled(), programs);
  }
}

TEST_F(compiled_texts, that_the_driver_refuses_are_compiled_anew) {
  cuda::kernel_text const source(text("f"));
  cuda::kernel_compiler compiler(cuda::nvrtc(), 90, folder, {});
  std::string const code = "no cubin";
  cuda::kernel_cache(folder, {})
      .keep(std::vector{compiler.key_of(source)}, std::make_shared<cuda::kernel_image>(code, cuda::digest_of(code)));
  auto const on = device();
  for (auto const programs : {2u, 0u}) {
    compile(*device(), text("f"));
    EXPECT_EQ(compiled(), programs);
  }
}

TEST_F(compiled_texts, of_another_nvrtc_are_others) {
  cuda::kernel_text const source(text("g"));
  auto const key = [&](int capability) {
    return cuda::kernel_compiler(cuda::nvrtc(), capability, {}, {}).key_of(source);
  };
  auto const here = key(90);
  EXPECT_EQ(key(90), here);
  EXPECT_NE(key(80), here);
  compile(*device(), text("g"));
  EXPECT_EQ(compiled(), 2u);
  test::environment_scope const newer("RILL_EMULATED_NVRTC_VERSION", "13010");
  EXPECT_NE(key(90), here);
  compile(*device(), text("g"));
  EXPECT_EQ(compiled(), 2u);
}

TEST_F(compiled_texts, need_no_folder) {
  write_file(in / "file", "");
  std::string told;
  auto const on = gpu(0, {.cache = in / "file", .log = [&](std::string_view each) { told += each; }});
  EXPECT_FALSE(on->absence());
  compile(*on, text("h"));
  EXPECT_NE(told.find("compiled kernels are not kept for later runs"), std::string::npos) << told;
  test::environment_scope const none("RILL_CUDA_DRIVER", "/nowhere/libcuda.so.1");
  EXPECT_TRUE(device()->absence());
  EXPECT_FALSE(std::filesystem::exists(folder));  // nothing is created without a GPU
}

// Runs this test in another process; returns its number.
::pid_t in_another_process(std::filesystem::path const& folder, std::filesystem::path const& result) {
  auto const* const now = testing::UnitTest::GetInstance()->current_test_info();
  std::string const filter = std::string("--gtest_filter=") + now->test_suite_name() + "." + now->name(),
                    own = "/proc/self/exe";
  std::vector<std::string> variables{"RILL_TEST_KERNELS_IN=" + folder.string(), "RILL_TEST_RESULT=" + result.string()};
  std::vector<char*> arguments{const_cast<char*>(own.c_str()), const_cast<char*>(filter.c_str()), nullptr}, all;
  for (auto& each : variables) all.push_back(each.data());
  for (char** each = environ; *each != nullptr; ++each) all.push_back(*each);
  all.push_back(nullptr);
  ::pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, own.c_str(), nullptr, nullptr, arguments.data(), all.data()), 0);
  return child;
}

TEST_F(compiled_texts, are_shared_by_processes) {
  if (char const* const given = std::getenv("RILL_TEST_KERNELS_IN")) {
    folder = given;
    auto const on = device();
    for (auto const* each : {"i", "j", "k"}) compile(*on, text(each));
    std::ofstream(std::getenv("RILL_TEST_RESULT")) << compiled();
    return;
  }
  auto const run = [&](std::vector<char const*> const& names) {
    std::vector<::pid_t> children;
    for (auto const* each : names) children.push_back(in_another_process(folder, in / each));
    for (auto const child : children) {
      int status = 1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
  };
  run({"one", "two"});
  run({"three"});
  EXPECT_GE(read_file(in / "one") + read_file(in / "two"), "04");  // 4, unless the other one was before it
  EXPECT_EQ(read_file(in / "three"), "0");
}

TEST_F(compiled_texts, that_fail_end_a_step_with_the_names_of_node_and_device) {
  graph g;
  auto const x = placeholder<float, 2>(g);
  auto const y = g.on("gpu:0", [&] { return value(exp(x) * 0.12345678f); });
  session s{g, {.threads = 1, .devices = {without_files()}}};
  std::vector<feed> const fed{{x, vector({0.f, 1.f})}};
  {
    test::environment_scope const compiler("RILL_EMULATED_COMPILER", "/bin/false");
    try {
      s.run(std::span<feed const>(fed), y);
      ADD_FAILURE();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::internal);
      EXPECT_EQ(e.device(), "/device:gpu:0") << e.what();
      EXPECT_FALSE(e.node().empty()) << e.what();
      EXPECT_NE(e.message().find("NVRTC refuses a kernel's text"), std::string::npos) << e.what();
    }
  }
  session again{g, {.threads = 1, .devices = {without_files()}}};
  EXPECT_EQ(tensor(again.run(std::span<feed const>(fed), y)).to(host).at<float>(0), 0.12345678f);
}

}  // namespace
}  // namespace rill
