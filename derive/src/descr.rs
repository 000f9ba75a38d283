//! Checks descrs, the Python literals of structs and subarrays, in
//! `#[record(dtype = "…")]`.
//!
//! This repeats most of the library's rules, as `typestr` does. Dictionaries, escapes,
//! `u''` strings, empty shapes and sizes of unsized types are rejected here. The library
//! accepts every text accepted here, and its tests compare the two.

use super::typestr::{MAX_ITEMSIZE, itemsize};

/// The deepest nesting accepted here; the library accepts deeper ones.
const MAX_DEPTH: usize = 64;

/// The largest number of axes of a subarray.
const MAX_NDIM: usize = 64;

/// Returns whether the text is a quoted type string, a list of fields, or a
/// pair of a dtype and a shape.
pub(crate) fn is_descr(text: &str) -> bool {
    let mut reader = DescrReader { rest: text, depth: 0 };
    reader.dtype().is_some() && reader.peek().is_none()
}

/// The properties of a dtype that are checked.
#[derive(Clone, Copy)]
struct Extent {
    /// The itemsize, or an upper bound on it.
    itemsize: u64,
    kind: DescrKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DescrKind {
    Scalar,
    Void,
    Struct,
    Subarray,
}

/// Parses the rest of a text. Methods return `None` if the text is not valid.
struct DescrReader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> DescrReader<'a> {
    /// Skips white space and returns the next character.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t', '\r', '\x0c']);
        self.rest.chars().next()
    }

    /// Skips a character if it is next, and returns whether it was.
    fn eat(&mut self, character: char) -> bool {
        self.peek();
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, character: char) -> Option<()> {
        self.eat(character).then_some(())
    }

    fn dtype(&mut self) -> Option<Extent> {
        self.depth += 1;
        let extent = match self.peek()? {
            _ if self.depth > MAX_DEPTH => None,
            '[' => self.fields(),
            '(' => self.pair(),
            _ => self.string().and_then(scalar),
        };
        self.depth -= 1;
        extent
    }

    /// Parses `[('x', '<f8'), …]`.
    fn fields(&mut self) -> Option<Extent> {
        let (mut names, mut itemsize) = (Vec::new(), 0);
        self.expect('[')?;
        while !self.eat(']') {
            itemsize += self.field(&mut names)?.itemsize;
            if !self.eat(',') && self.peek() != Some(']') {
                return None;
            }
        }
        names.sort_unstable();
        let are_distinct = names.windows(2).all(|pair| pair.first() != pair.last());
        (are_distinct && itemsize <= MAX_ITEMSIZE)
            .then_some(Extent { itemsize, kind: DescrKind::Struct })
    }

    /// Parses `('x', '<f8')` or `('x', '<f8', (3,))`.
    fn field(&mut self, names: &mut Vec<&'a str>) -> Option<Extent> {
        self.expect('(')?;
        let has_title = self.eat('(');
        if has_title {
            names.push(self.string()?);
            self.expect(',')?;
        }
        let name = self.string()?;
        if has_title {
            self.eat(',');
            self.expect(')')?;
        }
        self.expect(',')?;
        let mut dtype = self.dtype()?;
        if self.eat(',') && self.peek() != Some(')') {
            dtype = self.with_shape(dtype)?;
            self.eat(',');
        }
        self.expect(')')?;
        // Void and subarrays without a name are padding.
        let is_padding =
            name.is_empty() && matches!(dtype.kind, DescrKind::Void | DescrKind::Subarray);
        if has_title || !is_padding {
            names.push(name);
        }
        Some(dtype)
    }

    /// Parses `('<f8', (3,))`.
    fn pair(&mut self) -> Option<Extent> {
        self.expect('(')?;
        let base = self.dtype()?;
        self.expect(',')?;
        let dtype = self.with_shape(base)?;
        self.eat(',');
        self.expect(')')?;
        Some(dtype)
    }

    /// Parses the shape of a subarray: `(2, 3)`, `[2, 3]` or `3`.
    fn with_shape(&mut self, base: Extent) -> Option<Extent> {
        let close = match self.peek()? {
            _ if self.eat('(') => Some(')'),
            _ if self.eat('[') => Some(']'),
            _ => None,
        };
        let (mut ndim, mut count, mut is_empty) = (0, 1_u64, false);
        loop {
            let dim = self.dim()?;
            is_empty |= dim == 0;
            count = count.saturating_mul(dim.max(1));
            ndim += 1;
            let Some(close) = close else { break };
            let is_last = !self.eat(',');
            if self.eat(close) {
                break;
            }
            if is_last {
                return None;
            }
        }
        let count = if is_empty { 0 } else { count };
        let itemsize = count.saturating_mul(base.itemsize);
        let is_unsized = base.itemsize == 0 && base.kind != DescrKind::Struct;
        (ndim <= MAX_NDIM && !is_unsized && count.max(itemsize) <= MAX_ITEMSIZE)
            .then_some(Extent { itemsize, kind: DescrKind::Subarray })
    }

    fn dim(&mut self) -> Option<u64> {
        self.peek();
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = self.rest.strip_suffix(rest)?;
        self.rest = rest;
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        digits.parse().ok().filter(|&dim| dim <= MAX_ITEMSIZE)
    }

    /// Parses a string without escapes.
    fn string(&mut self) -> Option<&'a str> {
        let quote = self.peek().filter(|c| matches!(c, '\'' | '"'))?;
        let (string, rest) = self.rest.strip_prefix(quote)?.split_once(quote)?;
        self.rest = rest;
        (!string.contains(['\\', '\n', '\r', '\0'])).then_some(string)
    }
}

