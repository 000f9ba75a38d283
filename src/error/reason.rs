//! Messages without the advice that names functions of this crate.

use super::{
    ArchiveError, DTypeError, ErrorDetail, ExtentError, HeaderError, RequestError, ShapeError,
    SystemError,
};

/// Returns the message without the advice that names functions of this crate.
#[inline]
pub(super) fn text(detail: &ErrorDetail) -> String {
    let message = detail.to_string();
    match advice(detail).and_then(|start| message.get(..message.rfind(start)?)) {
        Some(reason) => reason.to_owned(),
        None => message,
    }
}

/// What the part of a message that names functions of this crate starts with: the last clause,
/// or the part of it that is about opening the file.
#[inline]
fn advice(detail: &ErrorDetail) -> Option<&'static str> {
    let is_last_clause = match detail {
        ErrorDetail::Header(HeaderError::Magic { .. }) => return Some(", open "),
        ErrorDetail::Header(error) => matches!(error, HeaderError::Limit { .. }),
        ErrorDetail::System(
            SystemError::NotImmutable
            | SystemError::NotLoaded { .. }
            | SystemError::Exists
            | SystemError::Locked
            | SystemError::MountPoint { .. },
        )
        | ErrorDetail::Extent(
            ExtentError::Trailing { .. } | ExtentError::Dropped { .. } | ExtentError::NotRaw,
        )
        | ErrorDetail::DType(
            DTypeError::Fit { .. }
            | DTypeError::ByteOrder { .. }
            | DTypeError::Alignment { .. }
            | DTypeError::Cast { .. },
        )
        | ErrorDetail::Shape(
            ShapeError::Rank { .. } | ShapeError::NotContiguous { .. } | ShapeError::Strides { .. },
        ) => true,
        #[cfg(feature = "npz")]
        ErrorDetail::Archive(ArchiveError::Inflated { .. }) => true,
        // Those that name functions put them into quotes.
        ErrorDetail::Archive(ArchiveError::Refused { expected, .. }) => expected.contains('`'),
        ErrorDetail::Request(error) => {
            !matches!(error, RequestError::Mode { .. } | RequestError::Argument { .. })
        }
        _ => false,
    };
    is_last_clause.then_some(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[track_caller]
    fn assert_reason(error: impl Into<Error>, reason: &str) {
        assert_eq!(error.into().reason(), reason);
    }

    #[test]
    fn facts_name_no_functions() {
        assert_reason(SystemError::Exists, "already exists");
        assert_reason(
            SystemError::Locked,
            "is locked by another process or by another handle in this process",
        );
        assert_reason(
            HeaderError::Limit { found: 11, limit: 10 },
            "the header has 11 characters, but the limit is 10",
        );
        assert_reason(
            HeaderError::Magic { found: b"PK\x03\x04ab".to_vec() },
            "starts with b\"PK\\x03\\x04ab\", expected b\"\\x93NUMPY\": it is a zip archive",
        );
        assert_reason(
            HeaderError::Magic { found: b"GIF89a".to_vec() },
            "starts with b\"GIF89a\", expected b\"\\x93NUMPY\"",
        );
        let stored = "[('a', '<f8'), ('b: c', '<f8')]".to_owned();
        assert_reason(
            DTypeError::Fit { stored, asked: "f32".to_owned(), works: "Value".to_owned() },
            "stored as [('a', '<f8'), ('b: c', '<f8')], asked for `f32`",
        );
        assert_reason(
            ExtentError::Dropped { nbytes: 1, rows: 0, is_array: false },
            "replacing the file would drop 1 byte after its elements",
        );
        let (found, expected) = ("a source in mode r+", "`Source::map`");
        assert_reason(RequestError::Call { found, expected }, found);
        assert_reason(RequestError::NoFile, "changes to this array are not written to a file");
        assert_reason(
            RequestError::CreateMode,
            "mode 'w+' creates an array and needs its dtype and shape",
        );
    }

    #[test]
    fn names_in_arguments_are_kept() {
        let (found, expected) = ("rows '<f8'".to_owned(), "[('`a`: b', '<f8')]".to_owned());
        let reason = "rows '<f8': expected [('`a`: b', '<f8')]";
        assert_reason(RequestError::Argument { found, expected }, reason);
    }

    #[test]
    fn facts_keep_what_holds_in_any_language() {
        let short = ExtentError::ShortFile { needed: 152, found: 151 };
        let message = short.to_string();
        assert_reason(short, &message);
        let error = Error::from(ExtentError::ShortFile { needed: 152, found: 151 });
        let error = error.with_path("a.npy".as_ref()).with_offset(5);
        assert_eq!(error.reason(), format!("the array at byte 5: {message}"));
    }
}
