// Operations of a user's own, outside of rill's namespace and lists: they can be all that those of the library are, and
// nothing in their names or attributes makes them what they don't declare to be.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rill/base/philox.hpp"
#include "rill/device/continuation.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/base/elementwise_kernels.hpp"
#include "rill/ops/control/replay.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"
#include "run.hpp"

namespace mine {

using rill::code;
using rill::field;
using rill::kernel;
using rill::kernel_call;
using rill::kernel_request;
using rill::tensor;
using rill::type;
using rill::value;

/// A number between `key` and `key` + 1. The attribute that tells the draws apart is called "stream".
struct noise_op {
  static constexpr std::string_view name = "noise";
  static constexpr std::int8_t arity = 0;
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr std::string_view draws_random = "stream";
  struct attributes {
    std::int64_t key = 0, stream = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"key", &attributes::key}, field{"stream", &attributes::stream});
    }
  };
  static constexpr type infer(attributes const&, std::span<type const>) { return rill::of<double>; }
  static kernel cpu(kernel_request const& r) {
    auto const a = rill::decode<attributes>(r.at.attributes);
    auto const key = rill::random_stream::key_of(r.seed, static_cast<std::uint64_t>(a.stream));
    return kernel([a, key](kernel_call const& call) {
      auto const words = rill::random_stream{key, call.step.stream}.block(0);
      *call.out<double>(0) = static_cast<double>(a.key) + words[0] * 0x1p-32;
    });
  }
};
value noise(rill::graph& g, std::int64_t key) { return rill::record_erased<noise_op>(g, {key, g.random_key()}, {}); }

/// The first `references` elements of a vector, whatever the type of name "type" is.
struct first_elements_op {
  static constexpr std::string_view name = "variable";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  struct attributes {
    type of;
    std::int64_t key = 0, references = 0, updates = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"type", &attributes::of}, field{"key", &attributes::key},
                  field{"references", &attributes::references}, field{"updates", &attributes::updates});
    }
  };
  static constexpr type infer(attributes const& a, type const& x) { return type(x.element, {1, a.references}); }
};
value first_elements(value x, first_elements_op::attributes const& a) {
  return rill::record_erased<first_elements_op>(*x.graph, a, {x});
}

/// y - x, under the name of the operation that is x - y.
struct reversed_sub_op : rill::elementwise<reversed_sub_op, 2> {
  static constexpr std::string_view name = "sub";
  static constexpr rill::dtypes elements = rill::dtypes::numbers;
  template <class S> static S apply(S x, S y) { return y - x; }
};

/// Seven, under the name of the operation that keeps a tensor.
struct seven_op {
  static constexpr std::string_view name = "constant";
  static constexpr std::int8_t arity = 0;
  static constexpr type infer(rill::no_attributes, std::span<type const>) { return rill::of<float>; }
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const& call) { *call.out<float>(0) = 7; });
  }
};

/// Makes a variable the larger of its value and x.
struct raise_op {
  static constexpr std::string_view name = "raise";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::int64_t references = 0, updates = 0;  // which say nothing of variables
    static constexpr auto fields(auto const& take) {
      return take(field{"references", &attributes::references}, field{"updates", &attributes::updates});
    }
  };
  static constexpr type infer(attributes const&, type const& v, type const& x) {
    rill::expects(rill::accepts(v, x), "raise: the value is not of the variable's type");
    return x;
  }
  static kernel cpu(kernel_request const& r) {
    kernel k([v = r.variables[0]](kernel_call const& call) {
      v->update(
          [&](tensor& t) {
            auto* const to = t.mutable_data<float>();
            for (std::int64_t i = 0; i < t.elements(); ++i) to[i] = std::max(to[i], call.in<float>(1)[i]);
            call.give(0, t);
          },
          call.step.version);
    });
    k.allocates_outputs = true;
    return k;
  }
};
value raise(rill::variable_value v, value x) { return rill::record_erased<raise_op>(*x.graph, {}, {v, x}); }

