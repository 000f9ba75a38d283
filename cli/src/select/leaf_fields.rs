//! The fields of records that are not structs themselves.

use npymap::{Result, array::Outline, dtype::Kind};

use crate::input::text::join;

/// Finds the fields of a view that are not structs, with paths such as `pos.z`.
/// A view without fields is its own only leaf, with an empty name.
pub(crate) fn find<'a>(view: &Outline<'a>) -> Result<Vec<(String, Outline<'a>)>> {
    let mut leaves = Vec::new();
    add(&mut leaves, String::new(), view)?;
    Ok(leaves)
}

fn add<'a>(
    leaves: &mut Vec<(String, Outline<'a>)>,
    name: String,
    view: &Outline<'a>,
) -> Result<()> {
    match view.dtype().kind() {
        Kind::Struct => {
            for field in view.dtype().fields() {
                let leaf = view.getfield(&field.dtype, field.offset)?;
                add(leaves, join(&name, field.name()), &leaf)?;
            }
        }
        _ => leaves.push((name, view.clone())),
    }
    Ok(())
}

/// As [`find`], with complex numbers split into their real and imaginary parts.
pub(crate) fn find_real<'a>(view: &Outline<'a>) -> Result<Vec<(String, Outline<'a>)>> {
    let mut leaves = Vec::new();
    for (name, leaf) in find(view)? {
        if leaf.dtype().kind() == Kind::Complex {
            leaves.push((join(&name, "real"), leaf.real()));
            leaves.push((join(&name, "imag"), leaf.imag()?));
        } else {
            leaves.push((name, leaf));
        }
    }
    Ok(leaves)
}
