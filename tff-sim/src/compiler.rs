//! The compile function that executors take.

use std::sync::Arc;
use tff_compiler::{CompileOptions, compile_to_native};
use tff_exec::Compile;
use tff_ir::Comp;

/// The compiler with these options, as a function for [`tff_exec::Options::compile`].
///
/// ```
/// let mut options = tff_exec::Options::default();
/// options.compile = Some(tff_sim::compiler(tff_compiler::CompileOptions::default));
/// let executor = tff_exec::Executor::new(options);
/// ```
pub fn compiler(options: impl Fn() -> CompileOptions<'static> + Send + Sync + 'static) -> Arc<Compile> {
    Arc::new(move |comp: &Comp| Ok(compile_to_native(comp, &options())?.comp))
}
