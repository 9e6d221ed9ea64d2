// Every operation through the untyped front door: nodes recorded with attributes and types that only the run of the
// program knows, and fed with whatever a test makes up.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/limit.hpp"
#include "base/share.hpp"
#include "io/scratch.hpp"
#include "ops/examples.hpp"
#include "ops/run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/run/session.hpp"

namespace rill::test {

/// Memory that is filled before it is given out, and of which there is not much.
class small_memory final : public allocator {
 public:
  explicit small_memory(unsigned char filling) : filling_(filling) {}

 private:
  static constexpr std::size_t most = std::size_t{1} << 24;
  void* acquire(std::size_t bytes) noexcept override {
    if (bytes > most) return nullptr;
    void* p = ::operator new(bytes, std::align_val_t{buffer_alignment}, std::nothrow);
    if (p != nullptr) std::memset(p, filling_, bytes);
    return p;
  }
  void release(void* p, std::size_t) noexcept override { ::operator delete(p, std::align_val_t{buffer_alignment}); }
  unsigned char filling_;
};

/// A call of an operation as a loader might bring it.
struct hostile_call {
  op_def const* op = nullptr;
  attribute_list attributes;
  std::vector<tensor> inputs;
  bool differentiable = false;

  std::string text() const {
    std::string s(op->name);
    for (auto const& t : inputs) {
      s += ' ';
      s += t.type().text();
    }
    for (auto const& [name, a] : attributes) {
      s += ' ';
      s += name;
      s += '=';
      if (auto* i = std::get_if<std::int64_t>(&a)) s += std::to_string(*i);
      else if (auto* e = std::get_if<extents>(&a)) s += e->text();
      else if (auto* t = std::get_if<type>(&a)) s += t->text();
      else if (auto* d = std::get_if<dtype>(&a)) s += rill::name(*d);
      else if (auto* x = std::get_if<double>(&a)) s += std::to_string(*x);
      else s += "…";
    }
    return s;
  }
};

/// What became of a call: results, or an error.
struct outcome {
  std::optional<code> failed;
  std::string words;
  std::vector<tensor> results;
  explicit operator bool() const { return !failed; }
};

/// Declared types of inputs: what they are, of open extents, or of open rank.
enum class declared : std::uint8_t { known, open, unranked };

inline type declared_type(tensor const& t, declared how) {
  if (how == declared::unranked) return type::of_unknown_rank(t.element());
  type d = t.type();
  if (how == declared::open)
    for (std::size_t i = 0; i < d.rank; ++i) d[i] = unknown;
  return d;
}

/// A call recorded in a graph of its own. Inputs that the operation takes by reference are variables.
class recorded_call {
 public:
  explicit recorded_call(hostile_call const& c, declared how) {
    node probe;
    probe.op = c.op;
    probe.attributes = c.attributes;
    std::vector<operation> assigned;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      auto const t = declared_type(c.inputs[i], how);
      bool reference = false;
      try {
        reference = takes_reference(probe, i);
      } catch (std::bad_variant_access const&) {  // the attributes are not even of the right kind
      }
      x.push_back(placeholder(g, t));
      if (!reference) continue;
      auto const v = variable(g, t, "variable" + std::to_string(variables.size()));
      assigned.emplace_back(assign(v, x.back()));
      variables.push_back(v);
      fed_to_variable.push_back(x.back());
      x.back() = v;
    }
    if (!assigned.empty()) first = group(g, assigned);
    std::vector<value> inputs = x;
    y = g.add(*c.op, c.attributes, inputs);
    for (std::uint32_t port = 0; port < y.origin().outputs.size(); ++port) outputs.push_back({&g, y.node, port});
  }
  /// Adds the gradients of the outputs with respect to the inputs.
  void differentiate() {
    std::vector<value> sums, with;
    for (auto const& o : outputs)
      if (is_differentiable(o.type().element)) sums.push_back(sum(o * o, extents{}));
    for (auto const& each : x)
      if (is_differentiable(each.type().element)) with.push_back(each);
    if (sums.empty() || with.empty()) return;
    for (auto const& dx : gradients(add_n(sums), with, true)) outputs.push_back(dx);
  }
  std::vector<tensor> run(session& s, std::vector<tensor> const& inputs) {
    std::vector<feed> feeds, firsts;
    for (std::size_t i = 0, v = 0; i < x.size(); ++i) {
      bool const is_variable = v < variables.size() && variables[v].node == x[i].node;
      if (is_variable) firsts.emplace_back(fed_to_variable[v++], inputs[i]);
      else feeds.emplace_back(x[i], inputs[i]);
    }
    if (first.graph) s.run(firsts, first);
    if (outputs.empty()) {
      s.run(feeds, operation(y));
      std::vector<tensor> after;
      for (auto const& v : variables) after.push_back(s.run(v));
      return after;
    }
    std::vector<std::string> names;
    for (auto const& o : outputs) names.push_back(o.name());
    return s.run(std::span<feed const>(feeds), names);
  }

  graph g{7};
  std::vector<value> x, outputs, fed_to_variable;
  std::vector<variable_value> variables;
  operation first;
  value y;
};

