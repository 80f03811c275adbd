//! Forms: computations in several parts with fixed roles, for systems that run each part where and
//! how they like.
//!
//! A form is made from a computation, or from parts that come from elsewhere, and it can be made a
//! computation again. Its parts are checked whenever it is made.

mod broadcast;
mod declare;
mod distribute_aggregate;
mod map_reduce;
mod mergeable;
mod parts;

pub use broadcast::BroadcastForm;
pub use distribute_aggregate::DistributeAggregateForm;
pub use map_reduce::MapReduceForm;
pub use mergeable::MergeableCompForm;
