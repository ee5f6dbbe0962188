#include "tensor/tensor.h"

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

namespace {

Tensor counting(const Shape& shape) {
  Tensor x = Tensor::empty(shape);
  for (int64_t i = 0; i < x.numel(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
  return x;
}

using Values = std::vector<double>;

}  // namespace

TEST_CASE("a view shares its elements, a copy does not", "[tensor]") {
  struct Row {
    const char* name;
    Tensor (*make)(const Tensor&);
    bool shares;
  };
  const Row table[] = {
      {"copy of the handle", [](const Tensor& x) { return x; }, true},
      {"view",
       [](const Tensor& x) {
         return x.view({6, -1});
       },
       true},
      {"transpose", [](const Tensor& x) { return x.transpose(0, 1); }, true},
      {"permute",
       [](const Tensor& x) {
         return x.permute({2, 0, 1});
       },
       true},
      {"narrow", [](const Tensor& x) { return x.narrow(1, 1, 2); }, true},
      {"expand",
       [](const Tensor& x) {
         return x.narrow(1, 0, 1).expand({2, 3, 4});
       },
       true},
      {"contiguous of contiguous", [](const Tensor& x) { return x.contiguous(); }, true},
      {"contiguous of a transpose", [](const Tensor& x) { return x.transpose(0, 1).contiguous(); }, false},
      {"reshape of contiguous", [](const Tensor& x) { return x.reshape({24}); }, true},
      {"reshape of a transpose", [](const Tensor& x) { return x.transpose(0, 1).reshape({24}); }, false},
      {"clone", [](const Tensor& x) { return x.clone(); }, false},
      {"to the same dtype", [](const Tensor& x) { return x.to(DType::F32); }, false},
      {"to another dtype", [](const Tensor& x) { return x.to(DType::F64); }, false},
  };
  for (const Row& row : table) {
    Tensor x = counting({2, 3, 4});
    const Tensor y = row.make(x);
    CAPTURE(row.name);
    CHECK(y.shares_storage(x) == row.shares);
    const Values before = y.to_vector();
    x.fill(-1);
    CHECK((y.to_vector() == before) == !row.shares);
  }
}

TEST_CASE("views show the elements that their names promise", "[tensor]") {
  const Tensor x = counting({2, 3});
  CHECK(x.transpose(0, 1).to_vector() == Values{0, 3, 1, 4, 2, 5});
  CHECK(x.transpose(-1, -2).shape() == Shape{3, 2});
  CHECK(x.narrow(1, 1, 2).to_vector() == Values{1, 2, 4, 5});
  CHECK(x.narrow(0, 1, 1).narrow(1, 2, 1).item() == 5);
  CHECK(x.narrow(0, 1, 1).offset() == 3);
  CHECK(x.view({3, 2}).to_vector() == x.to_vector());
  CHECK(x.view({-1}).shape() == Shape{6});
  CHECK(x.view({1, 6, 1}).is_contiguous());
  CHECK(x.narrow(0, 1, 1).is_contiguous());
  CHECK_FALSE(x.narrow(1, 0, 2).is_contiguous());
  CHECK(x.narrow(1, 0, 0).is_contiguous());
  CHECK(x.narrow(0, 0, 1).expand({2, 2, 3}).to_vector() == Values{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  const Tensor permuted = counting({2, 3, 4}).permute({2, 0, 1});
  CHECK(permuted.shape() == Shape{4, 2, 3});
  CHECK(permuted.at(0 * 6 + 1 * 3 + 2) == 1 * 12 + 2 * 4 + 0);
  CHECK(permuted.contiguous().to_vector() == permuted.to_vector());
  CHECK(Tensor::full({}, 3.5).item() == 3.5);
  CHECK(Tensor::zeros({0, 3}).to_vector().empty());
}

TEST_CASE("[P5] a matrix can be given its own transpose", "[tensor]") {
  Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  x.copy_from(x.transpose(0, 1));
  CHECK(x.to_vector() == Values{1, 3, 2, 4});
  Tensor line = counting({5}), head = line.narrow(0, 0, 4);
  head.copy_from(line.narrow(0, 1, 4));
  CHECK(line.to_vector() == Values{1, 2, 3, 4, 4});
}

TEST_CASE("copy_from and to convert between all dtypes", "[tensor]") {
  const DType all[] = {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::U8};
  const Tensor x = Tensor::from<float>({0, 1, 2, 3, 100, 127}, {2, 3});
  for (const DType from : all) {
    for (const DType to : all) {
      CAPTURE(to_text(from), to_text(to));
      CHECK(x.to(from).to(to).to_vector() == x.to_vector());
      CHECK(x.to(from).transpose(0, 1).to(to).to_vector() == x.transpose(0, 1).to_vector());
      CHECK(Tensor::full({2}, 7, to).to_vector() == Values{7, 7});
    }
  }
  CHECK(Tensor::from<float>({1.75F, -1.75F}, {2}).to(DType::I32).to_vector() == Values{1, -1});
}

TEST_CASE("an access that may write is counted, one that reads is not", "[tensor]") {
  Tensor x = Tensor::zeros({4});
  const Tensor view = x.narrow(0, 1, 2);
  const auto changes = [&](auto&& access) {
    const uint64_t before = view.version();
    access();
    return view.version() - before;
  };
  CHECK(changes([&] { static_cast<void>(x.data<float>()); }) == 0);
  CHECK(changes([&] { static_cast<void>(x.clone()); }) == 0);
  CHECK(changes([&] { static_cast<void>(x.mutable_data<float>()); }) == 1);
  CHECK(changes([&] { x.fill(1); }) == 1);
  CHECK(changes([&] { x.copy_from(Tensor::zeros({4})); }) == 1);
}

TEST_CASE("tensors and shapes name what is wrong", "[tensor]") {
  Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH(x.view({4}), Contains("Tensor::view: 6 elements cannot be seen as [4]"));
  CHECK_THROWS_WITH(x.view({-1, -1}), Contains("at most one extent may be -1"));
  CHECK_THROWS_WITH(x.view({-1, 0}), Contains("cannot be seen as"));
  CHECK_THROWS_WITH(x.transpose(0, 1).view({6}), Contains("call contiguous() first"));
  CHECK_THROWS_WITH(x.transpose(0, 2), Contains("dim 2 of a shape with 2 dims"));
  CHECK_THROWS_WITH(x.permute({0}), Contains("Tensor::permute: 1 dims named for shape [2, 3]"));
  CHECK_THROWS_WITH(x.permute({0, 0}), Contains("named twice"));
  CHECK_THROWS_WITH(x.narrow(1, 2, 2), Contains("Tensor::narrow: 2 entries from 2 on, of dim 1 of shape [2, 3]"));
  CHECK_THROWS_WITH(x.narrow(0, -1, 1), Contains("Tensor::narrow"));
  CHECK_THROWS_WITH(x.narrow(0, 1, INT64_MAX), Contains("Tensor::narrow"));
  CHECK_THROWS_WITH(x.expand({2, 4}), Contains("Tensor::expand"));
  CHECK_THROWS_WITH(x.expand({3}), Contains("Tensor::expand"));
  CHECK_THROWS_WITH(x.item(), Contains("Tensor::item: needs exactly one element, got shape [2, 3]"));
  CHECK_THROWS_WITH(x.at(6), Contains("index 6 of 6 elements"));
  CHECK_THROWS_WITH(x.data<double>(), Contains("asked for f64, dtype is f32"));
  CHECK_THROWS_WITH(x.mutable_data<int32_t>(), Contains("asked for i32, dtype is f32"));
  CHECK_THROWS_WITH(x.transpose(0, 1).span<float>(), Contains("Tensor::span: needs contiguous elements"));
  CHECK_THROWS_WITH(x.copy_from(Tensor::zeros({3, 2})), Contains("shapes differ, [3, 2] into [2, 3]"));
  CHECK_THROWS_WITH(Tensor::from<float>({1, 2}, {3}), Contains("Tensor::from: 2 values for shape [3]"));
  Tensor stretched = Tensor::zeros({1}).expand({3});
  CHECK_THROWS_WITH(stretched.fill(1.0), Contains("shape [3] is stretched by strides [0], its elements are one and the same"));
  CHECK_THROWS_WITH(stretched.copy_from(Tensor::zeros({3})), Contains("clone it first"));
  CHECK(stretched.at(2) == 0.0);
  CHECK_THROWS_WITH(Tensor().data<float>(), Contains("undefined"));
  CHECK_THROWS_WITH(Tensor::empty({-1}), Contains("extents are not negative, got [-1]"));
  CHECK_THROWS_WITH(Tensor::empty({INT64_MAX, 2}), Contains("more elements than an int64 can count"));
  CHECK_THROWS_WITH(Tensor::empty({INT64_MAX / 2}), Contains("more bytes than an int64 can count"));
  CHECK_THROWS_WITH(Shape({1, 1, 1, 1, 1, 1, 1}), Contains("at most 6 dims, got 7"));
  CHECK_THROWS_WITH(check_shape("who", x, {3}), Contains("who: shape must be [3], got [2, 3]"));
  CHECK_THROWS_WITH(check_shape("who", Tensor(), {3}), Contains("who: undefined tensor, shape must be [3]"));
  CHECK_THROWS_WITH(check_dtype("who", x, DType::I32), Contains("who: dtype must be i32, got f32"));
}

TEST_CASE("shapes count, stride and broadcast", "[tensor]") {
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{2, 0, 5}.numel() == 0);
  CHECK(Shape{2, 3, 4}.contiguous_strides() == Shape{12, 4, 1});
  CHECK(Shape{2, 3, 4}.rows() == 6);
  CHECK(Shape{3, 0}.rows() == 3);
  CHECK(Shape{2, 3, 4}.without(1) == Shape{2, 4});
  CHECK(Shape{2, 3, 4}.with(-1, 7) == Shape{2, 3, 7});
  CHECK(to_text(Shape{2, 3}) == "[2, 3]");
  CHECK(to_text(Shape{}) == "[]");
  CHECK(broadcast_shapes("x", {2, 1, 3}, {4, 1}) == Shape{2, 4, 3});
  CHECK(broadcast_shapes("x", {0}, {1}) == Shape{0});
  CHECK(broadcast_strides({4, 1}, {1, 1}, {2, 4, 3}) == Shape{0, 1, 0});
  CHECK_THROWS_WITH(broadcast_shapes("x", {2}, {3}), Contains("x: shapes do not broadcast, [2] and [3]"));
  CHECK_THROWS_AS(Shape{}.rows(), Error);
}

TEST_CASE("a deferred tensor takes memory when an element is first read or written, and then has what it begins with",
          "[tensor]") {
  const AllocatorScope scope(std::make_shared<Allocator>());
  const auto live = [] { return Allocator::current()->ledger().of(Category::Parameters).live; };
  int fills = 0;
  const auto counted = [&](double value) {
    return [&fills, value](Tensor& flat) {
      ++fills;
      check_shape("fill", flat, {6});
      flat.fill(value);
    };
  };
  Tensor x = Tensor::deferred({2, 3}, DType::F32, Category::Parameters, counted(1.0));
  const Tensor row = x.narrow(0, 1, 1);
  CHECK(x.deferred());
  CHECK_FALSE(x.released());
  x.begin_with(counted(2.0));
  CHECK(fills + live() == 0);

  Tensor copy = Tensor::zeros({3, 2});
  copy.view({2, 3}).copy_from(x);  // where the copy lies, and not in memory of its own
  CHECK(copy.to_vector() == std::vector<double>(6, 2.0));
  CHECK(live() == 0);
  CHECK(copy.transpose(0, 1).numel() == 6);

  CHECK(row.at(2) == 2.0);
  CHECK(live() == 24);
  CHECK(fills == 2);
  CHECK_FALSE(x.deferred());
  x.begin_with(counted(3.0));
  CHECK(row.at(0) == 3.0);
  CHECK(fills == 3);

  const Tensor part = Tensor::deferred({6}, DType::F32, Category::Parameters, counted(4.0)).narrow(0, 1, 2);
  CHECK_THROWS_WITH(Tensor(part).begin_with(counted(5.0)), Contains("a deferred tensor begins as a whole"));
  CHECK(part.clone().at(1) == 4.0);
}

TEST_CASE("a released storage has no elements and costs no bytes; refilled, it keeps its version unless its content is new",
          "[tensor]") {
  const AllocatorScope scope(std::make_shared<Allocator>());
  Tensor x = counting({4, 8});
  const Tensor row = x.narrow(0, 1, 1);
  const uint64_t version = x.version();
  const auto live = [] { return Allocator::current()->ledger().of(Category::Activations).live; };
  CHECK(live() == 128);
  x.release_storage();
  CHECK(live() == 0);
  CHECK(row.released());
  CHECK(row.version() == version);
  CHECK_THROWS_WITH(row.at(0), Contains("its storage is released"));
  CHECK_THROWS_WITH(x.fill(1.0), Contains("its storage is released"));
  x.release_storage();  // once is enough

  auto* elements = reinterpret_cast<float*>(x.refill_storage(false));
  CHECK(live() == 128);
  CHECK(x.version() == version);
  std::fill_n(elements, 32, 3.0F);
  CHECK(row.to_vector() == Values(8, 3.0));
  x.release_storage();
  x.refill_storage(true);
  CHECK(row.version() == version + 1);
}
