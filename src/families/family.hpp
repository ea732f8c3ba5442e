// SPDX-License-Identifier: Apache-2.0
// A family of kernels is a row of a table: all that planner and compiler ask about the nodes that it runs.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/form.hpp"
#include "graph/graph.hpp"
#include "kernels/base/encoding.hpp"
#include "kernels/base/isa.hpp"
#include "topology/blocking.hpp"

namespace colonnade {

class RowOp;
struct Family;
struct LowerContext;

/// A node and the values around it, all shapes known.
struct Subject {
  const Graph& graph;
  const Node& node;

  bool has_input(std::size_t index) const { return node.input(index) != kAbsent; }
  const Value& input(std::size_t index) const { return graph.value(node.inputs[index]); }
  const Shape& input_shape(std::size_t index) const { return input(index).type.static_shape(); }
  const Shape& output_shape() const { return graph.value(node.outputs[0]).type.static_shape(); }
  bool constant(std::size_t index) const { return has_input(index) && input(index).constant; }
  bool constant_or_absent(std::size_t index) const { return !has_input(index) || input(index).constant; }
};

/// A node for which a family is sought.
struct Candidate : Subject {
  Math math;
  kernels::Features features;
  const Blocking& blocking;
};

/// A way in which a family may run a node.
struct Offer {
  Form form{};
  std::int64_t granularity = 1;
  kernels::Encoding encoding = kernels::Encoding::f32;
  double flop = 0;  ///< operations that vector units do at their peak meanwhile; 0: nothing is weighed against it
};

/// What a family makes of a node: the ways in which it may run it, or the reason why it does not. Nothing is said where
/// another family is asked too.
struct Match {
  std::string reason{};
  std::vector<Offer> offers{};
};
Match refuse(std::string reason = {});
Match take(Form form = {}, std::int64_t granularity = 1);

/// All that was decided about a node.
struct Choice {
  const Family* family = nullptr;
  Form form{};
  kernels::Encoding encoding = kernels::Encoding::f32;
  std::int64_t granularity = 1;  ///< rows start at multiples of this
  double flop = 0;               ///< by which it was weighed against others (Offer)
  std::string reason{};          ///< why it is an island

  /// Works row by row: may share a segment with other nodes.
  bool by_rows() const;
};

/// A node and what was decided about it.
struct Chosen : Subject {
  const Choice& choice;

  template <class T>
  const T& form() const {
    return choice.form.as<T>();
  }
};

/// What a family works on.
enum class Scope : std::uint8_t {
  view,    ///< nothing: the same bytes under another shape
  rows,    ///< row by row
  whole,   ///< whole tensors, in units that threads share
  island,  ///< whole tensors, by oneDNN or the reference
};

/// Whether its rows are those of the engine's layout.
enum class Border : std::uint8_t {
  none,
  enters,  ///< reads planes [channel][row][column]
  leaves,  ///< writes them
};

/// Element types as a set.
class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<DType> types) {
    for (const DType type : types) bits_ |= bit(type);
  }
  constexpr bool contains(DType type) const { return (bits_ & bit(type)) != 0; }
  static constexpr TypeSet all() {
    TypeSet every{};
    every.bits_ = ~std::uint64_t{0};
    return every;
  }

 private:
  static constexpr std::uint64_t bit(DType type) { return std::uint64_t{1} << static_cast<unsigned>(type); }
  std::uint64_t bits_ = 0;
};
inline constexpr TypeSet kFloats{DType::f32};
inline constexpr TypeSet kAllTypes = TypeSet::all();
/// Of rows that are only moved.
inline constexpr TypeSet kMovedTypes{DType::f32, DType::bf16, DType::f16, DType::u8, DType::i8};

/// What the arithmetic of a node takes.
struct Effort {
  double seconds = 0;      ///< of one thread for all images and rows, operands in L2
  double idle_pixels = 0;  ///< that it could do while a call starts
};

/// Columns of its inputs that a node reads for columns of its output.
struct ColumnWindow {
  bool known = false;  ///< false: its family does not run on part of a row
  std::int64_t width = 1;
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
  bool residual = false;   ///< another input is read at the output's columns
  std::int64_t grain = 4;  ///< strips start at multiples of it
};

/// How a node is cut into chunks of channels.
struct ChunkRule {
  bool opens = false;      ///< a pointwise contraction whose outputs may come chunk by chunk
  bool carries = false;    ///< works channel by channel
  bool closes = false;     ///< a pointwise contraction that may sum over chunks of its inputs
  std::int64_t wish = 0;   ///< channels of the chunks that it opens
  std::int64_t grain = 1;  ///< the chunks that it closes have multiples of so many channels
  std::int64_t share = 0;  ///< threads may divide its outputs in multiples of so many channels; 0: they do not
  double apart = 1;        ///< times its arithmetic when they do
};

/// A value that may lie in the rows of another, from a channel on.
struct Placement {
  ValueId value = kAbsent;
  ValueId host = kAbsent;
  std::int64_t channel = 0;
};

/// What is told of a node beside its family.
struct Told {
  std::int64_t tile = 0;       ///< columns that are computed together, 0: none
  std::int64_t tile_rows = 0;  ///< and rows
  double products = 1;         ///< as a share of those of the direct sum
};

/// Units of whole tensors that need what others have made: they run in turns, all of one before any of the next.
struct Turns {
  std::int64_t count = 1;
  std::int64_t shared_bytes = 0;  ///< of memory that lasts from turn to turn, the same for all threads
};
inline Turns one_turn(const Chosen&) { return {}; }

struct Family {
  std::string_view name;
  Scope scope;
  Border border;
  TypeSet types;  ///< of its first input and of its outputs; what else it reads, its match looks at
  Match (*match)(const Candidate&);
  std::int64_t (*units)(const Chosen&);  ///< that threads share, of whole tensors
  Effort (*effort)(const Chosen&, const Rates&);
  std::int64_t (*weights_bytes)(const Chosen&);    ///< packed
  std::int64_t (*workspace_bytes)(const Chosen&);  ///< of one thread
  Turns (*turns)(const Chosen&) = one_turn;
  ColumnWindow (*window)(const Chosen&);  ///< all but the width
  ChunkRule (*chunks)(const Chosen&);
  std::vector<Placement> (*placements)(const Chosen&);
  Told (*tell)(const Chosen&);
  std::unique_ptr<RowOp> (*lower)(const LowerContext&);  ///< null for a view
};

inline bool Choice::by_rows() const { return family->scope == Scope::rows; }

/// Every way in which kernels may run a node, as the table has them; an island where there is none.
std::vector<Choice> alternatives(const Graph& graph, const Node& node, Math math, kernels::Features features,
                                 const Blocking& blocking);
/// The family that runs a node, by the least of its alternatives, the first of equal ones: a pure function of the node,
/// its shapes, the numeric policy, the tier and the class of machine, never of schedule or threads, so that every
/// schedule gives the same bits.
Choice choose_family(const Graph& graph, const Node& node, Math math, kernels::Features features,
                     const Blocking& blocking);
/// One a node.
std::vector<Choice> choose_families(const Graph& graph, Math math, kernels::Features features,
                                    const Blocking& blocking);

}  // namespace colonnade