/// Adds x to each of `targets` variables; the variables after those are read alone.
struct share_out_op {
  static constexpr std::string_view name = "share_out";
  static constexpr std::int8_t arity = -1;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::size_t outputs = 0;
  static constexpr std::string_view counts_references = "tables", counts_updates = "targets";
  struct attributes {
    std::int64_t tables = 0, targets = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"tables", &attributes::tables}, field{"targets", &attributes::targets});
    }
  };
  static std::array<type, 0> infer(attributes const& a, std::span<type const> x) {
    rill::expects(static_cast<std::size_t>(a.tables) + 1 == x.size(), "share_out: variables, then one value");
    return {};
  }
  static kernel cpu(kernel_request const& r) {
    auto const a = rill::decode<attributes>(r.at.attributes);
    return kernel([a, v = r.variables](kernel_call const& call) {
      float by = *call.in<float>(call.inputs - 1);
      for (auto i = static_cast<std::size_t>(a.targets); i < static_cast<std::size_t>(a.tables); ++i)
        by *= v[i]->read(call.step.version).at<float>();
      for (std::size_t i = 0; i < static_cast<std::size_t>(a.targets); ++i)
        v[i]->update([&](tensor& t) { *t.mutable_data<float>() += by; }, call.step.version);
    });
  }
};

/// A gate in the container: those that pass wait until it has been opened.
class gate {
 public:
  void pass(rill::continuation& c) {
    {
      std::lock_guard lock(mutex_);
      if (!open_) return waiters_.push_back(&c);
    }
    c.resume({});
  }
  void give_up(rill::continuation& c, rill::failure why) {
    {
      std::lock_guard lock(mutex_);
      if (std::erase(waiters_, &c) == 0) return;
    }
    c.resume(std::move(why));
  }
  void open() {
    std::vector<rill::continuation*> all;
    {
      std::lock_guard lock(mutex_);
      open_ = true;
      all.swap(waiters_);
    }
    for (auto* c : all) c->resume({});
  }
  static std::shared_ptr<gate> of(kernel_request const& r, std::string const& name) {
    return r.state.other<gate>(name, [] { return std::make_shared<gate>(); });
  }

 private:
  std::mutex mutex_;
  bool open_ = false;
  std::vector<rill::continuation*> waiters_;
};
struct gate_operation {
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::string_view rendezvous = "gate";
  struct attributes {
    std::string gate;
    static constexpr auto fields(auto const& take) { return take(field{"gate", &attributes::gate}); }
  };
  static constexpr type infer(attributes const&, type const& x) { return x; }
};
struct pass_gate_op : gate_operation {
  static constexpr std::string_view name = "pass_gate";
  static constexpr bool waits = true;
  static constexpr auto rendezvous_role = rill::rendezvous_kind::takes;
  static kernel cpu(kernel_request const& r) {
    kernel k([g = gate::of(r, rill::decode<attributes>(r.at.attributes).gate)](kernel_call const& call) {
      *call.out<float>(0) = *call.in<float>(0);
      auto& later = call.from->suspend();
      later.on_give_up([g, &later](rill::failure why) { g->give_up(later, std::move(why)); });
      g->pass(later);
    });
    k.waits = true;
    return k;
  }
};
struct open_gate_op : gate_operation {
  static constexpr std::string_view name = "open_gate";
  static constexpr auto rendezvous_role = rill::rendezvous_kind::gives;
  static kernel cpu(kernel_request const& r) {
    return kernel([g = gate::of(r, rill::decode<attributes>(r.at.attributes).gate)](kernel_call const& call) {
      *call.out<float>(0) = *call.in<float>(0);
      g->open();
    });
  }
};

