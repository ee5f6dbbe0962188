#include "dist/mesh.h"

#include <algorithm>
#include <utility>

namespace ringlet {

Mesh::Mesh(Communicator& world, std::vector<Axis> axes) : axes_(std::move(axes)), coordinates_(axes_.size()) {
  int64_t ranks = 1;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    check(axis.size > 0, "mesh: the size of an axis must be positive, got {} for {}", axis.size, axis.name);
    const auto names_it = [&](const Axis& other) { return other.name == axis.name; };
    check(std::find_if(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(i), names_it) ==
              axes_.begin() + static_cast<std::ptrdiff_t>(i),
          "mesh: the names of axes must differ, got {} twice", axis.name);
    ranks *= axis.size;
    check(ranks <= world.size(), "mesh: the axes need at least {} ranks, there are {}", ranks, world.size());
  }
  check(ranks == world.size(), "mesh: the axes hold {} ranks, there are {}", ranks, world.size());

  int stride = 1;  // between the world ranks of neighbours on the axis
  for (size_t i = axes_.size(); i-- > 0;) {
    coordinates_[i] = world.rank() / stride % axes_[i].size;
    stride *= axes_[i].size;
  }
  stride = world.size();
  for (size_t i = 0; i < axes_.size(); ++i) {
    stride /= axes_[i].size;
    const int at_zero = world.rank() - coordinates_[i] * stride;  // who shares it differs from us in this coordinate alone
    groups_.push_back(world.split(at_zero, coordinates_[i]));
  }
}

size_t Mesh::index(std::string_view axis) const {
  std::string known;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == axis) {
      return i;
    }
    known += (i == 0 ? "" : ", ") + axes_[i].name;
  }
  fail("mesh: the axes are {}, got {}", known, axis);
}

Communicator& Mesh::along(std::string_view axis) { return *groups_[index(axis)]; }

int Mesh::coordinate(std::string_view axis) const { return coordinates_[index(axis)]; }

}  // namespace ringlet
