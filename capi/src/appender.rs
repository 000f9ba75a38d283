//! A file that grows, or the two files of a ragged array, as C knows them.

use npymap::loader::RaggedAppender;

/// An appender.
#[derive(Debug)]
pub enum Appender {
    /// Of rows that have a shape.
    Rows(Box<npymap::Appender>),
    /// Of rows of different lengths.
    Ragged(Box<RaggedAppender>),
}

/// C may use an object in any thread.
const fn assert_shareable<T: Send + Sync>() {}
const _: () = assert_shareable::<Appender>();

/// Evaluates an expression for an appender of either kind.
macro_rules! each_appender {
    ($any:expr, $appender:ident => $body:expr) => {
        match $any {
            Appender::Rows($appender) => $body,
            Appender::Ragged($appender) => $body,
        }
    };
}

pub(crate) use each_appender;

impl From<npymap::Appender> for Appender {
    fn from(appender: npymap::Appender) -> Appender {
        Appender::Rows(Box::new(appender))
    }
}

impl From<RaggedAppender> for Appender {
    fn from(appender: RaggedAppender) -> Appender {
        Appender::Ragged(Box::new(appender))
    }
}
