//! Conditions on rows, as the program parses them.

#[path = "../../cli/src/select/filter/syntax.rs"]
#[allow(dead_code, reason = "the program evaluates conditions")]
mod syntax;

/// A condition prints as text that is parsed as the same condition; an error
/// names a position in the text.
pub(crate) fn condition(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match syntax::parse(&text) {
        Ok(condition) => {
            let printed = condition.to_string();
            match syntax::parse(&printed) {
                Ok(again) => assert_eq!(again.to_string(), printed, "{text:?}"),
                // Printing adds parentheses.
                Err(error) => assert!(error.ends_with("nested conditions"), "{error}"),
            }
        }
        Err(error) => {
            let position = error.strip_prefix("at character ").and_then(|at| at.split_once(':'));
            let position = position.and_then(|(at, _)| at.parse().ok());
            let positions = 1..=text.chars().count() + 1;
            assert!(position.is_some_and(|at: usize| positions.contains(&at)), "{error}");
        }
    }
}
