//! The syntax of conditions on rows: `temp > 27 and sensor == "alpha"`.
//!
//! The file uses only the standard library: the fuzz target includes it.

use std::fmt;

/// A condition on a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Or(Vec<Condition>),
    And(Vec<Condition>),
    Not(Box<Condition>),
    /// A chain as in Python: `0 < x < 1` is `0 < x and x < 1`.
    Compare(Operand, Vec<(Comparison, Operand)>),
    IsNan(FieldRef),
    /// The value of a boolean field.
    IsTrue(FieldRef),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Field(FieldRef),
    Number(Number),
    Text(String),
    Bool(bool),
}

/// A number, exact if it is an integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

/// A field of a row, and an index if the field is a subarray: `pos.z`, `rgb[0]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldRef {
    pub(crate) path: String,
    pub(crate) index: Vec<isize>,
}

/// A comparison of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// All comparisons, starting with operators of two characters.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Eq),
    ("!=", Comparison::Ne),
    ("<=", Comparison::Le),
    (">=", Comparison::Ge),
    ("<", Comparison::Lt),
    (">", Comparison::Gt),
];

/// Or where a condition is wrong, and why.
type Parsed<T> = Result<T, String>;

/// The deepest nesting of parentheses and `not`.
const MAX_DEPTH: usize = 100;

/// Parses a condition.
pub(crate) fn parse(text: &str) -> Parsed<Condition> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let condition = parser.alternatives()?;
    parser.skip_space();
    if parser.rest().is_empty() {
        return Ok(condition);
    }
    Err(parser.unexpected("`and`, `or` or the end"))
}

