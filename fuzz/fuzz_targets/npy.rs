//! Arrays of NumPy are read or refused; what is read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tff_sim::npy;

/// The most bytes of elements.
const LIMIT: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(array) = npy::read(&mut &bytes[..], LIMIT) else { return };
    let again = npy::read(&mut npy::write(&array).as_slice(), LIMIT).expect("what was written");
    match array.as_strings() {
        // NumPy does not tell zeros at the end of a string from none.
        Some(strings) => assert_eq!(again.len(), strings.len()),
        None => assert_eq!(again, array),
    }
});
