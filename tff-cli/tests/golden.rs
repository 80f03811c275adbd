//! `tff run` on every recorded computation: the compiled form, with the recorded arguments and
//! number of clients, gives the recorded result.

mod recorded;

use recorded::{check, decode};

#[test]
fn recorded_computations_give_their_results() {
    check("comps.jsonl", |record| Ok(decode(record, "native_proto")), 47);
}

#[test]
fn random_computations_give_their_results() {
    check("comps_random.jsonl", |record| Ok(decode(record, "native_proto")), 48);
}