struct Parser<'a> {
    text: &'a str,
    /// The byte position of the rest.
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.split_at(self.at).1
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error_at(&self, at: usize, message: impl fmt::Display) -> String {
        let before = self.text.split_at(at).0;
        format!("at character {}: {message}", before.chars().count() + 1)
    }

    /// The error for text that cannot follow, with advice for operators of
    /// other languages.
    fn unexpected(&self, expected: &str) -> String {
        let rest = self.rest();
        let foreign = [
            ("&", "write `and`"),
            ("|", "write `or`"),
            ("=", "write `==` to compare"),
            ("!", "write `not`, or `!=` to compare"),
            ("~", "write `not`"),
        ];
        let advice = foreign.into_iter().find(|(operator, _)| rest.starts_with(operator));
        let found =
            rest.chars().next().map_or("the end".to_owned(), |c| format!("`{}`", c.escape_debug()));
        let advice = advice.map_or_else(String::new, |(_, advice)| format!(": {advice}"));
        self.error_at(self.at, format!("expected {expected}, found {found}{advice}"))
    }

    /// Consumes a symbol if it is next.
    fn symbol(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    /// Consumes a keyword if it is next.
    fn keyword(&mut self, keyword: &str) -> bool {
        self.skip_space();
        let Some(after) = self.rest().strip_prefix(keyword) else { return false };
        let found = !after.starts_with(is_name_part);
        if found {
            self.at += keyword.len();
        }
        found
    }

    fn alternatives(&mut self) -> Parsed<Condition> {
        self.joined("or", Parser::conjunction, Condition::Or)
    }

    fn conjunction(&mut self) -> Parsed<Condition> {
        self.joined("and", Parser::negation, Condition::And)
    }

    /// One condition, or several with a keyword between them.
    fn joined(
        &mut self,
        keyword: &str,
        next: fn(&mut Parser<'a>) -> Parsed<Condition>,
        join: fn(Vec<Condition>) -> Condition,
    ) -> Parsed<Condition> {
        let first = next(self)?;
        if !self.keyword(keyword) {
            return Ok(first);
        }
        let mut all = vec![first, next(self)?];
        while self.keyword(keyword) {
            all.push(next(self)?);
        }
        Ok(join(all))
    }

    fn negation(&mut self) -> Parsed<Condition> {
        self.skip_space();
        if self.depth == MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} nested conditions");
            return Err(self.error_at(self.at, text));
        }
        self.depth += 1;
        let condition = if self.keyword("not") {
            self.negation().map(|condition| Condition::Not(condition.into()))
        } else if self.symbol("(") {
            let condition = self.alternatives();
            condition.and_then(|inner| self.closed(inner))
        } else {
            self.comparison()
        };
        self.depth -= 1;
        condition
    }

    /// A condition, if a parenthesis after it is closed.
    fn closed(&mut self, condition: Condition) -> Parsed<Condition> {
        if self.symbol(")") { Ok(condition) } else { Err(self.unexpected("`)`")) }
    }

    fn comparison(&mut self) -> Parsed<Condition> {
        self.skip_space();
        let start = self.at;
        if self.keyword("isnan") && self.symbol("(") {
            self.skip_space();
            let field = self.field()?;
            return self.closed(Condition::IsNan(field));
        }
        self.at = start;
        let first = self.operand()?;
        let mut rest = Vec::new();
        while let Some(comparison) = self.comparison_operator() {
            rest.push((comparison, self.operand()?));
        }
        match first {
            Operand::Field(field) if rest.is_empty() => Ok(Condition::IsTrue(field)),
            _ if rest.is_empty() => Err(self.unexpected("a comparison such as `==` or `<`")),
            first => {
                self.check(start, &first, &rest)?;
                Ok(Condition::Compare(first, rest))
            }
        }
    }

    /// Rejects comparisons with the same result in each row.
    fn check(&self, start: usize, first: &Operand, rest: &[(Comparison, Operand)]) -> Parsed<()> {
        let operands = std::iter::once(first).chain(rest.iter().map(|(_, operand)| operand));
        let operands: Vec<_> = operands.collect();
        if operands
            .iter()
            .any(|operand| matches!(operand, Operand::Number(Number::Float(x)) if x.is_nan()))
        {
            let text = "nothing compares equal to nan: write `isnan(FIELD)`";
            return Err(self.error_at(start, text));
        }
        let has_field =
            |pair: &[&Operand]| pair.iter().any(|operand| matches!(operand, Operand::Field(_)));
        if !operands.windows(2).all(has_field) {
            return Err(
                self.error_at(start, "no field in a comparison: text is quoted, fields are not")
            );
        }
        Ok(())
    }

    fn comparison_operator(&mut self) -> Option<Comparison> {
        COMPARISONS
            .into_iter()
            .find(|(symbol, _)| self.symbol(symbol))
            .map(|(_, comparison)| comparison)
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.skip_space();
        let rest = self.rest();
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote).map(Operand::Text),
            Some(c) if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => {
                self.number().map(Operand::Number)
            }
            Some('`') => self.field().map(Operand::Field),
            Some(c) if is_name_start(c) => self.named_operand(),
            _ => Err(self.unexpected("a field, a number or text in quotes")),
        }
    }

    /// A constant with a name, or a field.
    fn named_operand(&mut self) -> Parsed<Operand> {
        for (name, operand) in [
            ("True", Operand::Bool(true)),
            ("true", Operand::Bool(true)),
            ("False", Operand::Bool(false)),
            ("false", Operand::Bool(false)),
            ("nan", Operand::Number(Number::Float(f64::NAN))),
            ("inf", Operand::Number(Number::Float(f64::INFINITY))),
        ] {
            if self.keyword(name) {
                return Ok(operand);
            }
        }
        for keyword in ["and", "or", "not", "in"] {
            let start = self.at;
            if self.keyword(keyword) {
                self.at = start;
                let text = format!(
                    "expected a value, found `{keyword}`: a field of this name is written in backticks"
                );
                return Err(self.error_at(start, text));
            }
        }
        self.field().map(Operand::Field)
    }

    fn number(&mut self) -> Parsed<Number> {
        let start = self.at;
        let rest = self.rest();
        let unsigned = rest.trim_start_matches(['-', '+']);
        let sign = rest.len() - unsigned.len();
        let mut after_exponent = false;
        let end = unsigned.find(|c: char| {
            let is_part = c.is_ascii_alphanumeric()
                || c == '.'
                || c == '_'
                || (after_exponent && matches!(c, '-' | '+'));
            after_exponent = matches!(c, 'e' | 'E');
            !is_part
        });
        let len = sign + end.unwrap_or(unsigned.len());
        let word = rest.split_at(len).0;
        let is_plain = word
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'));
        let is_infinite = matches!(word.trim_start_matches(['-', '+']), "inf");
        let number = match word.parse() {
            Ok(int) => Some(Number::Int(int)),
            Err(_) if is_plain || is_infinite => word.parse().ok().map(Number::Float),
            Err(_) => None,
        };
        let Some(number) = number else {
            let text = format!("`{}` is not a number", word.escape_debug());
            return Err(self.error_at(start, text));
        };
        self.at += len;
        Ok(number)
    }

    /// Text in quotes, where a backslash precedes a quote or a backslash.
    fn quoted(&mut self, quote: char) -> Parsed<String> {
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, escaped)) if escaped == '\\' || escaped == quote => text.push(escaped),
                    Some((_, other)) => text.extend(['\\', other]),
                    None => break,
                },
                _ if c == quote => {
                    self.at = start + at + c.len_utf8();
                    return Ok(text);
                }
                _ => text.push(c),
            }
        }
        Err(self.error_at(start, format!("text without a closing {quote}")))
    }

    /// A field path, and an index in brackets.
    fn field(&mut self) -> Parsed<FieldRef> {
        let path = if self.rest().starts_with('`') { self.backticked()? } else { self.path()? };
        let mut index = Vec::new();
        if self.symbol("[") {
            loop {
                index.push(self.index_number()?);
                if self.symbol("]") {
                    break;
                }
                if !self.symbol(",") {
                    return Err(self.unexpected("`]`"));
                }
            }
        }
        Ok(FieldRef { path, index })
    }

    /// A name of any characters but backticks.
    fn backticked(&mut self) -> Parsed<String> {
        let name = self.rest().get(1..).and_then(|rest| rest.split_once('`')).map(|(name, _)| name);
        let Some(name) = name else {
            return Err(self.error_at(self.at, "a name without a closing backtick"));
        };
        self.at += name.len() + 2;
        Ok(name.to_owned())
    }

    /// Names joined by dots. Names after the first may be numbers.
    fn path(&mut self) -> Parsed<String> {
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return Err(self.unexpected("a field"));
        }
        let end = rest.find(|c: char| !is_name_part(c) && c != '.').unwrap_or(rest.len());
        let path = rest.split_at(end).0.trim_end_matches('.');
        self.at += path.len();
        Ok(path.to_owned())
    }

    fn index_number(&mut self) -> Parsed<isize> {
        self.skip_space();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
        let word = rest.split_at(sign + digits).0;
        let Ok(number) = word.parse() else { return Err(self.unexpected("an index")) };
        self.at += word.len();
        Ok(number)
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Prints a condition that parses as the same condition.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Or(all) => write_joined(f, all, " or "),
            Condition::And(all) => write_joined(f, all, " and "),
            Condition::Not(condition) => write!(f, "(not {condition})"),
            Condition::Compare(first, rest) => {
                write!(f, "{first}")?;
                rest.iter().try_for_each(|(comparison, operand)| {
                    let symbol = COMPARISONS.iter().find(|(_, known)| known == comparison);
                    write!(f, " {} {operand}", symbol.map_or("", |(symbol, _)| symbol))
                })
            }
            Condition::IsNan(field) => write!(f, "isnan({field})"),
            Condition::IsTrue(field) => write!(f, "{field}"),
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, all: &[Condition], word: &str) -> fmt::Result {
    for (number, condition) in all.iter().enumerate() {
        write!(f, "{}{condition}", if number == 0 { "(" } else { word })?;
    }
    f.write_str(")")
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Field(field) => write!(f, "{field}"),
            Operand::Number(Number::Int(number)) => write!(f, "{number}"),
            Operand::Number(Number::Float(number)) => write!(f, "{number:?}"),
            Operand::Text(text) => {
                write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
            Operand::Bool(true) => f.write_str("True"),
            Operand::Bool(false) => f.write_str("False"),
        }
    }
}

