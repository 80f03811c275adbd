//! Modules, bindings, types and arguments that do not fit each other are refused before a runtime sees them; where the
//! module is one that is known to be sound and there is a plugin, what is left runs.
//!
//! The input is a mask, of which each bit spoils a part of the argument, and a computation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tff_exec::leaf::xla::{Library, Plugin, XlaOptions};
use tff_exec::{ExecError, Value, Xla};
use tff_ir::{Array, Comp, CompiledComputation};
use tff_proto::{Limits, decode, v0};
use tff_types::{Type, TypeKind};

/// The bytes of the mask.
const MASK: usize = 4;

/// The most bytes of a tensor that is made as an argument.
const MAX_TENSOR: u64 = 1 << 20;

/// The leaf with a plugin, where one is provisioned.
static RUNS: LazyLock<Option<Xla>> = LazyLock::new(|| {
    let plugin = repository_file(".native/pjrt/pjrt_c_api_cpu_plugin.so");
    let leaf = Xla::new(XlaOptions { library: Library::Plugin(Plugin::new(vec![plugin])), ..XlaOptions::default() });
    leaf.open().is_ok().then_some(leaf)
});

/// The modules of the golden data: XLA may be trusted with them, but not with what a fuzzer makes of them.
static SOUND: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let files = std::fs::read_dir(repository_file("testdata/golden/xla")).expect("the golden data");
    let files =
        files.filter_map(|file| Some(file.ok()?.path())).filter(|path| path.extension().is_some_and(|it| it == "pb"));
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("a file");
        if path.to_string_lossy().ends_with(".hlo.pb") {
            return bytes;
        }
        let comp = Comp::from_proto(&v0::Computation::decode(&*bytes).expect("a message")).expect("a computation");
        match comp.as_compiled() {
            Some(CompiledComputation::Xla(comp)) => comp.hlo_module.value.to_vec(),
            _ => Vec::new(),
        }
    };
    files.map(read).collect()
});

fn repository_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// A value of this type, each part spoilt for which the mask has a bit; `None` for types that have none here.
fn value(ty: &Type, mask: &mut u32) -> Option<Value> {
    let spoil = *mask & 1 == 1;
    *mask >>= 1;
    match ty.kind() {
        TypeKind::Tensor(tensor) => {
            let mut dims: Vec<u64> = tensor.shape.dims()?.iter().map(|dim| dim.unwrap_or(1)).collect();
            if spoil {
                dims.push(2);
            }
            let size = tensor.dtype.size()? as u64;
            let size =
                dims.iter().try_fold(size, |size, &dim| size.checked_mul(dim)).filter(|&size| size <= MAX_TENSOR)?;
            Array::dense(tensor.dtype, dims, vec![0; usize::try_from(size).ok()?].into()).ok().map(Value::array)
        }
        TypeKind::Struct(structure) => {
            let kept = structure.len() - usize::from(spoil && structure.len() > 0);
            let elements = structure.elements().iter().take(kept).map(|element| value(&element.ty, mask));
            Some(Value::structure(elements.collect::<Option<Vec<_>>>()?))
        }
        _ => None,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((mask, comp)) = bytes.split_first_chunk::<MASK>() else { return };
    let Ok(proto) = decode::<v0::Computation>(&comp.to_vec().into(), &Limits::default()) else { return };
    let Ok(comp) = Comp::from_proto(&proto) else { return };
    let (Some(CompiledComputation::Xla(xla)), Some(ty)) = (comp.as_compiled(), comp.ty().as_function()) else { return };

    if let Err(error) = Xla::check(xla, ty) {
        return assert!(matches!(error.cause(), ExecError::Prepare { .. }), "{error}");
    }
    if !SOUND.iter().any(|module| **module == *xla.hlo_module.value) {
        return;
    }
    let Some(leaf) = &*RUNS else { return };
    let prepared = leaf.prepare(xla, ty).expect("what passed the checks, of a sound module, is compiled");
    let mut mask = u32::from_le_bytes(*mask);
    let is_spoilt = mask != 0;
    let argument = match &ty.parameter {
        Some(parameter) => match value(parameter, &mut mask) {
            Some(argument) => Some(argument),
            None => return,
        },
        None => None,
    };
    match prepared.call(argument.as_ref()) {
        Ok(_) => {}
        Err(error) => assert!(is_spoilt && matches!(error.cause(), ExecError::Mismatch { .. }), "{error}"),
    }
});