/// What may be said of bad input. Anything else is a fault of rill's.
inline bool is_refusal(code c) {
  return c == code::invalid_argument || c == code::resource_exhausted || c == code::failed_precondition ||
         c == code::unimplemented || c == code::not_found || c == code::aborted;
}

/// Makes the call; an error that does not blame the input fails the test, and so does any other exception.
inline outcome attempt(hostile_call const& c, declared how = declared::unranked, bool gradient = false,
                       unsigned char filling = 0xa5, session_options options = {.threads = 1}) {
  static small_memory memories[] = {small_memory(0x00), small_memory(0xa5), small_memory(0xff)};
  options.memory = &memories[filling == 0 ? 0 : filling == 0xa5 ? 1 : 2];
  outcome made;
  try {
    recorded_call r(c, how);
    if (gradient && c.differentiable) r.differentiate();
    session s(r.g, options);
    made.results = r.run(s, c.inputs);
    for (std::size_t i = 0; i < r.outputs.size(); ++i)
      EXPECT_TRUE(accepts(r.outputs[i].type(), made.results[i].type()))
          << c.text() << " promised " << r.outputs[i].type().text() << " and gave " << made.results[i].type().text();
    for (auto& t : made.results) t = t.clone();
  } catch (error const& e) {
    made.failed = e.code();
    made.words = e.what();
    EXPECT_TRUE(is_refusal(e.code())) << c.text() << ": " << e.what();
    EXPECT_FALSE(e.message().empty());
  } catch (std::exception const& e) {
    made.failed = code::internal;
    ADD_FAILURE() << c.text() << ": an exception that is no rill::error: " << e.what();
  }
  return made;
}

/// The call gives the same whatever is known when it is recorded and whatever lay in memory: all of its results are
/// written, and what the run checks is what recording checks. Returns what came of it. A variable of open extents may
/// be assigned others, and a fused_update is made for known ones.
inline outcome expect_steady(hostile_call const& c, bool gradient = true) {
  bool const known_alone = c.op->name == "assign" || c.op->name == "initialize" || c.op->name == "fused_update";
  auto const open = attempt(c, known_alone ? declared::known : declared::unranked, gradient, 0x00);
  for (auto how : {declared::unranked, declared::open, declared::known}) {
    if (known_alone && how != declared::known) {
      attempt(c, how);
      continue;
    }
    auto const other = attempt(c, how, gradient, how == declared::open ? 0xff : 0xa5);
    EXPECT_EQ(bool(open), bool(other)) << c.text() << " as " << static_cast<int>(how) << ": " << open.words << " | "
                                       << other.words;
    if (!open || !other) continue;
    EXPECT_EQ(open.results.size(), other.results.size());
    for (std::size_t i = 0; i < std::min(open.results.size(), other.results.size()); ++i)
      EXPECT_TRUE(same_bits(open.results[i], other.results[i]))
          << c.text() << ": result " << i << " depends on what was known or on what lay in memory";
  }
  return open;
}

// ---------------------------------------------------------------------------------------------------------------------
// A good call or more of every operation

inline std::vector<double> mild_numbers(std::size_t n, unsigned salt, std::int64_t below = 0) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = below > 0 ? static_cast<double>((i * 5 + salt) % static_cast<std::size_t>(below))
                     : 0.5 + static_cast<double>((i * 37 + salt * 11) % 61) / 32;
  return v;
}

/// A tensor of `t`'s extents, all known: numbers above 0, or indices below `below`.
inline tensor mild(type const& t, std::int64_t below = 0, unsigned salt = 1) {
  return from_doubles(t.element, t.shape(), mild_numbers(static_cast<std::size_t>(elements(t.shape())), salt, below));
}

inline std::shared_ptr<program const> descending_program(dtype e) {
  program p;
  p.inputs = {e, e};
  p.instructions.push_back({definition<ops::square_op>().elementwise, {1}, e});
  p.instructions.push_back({definition<ops::sub_op>().elementwise, {0, 2}, e});
  p.outputs = {3};
  return std::make_shared<program const>(std::move(p));
}

/// The calls of examples() with n = 3, in an element type that the operation takes.
inline std::vector<hostile_call> calls_of_examples(dtype as) {
  std::vector<hostile_call> all;
  for (auto const& e : examples()) {
    if (e.composed) continue;  // its operations have examples of their own
    graph g;
    std::vector<value> x;
    hostile_call c;
    try {
      unsigned salt = 0;
      for (auto t : e.inputs(3)) {
        bool const tried = t.element == dtype::float64;
        if (tried) t = t.with(as);
        c.inputs.push_back(mild(t, tried ? 0 : e.indices_below, ++salt));
        x.push_back(placeholder(g, c.inputs.back().type()));
      }
      auto const recorded = e.record(x);
      auto const* at = &recorded.origin();
      if (at->op->name != e.operation) at = &g[at->inputs[0].node];  // it does something with the result
      auto const& made = *at;
      if (made.op->name != e.operation || made.inputs.size() != x.size()) continue;
      c.op = made.op;
      c.attributes = made.attributes;
    } catch (error const&) {
      continue;  // not of this element type
    }
    c.differentiable = e.differentiable && c.op->grad != nullptr;
    all.push_back(std::move(c));
  }
  return all;
}

