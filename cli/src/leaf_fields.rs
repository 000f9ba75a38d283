//! The parts of elements that are no structs.

use npymap::{Result, dtype::Kind, view::DynView};

/// Finds the fields of a view that are no structs themselves, complex numbers
/// as their two parts. An array without fields is one by itself, of no name.
pub(crate) fn of<'a>(view: &DynView<'a>) -> Result<Vec<(String, DynView<'a>)>> {
    let mut leaves = Vec::new();
    add(&mut leaves, String::new(), view)?;
    Ok(leaves)
}

fn add<'a>(
    leaves: &mut Vec<(String, DynView<'a>)>,
    name: String,
    view: &DynView<'a>,
) -> Result<()> {
    match view.dtype().kind() {
        Kind::Struct => {
            for field in view.dtype().fields() {
                let dot = if name.is_empty() { "" } else { "." };
                let part = view.getfield(&field.dtype, field.offset)?;
                add(leaves, format!("{name}{dot}{}", field.name()), &part)?;
            }
        }
        _ => leaves.push((name, view.clone())),
    }
    Ok(())
}

/// The parts of complex numbers, and other leaves as they are.
pub(crate) fn of_reals<'a>(view: &DynView<'a>) -> Result<Vec<(String, DynView<'a>)>> {
    let mut all = Vec::new();
    for (name, leaf) in of(view)? {
        if leaf.dtype().kind() == Kind::Complex {
            let dot = if name.is_empty() { "" } else { "." };
            all.push((format!("{name}{dot}real"), leaf.real()));
            all.push((format!("{name}{dot}imag"), leaf.imag()?));
        } else {
            all.push((name, leaf));
        }
    }
    Ok(all)
}
