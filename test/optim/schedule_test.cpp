#include "optim/schedule.h"

#include <cmath>
#include <limits>

#include "tensor/base/check.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

struct Row {
  const char* what;
  Schedule schedule;
  int64_t t;
  double expected;
};

}  // namespace

TEST_CASE("the learning rate is a pure function of the completed updates [L1]", "[optim]") {
  using Kind = Schedule::Kind;
  const Schedule cosine{Kind::Cosine, 1e-3, 1e-4, 10, 100}, linear{Kind::Linear, 1e-3, 1e-4, 10, 100};
  const Schedule warm{Kind::Constant, 1e-3, 0.0, 4, 0}, constant{Kind::Constant, 5e-3, 0.0, 0, 0};
  const Row rows[] = {
      {"the first update is not wasted on a rate of 0", cosine, 0, 1e-4},
      {"warm-up ends at the highest rate", cosine, 9, 1e-3},
      {"cosine starts at the highest rate", cosine, 10, 1e-3},
      {"one update earlier", cosine, 49, 6.4356026e-4},
      {"after 50 updates", cosine, 50, 6.2814168e-4},
      {"one update later", cosine, 51, 6.1262790e-4},
      {"halfway between warm-up and horizon", cosine, 55, 5.5e-4},
      {"the horizon", cosine, 100, 1e-4},
      {"after the horizon", cosine, 100000, 1e-4},
      {"linear starts at the highest rate", linear, 10, 1e-3},
      {"linear, a third of the way", linear, 40, 7e-4},
      {"linear, the horizon", linear, 100, 1e-4},
      {"linear, after the horizon", linear, 101, 1e-4},
      {"constant with warm-up", warm, 0, 2.5e-4},
      {"constant with warm-up, warm", warm, 3, 1e-3},
      {"constant with warm-up, for ever", warm, 1000, 1e-3},
      {"constant", constant, 0, 5e-3},
      {"constant, for ever", constant, std::numeric_limits<int64_t>::max(), 5e-3},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what, row.t);
    CHECK(learning_rate(row.schedule, row.t) == Approx(row.expected).epsilon(1e-8));
    CHECK(learning_rate(row.schedule, row.t) == learning_rate(row.schedule, row.t));
  }
}

TEST_CASE("a longer horizon is another schedule, not the same one read differently [L2]", "[optim]") {
  const Schedule longer{Schedule::Kind::Cosine, 1e-3, 1e-4, 10, 200};
  CHECK(learning_rate(longer, 50) == Approx(9.0511323e-4).epsilon(1e-7));
}

TEST_CASE("a schedule that cannot be followed is refused", "[optim]") {
  using Kind = Schedule::Kind;
  const Schedule refused[] = {
      {Kind::Cosine, 1e-3, 0.0, 10, 10},  {Kind::Linear, 1e-3, 0.0, 0, 0},       {Kind::Constant, -1e-3, 0.0, 0, 0},
      {Kind::Cosine, 1e-3, 2e-3, 0, 100}, {Kind::Cosine, 1e-3, -1e-3, 0, 100},   {Kind::Cosine, std::nan(""), 0.0, 0, 100},
      {Kind::Constant, 1e-3, 0.0, -1, 0}, {Kind::Constant, INFINITY, 0.0, 0, 0},
  };
  for (const Schedule& schedule : refused) {
    CHECK_THROWS_AS(schedule.validate(), Error);
    CHECK_THROWS_AS(learning_rate(schedule, 0), Error);
  }
  CHECK_NOTHROW(Schedule{}.validate());
  CHECK_THROWS_AS(learning_rate({}, -1), Error);
  CHECK(schedule_kind("cosine") == Kind::Cosine);
  CHECK(schedule_kind("linear") == Kind::Linear);
  CHECK(schedule_kind("constant") == Kind::Constant);
  CHECK_THROWS_WITH(schedule_kind("step"), Catch::Matchers::Contains("constant, linear or cosine, got step"));
}
