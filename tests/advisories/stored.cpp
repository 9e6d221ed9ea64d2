// Stored graphs and checkpoints that are believed: bytes of every operation, spoilt, loaded and run.
#include <random>

#include "hostile.hpp"
#include "rill/graph/codec.hpp"
#include "rill/io/safetensors.hpp"
#include "rill/ops/files/tensor_file.hpp"

namespace rill::test {
namespace {

// Runs whatever was loaded: feeds what is asked for with small tensors, and fetches every output of every node.
void run_loaded(graph& g) {
  std::vector<feed> feeds;
  std::vector<operation> updates;
  session s(g, {.threads = 1});
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g[i].op == &definition<ops::placeholder_op>()) {
      type t = g[i].outputs[0];
      if (!t.has_rank()) t = type(t.element, {dim(2), dim(2)});
      std::int64_t count = 1;
      for (std::size_t k = 0; k < t.rank; ++k) {
        if (!t[k].known()) t[k] = dim(2);
        if (t[k].extent > 64 || (count *= std::max<std::int64_t>(t[k].extent, 1)) > 4096) return;
      }
      feeds.emplace_back(value{&g, i, 0}, mild(t, dtypes::indices.contains(t.element) ? 2 : 0));
    }
  for (std::uint32_t i = 0; i < g.size(); ++i) try {
      if (g[i].outputs.empty()) s.run(feeds, operation(&g, i));
      else s.run(feeds, value{&g, i, 0});
    } catch (error const& e) {
      EXPECT_TRUE(is_refusal(e.code())) << e.what();
    }
}

std::string bytes_of(hostile_call const& c, declared how) {
  recorded_call r(c, how);
  return to_bytes(r.g);
}

TEST(advisories_stored, graphs_of_every_operation_run_after_the_journey) {
  for (auto const& c : good_calls())
    for (auto how : {declared::known, declared::unranked}) {
      auto const bytes = bytes_of(c, how);
      auto const g = graph_from_bytes(bytes, all_operations());
      EXPECT_EQ(to_bytes(*g), bytes) << c.text();
      run_loaded(*g);
    }
}

TEST(advisories_stored, spoilt_bytes_of_every_operation_are_refused_or_run) {
  std::mt19937 random(1);
  std::size_t accepted = 0;
  for (auto const& c : good_calls()) {
    auto const bytes = bytes_of(c, declared::unranked);
    for (int i = 0; i < 60; ++i) {
      auto spoilt = bytes;
      for (int k = 0; k <= i % 3; ++k) {
        auto& b = spoilt[random() % spoilt.size()];
        b = static_cast<char>(i % 2 ? b ^ 1 << random() % 8 : static_cast<int>(random()));
      }
      std::unique_ptr<graph> g;
      try {
        g = graph_from_bytes(spoilt, all_operations());
      } catch (error const& e) {
        EXPECT_TRUE(is_refusal(e.code()) || e.code() == code::data_loss) << e.what();
        continue;
      }
      ++accepted;
      run_loaded(*g);
    }
  }
  EXPECT_GT(accepted, at_least(100));
}

TEST(advisories_stored, tensors_in_files_are_restored_as_the_type_that_was_asked_for_or_not_at_all) {
  scratch place;
  auto const file = (place / "tensors").string();
  write_safetensors(file, std::vector<named_tensor>{{"t", counting(dtype::float32, {2, 3})}});
  for (std::size_t i = 0; i < dtype_count; ++i)
    for (auto const& extents_of : {shape{2, 3}, shape{3, 2}, shape{6}, shape{}, shape{2, 3, 1}, shape{0}}) {
      type const wanted(static_cast<dtype>(i), extents_of);
      graph g;
      auto const path = placeholder(g, type(dtype::string));
      session s(g, {.threads = 1});
      bool const fits = wanted == type(dtype::float32, shape{2, 3});
      try {
        auto const t = s.run({{path, tensor(file)}}, restore(path, "t", wanted));
        EXPECT_TRUE(fits) << wanted.text();
        EXPECT_EQ(t.type(), wanted);
      } catch (error const& e) {
        EXPECT_FALSE(fits) << e.what();
      }
    }
}

}  // namespace
}  // namespace rill::test
