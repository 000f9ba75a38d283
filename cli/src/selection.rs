//! What a person selects of an array: `5, ::2.pos.z`.

use std::convert::Infallible;
use std::str::FromStr;

use npymap::{DynView, DynViewMut, Indices, Result};

/// An index in NumPy's notation, and a field path behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    index: String,
    field: Option<String>,
}

impl FromStr for Selection {
    type Err = Infallible;

    /// Parts a text at the first dot that is no part of an ellipsis.
    fn from_str(text: &str) -> Result<Selection, Infallible> {
        let mut dots = text.match_indices('.').map(|(at, _)| at);
        let mut rest = 0;
        let dot = dots.find(|&at| {
            let is_ellipsis = at >= rest && text.get(at..).is_some_and(|t| t.starts_with("..."));
            if is_ellipsis {
                rest = at + 3;
            }
            at >= rest
        });
        let parts = dot.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
        let (index, field) = parts.map_or((text, None), |(index, field)| (index, Some(field)));
        Ok(Selection { index: index.to_owned(), field: field.map(str::to_owned) })
    }
}

impl Selection {
    /// The selected elements.
    pub(crate) fn of<'a>(&self, all: &DynView<'a>) -> Result<DynView<'a>> {
        let view = all.try_slice(Indices::parse(&self.index, all.shape())?)?;
        match &self.field {
            Some(field) => view.field(field),
            None => Ok(view),
        }
    }

    /// The selected elements, to be written.
    pub(crate) fn of_mut<'a>(&self, all: DynViewMut<'a>) -> Result<DynViewMut<'a>> {
        let indices = Indices::parse(&self.index, all.shape())?;
        let view = all.try_slice(indices)?;
        match &self.field {
            Some(field) => view.into_field(field),
            None => Ok(view),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_path_starts_at_the_first_dot_that_is_no_ellipsis() {
        for (text, index, field) in [
            ("5", "5", None),
            ("5.pos.z", "5", Some("pos.z")),
            (":10.score", ":10", Some("score")),
            ("..., 0.x", "..., 0", Some("x")),
            ("...", "...", None),
            ("....x", "...", Some("x")),
            ("0, ....x.y", "0, ...", Some("x.y")),
            (".x", "", Some("x")),
            ("", "", None),
            ("5.a...b", "5", Some("a...b")),
            ("..x", "", Some(".x")),
        ] {
            let field = field.map(str::to_owned);
            let expected = Selection { index: index.to_owned(), field };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }
}
