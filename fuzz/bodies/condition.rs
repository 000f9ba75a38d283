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
                Err(error) => assert!(error.to_string().ends_with("nested conditions"), "{error}"),
            }
        }
        Err(error) => assert!((1..=text.chars().count() + 1).contains(&error.position), "{error}"),
    }
}
