// What rill reads, writes and says is the same in every language: programs with a window in it set the user's.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/foreign.hpp"
#include "io/scratch.hpp"
#include "rill/graph/dot.hpp"
#include "rill/io.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// Texts and bytes by what has made them, so that a difference has a name.
struct made {
  std::string by, text;
  bool operator==(made const&) const = default;
  friend void PrintTo(made const& m, std::ostream* to) { *to << m.by << ": " << m.text; }
};

std::vector<made> printed() {
  std::vector<made> all;
  std::ostringstream to;
  to << tensor(1234567.5) << tensor(0.1f) << tensor(std::int64_t{1234567}) << tensor(std::complex<double>(1.5, -2.5))
     << matrix<float>({{0.5f, 1e-9f}, {1e9f, 1234.5f}}) << vector<double>({1.25, 1e300})
     << of<float, 1234567> << extents{1234567, 8} << dtype::float16 << vector<half>({half(1.5f), half(2048.f)});
  graph g;
  auto const x = variable(fill<1, 2048>(constant(g, 1.5f)), "x");
  to << x;
  all.push_back({"operator<<", to.str()});
  all.push_back({"dot", dot(g)});
  session s(g, {.threads = 1});
  all.push_back({"explain", s.explain(std::span<feed const>(), matmul(x, transpose(x)) * 0.125f + 1.5f)});
  return all;
}

std::vector<made> read_and_written() {
  scratch dir;
  std::vector<made> all;
  auto const numbers = matrix<double>({{1.5, -0.25, 1e300}, {1234567.125, 5e-324, 3}});
  auto const add = [&](char const* by, tensor const& t) {
    all.push_back({by, text(t)});
    EXPECT_TRUE(same_bits(t, numbers)) << by << ": " << t;
  };
  all.push_back({"csv_text", csv_text({numbers})});
  write_csv(dir / "a.csv", {numbers});
  add("csv", read_csv(dir / "a.csv", {of<double, 3>}).at(0));
  write_npy(dir / "a.npy", numbers);
  add("npy", read_npy(dir / "a.npy"));
  std::vector<named_tensor> const named{{"a", numbers}};
  write_npz(dir / "a.npz", named);
  add("npz", read_npz(dir / "a.npz").at(0).value);
  all.push_back({"safetensors_bytes", safetensors_bytes(named, {{"learning rate", "0.5"}})});
  write_safetensors(dir / "a.safetensors", named);
  add("safetensors", read_safetensors(dir / "a.safetensors").at(0).value);
  auto const line = R"({"a": [[1.5, -0.25, 1e300], [1234567.125, 5e-324, 3.0]], "skipped": {"x": 1.5}})";
  std::vector<std::string> const names{"a"};
  add("json", parse_json_line(line, names).at(0).value());
  write_file(dir / "a.jsonl", std::string(R"({"a": [[1.5, -0.25, 1E300], [1234567.125, 5e-324, 3]]})") + "\n");
  add("json lines", json_line_reader(dir / "a.jsonl").next().value().at(0).value);
  graph g;
  auto const v = variable(constant(g, 1.5f), "v");
  session s(g, {.threads = 1});
  s.run(initializer(g));
  s.set_steps(1234567);
  saver keep(g, dir / "kept", {.better = better::lower});
  auto const saved = keep.save(s, {1234, 1234567}, 0.125);
  all.push_back({"a checkpoint's index", read_file(saved.index())});
  auto const best = keep.best();
  EXPECT_TRUE(best && best->metric == 0.125 && best->steps == 1234567u && best->position.index == 1234567);
  keep.restore(s);
  EXPECT_EQ(float(s.run(v)), 1.5f);
  return all;
}

std::vector<made> refused() {
  std::vector<made> all;
  auto const add = [&](auto&& f) { all.push_back({"error " + std::to_string(all.size()), sentence(f)}); };
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const v = variable(constant<float, 2>(g, {1, 2}), "v");
  session s(g, {.threads = 1});
  add([&] { dropout(x, 1.5, true); });
  add([&] { clip_by_value({}, -0.5); });
  add([&] { clip_by_norm(value(x), -1.5); });
  add([&] { batch_norm_layer(g, of<float, 2>, "b", {.decay = 1.5}); });
  add([&] { moving_averages({v}, {.decay = 1234567.5}); });
  add([&] { train_test_split(1234567, 1.5); });
  add([&] { s.run(gather(constant<float, 2>(g, {1, 2}), constant(g, 1234567))); });
  add([&] { s.run({{value(x), tensor(dtype::float32, {1234567})}}, x); });
  add([&] { s.run(reshape(value(x), extents{1234567, 1000})); });
  add([&] { parse_csv("1.5\n1,5\n", {of<double, 1>}); });
  add([&] { parse_json_line(R"({"a": 1234567890123456789012})"); });
  add([&] { parse_json_line(R"({"a": [1.5, {}]})"); });
  add([&] { parse_safetensors(std::string("\x10\0\0\0\0\0\0\0{\"a\":{\"b\": 1.5}}", 24)); });
  add([&] { read_file("/no/such/file"); });
  add([&] { read_file("/dev/zero", 1234567); });
  for (auto const& m : all) EXPECT_FALSE(m.text.empty()) << m.by << " was not refused";
  return all;
}

void expect_the_same_in(std::string const& language) {
  auto const make = [] { return std::vector{printed(), read_and_written(), refused()}; };
  auto const english = make();
  test::foreign const other(language);
  if (!other) GTEST_SKIP() << "localedef can't make " << language << ".UTF-8: is the package `locales` installed?";
  EXPECT_EQ(make(), english);
}

TEST(locale, of_the_user_changes_nothing_that_is_read_written_or_said) { expect_the_same_in("de_DE"); }

TEST(locale, may_have_a_decimal_point_of_two_bytes) { expect_the_same_in("ps_AF"); }

}  // namespace
}  // namespace rill
