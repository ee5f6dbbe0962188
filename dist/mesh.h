// Ranks as a grid with named axes: {"replicate", 2} × {"shard", 4} puts 8 ranks into 2 rows of 4. One communicator per axis
// joins the ranks that differ in that coordinate alone.
//
// (all): every rank of `world` calls it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.h"

namespace ringlet {

class Mesh {
 public:
  struct Axis {
    std::string name;
    int size = 1;
  };

  /// (all) Throws `Error` unless names differ, sizes are positive and their product is the number of ranks of `world`.
  Mesh(Communicator& world, std::vector<Axis> axes);

  /// The ranks along `axis` through this one, ordered by coordinate.
  Communicator& along(std::string_view axis);
  /// Where this rank stands on `axis`. The last axis is the fastest: neighbours on it have consecutive world ranks.
  int coordinate(std::string_view axis) const;
  int size(std::string_view axis) const { return axes_[index(axis)].size; }
  const std::vector<Axis>& axes() const { return axes_; }

 private:
  size_t index(std::string_view axis) const;

  std::vector<Axis> axes_;
  std::vector<int> coordinates_;
  std::vector<std::unique_ptr<Communicator>> groups_;
};

}  // namespace ringlet
