#include "rill/graph/codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/limit.hpp"
#include "base/share.hpp"
#include "graph/samples.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/random/uniform.hpp"
#include "rill/run/session.hpp"

// How much memory this thread has, and has had at most, since `start`.
namespace {
struct allocation_count {
  std::int64_t now = 0, most = 0;
  void start() { now = most = 0; }
};
thread_local allocation_count allocated;

void* counted(std::size_t bytes, std::size_t alignment) {
  auto const head = std::max(alignment, alignof(std::max_align_t));
  auto* p = static_cast<std::byte*>(std::aligned_alloc(head, (bytes + 2 * head - 1) / head * head));
  if (p == nullptr) return nullptr;
  std::memcpy(p, &bytes, sizeof bytes);
  allocated.most = std::max(allocated.most, allocated.now += static_cast<std::int64_t>(bytes));
  return p + head;
}
void release(void* p, std::size_t alignment) {
  if (p == nullptr) return;
  auto* const start = static_cast<std::byte*>(p) - std::max(alignment, alignof(std::max_align_t));
  std::size_t bytes = 0;
  std::memcpy(&bytes, start, sizeof bytes);
  allocated.now -= static_cast<std::int64_t>(bytes);
  std::free(start);
}
void* or_throw(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(std::size_t n) { return or_throw(counted(n, 1)); }
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return counted(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return or_throw(counted(n, static_cast<std::size_t>(a))); }
void* operator new(std::size_t n, std::align_val_t a, std::nothrow_t const&) noexcept {
  return counted(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { release(p, 1); }
void operator delete(void* p, std::size_t) noexcept { release(p, 1); }
void operator delete(void* p, std::align_val_t a) noexcept { release(p, static_cast<std::size_t>(a)); }
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept { release(p, static_cast<std::size_t>(a)); }

namespace rill {
namespace {

void expect_same(graph const& a, graph const& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.seed(), b.seed());
  for (std::size_t i = 0; i < a.size(); ++i) {
    node const &x = a[i], &y = b[i];
    SCOPED_TRACE(x.name);
    EXPECT_EQ(x.op, y.op);
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.inputs, y.inputs);
    EXPECT_EQ(x.controls, y.controls);
    EXPECT_EQ(x.outputs, y.outputs);
    EXPECT_EQ(x.device, y.device);
    EXPECT_EQ(x.colocated, y.colocated);
    ASSERT_EQ(x.attributes.size(), y.attributes.size());
    for (std::size_t k = 0; k < x.attributes.size(); ++k) {
      EXPECT_EQ(x.attributes[k].first, y.attributes[k].first);
      auto const* number = std::get_if<double>(&x.attributes[k].second);
      auto const* f = std::get_if<function_definition const*>(&x.attributes[k].second);
      if (f) EXPECT_EQ((*f)->name, std::get<function_definition const*>(y.attributes[k].second)->name);
      else if (number && std::isnan(*number)) EXPECT_TRUE(std::isnan(std::get<double>(y.attributes[k].second)));
      else EXPECT_TRUE(same(x.attributes[k].second, y.attributes[k].second)) << x.attributes[k].first;
    }
  }
  ASSERT_EQ(a.initials().size(), b.initials().size());
  for (std::size_t i = 0; i < a.initials().size(); ++i) {
    EXPECT_EQ(a.initials()[i].variable, b.initials()[i].variable);
    EXPECT_EQ(a.initials()[i].assignment, b.initials()[i].assignment);
  }
}

std::string sample_bytes() {
  graph g(42);
  fill_sample(g);
  return to_bytes(g);
}

code refusal(std::string const& bytes, std::string const& part = "") {
  try {
    graph_from_bytes(bytes, sample_operations());
  } catch (error const& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    return e.code();
  }
  ADD_FAILURE() << "the bytes were accepted";
  return code::internal;
}

// A graph of one node, the parts of which a test can spoil.
struct written {
  std::string operation = "constant", name = "c";
  std::vector<endpoint> inputs = {};
  std::vector<std::uint32_t> controls = {};
  attribute_list attributes{{"value", tensor(1.f)}};
  std::string device = {}, colocated = {};
  std::int64_t copy_of = -1;
  std::vector<type> outputs{{dtype::float32}};
  std::uint64_t count = 1, recorded = 1;

  std::string bytes() const {
    wire::writer to;
    to.put(graph_magic.data(), graph_magic.size());
    to(graph_format, std::uint64_t{0}, std::uint64_t{0}, count, operation, name);
    wire::save_list(to, inputs, [&](endpoint e) { to(e.node, e.port); });
    wire::save_list(to, controls, [&](std::uint32_t c) { to(c); });
    wire::save_list(to, attributes, [&](auto const& a) {
      to(std::string(a.first));
      wire::save(to, a.second);
    });
    to(device, colocated, std::uint32_t{0}, copy_of, false, std::int64_t{-1});
    wire::save_list(to, outputs, [&](type const& t) { wire::save(to, t); });
    to(std::uint64_t{0}, recorded);
    return to.take();
  }
};

TEST(codec, gives_back_an_empty_graph_with_its_seed) {
  graph const g(7);
  auto const again = graph_from_bytes(to_bytes(g), {});
  EXPECT_EQ(again->size(), 0);
  EXPECT_EQ(again->seed(), 7);
}

TEST(codec, gives_back_every_attribute_edge_name_and_constraint) {
  graph g(42);
  fill_sample(g);
  auto const again = graph_from_bytes(to_bytes(g), sample_operations());
  expect_same(g, *again);
  EXPECT_EQ(to_bytes(*again), to_bytes(g));
}

TEST(codec, gives_back_the_marks_of_nodes) {
  graph g;
  auto const x = placeholder(g, of<float>, "x");
  g.recomputed([&] { return neg(x); });
  g.hogwild([&] { return neg(x); });
  g.with_gradient("neg", {}, [&] { return neg(x); });
  g.again(1, [&] { return neg(x); });
  op_def const* const known[]{&definition<ops::placeholder_op>(), &definition<ops::neg_op>()};
  auto const again = graph_from_bytes(to_bytes(g), known);
  for (std::size_t i = 0; i < g.size(); ++i) {
    EXPECT_EQ((*again)[i].recompute, i == 1 ? 1 : 0);
    EXPECT_EQ((*again)[i].may_race, i == 2);
    EXPECT_EQ((*again)[i].rule, i == 3 ? 0 : -1);
    EXPECT_EQ((*again)[i].copy_of, i == 4 ? 1 : -1);
  }
  again->recomputed([&] { return neg(again->find("x")); });
  EXPECT_EQ((*again)[5].recompute, 2);
}

TEST(codec, gives_back_constants_of_every_element_type) {
  graph g;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    tensor t(static_cast<dtype>(i), {2, 3});
    if (t.element() != dtype::string) std::memset(t.mutable_raw(), 1, t.bytes());
    constant(g, t);
  }
  expect_same(g, *graph_from_bytes(to_bytes(g), all_operations()));
}

TEST(codec, gives_back_a_graph_that_runs_and_grows) {
  graph g;
  value const x = placeholder(g, of<float, "n">, "x");
  record_erased<ops::fused_op>(g, {sample_program()}, {x}, "y");
  variable(constant(g, 4.f), "v");
  initializer(g);
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s(*again);
  s.run(operation(again->find("initializer")));
  EXPECT_EQ(s.run("v").item<float>(), 4);
  auto const y = s.run({{"x", vector<float>({1, 2})}}, "y:1");
  EXPECT_TRUE(same_bits(y, vector<float>({12.25f, 20.25f})));
  value const more = neg(again->find("x"));
  EXPECT_EQ(more.name(), "neg");
  EXPECT_EQ(neg(again->find("v")).name(), "neg_1");
  EXPECT_EQ(placeholder(*again, of<float>, "x").name(), "x_1");
}

TEST(codec, refuses_bytes_that_are_no_graph) {
  EXPECT_EQ(refusal(""), code::invalid_argument);
  EXPECT_EQ(refusal("something else that is long enough"), code::invalid_argument);
}

TEST(codec, refuses_another_version_and_says_which) {
  auto bytes = sample_bytes();
  bytes[graph_magic.size()] = 9;
  EXPECT_EQ(refusal(bytes, "expected a graph in format " + std::to_string(graph_format) + ", got format 9"),
            code::unimplemented);
}

TEST(codec, names_an_unknown_operation) {
  EXPECT_EQ(refusal(written{.operation = "warp"}.bytes(), "'warp'"), code::not_found);
}

TEST(codec, names_an_unknown_function_of_a_program) {
  op_def const known[] = {definition<ops::fused_op>(), definition<ops::placeholder_op>()};
  op_def const* const registry[] = {&known[0], &known[1]};
  graph g;
  value const x = placeholder(g, of<float>, "x");
  record_erased<ops::fused_op>(g, {sample_program()}, {x});
  try {
    graph_from_bytes(to_bytes(g), registry);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::not_found);
    EXPECT_NE(e.message().find("'add'"), std::string::npos) << e.what();
  }
}

TEST(codec, refuses_edges_that_do_not_come_from_earlier_nodes) {
  written const unary{.operation = "neg", .attributes = {}};
  auto n = unary;
  n.inputs = {{0, 0}};
  EXPECT_EQ(refusal(n.bytes(), "must be an output of an earlier node"), code::invalid_argument);
  n.inputs = {{UINT32_MAX, UINT32_MAX}};
  EXPECT_EQ(refusal(n.bytes(), "must be an output of an earlier node"), code::invalid_argument);
  n = written{.controls = {0}};
  EXPECT_EQ(refusal(n.bytes(), "control edge"), code::invalid_argument);
  EXPECT_EQ(refusal(written{.colocated = "nobody"}.bytes(), "'nobody'"), code::invalid_argument);
}

TEST(codec, refuses_devices_that_have_no_such_name) {
  EXPECT_EQ(refusal(written{.device = "/gpu/0"}.bytes(), "'/gpu/0' is no device's name"), code::invalid_argument);
}

TEST(codec, refuses_devices_in_bodies_that_have_no_such_name) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  cond(x < 1.f, [&] { return g.on("/device:cpu:77", [&] { return -x; }); }, [&] { return x; });
  auto bytes = to_bytes(g);
  bytes.replace(bytes.find("/device:cpu:77"), 14, "/device=cpu:77");
  EXPECT_EQ(refusal(bytes, "'/device=cpu:77' is no device's name"), code::invalid_argument);
}

TEST(codec, refuses_copies_of_what_comes_later) {
  for (std::int64_t const later : {std::int64_t{0}, std::int64_t{7}, std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(refusal(written{.copy_of = later}.bytes(), "must be an earlier node"), code::invalid_argument);
}

TEST(codec, refuses_wrong_arities) {
  EXPECT_EQ(refusal(written{.operation = "neg", .attributes = {}}.bytes(), "neg takes 1 inputs, not 0"),
            code::invalid_argument);
  EXPECT_EQ(refusal(written{.operation = "add_n", .attributes = {}}.bytes(), "at least one"), code::invalid_argument);
}

TEST(codec, refuses_names_that_no_node_can_have) {
  EXPECT_EQ(refusal(written{.name = ""}.bytes()), code::invalid_argument);
  EXPECT_EQ(refusal(written{.name = "a:0"}.bytes()), code::invalid_argument);
}

TEST(codec, refuses_a_name_that_comes_twice) {
  graph g;
  constant(g, tensor(1.f), "a");
  constant(g, tensor(1.f), "b");
  auto bytes = to_bytes(g);
  bytes[bytes.rfind('b')] = 'a';
  EXPECT_EQ(refusal(bytes, "another node has this name"), code::invalid_argument);
}

TEST(codec, refuses_attributes_that_are_missing_unknown_or_of_another_kind) {
  EXPECT_EQ(refusal(written{.attributes = {}}.bytes(), "missing"), code::invalid_argument);
  EXPECT_EQ(refusal(written{.attributes = {{"values", tensor(1.f)}}}.bytes(), "'values'"), code::data_loss);
  EXPECT_EQ(refusal(written{.attributes = {{"value", 1.0}}}.bytes(), "wrong type"), code::invalid_argument);
  EXPECT_EQ(refusal(written{.attributes = {{"value", tensor(1.f)}, {"value", tensor(1.f)}}}.bytes()), code::data_loss);
}

TEST(codec, refuses_outputs_that_are_not_those_inferred) {
  EXPECT_EQ(refusal(written{.outputs = {{dtype::float64}}}.bytes(), "the inferred types"), code::data_loss);
  EXPECT_EQ(refusal(written{.outputs = {}}.bytes(), "the inferred types"), code::data_loss);
  EXPECT_EQ(refusal(written{.outputs = {{dtype::float32}, {dtype::float32}}}.bytes(), "the inferred types"),
            code::data_loss);
}

TEST(codec, refuses_counts_that_the_bytes_can_not_hold) {
  EXPECT_EQ(refusal(written{.count = 2}.bytes()), code::data_loss);
  EXPECT_EQ(refusal(written{.count = UINT64_MAX}.bytes(), "end early"), code::data_loss);
  EXPECT_EQ(refusal(written{.count = 0}.bytes()), code::invalid_argument);  // the node is read as initial values
}

TEST(codec, refuses_bytes_behind_the_end) { EXPECT_EQ(refusal(sample_bytes() + '\0', "more bytes"), code::data_loss); }

TEST(codec, refuses_enumerations_and_bools_out_of_range) {
  auto const load = [](auto what, std::string const& bytes) {
    wire::reader from(bytes);
    wire::load(from, what);
  };
  EXPECT_THROW(load(dtype::boolean, "\x10"), error);
  EXPECT_THROW(load(type{}, std::string("\0\x09", 2)), error);
  EXPECT_THROW(load(type{}, std::string("\0\xfe", 2)), error);
  EXPECT_THROW(load(extents{}, "\x09"), error);
  std::string const two_bytes("\0\1\2\0\0\0\0\0\0\0\1\2", 12);  // bool[2], 1 and 2
  EXPECT_THROW(load(tensor{}, two_bytes), error);
  EXPECT_THROW(
      {
        wire::reader from("\2");
        bool b = false;
        from(b);
      },
      error);
}

TEST(codec, refuses_axes_that_are_none) {
  auto const load = [](std::int64_t extent, std::string name) {
    name.resize(12);
    std::string bytes(reinterpret_cast<char const*>(&extent), sizeof extent);
    bytes += name;
    wire::reader from(bytes);
    dim d;
    wire::load(from, d);
    return d;
  };
  EXPECT_EQ(load(-1, "batch"), dim("batch"));
  EXPECT_EQ(load(-1, ""), unknown);
  EXPECT_THROW(load(-2, ""), error);
  EXPECT_THROW(load(3, "batch"), error);
  EXPECT_THROW(load(-1, "twelve_chars"), error);
  EXPECT_THROW(load(-1, std::string("a\0b", 3)), error);
}

TEST(codec, refuses_programs_that_would_read_a_register_as_another_type) {
  program p = *sample_program();
  auto const decoded = [](program const& each) {
    wire::writer to;
    wire::save(to, each);
    auto const bytes = to.take();
    wire::reader from(bytes);
    return wire::load_program(from, wire::known_operations(all_operations()));
  };
  EXPECT_EQ(*decoded(p), p);
  p.inputs[0] = dtype::int8;
  EXPECT_THROW(decoded(p), error);
  p = *sample_program();
  p.instructions[1].operands[0] = 3;  // its own result
  EXPECT_THROW(decoded(p), error);
  p = *sample_program();
  p.instructions[1].result = dtype::float64;
  EXPECT_THROW(decoded(p), error);
  p = *sample_program();
  p.outputs[0] = 4;
  EXPECT_THROW(decoded(p), error);
  p.outputs.clear();
  EXPECT_THROW(decoded(p), error);
}

TEST(codec, refuses_an_initial_value_for_a_node_that_is_not_there) {
  graph g;
  variable(constant(g, 1.f), "v");
  auto bytes = to_bytes(g);
  bytes[bytes.size() - 1 - sizeof(std::uint64_t)] = 1;  // of the assignment's number
  EXPECT_EQ(refusal(bytes, "the graph does not have"), code::invalid_argument);
}

TEST(codec, refuses_an_initial_value_that_is_no_assignment_of_its_variable) {
  graph g;
  auto const first = constant(g, 1.f);
  auto const v = variable(first, "v"), w = variable(first, "w");
  auto const bytes = to_bytes(g);
  auto const place = bytes.size() - sizeof(std::uint64_t) - 4 * sizeof(std::uint32_t);
  ASSERT_EQ(bytes[place], static_cast<char>(v.node));
  for (auto const& [at, number] : {std::pair{place, w.node}, {place, first.node}, {place + 4, w.node}}) {
    auto spoilt = bytes;
    spoilt[at] = static_cast<char>(number);
    EXPECT_EQ(refusal(spoilt, "must be an assignment to its variable"), code::invalid_argument) << number;
  }
}

TEST(codec, a_graph_that_was_read_draws_what_the_first_one_draws_from_then_on) {
  graph g(7);
  auto const first = constant(g, 0);
  auto const in_loop = while_loop([](auto i) { return i < 2; }, [](auto i) { return i + 1; }, first);
  auto const once = uniform<float, 4>(g);
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  EXPECT_EQ(again->recorded(), g.recorded());
  std::vector<value> here, there;  // as many as the loop has nodes: one of them repeated the key of `once`
  for (int i = 0; i < 12; ++i) here.push_back(uniform<float, 4>(g)), there.push_back(uniform<float, 4>(*again));
  session s(g), t(*again);
  for (std::size_t i = 0; i < here.size(); ++i) {
    s.set_steps(0), t.set_steps(0);
    auto const drawn = t.run(there[i]);
    t.set_steps(0);
    EXPECT_FALSE(same_bits(t.run(again->find(once.name())), drawn)) << "two nodes have one key";
    EXPECT_TRUE(same_bits(s.run(here[i]), drawn));
  }
  s.run(in_loop);
}

TEST(codec, refuses_a_count_of_nodes_that_no_graph_has) {
  for (std::uint64_t const recorded : {std::uint64_t{0}, UINT64_MAX})
    EXPECT_EQ(refusal(written{.recorded = recorded}.bytes(), "expected a count of recorded nodes"),
              code::invalid_argument);
}

TEST(codec, refuses_a_node_of_a_body_beside_one_that_is_not_there) {
  graph g;
  auto const w = constant(g, tensor(1.f), "near_me");
  auto const x = placeholder<float>(g, "x");
  g.near(w, [&] { return cond(x < 1.f, [&] { return -x; }, [&] { return x; }); });
  cond(x < 1.f, [&] { return g.near(w, [&] { return -x; }); }, [&] { return x; });
  auto const bytes = to_bytes(g);
  EXPECT_NO_THROW(graph_from_bytes(bytes, all_operations()));
  int mentioned = 0;
  for (auto at = bytes.find("near_me"); at != bytes.npos; at = bytes.find("near_me", at + 1), ++mentioned) {
    auto spoilt = bytes;
    spoilt[at] = 'N';
    EXPECT_EQ(refusal(spoilt, "no earlier node"), code::invalid_argument) << at;
  }
  EXPECT_EQ(mentioned, 6) << "in the bodies as well";
}

TEST(codec, does_not_write_empty_tensors_and_programs) {
  graph g;
  EXPECT_THROW(wire::save(*std::make_unique<wire::writer>(), attribute(tensor())), error);
  EXPECT_THROW(wire::save(*std::make_unique<wire::writer>(), attribute(std::shared_ptr<program const>())), error);
}

// Changes the bits `first` and `first + 4` of each byte, one at a time. A test for each pair, because a process takes
// the longer for an exception with the address sanitizer, the more it has thrown.
void expect_answers_to_changed_bits(std::size_t first) {
  test::allow(500);
  auto const bytes = sample_bytes();
  auto const known = sample_operations();
  std::size_t accepted = 0;
  for (std::size_t bit = first; bit < bytes.size() * 8; bit += 4 * test::share()) {
    auto spoilt = bytes;
    spoilt[bit / 8] = static_cast<char>(spoilt[bit / 8] ^ 1 << bit % 8);
    allocated.start();
    try {
      auto const g = graph_from_bytes(spoilt, known);
      ASSERT_EQ(to_bytes(*g), spoilt);
      ++accepted;
    } catch (error const&) {
    }
    ASSERT_LT(allocated.most, 1 << 20) << bit;
  }
  EXPECT_GT(accepted, 0);  // constants, names
}
TEST(codec, gives_back_what_it_wrote_or_an_error_with_bit_0_or_4_changed) { expect_answers_to_changed_bits(0); }
TEST(codec, gives_back_what_it_wrote_or_an_error_with_bit_1_or_5_changed) { expect_answers_to_changed_bits(1); }
TEST(codec, gives_back_what_it_wrote_or_an_error_with_bit_2_or_6_changed) { expect_answers_to_changed_bits(2); }
TEST(codec, gives_back_what_it_wrote_or_an_error_with_bit_3_or_7_changed) { expect_answers_to_changed_bits(3); }

TEST(codec, refuses_the_bytes_cut_off_anywhere) {
  test::allow(300);
  auto const bytes = sample_bytes();
  auto const known = sample_operations();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    allocated.start();
    EXPECT_THROW(graph_from_bytes(bytes.substr(0, n), known), error) << n;
    ASSERT_LT(allocated.most, 1 << 20);
  }
}

TEST(codec, refuses_random_bytes_without_asking_for_much_memory) {
  test::allow(300);
  auto const known = sample_operations();
  auto const head = sample_bytes().substr(0, graph_magic.size() + sizeof graph_format);
  std::mt19937 random(1);
  for (int i = 0; i < test::steps(20000, 2000); ++i) {
    std::string bytes = head;
    for (std::size_t n = random() % 300; n > 0; --n) bytes += static_cast<char>(random() % 4 == 0 ? random() : 0);
    allocated.start();
    try {
      graph_from_bytes(bytes, known);
    } catch (error const&) {
    }
    ASSERT_LT(allocated.most, 1 << 16);
  }
}

TEST(codec, needs_memory_in_proportion_to_the_bytes) {
  graph g;
  value x = constant(g, 1.f);
  std::vector<std::string> many(1000);
  for (int i = 0; i < 2000; ++i) x = neg(x);
  record_erased<everything_op>(
      g, {.value = tensor(vector<std::string>({"", "", "", ""})), .what = sample_program(), .names = many}, {});
  auto const bytes = to_bytes(g);
  auto const known = sample_operations();
  allocated.start();
  graph_from_bytes(bytes, known);
  EXPECT_LT(allocated.most, 16 * static_cast<std::int64_t>(bytes.size()));
}

}  // namespace
}  // namespace rill
