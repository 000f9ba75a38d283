//! `--memory`: how much memory a command uses.

/// Parses a size such as `512M`. A number alone counts MiB.
pub(crate) fn parse(text: &str) -> Result<usize, &'static str> {
    let (number, shift) = match text.strip_suffix(['K', 'k', 'M', 'm', 'G', 'g']) {
        Some(number) if text.ends_with(['K', 'k']) => (number, 10),
        Some(number) if text.ends_with(['G', 'g']) => (number, 30),
        Some(number) => (number, 20),
        None => (text, 20),
    };
    match number.parse::<usize>() {
        // More than any memory is all of it.
        Ok(number @ 1..) => Ok(number.saturating_mul(1 << shift)),
        _ => Err(SIZE),
    }
}

const SIZE: &str = "expected a size such as 512M or 2G, or a number of MiB";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let parsed = ["1", "64K", "512M", "2g", "99999999999G"].map(parse);
        let sizes = [1 << 20, 64 << 10, 512 << 20, 2 << 30, usize::MAX];
        assert_eq!(parsed, sizes.map(Ok));
        for text in ["", "0", "M", "-1", "1.5G", "1T"] {
            assert_eq!(parse(text), Err(SIZE), "{text}");
        }
    }
}
