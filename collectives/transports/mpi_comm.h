// An MPI communicator of our own.
#pragma once

namespace ringlet {

/// Owns a communicator, known by its Fortran handle (the one form of it that is an int on every MPI); errors are returned.
/// Freed unless MPI has finished already, or `abandon` was called: what is still under way on a communicator whose ranks
/// disagreed must not meet the next one that MPI gives the same number.
class MpiComm {
 public:
  /// A duplicate of MPI_COMM_WORLD.
  static MpiComm world();
  /// Collective. A negative color gives an invalid one.
  MpiComm split(int color, int key) const;

  MpiComm(MpiComm&& other) noexcept;
  MpiComm& operator=(MpiComm&&) = delete;
  MpiComm(const MpiComm&) = delete;
  MpiComm& operator=(const MpiComm&) = delete;
  ~MpiComm();

  bool valid() const { return valid_; }
  int handle() const { return handle_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// What rank `rank` of this is called in `other`.
  int rank_in(const MpiComm& other, int rank) const;
  /// The tag of the first message from `peer` that has come and that no receive was posted for; −1 when there is none.
  int unexpected_from(int peer) const;
  /// MPI_TAG_UB: at least 32,767.
  static int largest_tag();
  void abandon() { valid_ = false; }

 private:
  MpiComm() = default;
  explicit MpiComm(int handle);

  bool valid_ = false;
  int handle_ = 0;
  int rank_ = -1;
  int size_ = 0;
};

}  // namespace ringlet
