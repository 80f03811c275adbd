//! Texts become the rows of a table, or an error of one line with the place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use tff_exec::Value;
use tff_sim::data::DataConfig;
use tff_types::Type;

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses the dialect.
    let Some((&dialect, table)) = bytes.split_first() else { return };
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(table).expect("written");
    let element: Type = "<x=float32[?,2],y=int32[?],s=str[?]>".parse().expect("a type");
    let keys = format!(
        "delimiter = {:?}\nquote = {:?}\nheader = {}",
        if dialect & 1 > 0 { ";" } else { "," },
        if dialect & 2 > 0 { "" } else { "\"" },
        dialect & 4 == 0
    );
    let names = if dialect & 4 == 0 { ["x0..x1", "y", "s"] } else { ["0..1", "2", "3"] };
    let columns = format!("columns = {{ x = {:?}, y = {:?}, s = {:?} }}", names[0], names[1], names[2]);
    let config = format!(
        "file = {:?}\nformat = \"csv\"\nclients = {{ modulo = 1 }}\nbatch_size = 2\nmissing = [\"NA\"]\n{keys}\n{columns}",
        file.path()
    );
    let config: DataConfig = toml::from_str(&config).expect("a configuration");
    match config.open(&element).and_then(|opened| opened.into_sources().0.data(0)) {
        Ok(Value::Sequence(batches)) => assert!(batches.known_elements().is_some_and(|batches| !batches.is_empty())),
        Ok(other) => panic!("{other:?}"),
        Err(error) => assert!(error.to_string().lines().count() <= 1, "{error}"),
    }
});
