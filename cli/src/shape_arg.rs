//! A shape on the command line, one of whose axes may be unknown.

/// A shape; `None` is the axis whose length follows from the number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartialShape(Vec<Option<usize>>);

impl PartialShape {
    /// The shape of `count` elements, as NumPy's `reshape` computes it. If none
    /// fits, the number of elements differs.
    pub(crate) fn fill(&self, count: usize) -> Vec<usize> {
        let known =
            self.0.iter().flatten().fold(1, |product: usize, dim| product.saturating_mul(*dim));
        let unknown = count.checked_div(known).unwrap_or(0);
        self.0.iter().map(|dim| dim.unwrap_or(unknown)).collect()
    }
}

/// Parses `(3, 4)`, `-1,64,80`, `100` or `()`.
pub(crate) fn parse(text: &str) -> Result<PartialShape, &'static str> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if inner.is_none() && text.is_empty() {
        return Err(SHAPE);
    }
    let inner = inner.unwrap_or(text).trim();
    if inner.is_empty() {
        return Ok(PartialShape(Vec::new()));
    }
    let axes = inner.strip_suffix(',').unwrap_or(inner).split(',').map(parse_dim);
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    if axes.iter().filter(|dim| dim.is_none()).count() > 1 {
        return Err("only one axis can be -1");
    }
    Ok(PartialShape(axes))
}

fn parse_dim(text: &str) -> Result<Option<usize>, &'static str> {
    match text.trim() {
        "-1" => Ok(None),
        dim => dim.parse().map(Some).map_err(|_| SHAPE),
    }
}

const SHAPE: &str = "expected a shape such as '(3, 4)', '(3,)', '()' or -1,64,80";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_axis_is_computed() {
        for (text, count, expected) in [
            ("-1,64,80", 64 * 80 * 3, vec![3, 64, 80]),
            ("(2, -1)", 20, vec![2, 10]),
            ("-1", 2, vec![2]),
            ("(3,)", 0, vec![3]),
            ("()", 1, vec![]),
            ("(0, -1)", 0, vec![0, 0]),
        ] {
            assert_eq!(parse(text).unwrap().fill(count), expected, "{text}");
        }
        assert_eq!(parse("-1,-1"), Err("only one axis can be -1"));
        for text in ["", "(", "(3", "-2", "3,,4", "a", "1.5", "(,)"] {
            assert_eq!(parse(text), Err(SHAPE), "{text}");
        }
    }
}