/// The elements that are not zero: as many as there are.
struct nonzero_op {
  static constexpr std::string_view name = "nonzero";
  static constexpr std::int8_t arity = 1;
  static constexpr bool dynamic_output_shape = true;
  static constexpr type infer(rill::no_attributes, type const& x) { return type(x.element, {rill::unknown}); }
  static kernel cpu(kernel_request const& r) {
    kernel k([n = rill::elements(r.inputs[0].shape())](kernel_call const& call) {
      auto const* const x = call.in<float>(0);
      std::vector<float> found;
      std::copy_if(x, x + n, std::back_inserter(found), [](float v) { return v != 0; });
      tensor y(rill::dtype::float32, rill::shape{static_cast<std::int64_t>(found.size())});
      std::copy(found.begin(), found.end(), y.mutable_data<float>());
      call.give(0, std::move(y));
    });
    k.allocates_outputs = true;
    return k;
  }
};

/// x with another element 0; in x's memory where it can be.
struct with_first_op {
  static constexpr std::string_view name = "with_first";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t updates_in_place = 1;
  static constexpr type infer(rill::no_attributes, type const& x, type const&) { return x; }
  static inline std::atomic<int> copies = 0;
  static kernel cpu(kernel_request const& r) {
    kernel k([bytes = r.inputs[0].bytes()](kernel_call const& call) {
      if (call.in(0) != call.out(0)) std::memcpy(call.out(0), call.in(0), bytes), ++copies;
      *call.out<float>(0) = *call.in<float>(1);
    });
    k.updates_in_place = {{0, 0}};
    return k;
  }
};

/// A body, applied to x twice; inputs are x, then what the body takes from outside.
struct twice_op {
  static constexpr std::string_view name = "twice";
  static constexpr std::int8_t arity = -1;
  struct attributes {
    std::shared_ptr<rill::subgraph const> body;
    static constexpr auto fields(auto const& take) { return take(field{"what", &attributes::body}); }
  };
  static type infer(attributes const& a, std::span<type const> x) {
    rill::expects(a.body != nullptr && a.body->outputs.size() == 1, "twice: the body returns one value");
    auto const y = rill::infer(*a.body, x)[0];
    rill::expects(y == x[0], "twice: the body must return what it is given");
    return y;
  }
  template <class V> static std::vector<rill::gradient> grad(rill::gradient_request const& r) {
    auto const a = rill::decode<attributes>(r.origin().attributes);
    std::vector<value> given;
    for (std::size_t i = 0; i < r.inputs(); ++i) given.push_back(r.in(i));
    auto again = given;
    again[0] = rill::record_again(r.graph, *a.body, given)[0];
    auto const y = rill::record_again(r.graph, *a.body, again);
    return r.differentiate(y, given, {r.dy()});
  }
  static kernel cpu(kernel_request const& r) {
    auto const a = rill::decode<attributes>(r.at.attributes);
    auto const body = r.compile(r, *a.body, r.inputs);
    return kernel([body, x = r.inputs[0], bytes = r.inputs[0].bytes()](kernel_call const& call) {
      tensor between(x.element, x.shape());
      auto const run = body->start();
      for (std::size_t i = 0; i < call.inputs; ++i) run->argument(i, call.in(i));
      run->result(0, between.mutable_raw());
      run->run(call.threads, call.step);
      run->argument(0, between.raw());
      run->result(0, call.out(0));
      run->run(call.threads, call.step);
    });
  }
};
template <class F> value twice(value x, F const& f) {
  auto& g = *x.graph;
  auto body =
      rill::record_body(g, "twice", {x.type()}, [&](std::vector<value> const& in) { return std::vector{f(in[0])}; });
  std::vector<value> inputs{x};
  inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
  return rill::record_erased<twice_op>(g, {std::make_shared<rill::subgraph const>(std::move(body.subgraph))}, inputs);
}

/// x cubed, an elementwise function with its derivative.
struct cube_op : rill::elementwise<cube_op, 1> {
  static constexpr std::string_view name = "cube";
  static constexpr rill::dtypes elements = rill::dtypes::floats;
  static constexpr bool has_formula = true;  // apply only calls functions of numbers
  template <class S> static S apply(S x) { return x * x * x; }
  template <class V> static std::vector<rill::gradient> grad(rill::gradient_request const& r) {
    V const x = r.in(0);
    return {V(r.dy() * 3 * x * x)};
  }
};
template <rill::operand X> auto cube(X x) { return rill::record<cube_op>(x); }

}  // namespace mine

