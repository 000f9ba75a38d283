//! The fields of elements that a command uses.

use npymap::{DType, Result, Value, array::Outline, dtype::Field};

/// The fields of each row that are used: all if none is named, the values of one, or records
/// of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<String>);

impl Fields {
    /// All fields, or those of a path such as `pos.z` or of a list: `time, sensor`. A
    /// name that has a comma is not a list.
    pub(crate) fn parse(text: Option<&str>, all: &Outline<'_>) -> Fields {
        Fields(match text {
            None => Vec::new(),
            Some(text) if text.contains(',') && all.field(text).is_err() => {
                text.split(',').map(|name| name.trim().to_owned()).collect()
            }
            Some(text) => vec![text.to_owned()],
        })
    }

    pub(crate) fn select<'a>(&self, rows: Outline<'a>) -> Result<Outline<'a>> {
        match self.0.as_slice() {
            [] => Ok(rows),
            [field] => rows.field(field),
            names => rows.fields(&names.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }

    /// The fields of what was selected by these: several are packed in a new file.
    pub(crate) fn of_selected(&self) -> Fields {
        if self.0.len() > 1 { self.clone() } else { Fields::default() }
    }

    /// The dtype that these fields have in a new file: several are packed.
    pub(crate) fn packed_dtype(&self, selected: &Outline<'_>) -> Result<DType> {
        match self.0.len() {
            0 | 1 => Ok(selected.dtype().clone()),
            _ => packed(selected.dtype().fields()),
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
