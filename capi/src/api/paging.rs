//! The pages of an array, and its file.

use std::ops::Bound;

use npymap::array::AnyArray;
use npymap::source::Advice;

use crate::array::{Array, each};
use crate::boundary::{In, Out};
use crate::error::{Failure, Result, done};
use crate::status;
use crate::status::npymap_status;

/// Waits until all stores are on the disk. Does nothing unless stores go to a file.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_flush(array: In<Array>) -> npymap_status {
    done(|| match array.get("`array`")?.any() {
        AnyArray::Writable(array) => Ok(array.flush()?),
        AnyArray::ReadOnly(_) => Ok(()),
    })
}

/// Starts writing stores to the disk, without waiting.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_flush_async(array: In<Array>) -> npymap_status {
    done(|| match array.get("`array`")?.any() {
        AnyArray::Writable(array) => Ok(array.flush_async()?),
        AnyArray::ReadOnly(_) => Ok(()),
    })
}

/// Tells the kernel how you will use the rows from `start` to before `stop`, so that it
/// reads ahead accordingly. For example, pass NPYMAP_ADVICE_RANDOM. SIZE_MAX for `stop`
/// is the end.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_advise(
    array: In<Array>,
    start: usize,
    stop: usize,
    advice: i32,
) -> npymap_status {
    done(|| {
        let advice = match advice {
            status::NPYMAP_ADVICE_NORMAL => Advice::Normal,
            status::NPYMAP_ADVICE_RANDOM => Advice::Random,
            status::NPYMAP_ADVICE_SEQUENTIAL => Advice::Sequential,
            status::NPYMAP_ADVICE_WILL_NEED => Advice::WillNeed,
            other => return Err(Failure::misuse(format!("no advice has the value {other}"))),
        };
        let array = array.get("`array`")?;
        let rows = rows(array, start, stop);
        Ok(each!(array.any(), array => array.advise(rows, advice))?)
    })
}

/// Starts reading rows into memory, in a thread if they are large.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_prefetch(array: In<Array>, start: usize, stop: usize) -> npymap_status {
    done(|| {
        let array = array.get("`array`")?;
        let rows = rows(array, start, stop);
        Ok(each!(array.any(), array => array.prefetch(rows))?)
    })
}

/// Reads rows into memory and waits for them. If the file is truncated or the disk
/// fails, this returns an error, where a load would raise SIGBUS.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_populate(array: In<Array>, start: usize, stop: usize) -> npymap_status {
    done(|| {
        let array = array.get("`array`")?;
        let rows = rows(array, start, stop);
        Ok(each!(array.any(), array => array.populate(rows))?)
    })
}

/// Checks that the path still leads to the opened file, and that the file still has all
/// elements.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_check_unchanged(array: In<Array>) -> npymap_status {
    done(|| check(array.get("`array`")?))
}

fn check(array: &Array) -> Result<()> {
    Ok(each!(array.any(), array => array.check_unchanged())?)
}

/// A range of rows of C. Arrays without axes have no rows, only all elements.
fn rows(array: &Array, start: usize, stop: usize) -> (Bound<usize>, Bound<usize>) {
    if array.layout().shape().is_empty() && start == 0 && stop == usize::MAX {
        return (Bound::Unbounded, Bound::Unbounded);
    }
    let stop = if stop == usize::MAX { Bound::Unbounded } else { Bound::Excluded(stop) };
    (Bound::Included(start), stop)
}

/// Maps the rows that another program appended to the file since you opened a read-only
/// array. This makes pointers into the array invalid, and can change its shape. On
/// Windows, this returns an error, because files are not identified there.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_reload(mut array: Out<Array>) -> npymap_status {
    done(|| array.get_mut("`array`")?.reload())
}