namespace rill {
namespace {

TEST(own_operations, draw_by_the_attribute_that_they_name_and_keep_one_that_is_called_key) {
  auto const first = [](int nodes_before) {
    graph g(5);
    for (int i = 0; i < nodes_before; ++i) constant(g, 1.f);
    auto const v = variable(mine::noise(g, 40), "v");
    session s{g};
    s.run(initializer(g));
    auto const once = s.run(v).at<double>();
    s.run(initializer(g));
    EXPECT_EQ(s.run(v).at<double>(), once) << "a first value is drawn by the variable's name alone";
    return once;
  };
  auto const x = first(0);
  EXPECT_GT(x, 40);
  EXPECT_LT(x, 41);
  EXPECT_EQ(first(3), x);
}

TEST(own_operations, that_draw_give_other_numbers_in_each_node_and_step) {
  graph g;
  auto const a = mine::noise(g, 0), b = mine::noise(g, 0);
  session s{g};
  auto const [x, y] = s.run(a, b);
  EXPECT_NE(x.at<double>(), y.at<double>()) << "nodes that draw are not one";
  EXPECT_NE(s.run(a).at<double>(), x.at<double>());
}

TEST(own_operations, that_draw_are_one_function_with_others_of_their_draws_but_not_of_their_other_attributes) {
  graph g;
  auto const define = [&](std::int64_t key) {
    function(g, "draw", std::vector<type>{},
             [&](std::vector<value> const&) { return std::vector<value>{mine::noise(g.innermost(), key)}; });
  };
  define(1);
  constant(g, 1.f);
  EXPECT_NO_THROW(define(1));
  test::expect_error(code::invalid_argument, "another function 'draw'", [&] { define(2); });
}

TEST(own_operations, have_attributes_of_any_name_and_are_called_like_others) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const y = mine::first_elements(x, {of<float, "m", 5>, 1, 2, 3});
  EXPECT_EQ(y.type(), (of<float, 1, 2>));
  session s{g};
  auto const r = s.run({{x, vector<float>({4, 5})}}, y);
  EXPECT_EQ(r.type(), (of<float, 1, 2>));
  EXPECT_EQ(r.at<float>(0, 1), 5);
  EXPECT_EQ(y.name(), "variable");
  graph two;
  auto const z = constant<float, 2>(two, {1, 2});
  mine::first_elements(z, {of<float>, 1, 2, 3});
  EXPECT_NO_THROW(mine::first_elements(z, {of<float>, 1, 2, 3})) << "names of variables alone are not numbered";
}

TEST(own_operations, are_not_taken_for_the_subtraction_that_they_are_called_like) {
  graph g;
  auto const x = placeholder<std::int32_t, 2>(g, "x");
  auto const y = record<mine::reversed_sub_op>(x, constant(g, 0));
  EXPECT_EQ(session{g}.run({{x, vector<std::int32_t>({1, 2})}}, y).at<std::int32_t>(1), -2);
}

TEST(own_operations, are_not_taken_for_the_constant_that_they_are_called_like) {
  graph g;
  auto const seven = as<of<float>>(record_erased<mine::seven_op>(g, {}, {}));
  auto const x = placeholder<float>(g, "x");
  session s{g};
  EXPECT_EQ(s.run(seven + 1.f).at<float>(), 8);
  EXPECT_EQ(s.run({{x, tensor(2.f)}}, seven * x).at<float>(), 14);
  auto const sevens =
      while_loop([](auto i, auto) { return i < 3; }, [&](auto i, auto sum) { return std::tuple{i + 1, sum + seven}; },
                 constant(g, 0), constant(g, 0.f));
  for (auto const how : {execution::sequential, execution::tagged})
    EXPECT_EQ(session(g, {.execution = how}).run(std::get<1>(sevens)).at<float>(), 21);
}

TEST(own_operations, update_a_variable_that_they_take_by_reference) {
  graph g;
  auto const v = variable(constant<float, 2>(g, {1, 5}), "v");
  auto const x = placeholder<float, 2>(g, "x");
  auto const raised = mine::raise(v, x);
  auto const after = g.after({raised}, [&] { return read(v); });
  session s{g};
  s.run(initializer(g));
  auto const [before, now] = s.run({{x, vector<float>({3, 4})}}, v, after);
  EXPECT_EQ(before.at<float>(0), 1);
  EXPECT_EQ(now.at<float>(0), 3);
  EXPECT_EQ(now.at<float>(1), 5);
}

TEST(own_operations, that_update_are_refused_beside_an_update_that_nothing_orders) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  value const raised = mine::raise(v, constant(g, 2.f)), assigned = assign(v, constant(g, 3.f));
  session s{g};
  s.run(initializer(g));
  test::expect_error(code::failed_precondition, "", [&] { s.run(raised, assigned); });
}

