//! The fields of elements that a command uses.

use npymap::{DType, Result, Value, array::Outline, dtype::Field};

/// The fields of each row that are used.
#[derive(Clone, Debug)]
pub(crate) enum Fields {
    All,
    One(String),
    Several(Vec<String>),
}

impl Fields {
    /// All fields, or those of a path such as `pos.z` or of a list: `time, sensor`. A
    /// name that has a comma is not a list.
    pub(crate) fn parse(text: Option<&str>, all: &Outline<'_>) -> Fields {
        match text {
            None => Fields::All,
            Some(text) if text.contains(',') && all.field(text).is_err() => {
                let names = text.split(',').map(|name| name.trim().to_owned());
                Fields::Several(names.collect())
            }
            Some(text) => Fields::One(text.to_owned()),
        }
    }

    pub(crate) fn select<'a>(&self, rows: Outline<'a>) -> Result<Outline<'a>> {
        match self {
            Fields::All => Ok(rows),
            Fields::One(field) => rows.field(field),
            Fields::Several(names) => {
                rows.fields(&names.iter().map(String::as_str).collect::<Vec<_>>())
            }
        }
    }

    /// The fields of what was selected by these: several are packed in a new file.
    pub(crate) fn of_selected(&self) -> Fields {
        match self {
            Fields::Several(names) => Fields::Several(names.clone()),
            _ => Fields::All,
        }
    }

    /// The dtype that these fields have in a new file: several are packed.
    pub(crate) fn packed_dtype(&self, selected: &Outline<'_>) -> Result<DType> {
        match self {
            Fields::Several(_) => packed(selected.dtype().fields()),
            _ => Ok(selected.dtype().clone()),
        }
    }
}

/// A struct of fields one after another, as of NumPy's `repack_fields`.
fn packed(fields: &[Field]) -> Result<DType> {
    if fields.iter().all(|field| field.title.is_none()) {
        return DType::packed(fields.iter().map(|field| (field.name(), field.dtype.clone())));
    }
    // Only the text of a dtype has titles.
    let quoted = |text: &str| format!("{:#}", Value::Text(text.to_owned()));
    let title = |field: &Field| field.title.as_deref().map_or("None".to_owned(), quoted);
    let names: Vec<_> = fields.iter().map(|field| quoted(field.name())).collect();
    let formats: Vec<_> = fields.iter().map(|field| field.dtype.to_string()).collect();
    let titles: Vec<_> = fields.iter().map(title).collect();
    let [names, formats, titles] = [names, formats, titles].map(|list| list.join(", "));
    format!("{{'names': [{names}], 'formats': [{formats}], 'titles': [{titles}]}}").parse()
}