fn scalar(text: &str) -> Option<Extent> {
    let code = text.trim_start_matches(['<', '>', '=', '|']);
    let kind = if code.starts_with(['V', 'v']) { DescrKind::Void } else { DescrKind::Scalar };
    itemsize(text).map(|itemsize| Extent { itemsize, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descrs_are_checked_as_numpy_does() {
        for text in [
            "'<f4'",
            "\"float64\"",
            "[]",
            "[('x', '<f4')]",
            " [ ( 'x' , \"<f4\" , ) , ]",
            "[('x', '<f4', (2, 3)), ('y', '|u1', 3), ('z', '|b1', [2])]",
            "[(('a title', 'x'), '<f8'), ('y', [('z', '>i2'), ('', '|V2'), ('', '|V3')])]",
            "[('y', '<i2', (2,)), ('x', ('<f8', (0,)))]",
            "('<f4', (3,))",
            "([('x', '|u1')], (3, 4,))",
            "[('', '<f4')]",
            "[('a', '|V2147483647')]",
        ] {
            assert!(is_descr(text), "{text}");
        }
        for text in [
            "",
            "<f4",
            "'<Q9'",
            "[('x', '<Q9')]",
            "[('x', '<f4')",
            "[('x', '<f4')]]",
            "[('x', '<f4') ('y', '<f4')]",
            "[('x', '<f4'), ('x', '<f8')]",
            "[('', '<f4'), ('', '<f8')]",
            "[(('x', 'y'), '<f4'), ('x', '<f8')]",
            "[('x',)]",
            "['x', '<f4']",
            "[(x, '<f4')]",
            "[('x', <f4)]",
            "[('x', 'O')]",
            "[('x', '<f4', ())]",
            "[('x', '<f4', (2, -1))]",
            "[('x', '<f4', (2 3))]",
            "[('x', '<f4', (02,))]",
            "[('x', '<f4', 2147483648)]",
            "[('x', '<f4', (536870912,))]",
            "[('x', '|S0', (3,))]",
            "[('a', '|V2147483647'), ('b', '|u1')]",
            "[('x', '<f4', 3, 4)]",
            "('<f4',)",
            "('<f4')",
            "('<f4', (3,)",
            "{'names': ['x'], 'formats': ['<f4']}",
            "[('x\\n', '<f4')]",
        ] {
            assert!(!is_descr(text), "{text}");
        }
        assert!(!is_descr(&"[('x', ".repeat(10_000)));
    }
}
