#include "rill/ops/files/tensor_file.hpp"

#include "../run.hpp"
#include "io/scratch.hpp"
#include "rill/ops/list/operations.hpp"

namespace rill {
namespace {

tensor text(std::filesystem::path const& p) { return tensor(p.string()); }

TEST(tensor_file, saves_and_restores_in_a_graph) {
  scratch place;
  graph g;
  auto path = placeholder<std::string>(g, "path");
  auto x = placeholder<float, "n", 2>(g, "x");
  auto write = save(path, {"a", "b"}, {x, constant(g, std::int64_t{7})});
  auto a = restore<float, 1, 2>(path, "a");
  auto b = restore<std::int64_t>(path, "b");
  session s{g, {.threads = 1}};
  s.run({{"path", text(place / "t")}, {x, matrix<float>({{1, 2}})}}, write);
  auto const [va, vb] = s.run({{"path", text(place / "t")}}, a, b);
  EXPECT_EQ(test::to_doubles(va), (std::vector<double>{1, 2}));
  EXPECT_EQ(vb, 7);
  s.run({{"path", text(place / "t")}, {x, matrix<float>({{3, 4}})}}, write);
  EXPECT_EQ(test::to_doubles(s.run({{"path", text(place / "t")}}, a)), (std::vector<double>{3, 4}))
      << "read again, not kept";
}

TEST(tensor_file, says_what_is_not_there) {
  scratch place;
  graph g;
  auto path = placeholder<std::string>(g, "path");
  auto write = save(path, {"a"}, {constant(g, 1.f)});
  auto missing = restore<float>(path, "b");
  auto other = restore<double>(path, "a");
  session s{g, {.threads = 1}};
  auto const at = text(place / "t");
  EXPECT_EQ(refusal([&] { s.run({{"path", at}}, missing); }), code::not_found);
  s.run({{"path", at}}, write);
  EXPECT_EQ(refusal([&] { s.run({{"path", at}}, missing); }), code::not_found);
  EXPECT_EQ(refusal([&] { s.run({{"path", at}}, other); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { save(path, {"a"}, {constant(g, std::string("text"))}); }), code::unimplemented);
  EXPECT_EQ(refusal([&] { s.run({{"path", text(place / "no/t")}}, write); }), code::not_found);
  EXPECT_EQ(place.entries(), 1u);
  EXPECT_EQ(refusal([&] { save(constant(g, 1.f), {"a"}, {path}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { save(path, {"a", "b"}, {constant(g, 1.f)}); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