/// Calls of what is no function of its inputs alone.
inline std::vector<hostile_call> calls_of_the_rest() {
  auto const f = [](std::initializer_list<dim> e) { return mild(d(e)); };
  auto const which = mild(i32({2, 2}), 3);
  auto const attributes = [](auto const& a) { return encode(a); };
  auto const descent = descending_program(dtype::float64);
  std::vector<hostile_call> all{
      {&definition<ops::constant_op>(), attributes(ops::constant_op::attributes{f({3})}), {}},
      {&definition<ops::placeholder_with_default_op>(), attributes(ops::placeholder_op::attributes{d({3})}), {f({3})}},
      {&definition<ops::as_op>(), attributes(ops::as_op::attributes{d({3})}), {f({3})}},
      {&definition<ops::read_op>(), {}, {f({3, 2})}},
      {&definition<ops::is_initialized_op>(), {}, {f({3, 2})}},
      {&definition<ops::assign_op>(), {}, {f({3, 2}), f({3, 2})}},
      {&definition<ops::initialize_op>(), {}, {f({3, 2}), f({3, 2})}},
      {&definition<ops::assign_add_op>(), {}, {f({3, 2}), f({3, 2})}},
      {&definition<ops::assign_sub_op>(), {}, {f({3, 2}), f({3, 2})}},
      {&definition<ops::scatter_add_op>(), {}, {f({3, 2}), which, f({2, 2, 2})}},
      {&definition<ops::scatter_sub_op>(), {}, {f({3, 2}), which, f({2, 2, 2})}},
      {&definition<ops::scatter_update_op>(), {}, {f({3, 2}), which, f({2, 2, 2})}},
      {&definition<ops::unique_op>(), {}, {f({3})}},
      {&definition<ops::range_op>(), attributes(ops::range_op::attributes{}), {f({}), f({}), f({})}, true},
      {&definition<ops::gather_variable_op>(), {}, {f({3, 2}), which}},
      {&definition<ops::no_op_op>(), {}, {}},
      {&definition<ops::stop_gradient_op>(), {}, {f({3})}, true},
      {&definition<ops::custom_gradient_op>(),
       attributes(ops::custom_gradient_op::attributes{}),
       {f({3}), f({2})},
       true},
      {&definition<ops::fused_op>(), attributes(ops::fused_op::attributes{descent}), {f({2, 3}), f({3})}, true},
      {&definition<ops::fused_update_op>(),
       attributes(ops::fused_update_op::attributes{descent, 1}),
       {f({2, 3}), f({3})}},
      {&definition<ops::check_op>(), {}, {from_doubles(dtype::boolean, {2, 2}, {1, 1, 1, 1})}},
  };
  graph g;
  value const drawn[] = {uniform(g, d({3, 2})), normal(g, d({3, 2})), truncated_normal(g, d({3, 2})),
                         uniform(g, i32({5}), -3, 9)};
  for (auto const& v : drawn) all.push_back({v.origin().op, v.origin().attributes, {}});
  auto const x = placeholder(g, d({3, 2}));
  for (auto const& v : {uniform_like(x), normal_like(x)})
    all.push_back({v.origin().op, v.origin().attributes, {f({3, 2})}});
  value const rows[] = {permutation(g, 5), permutation_of_rows(x), categorical(x, -1), categorical(x, 4)};
  for (auto const& v : rows) all.push_back({v.origin().op, v.origin().attributes, {}});
  for (std::size_t i = all.size() - 3; i < all.size(); ++i) all[i].inputs = {f({3, 2})};
  graph h;
  auto const made = check(placeholder(h, truth({2, 2})), "all must hold");
  for (auto& c : all)
    if (c.op->name == "check") c.attributes = made.origin().attributes;
  return all;
}

/// Returns good calls, one or more of every operation that can be called: those of a placeholder and a variable are
/// their uses.
inline std::vector<hostile_call> const& all_good_calls() {
  static auto const all = [] {
    auto list = calls_of_examples(dtype::float64);
    std::set<std::string_view> seen;
    for (auto const& c : list) seen.insert(c.op->name);
    for (auto as : {dtype::complex64, dtype::int32})  // what takes no floats, and what counts
      for (auto& c : calls_of_examples(as))
        if (as == dtype::int32 || !seen.contains(c.op->name)) list.push_back(std::move(c));
    for (auto& c : calls_of_the_rest()) list.push_back(std::move(c));
    return list;
  }();
  return all;
}

/// Returns those of them that a test tries: all, or where `share()` is not 1, a part, another for each test.
inline std::vector<hostile_call> good_calls() {
  allow(300);
  auto const& all = all_good_calls();
  std::string_view const test = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::vector<hostile_call> some;
  for (auto i = test.size() % share(); i < all.size(); i += share()) some.push_back(all[i]);
  return some;
}

/// Returns how many inputs a test tries at least, of which there are `n` in all good calls.
inline std::size_t at_least(std::size_t n) { return share() == 1 ? n : n / share() / 2; }

}  // namespace rill::test
