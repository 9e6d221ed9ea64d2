// docs/ops.md is what this writes; it fails when the page is not what the list of operations says.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "../examples.hpp"
#include "rill/cuda/gpu_kernels.hpp"
#include "rill/ops/list/io_operations.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/place/groups.hpp"
#include "table.hpp"
#include "walk.hpp"

namespace rill {
namespace {

#if RILL_COMPILED

// Operations without examples that GPUs run; tests/cuda runs them.
std::set<std::string_view> const run_without_examples{
    "assign",          "initialize",  "assign_add",  "assign_sub",     "fused",         "fused_update",
    "uniform",         "normal",      "poisson",     "gamma",          "categorical",   "truncated_normal",
    "gather_variable", "scatter_add", "scatter_sub", "scatter_update", "array_new",     "array_full",
    "array_write",     "array_read",  "array_stack", "read",           "is_initialized"};

// Why the host runs the others; the rest has the reason that placement gives.
std::map<std::string_view, std::string> const reasons{{"sort", "takes several passes"},
                                                      {"permutation", "each exchange depends on those before it"},
                                                      {"unique", "its extents are known when it has run"},
                                                      {"where", "its extents are known when it has run"},
                                                      {"conj", "complex numbers"},
                                                      {"complex", "complex numbers"},
                                                      {"imag", "complex numbers"},
                                                      {"variable", "lies on a device, and computes nothing"},
                                                      {"no_op", "computes nothing"},
                                                      {"decode_json", "strings"},
                                                      {"on_worker", "chooses a worker of the session"}};

// What placement says of a node, or can be said of all nodes of an operation.
std::string phrase(place_reason why) {
  switch (why) {
    case place_reason::constant:
      return "is copied to where it is read";
    case place_reason::bodies:
      return "its bodies may run there";
    case place_reason::strings:
      return "strings";
    case place_reason::orders:
      return "computes nothing";
    default:
      return "state of the host";
  }
}
std::string phrase(op_def const& op) {
  if (op.kind == op_kind::cond || op.kind == op_kind::loop || op.name.ends_with("call"))
    return phrase(place_reason::bodies);
  if (op.kind == op_kind::constant) return phrase(place_reason::constant);
  if (op.kind == op_kind::placeholder) return "is fed";
  if (op.kind >= op_kind::switch_) return "tagged execution";
  if (op.aliases_input) return "computes nothing";
  if (!op.rendezvous.empty() || op.effect != effect::none) return phrase(place_reason::outside_state);
  return "";
}

// What the rule of GPUs says of examples, by the element type that an example computes with.
struct gpu_support {
  dtypes with, without;
  std::optional<place_reason> host;
};

std::map<std::string_view, gpu_support> support_of_examples() {
  std::map<std::string_view, gpu_support> all;
  for (auto const& e : test::examples()) {
    if (e.composed) continue;
    auto const types = e.elements == dtypes{} ? dtypes::any_element : e.elements;
    for (std::size_t d = 0; d < dtype_count; ++d) {
      auto const as = static_cast<dtype>(d);
      if (as == dtype::string || !types.contains(as)) continue;
      try {
        test::recorded const r(e, 3, as);
        for (std::size_t k = 0; k < r.g.size(); ++k) {
          auto const& n = r.g[k];
          if (n.op->name != e.operation) continue;
          std::vector<type> in;
          for (auto const& from : n.inputs) in.push_back(r.g[from.node].outputs[from.port]);
          auto& s = all[e.operation];
          auto const host = detail::host_reason(n, in, false);
          if (host) s.host = host;
          bool const runs = !host && cuda::gpu_kernels().rule()(n, in) != nullptr;
          (runs ? s.with : s.without).bits |= dtypes(as).bits;
        }
      } catch (error const&) {  // an element type that the operation doesn't take
      }
    }
  }
  return all;
}

std::map<std::string_view, std::string> on_gpu() {
  std::map<std::string_view, std::string> all;
  auto const support = support_of_examples();
  for (auto const* op : all_operations<io_operations>()) {
    auto& text = all[op->name];
    auto const tried = support.find(op->name);
    bool const runs =
        run_without_examples.contains(op->name) || (tried != support.end() && tried->second.with.bits != 0);
    auto const reason = reasons.find(op->name);
    EXPECT_FALSE(runs && reason != reasons.end()) << op->name << " has a reason, and runs";
    if (!runs) {
      auto why = reason != reasons.end() ? reason->second : phrase(*op);
      if (why.empty() && tried != support.end() && tried->second.host) why = phrase(*tried->second.host);
      text = why.empty() ? "no" : "no: " + why;
    } else if (tried == support.end() || (tried->second.without.bits & ~tried->second.with.bits) == 0) text = "yes";
    else if ((tried->second.without.bits & ~dtypes::complexes.bits) == 0) text = "yes, but for complex numbers";
    else text = "yes, but for some element types";
  }
  return all;
}

std::string page() {
  return "# Operations\n\n"
         "Written by the test `operations.are_those_of_the_page` from the lists in "
         "`include/rill/ops/list/operations.hpp` "
         "and\n"
         "`io_operations.hpp`, whose operations, the last ones here, come with `rill/io.hpp`;\n"
         "decompositions of matrices, of `eigen_operations.hpp`, need Eigen and have [a table of their own]"
         "(eigen_ops.md);\n"
         "`RILL_WRITE_DOCS=1 build/tests/test_ops --gtest_filter=operations.are_those*` writes it again.\n\n"
         "Element types: of the inputs that it computes with; where nothing is said it takes all, or those that its "
         "text names.\nReals are integers and floats, numbers are reals and complex numbers. An elementwise operation "
         "is fused with its\nneighbours. State: whether it reads or changes what outlives a step. GPU: whether "
         "[GPUs](guide/gpus.md) run it.\n\n" +
         test::table_of<join<operations, io_operations>>(all_operations<io_operations>(), on_gpu());
}

TEST(operations, are_those_of_the_page) { test::expect_page("ops.md", page()); }

TEST(operations, say_whether_gpus_run_them) {
  for (auto const& [name, text] : on_gpu())
    if (text == "no") ADD_FAILURE() << name << ": no GPU runs it, and nothing says why";
}

#endif

TEST(operations, each_have_a_name_of_their_own_and_a_sentence) {
  std::vector<std::string_view> names;
  for (auto const* op : all_operations<io_operations>()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_EQ(std::count(names.begin(), names.end(), op->name), 0) << op->name;
    names.push_back(op->name);
  }
  EXPECT_GE(names.size(), 50u);
}

}  // namespace
}  // namespace rill
