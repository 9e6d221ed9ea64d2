#include "rill/cuda/kernel_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/product_kernel.hpp"
#include "rill/cuda/reduce_kernel.hpp"
#include "rill/cuda/softmax_kernel.hpp"
#include "rill/rill.hpp"

namespace rill::cuda {
namespace {

bool has(std::string const& text, std::string const& what) { return text.find(what) != std::string::npos; }

TEST(kernel_text, puts_all_but_the_includes_into_a_namespace_of_its_own) {
  std::string const source =
      "// two\n #include <cstdint>\n\n #include \"a.cuh\"\nusing t = int;\n"
      "extern \"C\" __global__ void twice(t* x) { x[0] *= 2; }";
  kernel_text const text(source);
  auto const mark = text.name_of("twice").substr(6);
  EXPECT_EQ(text.name_of("twice"), "twice_" + mark);
  EXPECT_EQ(mark.size(), 16u);
  EXPECT_EQ(text.part(), "// two\n #include <cstdint>\n\n #include \"a.cuh\"\nnamespace text_" + mark +
                             " { using t = int;\nextern \"C\" __global__ void twice_" + mark +
                             "(t* x) { x[0] *= 2; }\n}  // namespace text_" + mark + "\n");
  EXPECT_EQ(text.alone(),
            "// two\n #include <cstdint>\n\n #include \"a.cuh\"\nusing t = int;\n"
            "extern \"C\" __global__ void twice_" +
                mark + "(t* x) { x[0] *= 2; }");
  EXPECT_TRUE(text.joins());
  EXPECT_EQ(kernel_text(source).part(), text.part());
  EXPECT_NE(kernel_text(source + " ").name_of("twice"), text.name_of("twice"));
}

TEST(kernel_text, finds_names_behind_launch_bounds) {
  kernel_text const text(
      "extern \"C\" __global__ __launch_bounds__(32 * (2 + 2), 3) void a(int) {}\n"
      "extern \"C\" __global__ void __launch_bounds__(64) b (int) {}\n"
      "extern \"C\" __global__ void\nc(int) {}\n");
  for (auto const* name : {"a", "b", "c"}) EXPECT_TRUE(has(text.part(), text.name_of(name))) << text.part();
  EXPECT_TRUE(has(text.part(), "__launch_bounds__(32 * (2 + 2), 3) void"));
}

TEST(kernel_text, with_a_directive_behind_its_first_lines_stands_alone) {
  kernel_text const text("#include <cstdint>\nint a;\n  #define b 1\nextern \"C\" __global__ void c() {}\n");
  EXPECT_FALSE(text.joins());
  EXPECT_FALSE(has(text.part(), "namespace"));
  EXPECT_TRUE(has(text.part(), "void " + text.name_of("c") + "() {}"));
  EXPECT_TRUE(kernel_text("int a = 1;  // # 3\n").joins());
}

struct kernel_texts : test::on_real_nvrtc {};

TEST_F(kernel_texts, of_all_kinds_are_one_program_of_nvrtc) {
  auto const types = types_of(ops::reducer::sum, dtype::float32);
  std::vector<kernel_text> texts;
  for (auto const& each :
       {product_text(dtype::float32, 32, false), product_text(dtype::float64, 64, true),
        add_pieces_text(dtype::float32), reduce_text(ops::reducer::sum, dtype::float32, types, true, true),
        reduce_text(ops::reducer::max, dtype::int32, types_of(ops::reducer::max, dtype::int32), false, false),
        rows_text("softmax", {dtype::float32}, 1, false), rows_text("softmax", {dtype::float16}, 1, true),
        copy_text(4, 2, false), copy_text(4, 2, true), clear_text()})
    texts.emplace_back(each);
  std::string program;
  std::size_t one_by_one = 0;
  for (auto const& each : texts) {
    EXPECT_TRUE(each.joins());
    program += each.part();
    one_by_one += compiler->compile(each.part(), 90).size();
  }
  auto const code = compiler->compile(program, 90);
  EXPECT_TRUE(has(code, texts[0].name_of("product")) && has(code, texts[1].name_of("product")));
  EXPECT_TRUE(has(code, texts[4].name_of("join")) && has(code, texts[4].name_of("reduce")));
  EXPECT_TRUE(has(code, texts[9].name_of("zeros")));
  EXPECT_LT(code.size(), one_by_one);
}

}  // namespace
}  // namespace rill::cuda
