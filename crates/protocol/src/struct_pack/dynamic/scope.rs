//! What is around a type, for back-references.

use super::Type;

/// A type and the types around it.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) ty: &'a Type,
    pub(super) outer: Option<&'a Scope<'a>>,
}

/// The type that a back-reference inside `outer` means, and what is around that type.
pub(super) fn resolve<'a>(
    levels: u64,
    outer: Option<&'a Scope<'a>>,
) -> Option<(&'a Type, Option<&'a Scope<'a>>)> {
    // `outer` is the type that contains the reference; level 0 is the one around it.
    let mut target = outer?.outer?;
    for _ in 0..levels {
        target = target.outer?;
    }
    Some((target.ty, target.outer))
}
