// Operations of synchronous training (state/training_rounds.hpp). All take a variable by reference: so they run where
// it lies, with their state, and in order with what else uses it.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/ops/array/index.hpp"
#include "rill/ops/base/waiting.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/state/container.hpp"
#include "rill/state/training_rounds.hpp"

namespace rill::ops {

/// What the operations share. Input 0 is a variable; the rounds have the name of the node that begins them.
struct training_operation {
  static constexpr std::int8_t arity = 2;
  static constexpr std::size_t outputs = 0;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::string rounds;
    static constexpr auto fields(auto const& take) { return take(field{"rounds", &attributes::rounds}); }
  };
  static std::array<type, 0> infer(attributes const&, std::span<type const> x) {
    for (auto const& t : x.subspan(1)) expect_number(t);
    return {};
  }
  static void expect_number(type const& t) {
    expects(accepts(of<std::int64_t>, t), "a worker and a round are scalars of int64");
  }
  static std::shared_ptr<training_rounds> rounds_of(kernel_request const& r, std::string const& name) {
    return r.state.other<training_rounds>(name, [&] { return std::make_unique<training_rounds>(name); });
  }
  static std::shared_ptr<round_sum> sum_of(kernel_request const& r, std::string const& name) {
    auto const& variable = r.variables[0]->name();
    return r.state.other<round_sum>(name + "/" + variable, [&] { return std::make_unique<round_sum>(variable); });
  }
};

struct begin_round_op : training_operation {
  using library = void;
  static constexpr std::string_view name = "begin_round", doc = "the round of a worker's step";
  static constexpr std::size_t outputs = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  struct attributes {
    std::int64_t workers = 1, graph = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"workers", &attributes::workers}, field{"graph", &attributes::graph});
    }
  };
  static type infer(attributes const& a, std::span<type const> x) {
    expects(a.workers > 0, "begin_round: there must be a worker");
    expect_number(x[1]);
    return type(dtype::int64);
  }
  static kernel cpu(kernel_request const& r);
};

struct end_round_op : training_operation {
  using library = void;
  static constexpr std::string_view name = "end_round", doc = "ends a round: its updates are done";
  static kernel cpu(kernel_request const& r);
};

struct await_round_op : training_operation {
  using library = void;
  static constexpr std::string_view name = "await_round", doc = "waits until a round has ended";
  static constexpr std::int8_t arity = 3;
  static constexpr bool waits = true;
  static kernel cpu(kernel_request const& r);
};

struct after_round_op : training_operation {
  using library = void;
  static constexpr std::string_view name = "after_round",
                                    doc = "does nothing; uses of a variable that come after it see a round's update";
  static constexpr std::int8_t arity = 1;
  using attributes = no_attributes;
  static constexpr std::array<type, 0> infer(no_attributes, std::span<type const>) { return {}; }
  static kernel cpu(kernel_request const& r);
};

struct add_to_round_op : training_operation {
  using library = void;
  static constexpr std::string_view name = "add_to_round",
                                    doc = "adds a worker's gradient of a round, or its indices and rows";
  static constexpr std::int8_t arity = -1;
  struct attributes {
    std::string rounds;
    std::int64_t workers = 1;
    static constexpr auto fields(auto const& take) {
      return take(field{"rounds", &attributes::rounds}, field{"workers", &attributes::workers});
    }
  };
  static std::array<type, 0> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

struct average_of_round_op : training_operation {
  using library = void;
  static constexpr std::string_view name = "average_of_round",
                                    doc = "the average of a round's gradients; waits until all have come";
  static constexpr bool waits = true;
  static constexpr bool dynamic_output_shape = true;
  struct attributes {
    std::string rounds;
    std::vector<type> of;  ///< of a gradient, or of indices and rows without their number
    static constexpr auto fields(auto const& take) {
      return take(field{"rounds", &attributes::rounds}, field{"of", &attributes::of});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

#if RILL_RUNTIME

RILL_INLINE std::array<type, 0> add_to_round_op::infer(attributes const& a, std::span<type const> x) {
  expects(a.workers > 0, "add_to_round: there must be a worker");
  expects(x.size() == 4 || x.size() == 5, "add_to_round: it takes a variable, a round, a worker and a gradient");
  expect_number(x[1]);
  expect_number(x[2]);
  if (x.size() == 4) expects(accepts(x[0], x[3]), "add_to_round: the gradient is not of the variable's type");
  else {
    expects(dtypes::indices.contains(x[3].element) && (!x[3].has_rank() || x[3].rank == 1),
            "add_to_round: the indices are not a list of int32 or int64");
    expects(accepts(gathered(x[0], x[3]), x[4]),
            "add_to_round: there is not a row of the variable's extents for each index");
  }
  expects(is_differentiable(x.back().element), "add_to_round: the elements have no derivatives");
  return {};
}

RILL_INLINE std::vector<type> average_of_round_op::infer(attributes const& a, std::span<type const> x) {
  expect_number(x[1]);
  expects(a.of.size() == 1 || a.of.size() == 2, "average_of_round: a gradient is one value, or indices and rows");
  return a.of;
}

RILL_INLINE kernel begin_round_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel([a, &state = r.state, rounds = rounds_of(r, r.at.name)](kernel_call const& call) {
    *call.out<std::int64_t>(0) = rounds->begin(
        {.number = *call.in<std::int64_t>(1), .count = a.workers, .graph = a.graph, .generation = state.generation()});
  });
}

RILL_INLINE kernel end_round_op::cpu(kernel_request const& r) {
  return kernel([rounds = rounds_of(r, decode<attributes>(r.at.attributes).rounds)](kernel_call const& call) {
    rounds->end(*call.in<std::int64_t>(1));
  });
}

RILL_INLINE kernel await_round_op::cpu(kernel_request const& r) {
  auto const wait = [rounds = rounds_of(r, decode<attributes>(r.at.attributes).rounds)](kernel_call const& call) {
    auto const request = std::make_shared<round_request>();
    request->round = *call.in<std::int64_t>(1);
    request->worker = *call.in<std::int64_t>(2);
    detail::suspend(call, rounds, request, [](auto&) {});
    rounds->wait(request);
  };
  return detail::waiting(wait, false);
}

RILL_INLINE kernel after_round_op::cpu(kernel_request const&) {
  return kernel([](kernel_call const&) {});
}

RILL_INLINE kernel add_to_round_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel([&state = r.state, to = sum_of(r, a.rounds), workers = a.workers,
                 types = std::vector<type>(r.inputs.begin() + 3, r.inputs.end())](kernel_call const& call) {
    training_rounds::expect_generation(*call.in<std::int64_t>(1), state.generation());
    std::vector<tensor> gradient;
    for (std::size_t i = 0; i < types.size(); ++i) gradient.push_back(tensor::borrow(types[i], call.in(3 + i)));
    to->add(*call.in<std::int64_t>(1), *call.in<std::int64_t>(2), workers, gradient, call.threads);
  });
}

RILL_INLINE kernel average_of_round_op::cpu(kernel_request const& r) {
  auto const take = [from = sum_of(r, decode<attributes>(r.at.attributes).rounds)](kernel_call const& call) {
    auto const request = std::make_shared<round_request>();
    request->round = *call.in<std::int64_t>(1);
    detail::suspend(call, from, request, [to = call.owned, n = call.outputs](round_request& served) {
      expects(served.average.size() == n, "average_of_round: the round's gradients are of another kind");
      std::move(served.average.begin(), served.average.end(), to);
    });
    from->take(request);
  };
  return detail::waiting(take, true);
}

#endif

}  // namespace rill::ops
