#include "rill/ops/list/io_operations.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "rill/graph/codec.hpp"
#include "rill/io.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(io_operations, travel_with_the_graph_of_a_pipeline) {
  scratch const folder;
  auto const file = (folder / "a.csv").string();
  write_file(file, "number\n1\n2\n3\n");
  std::string bytes, batches;
  {
    graph g;
    auto const [x] = decode_csv<of<std::int32_t>>(csv_reader(g, {file}, {.epochs = 2, .header_lines = 1}, "r").next());
    batches = batch<4>({.threads = 1}, x).name();
    bytes = to_bytes(g);
  }
  auto const again = graph_from_bytes(bytes, all_operations<io_operations>());
  EXPECT_EQ(to_bytes(*again), bytes);
  session s(*again);
  s.run(initializer(*again));
  start_input(s);
  EXPECT_TRUE(same_bits(s.run({}, std::vector{batches})[0], vector<std::int32_t>({1, 2, 3, 1})));
  EXPECT_NE(sentence([&] { graph_from_bytes(bytes, all_operations()); }).find("'read_record' is not known"),
            std::string::npos);
}

TEST(io_operations, travel_with_the_graph_of_a_checkpoint) {
  scratch const folder;
  graph g;
  auto const path = placeholder<std::string>(g, "path");
  save(path, {"a"}, {constant(g, 7.f)});
  auto const name = restore<float>(path, "a").name();
  auto const again = graph_from_bytes(to_bytes(g), all_operations<io_operations>());
  session s(*again);
  auto const at = tensor((folder / "t").string());
  s.run({{"path", at}}, operation(again->find("save")));
  EXPECT_EQ(s.run({{"path", at}}, std::vector{name})[0].item<float>(), 7);
}

TEST(io_operations, are_listed_behind_all_others) {
  auto const core = all_operations(), all = all_operations<io_operations>();
  ASSERT_EQ(all.size(), core.size() + io_operations::size);
  EXPECT_TRUE(std::equal(core.begin(), core.end(), all.begin()));
  EXPECT_EQ(all[core.size()]->name, "read_record");
}

}  // namespace
}  // namespace rill
