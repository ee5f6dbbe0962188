#include "optim/clip.h"

#include <cmath>
#include <limits>

#include "test/support/catch.h"

using namespace ringlet;

namespace {

ParamSlice with_gradient(std::initializer_list<float> gradient) {
  const Tensor grad = Tensor::from<float>(gradient, {static_cast<int64_t>(gradient.size())});
  return {"w", Tensor::zeros(grad.shape()), grad, 0};
}

}  // namespace

TEST_CASE("one coefficient comes from the norm over all gradients [E1]", "[optim]") {
  const ParamSlice slices[] = {with_gradient({3}), with_gradient({4}), with_gradient({0}), with_gradient({}),
                               with_gradient({0})};
  const double norm = gradient_norm(slices);
  CHECK(norm == 5.0);
  scale_gradients(slices, clip_coefficient(norm, 1.0));
  CHECK(slices[0].grad.item() == Approx(0.6).epsilon(1e-7));
  CHECK(slices[1].grad.item() == Approx(0.8).epsilon(1e-7));
  CHECK(slices[2].grad.item() == 0.0);
}

TEST_CASE("clipping without looking at the norm has the bits of norm, coefficient and scaling", "[optim]") {
  for (const double max_norm : {0.7, 5.0, 0.0}) {
    const ParamSlice looked[] = {with_gradient({3, 0.1F}), with_gradient({}), with_gradient({4, -0.3F})};
    const ParamSlice unseen[] = {with_gradient({3, 0.1F}), with_gradient({}), with_gradient({4, -0.3F})};
    scale_gradients(looked, clip_coefficient(gradient_norm(looked), max_norm));
    clip_gradients(unseen, max_norm);
    for (int i = 0; i < 3; ++i) {
      CHECK(unseen[i].grad.to_vector() == looked[i].grad.to_vector());
    }
  }
  const ParamSlice infinite[] = {with_gradient({1, std::numeric_limits<float>::quiet_NaN()}), with_gradient({1})};
  clip_gradients(infinite, 1.0);
  CHECK(std::isnan(infinite[1].grad.item()));
}

TEST_CASE("the coefficient shrinks what is too long and touches nothing else", "[optim]") {
  struct Row {
    double norm, max_norm, expected;
  };
  const Row rows[] = {{5, 1, 0.2}, {5, 5, 1}, {5, 10, 1},         {5, 0, 1},     {5, -1, 1},
                      {0, 1, 1},   {0, 0, 1}, {1e300, 1, 1e-300}, {1e-300, 1, 1}};
  for (const Row& row : rows) {
    CAPTURE(row.norm, row.max_norm);
    CHECK(clip_coefficient(row.norm, row.max_norm) == row.expected);
  }
}

TEST_CASE("a norm that is not finite is an error, never a coefficient [E3]", "[optim]") {
  for (const double norm : {double(INFINITY), -double(INFINITY), std::nan("")}) {
    for (const double max_norm : {0.0, 1.0}) {
      CHECK_THROWS_WITH(clip_coefficient(norm, max_norm),
                        Catch::Matchers::Contains("must be finite") && Catch::Matchers::Contains("skip this step"));
    }
  }
  CHECK_THROWS_WITH(clip_coefficient(5.0, std::nan("")), Catch::Matchers::Contains("or 0 for any, got nan"));
  const ParamSlice infinite[] = {with_gradient({INFINITY, 1})}, not_a_number[] = {with_gradient({NAN, 1})};
  CHECK(std::isinf(gradient_norm(infinite)));
  CHECK(std::isnan(gradient_norm(not_a_number)));
}

TEST_CASE("zero gradients have norm 0 and stay zero [E3]", "[optim]") {
  const ParamSlice slices[] = {with_gradient({0, 0})};
  scale_gradients(slices, clip_coefficient(gradient_norm(slices), 1.0));
  CHECK(slices[0].grad.to_vector() == std::vector<double>{0, 0});
  CHECK(gradient_norm({}) == 0.0);
}

TEST_CASE("the norm survives squares beyond the range of f32, at both ends", "[optim]") {
  for (const float size : {1e38F, 1e-40F}) {  // squares of 1e76 and 1e-80; the second is subnormal itself
    const ParamSlice slices[] = {with_gradient({size, size}), with_gradient({size, size})};
    CAPTURE(size);
    CHECK(gradient_norm(slices) == Approx(2.0 * static_cast<double>(size)).epsilon(1e-14));
  }
}
