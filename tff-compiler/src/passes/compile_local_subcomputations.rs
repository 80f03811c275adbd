//! Makes one TensorFlow graph of each function that computes locally.

use crate::error::PassError;
use crate::local::{compile_to_graph, local_lambdas};
use crate::pass::Pass;
use crate::retype::retype_references;
use tff_ir::{Comp, Transformed, transform_preorder};

/// Replaces each outermost function that only calls graphs by one graph. What also calls
/// intrinsics or modules of other systems stays, and so does what calls nothing: runtimes select
/// and pack by themselves.
///
/// The computation must be in call-dominant form.
#[derive(Clone, Copy, Debug)]
pub struct CompileLocalSubcomputations;

impl Pass for CompileLocalSubcomputations {
    fn name(&self) -> &'static str {
        "compile_local_subcomputations"
    }

    fn description(&self) -> &'static str {
        "makes one graph of each function that only calls graphs"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        let local = local_lambdas(comp);
        let mut has_other_type = false;
        let transformed = transform_preorder(comp, &mut |comp| match wrapped(comp) {
            _ if local.get(comp).is_none() => Ok(None),
            Some(graph) => {
                has_other_type |= comp.ty() != graph.ty();
                Ok(Some(graph.clone()))
            }
            None => compile_to_graph(comp).map(Some),
        })?;
        if has_other_type { retype_references(&transformed.comp).map(Transformed::yes) } else { Ok(transformed) }
    }
}

/// The graph that is all a function calls: `comp#1` in `(x -> comp#1(x))` and in
/// `(x -> (let y=comp#1(x) in y))`.
fn wrapped(comp: &Comp) -> Option<&Comp> {
    let lambda = comp.as_lambda()?;
    let call = match lambda.result.as_block() {
        None => lambda.result.as_call()?,
        Some(block) => {
            let [local] = block.locals.as_ref() else { return None };
            block.result.as_reference().filter(|reference| reference.name == local.name)?;
            local.value.as_call()?
        }
    };
    let argument = call.argument.as_ref().map(|argument| argument.as_reference().map(|reference| &reference.name));
    let parameter = lambda.parameter.as_ref().map(|parameter| Some(&parameter.name));
    call.function.as_compiled()?;
    (argument == parameter && comp.ty().is_assignable_from(call.function.ty())).then_some(&call.function)
}
