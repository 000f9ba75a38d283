//! The batches of a sampler, from one array or from several with the same rows.

use std::fmt;
use std::sync::Arc;

use super::batches::{BatchOptions, Batches};
use super::gather;
use super::index_batch::{BatchIndices, IndexBatches};
use super::row_source::RowSource;
use super::sampler::Sampler;
use crate::element::Element;
use crate::element::cast::Number;
use crate::error::{RequestError, Result};

/// A reader of batches from one array, or from several arrays with the same
/// rows, in the order of a [`Sampler`].
///
/// If you need no options, [`RowSource::batches`] is shorter.
///
/// The sampler has the rest: the order, [`shard`](Sampler::shard)s for ranks and workers, and
/// the state to [`resume`](Sampler::resume) from. The loader announces the order to the
/// sources, which read ahead of it: [`IndexBatches::announce_to`] says how.
///
/// `C` is the arrays: a [`Column`], or a tuple of up to four. Its batches then
/// have a tuple of vectors.
///
/// # Examples
///
/// ```
/// use npymap::{Loader, MappedArray, Sampler};
///
/// // SAFETY: no other process writes to or truncates this file.
/// let images = unsafe { MappedArray::open("data/penguins.npy")? }.rows()?;
/// let labels = MappedArray::zeros(&"<i8".parse()?, &[342])?.into_read_only()?.rows()?;
///
/// let loader = Loader::new::<f32>(&images).cast().and::<i64>(&labels).epochs(2).drop_last();
/// let mut saved = None;
/// for batch in loader.batches(Sampler::shuffled(342, 1), 100)? {
///     let batch = batch?;
///     let (x, y) = batch.data();
///     assert_eq!((x.len(), y.len(), batch.indices().len()), (400, 100, 100));
///     saved = Some(batch.state());
/// }
/// # assert_eq!(saved.unwrap().epoch, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Three epochs of one of four ranks, from a saved state on:
///
/// ```
/// use npymap::{DType, Loader, MappedArray, RowSource as _, Sampler, loader::Shard};
///
/// # let array = MappedArray::zeros(&DType::of::<f32>(), &[100, 8])?;
/// # let rows = array.into_read_only()?.rows()?;
/// # let mut saved = None;
/// let shard = Shard { rank: 1, world_size: 4, ..Shard::default() };
/// let mut sampler = Sampler::shuffled(rows.row_count(), 1).shard(shard)?;
/// if let Some(saved) = saved {
///     sampler.resume(saved)?;
/// }
/// let left = 3 - sampler.epoch();
/// for batch in Loader::new::<f32>(&rows).epochs(left).batches(sampler, 8)? {
///     let batch = batch?;
///     // … train …
///     saved = Some(batch.state());
/// }
/// # assert_eq!(saved.unwrap().epoch, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Loader<C> {
    columns: C,
    options: BatchOptions,
    epochs: u64,
    drops_last: bool,
}

/// An array for a [`Loader`], and its element type.
pub struct Column<T> {
    source: Arc<dyn RowSource + Send + Sync>,
    /// Copies rows into the memory of a batch.
    take: fn(&dyn RowSource, &[usize], &mut Vec<T>) -> Result<()>,
}

impl<T: Element> Column<T> {
    fn new(source: &(impl RowSource + Clone + Send + Sync + 'static)) -> Column<T> {
        Column { source: Arc::new(source.clone()), take: gather::take_vec::<T> }
    }
}

impl<T: Number> Column<T> {
    fn cast(self) -> Column<T> {
        Column { take: gather::take_vec_as::<T>, ..self }
    }
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Column<T> {
        Column { source: Arc::clone(&self.source), take: self.take }
    }
}

impl<T> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = &self.source;
        write!(f, "Column({} {:?})", source.dtype(), source.shape())
    }
}

/// The arrays of a [`Loader`]: a [`Column`], or a tuple of two to four. Sealed.
pub trait Columns: sealed::SealedColumns + Clone + Send + Sync + 'static {
    /// The rows of a batch: a vector of each array, in C order.
    type Data: Default + Send + 'static;

    #[doc(hidden)]
    fn sources(&self) -> Vec<&dyn RowSource>;

    /// Copies the rows of a batch.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements do
    /// not have the type of a column,
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of
    /// range, and [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    #[doc(hidden)]
    fn read(&self, rows: &[usize], data: &mut Self::Data) -> Result<()>;
}

mod sealed {
    pub trait SealedColumns {}
}

impl<T: Element + Send + 'static> sealed::SealedColumns for Column<T> {}

impl<T: Element + Send + 'static> Columns for Column<T> {
    type Data = Vec<T>;

    fn sources(&self) -> Vec<&dyn RowSource> {
        vec![&*self.source]
    }

    fn read(&self, rows: &[usize], data: &mut Vec<T>) -> Result<()> {
        let taken = (self.take)(&*self.source, rows, data);
        taken.map_err(|error| self.source.add_path(error))
    }
}