TEST(own_operations, take_as_many_variables_as_an_attribute_says_and_update_some) {
  graph g;
  auto const a = variable(constant(g, 1.f), "a"), b = variable(constant(g, 2.f), "b"),
             c = variable(constant(g, 3.f), "c");
  auto const x = constant(g, 10.f);
  operation const shared = record_erased<mine::share_out_op>(g, {3, 2}, {a, b, c, x});
  EXPECT_TRUE(updates_reference(shared.origin(), 1));
  EXPECT_FALSE(updates_reference(shared.origin(), 2));
  EXPECT_TRUE(takes_reference(shared.origin(), 2));
  EXPECT_FALSE(takes_reference(shared.origin(), 3));
  session s{g};
  s.run(initializer(g));
  s.run(shared);
  auto const [p, q, r] = s.run(a, b, c);
  EXPECT_EQ(p.at<float>(), 31);
  EXPECT_EQ(q.at<float>(), 32);
  EXPECT_EQ(r.at<float>(), 3);
}

TEST(own_operations, wait_at_a_rendezvous_of_their_own) {
  for (auto const how : {execution::sequential, execution::parallel, execution::tagged}) {
    graph g;
    auto const x = placeholder<float>(g, "x");
    auto const passed = record_erased<mine::pass_gate_op>(g, {"door"}, {x});
    auto const opened = record_erased<mine::open_gate_op>(g, {"door"}, {x * 2.f});
    session s{g, {.threads = 2, .execution = how}};
    auto const [a, b] = s.run({{x, tensor(3.f)}}, passed, opened);
    EXPECT_EQ(a.at<float>(), 3);
    EXPECT_EQ(b.at<float>(), 6);
  }
}

TEST(own_operations, that_wait_are_served_by_another_step_and_end_by_a_deadline) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const passed = record_erased<mine::pass_gate_op>(g, {"door"}, {x});
  auto const opened = record_erased<mine::open_gate_op>(g, {"door"}, {x});
  session s{g};
  test::expect_error(code::deadline_exceeded, "",
                     [&] { s.run({{x, tensor(1.f)}}, passed, timeout{std::chrono::milliseconds(1)}); });
  float seen = 0;
  std::thread waits([&] { seen = s.run({{x, tensor(4.f)}}, passed).at<float>(); });
  s.run({{x, tensor(1.f)}}, opened);
  waits.join();
  EXPECT_EQ(seen, 4);
}

TEST(own_operations, bring_outputs_of_extents_that_only_their_run_knows) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const found = record_erased<mine::nonzero_op>(g, {}, {x});
  auto const doubled = found * like(found, 2), total = sum(found);
  session s{g};
  auto const [y, t] = s.run({{x, vector<float>({0, 3, 0, 4})}}, doubled, total);
  ASSERT_EQ(y.elements(), 2);
  EXPECT_EQ(y.at<float>(1), 8);
  EXPECT_EQ(t.at<float>(), 7);
  EXPECT_EQ(s.run({{x, vector<float>({0})}}, doubled).elements(), 0);
}