impl fmt::Display for FieldRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.path)?;
        if !self.index.is_empty() {
            write!(f, "{:?}", self.index)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_bind_as_in_python() {
        for (text, printed) in [
            ("temp > 27", "`temp` > 27"),
            ("a or b or c", "(`a` or `b` or `c`)"),
            ("a or b and not c", "(`a` or (`b` and (not `c`)))"),
            ("(a or b) and c", "((`a` or `b`) and `c`)"),
            ("not a == 1", "(not `a` == 1)"),
            ("0 <= pos.z<1.5e-3", "0 <= `pos.z` < 0.0015"),
            (
                "sensor == \"al\\\"pha\" and x != 'b'",
                "(`sensor` == \"al\\\"pha\" and `x` != \"b\")",
            ),
            ("rgb[0] >= -5 and m[1, -2]<+7", "(`rgb`[0] >= -5 and `m`[1, -2] < 7)"),
            ("`my field` == True", "`my field` == True"),
            ("isnan(x) or isnan == 3", "(isnan(`x`) or `isnan` == 3)"),
            ("order > 1 and android < 2", "(`order` > 1 and `android` < 2)"),
            ("-inf < x < inf", "-inf < `x` < inf"),
            ("n == 18446744073709551616", "`n` == 18446744073709551616"),
            ("größe.0 < 1", "`größe.0` < 1"),
            ("path == 'C:\\dir'", "`path` == \"C:\\\\dir\""),
        ] {
            let condition = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(condition.to_string(), printed);
            assert_eq!(parse(printed), Ok(condition), "{text}");
        }
    }

    #[test]
    fn errors_say_where_and_what_would_work() {
        for (text, message) in [
            ("", "at character 1: expected a field, a number or text in quotes, found the end"),
            (
                "temp >",
                "at character 7: expected a field, a number or text in quotes, found the end",
            ),
            (
                "temp = 27",
                "at character 6: expected `and`, `or` or the end, found `=`: write `==` to compare",
            ),
            (
                "a > 1 && b",
                "at character 7: expected `and`, `or` or the end, found `&`: write `and`",
            ),
            ("a | b", "at character 3: expected `and`, `or` or the end, found `|`: write `or`"),
            (
                "!a",
                "at character 1: expected a field, a number or text in quotes, found `!`: write `not`, or `!=` to compare",
            ),
            ("(a > 1", "at character 7: expected `)`, found the end"),
            ("a > 1)", "at character 6: expected `and`, `or` or the end, found `)`"),
            ("ü == \"x", "at character 6: text without a closing \""),
            ("`a > 1", "at character 1: a name without a closing backtick"),
            ("a > 1x", "at character 5: `1x` is not a number"),
            ("a == nan", "at character 1: nothing compares equal to nan: write `isnan(FIELD)`"),
            ("1 < 2", "at character 1: no field in a comparison: text is quoted, fields are not"),
            ("5", "at character 2: expected a comparison such as `==` or `<`, found the end"),
            (
                "a and or",
                "at character 7: expected a value, found `or`: a field of this name is written in backticks",
            ),
            ("a[x]", "at character 3: expected an index, found `x`"),
            ("a[1", "at character 4: expected `]`, found the end"),
            ("isnan(3)", "at character 7: expected a field, found `3`"),
        ] {
            assert_eq!(parse(text), Err(message.to_owned()));
        }
        let deep = format!("{}a", "not ".repeat(1000));
        assert!(parse(&deep).unwrap_err().ends_with("more than 100 nested conditions"));
        assert!(parse(&"(".repeat(100_000)).is_err());
    }
}