impl Loader<()> {
    /// Returns the rows of an array, as elements of type `T`: as with
    /// [`take`](RowSource::take), the dtype must be `T`.
    ///
    /// The source is cloned. One that has no clones can be an `Arc`, such as
    /// `Arc<ArrayFile>`.
    pub fn new<T: Element>(
        source: &(impl RowSource + Clone + Send + Sync + 'static),
    ) -> Loader<Column<T>> {
        let (columns, options) = (Column::new(source), BatchOptions::new().prompt());
        Loader { columns, options, epochs: 1, drops_last: false }
    }
}

impl<A: Element> Loader<Column<A>> {
    /// Adds another array. All must have the same number of rows.
    pub fn and<T: Element>(
        self,
        source: &(impl RowSource + Clone + Send + Sync + 'static),
    ) -> Loader<(Column<A>, Column<T>)> {
        self.map(|own| (own, Column::new(source)))
    }
}

impl<T: Number> Loader<Column<T>> {
    /// Casts the elements of the array that was added last, as
    /// [`take_as`](RowSource::take_as) does.
    pub fn cast(self) -> Loader<Column<T>> {
        self.map(Column::cast)
    }
}

/// Implements columns for a tuple of several, and `cast` for the last column.
macro_rules! tuple {
    ($($type:ident $index:tt,)* ; $last:ident $end:tt) => {
        impl<$($type: Element + Send + 'static,)* $last: Element + Send + 'static>
            sealed::SealedColumns for ($(Column<$type>,)* Column<$last>)
        {
        }

        impl<$($type: Element + Send + 'static,)* $last: Element + Send + 'static> Columns
            for ($(Column<$type>,)* Column<$last>)
        {
            type Data = ($(Vec<$type>,)* Vec<$last>);

            fn sources(&self) -> Vec<&dyn RowSource> {
                vec![$(&*self.$index.source,)* &*self.$end.source]
            }

            fn read(&self, rows: &[usize], data: &mut Self::Data) -> Result<()> {
                $(self.$index.read(rows, &mut data.$index)?;)*
                self.$end.read(rows, &mut data.$end)
            }
        }

        impl<$($type,)* $last: Number> Loader<($(Column<$type>,)* Column<$last>)> {
            /// Casts the elements of the array that was added last, as
            /// [`take_as`](RowSource::take_as) does.
            pub fn cast(self) -> Self {
                self.map(|columns| ($(columns.$index,)* columns.$end.cast()))
            }
        }
    };
}

/// Implements `and` for a tuple.
macro_rules! and {
    ($($type:ident $index:tt),*) => {
        impl<$($type: Element),*> Loader<($(Column<$type>,)*)> {
            /// Adds another array. All must have the same number of rows.
            pub fn and<T: Element>(
                self,
                source: &(impl RowSource + Clone + Send + Sync + 'static),
            ) -> Loader<($(Column<$type>,)* Column<T>)> {
                self.map(|columns| ($(columns.$index,)* Column::new(source)))
            }
        }
    };
}

tuple!(A 0,; B 1);
tuple!(A 0, B 1,; C 2);
tuple!(A 0, B 1, C 2,; D 3);
and!(A 0, B 1);
and!(A 0, B 1, C 2);

impl<C> Loader<C> {
    fn map<D>(self, change: impl FnOnce(C) -> D) -> Loader<D> {
        let Loader { columns, options, epochs, drops_last } = self;
        Loader { columns: change(columns), options, epochs, drops_last }
    }

    /// Sets the number of threads that read besides the one that takes the
    /// batches. See [`BatchOptions::threads`] for the default, which suits most
    /// programs.
    pub fn threads(self, threads: usize) -> Loader<C> {
        Loader { options: self.options.threads(threads), ..self }
    }

    /// Sets the number of batches that threads read ahead, like
    /// [`BatchOptions::prefetch`].
    pub fn prefetch(self, batches: usize) -> Loader<C> {
        Loader { options: self.options.prefetch(batches), ..self }
    }

    /// Sets the number of epochs, from the sampler's current one on; 1 by
    /// default. The next epoch is also read ahead.
    pub fn epochs(self, epochs: u64) -> Loader<C> {
        Loader { epochs, ..self }
    }

    /// Drops the last batch of each epoch if it is shorter than the others.
    pub fn drop_last(self) -> Loader<C> {
        Loader { drops_last: true, ..self }
    }
}

impl<C: Columns> Loader<C> {
    /// Starts the batches of `size` rows. The sampler may have fewer rows than
    /// the arrays, to leave out the last rows.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements are not
    /// of the type of a column. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if arrays have
    /// different numbers of rows, or fewer than the sampler, and for batches of
    /// no rows. Returns [`Io`](crate::ErrorKind::Io) if threads can't be
    /// started.
    pub fn batches(&self, sampler: Sampler, size: usize) -> Result<Batches<C::Data>> {
        self.check(&sampler, size)?;
        self.columns.read(&[], &mut C::Data::default())?;
        let (order, mut epoch) = (sampler.clone(), sampler);
        epoch.seek(0);
        let first = if self.drops_last { size } else { 1 };
        // Without batches, an epoch is like all others.
        let epochs = if epoch.len() < first { 0 } else { self.epochs };
        let (columns, drops_last) = (self.columns.clone(), self.drops_last);
        let announced = self.columns.clone();
        let batches = order.epochs(order.epoch().saturating_add(epochs)).flat_map(move |epoch| {
            let mut batches: IndexBatches = epoch.batches(size);
            for source in announced.sources() {
                batches = batches.announce_to(source);
            }
            if drops_last { batches.drop_last() } else { batches }
        });
        let jobs = Box::new(batches.map(BatchIndices::into_indices));
        self.options.start_jobs(jobs, move |rows, data| columns.read(rows, data))
    }

    fn check(&self, sampler: &Sampler, size: usize) -> Result<()> {
        let sources = self.columns.sources();
        let counts: Vec<usize> = sources.into_iter().map(RowSource::row_count).collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        let found = if size == 0 {
            ("batches of 0 rows".to_owned(), "at least 1")
        } else if least != most {
            (format!("arrays of {counts:?} rows"), "the same number of rows in each")
        } else if least.is_some_and(|count| *count < sampler.rows()) {
            let found = format!("a sampler of {} rows, for arrays of {counts:?}", sampler.rows());
            (found, "a sampler of at most as many")
        } else {
            return Ok(());
        };
        let (found, expected) = (found.0, found.1.to_owned());
        Err(RequestError::Argument { found, expected }.into())
    }
}
