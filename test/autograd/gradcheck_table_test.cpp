// Every op against finite differences: one table, over broadcast, odd and degenerate shapes.
#include "test/autograd/gradcheck_table.h"
#include "autograd/gradcheck.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

void check_all(const Table& table) {
  for (const Row& row : table) {
    std::vector<CheckedInput> inputs;
    Vars vars;
    for (const Tensor& input : row.inputs) {
      vars.push_back(leaf(input.clone()));
      inputs.push_back({message("{}", inputs.size()), vars.back()});
    }
    const GradcheckResult result = gradcheck(
        row.what, [&] { return row.f(vars); }, inputs);
    INFO(row.what);
    INFO(result.text);
    CHECK(result.ok);
    if (row.bound_rules) {
      CHECK(result.bound > GradcheckOptions().tolerance);
      WARN(result.text);  // the bound that rules is printed
    } else {
      CHECK(result.bound == GradcheckOptions().tolerance);
    }
  }
}

}  // namespace

TEST_CASE("The gradient of every op is its derivative", "[gradcheck]") {
  SECTION("arithmetic") { check_all(arithmetic()); }
  SECTION("functions") { check_all(functions()); }
  SECTION("products") { check_all(products()); }
  SECTION("shapes") { check_all(shapes()); }
  SECTION("reductions and softmax") { check_all(reductions()); }
  SECTION("LayerNorm") { check_all(normalizations()); }
  SECTION("attention") { check_all(attentions()); }
  SECTION("cross-entropy, dropout, embedding") { check_all(losses()); }
}
