//! Options for arrays of different dtypes, and the dtype that holds the elements of both.

use clap::Args;
use npymap::dtype::{Field, Kind};
use npymap::{ByteOrder, DType, element::Casting};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::input_args::InputOptions;

/// How arrays of different dtypes are combined.
#[derive(Args, Clone, Debug)]
pub(crate) struct PromotionArgs {
    /// Cast all arrays to this dtype. If a value would change, the command fails
    #[arg(long, value_name = "DTYPE", conflicts_with = "promote")]
    pub(crate) dtype: Option<DType>,

    /// Cast arrays of different dtypes as NumPy's concatenate: i2 and f4 to f4,
    /// U2 and U6 to U6
    #[arg(long)]
    pub(crate) promote: bool,
}

impl PromotionArgs {
    /// Which casts are allowed.
    pub(crate) fn casting(&self) -> Option<Casting> {
        match (&self.dtype, self.promote) {
            (Some(_), _) => Some(Casting::SameValue),
            (None, true) => Some(Casting::Safe),
            (None, false) => None,
        }
    }

    /// The dtype of the result: that of the first array, unless others are cast with it.
    pub(crate) fn result(
        &self,
        inputs: &[ArrayPath],
        options: InputOptions<'_>,
    ) -> Result<DType, CliError> {
        if let Some(dtype) = &self.dtype {
            return Ok(dtype.clone());
        }
        let count = if self.promote { inputs.len() } else { 1 };
        let mut all: Option<DType> = None;
        for input in inputs.iter().take(count) {
            let path = input.name();
            let array = options.whole().array(input).at(path)?;
            let own = array.dtype();
            all = Some(match all {
                Some(all) if !is_same(&all, own) => promote(&all, own).ok_or_else(|| {
                    let what = format!("dtype {own}, which is not promoted with {all}");
                    CliError::mismatch(path, what)
                })?,
                all => all.unwrap_or_else(|| own.clone()),
            });
        }
        all.ok_or_else(|| CliError::usage("".as_ref(), "no arrays"))
    }
}

/// Returns whether dtypes differ at most in their byte order.
pub(crate) fn is_same(one: &DType, other: &DType) -> bool {
    one.with_byte_order(ByteOrder::NATIVE) == other.with_byte_order(ByteOrder::NATIVE)
}

/// The dtype to which NumPy casts both in an operation: its `promote_types`, except that
/// numbers are not cast to text.
pub(crate) fn promote(one: &DType, other: &DType) -> Option<DType> {
    let [one_kind, other_kind] = [one, other].map(DType::kind);
    match (is_text(one_kind), is_text(other_kind)) {
        (true, true) => return longer(one, other),
        (true, false) | (false, true) => return None,
        (false, false) => {}
    }
    if one_kind == Kind::Void || other_kind == Kind::Void || !has_same_names(one, other) {
        return None;
    }
    let numbers = ["i2", "i4", "i8", "f4", "f8", "c8", "c16"];
    let numbers = numbers.iter().filter(|_| is_number(one_kind) && is_number(other_kind));
    let numbers = numbers.map(|text| text.parse().expect("it is a dtype"));
    let holds =
        |dtype: &DType| one.can_cast(dtype, Casting::Safe) && other.can_cast(dtype, Casting::Safe);
    let both = [other.clone(), one.clone()].into_iter().chain(numbers).find(holds)?;
    Some(both.with_byte_order(ByteOrder::NATIVE))
}

fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::Bytes | Kind::Unicode)
}

pub(crate) fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
}

fn has_same_names(one: &DType, other: &DType) -> bool {
    one.fields().iter().map(Field::name).eq(other.fields().iter().map(Field::name))
}

/// Text with room for both.
fn longer(one: &DType, other: &DType) -> Option<DType> {
    let len = |dtype: &DType| match dtype.kind() {
        Kind::Unicode => dtype.itemsize() / 4,
        _ => dtype.itemsize(),
    };
    let is_unicode = one.kind() == Kind::Unicode || other.kind() == Kind::Unicode;
    let len = len(one).max(len(other));
    if is_unicode { format!("U{len}") } else { format!("S{len}") }.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_are_promoted_as_by_numpy() {
        let parse = |text: &str| -> DType { text.parse().unwrap() };
        for (one, other, both) in [
            ("i2", "f4", "f4"),
            ("u1", "i1", "i2"),
            ("u4", "i1", "i8"),
            ("u8", "i8", "f8"),
            ("i4", "f4", "f8"),
            ("i2", "f2", "f4"),
            ("b1", "u2", "u2"),
            ("f8", "c8", "c16"),
            ("i8", "c8", "c16"),
            (">i2", ">f4", "f4"),
            ("U2", "U6", "U6"),
            ("S6", "U2", "U6"),
            ("S1", "S3", "S3"),
            ("M8[D]", "M8[s]", "M8[s]"),
            ("m8[h]", "i4", "m8[h]"),
            (
                "[('a', 'i2'), ('b', 'f4')]",
                "[('a', 'i4'), ('b', 'f4')]",
                "[('a', 'i4'), ('b', 'f4')]",
            ),
        ] {
            let expected = parse(both).with_byte_order(ByteOrder::NATIVE);
            assert_eq!(promote(&parse(one), &parse(other)), Some(expected.clone()), "{one}");
            assert_eq!(promote(&parse(other), &parse(one)), Some(expected), "{other}");
        }
        for (one, other) in [
            ("i2", "U6"),
            ("V2", "V4"),
            ("M8[s]", "i8"),
            ("[('a', 'i2')]", "[('b', 'i4')]"),
            ("[('a', 'i2')]", "i2"),
        ] {
            assert_eq!(promote(&parse(one), &parse(other)), None, "{one} {other}");
        }
    }
}