TEST(own_operations, update_their_input_where_it_lies_if_nobody_else_reads_it) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const fresh = x * 2.f;
  auto const y = record_erased<mine::with_first_op>(g, {}, {fresh, constant(g, 9.f)});
  session s{g};
  mine::with_first_op::copies = 0;
  auto const alone = s.run({{x, vector<float>({1, 2, 3})}}, y + y);
  EXPECT_EQ(alone.at<float>(0), 18);
  EXPECT_EQ(alone.at<float>(2), 12);
  EXPECT_EQ(mine::with_first_op::copies, 0);
  auto const [kept, z] = s.run({{x, vector<float>({1, 2, 3})}}, fresh, y);
  EXPECT_EQ(kept.at<float>(0), 2);
  EXPECT_EQ(z.at<float>(0), 9);
  EXPECT_EQ(mine::with_first_op::copies, 1);
}

TEST(own_operations, run_bodies_and_differentiate_through_them) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x"), by = placeholder<float, 2>(g, "by");
  auto const y = mine::twice(x, [&](value v) { return v * v * value(by); });  // (x² b)² b = x⁴ b³
  auto const d = gradients(sum(y), std::vector<value>{x, by});
  session s{g};
  auto const [vy, dx, db] = s.run({{x, vector<float>({2, 1})}, {by, vector<float>({3, 2})}}, y, d[0], d[1]);
  EXPECT_EQ(vy.at<float>(0), 16 * 27);
  EXPECT_EQ(dx.at<float>(0), 4 * 8 * 27);
  EXPECT_EQ(db.at<float>(0), 16 * 3 * 9);
  EXPECT_EQ(db.at<float>(1), 3 * 4);
}

struct counting_observer final : observer {
  std::vector<std::string> ran;
  void node_ran(node_record const& r) override { ran.emplace_back(r.operation); }
};

TEST(own_operations, that_are_elementwise_are_fused_and_differentiated) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const y = mine::cube(x + 1.f) * 2.f;
  auto const [dx] = gradients(sum(y), x);
  session s{g};
  counting_observer seen;
  auto const v = s.run({{x, vector<float>({0, 1})}}, y, observe(seen));
  EXPECT_EQ(seen.ran, std::vector<std::string>{"fused"});
  EXPECT_EQ(std::get<0>(std::tuple{v}).at<float>(1), 16);
  EXPECT_EQ(s.run({{x, vector<float>({0, 1})}}, dx).at<float>(1), 24);
  EXPECT_EQ(mine::cube(constant(g, 2.)).type(), of<double>);
}

TEST(own_operations, that_are_elementwise_are_called_in_the_lambda_of_a_fuse) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const y = fuse<"shifted_cube">([](auto v) { return mine::cube_op::apply(v) + 1.f; }, x);
  EXPECT_EQ(session{g}.run({{x, vector<float>({1, 2})}}, y).at<float>(1), 9);
}

TEST(own_operations, that_are_elementwise_have_a_formula_if_they_say_so) {
  std::array<std::string_view, 2> const names{"a", "b"};
  EXPECT_EQ(definition<mine::cube_op>().elementwise->formula(names.data()), "((a * a) * a)");
  EXPECT_EQ(definition<mine::reversed_sub_op>().elementwise->formula, nullptr);
}

TEST(own_operations, travel_as_bytes_to_who_knows_them) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const y = mine::twice(mine::cube(x), [&](value v) { return v + value(x); });
  auto const bytes = to_bytes(g);
  auto const again = graph_from_bytes(bytes, all_operations<type_list<mine::twice_op, mine::cube_op>>());
  EXPECT_EQ(session{*again}.run({{"x", vector<float>({1, 2})}}, y.name()).at<float>(1), 12);
  test::expect_error(code::not_found, "cube", [&] { graph_from_bytes(bytes, all_operations()); });
}

}  // namespace
}  // namespace rill
