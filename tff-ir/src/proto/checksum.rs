//! Checksums, which the forms of the reference print in the place of graphs, modules and data.

use crate::Comp;
use prost::Message;

impl Comp {
    /// The Adler-32 checksum of the encoded computation in hexadecimal, without leading zeros: how
    /// the reference names a computation that it does not print. Empty where there is no encoding.
    #[must_use]
    pub fn checksum(&self) -> String {
        self.to_proto().map(|proto| format!("{:x}", adler32(&proto.encode_to_vec()))).unwrap_or_default()
    }
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    // The most bytes after which neither sum can have exceeded 32 bits.
    const CHUNK: usize = 5552;
    let (mut low, mut high) = (1u32, 0u32);
    for chunk in bytes.chunks(CHUNK) {
        for &byte in chunk {
            low += u32::from(byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    (high << 16) | low
}
