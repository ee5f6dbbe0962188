// A transport that counts what one rank sends, to compare an algorithm's messages and bytes with its formula.
#pragma once

#include <memory>
#include <utility>

#include "collectives/algorithms/cost_model.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet::test {

class CountingTransport final : public PointToPoint {
 public:
  CountingTransport(std::unique_ptr<PointToPoint> inner, Traffic& sent)
      : PointToPoint(inner->rank(), inner->size()), inner_(std::move(inner)), sent_(sent) {}

  std::string_view name() const override { return inner_->name(); }
  void announce(const Fingerprint& call, const SiteText& site) override { inner_->announce(call, site); }
  void conclude() override { inner_->conclude(); }
  void transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    count(out);
    inner_->transfer(out, in, tag);
  }
  Work start_transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    count(out);
    return inner_->start_transfer(out, in, tag);
  }
  void give_up(int peer, const std::string& complaint) override { inner_->give_up(peer, complaint); }
  std::unique_ptr<PointToPoint> split(int color, int key) override { return inner_->split(color, key); }

 private:
  void count(std::span<const Outgoing> out) {
    for (const Outgoing& one : out) {
      sent_.messages += 1;
      sent_.bytes += static_cast<int64_t>(one.bytes.size());
    }
  }
  std::unique_ptr<PointToPoint> inner_;
  Traffic& sent_;
};

}  // namespace ringlet::test
