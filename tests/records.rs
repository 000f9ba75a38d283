//! Rust structs as elements: fields are matched by name, and borrowed in place
//! where the layouts agree.

use npymap::bytemuck::{Pod, Zeroable};
use npymap::{
    Be, CreateOptions, DType, Le, MappedArray, MappedArrayMut, Record,
    element::{Bool, DateTime64, Pad, Ticks},
};

use crate::support::{NATIVE, here, quick, some};

#[path = "../derive/src/descr.rs"]
mod descr;
#[path = "../derive/src/typestr.rs"]
mod typestr;

#[derive(Clone, Debug, PartialEq, Record)]
struct Inner {
    x: f64,
    y: [i16; 2],
}

/// The fields are in another order than in the dtypes.
#[derive(Clone, Debug, PartialEq, Record)]
#[record(typed)]
struct Event {
    #[record(dtype = "<U3")]
    name: String,
    #[record(dtype = "|S2")]
    code: String,
    #[record(dtype = "<M8[s]")]
    when: DateTime64,
    #[record(rename = "is valid")]
    valid: bool,
    grid: [[u8; 2]; 2],
    #[record(dtype = "[('y', '<i2', (2,)), ('x', '<f8')]")]
    inner: Inner,
    r#type: u8,
}

#[derive(Debug, Record)]
struct Times {
    #[record(dtype = "('<M8[ns]', (2,))")]
    when: [Ticks; 2],
}

#[derive(Debug, Record)]
struct Spans {
    #[record(dtype = "[('start', '<M8[s]'), ('end', '<M8[ns]')]")]
    span: (Ticks, Ticks),
    #[record(dtype = "('<M8[s]', (2, 2))")]
    grid: [[Ticks; 2]; 2],
}

#[derive(Debug, Record)]
struct Both {
    a: f32,
    b: f32,
}

fn event(number: u8) -> Event {
    Event {
        name: "añ".to_owned(),
        code: format!("c{}", number % 10),
        when: DateTime64 { ticks: Ticks(i64::from(number) - 3), unit: Some("s".parse().unwrap()) },
        valid: number % 2 == 0,
        grid: [[number, 1], [2, 3]],
        inner: Inner { x: f64::from(number) / 2.0, y: [-1, i16::from(number)] },
        r#type: 7,
    }
}

const LAYOUTS: [&str; 3] = [
    "[('name', '<U3'), ('code', '|S2'), ('when', '<M8[s]'), ('is valid', '|b1'), ('grid', '|u1', (2, 2)), ('inner', [('y', '<i2', (2,)), ('x', '<f8')]), ('type', '|u1')]",
    "[('type', '|u1'), ('', '|V7'), ('inner', [('x', '>f8'), ('y', '>i2', (2,))]), (('is valid', 'v'), '|b1'), ('when', '>M8[s]'), ('code', '|S5'), ('name', '>U4'), ('grid', '|u1', (2, 2)), ('', '|V3')]",
    "[('grid', '|u1', (2, 2)), ('when', '<M8[s]'), ('name', '<U2'), ('is valid', '|b1'), ('inner', [('', '|V1'), ('y', '<i2', (2,)), ('x', '<f8'), ('', '|V4')]), ('code', '|S2'), ('type', '|u1')]",
];

fn array(descr: &str, shape: &[usize]) -> MappedArrayMut {
    MappedArray::zeros(&descr.parse().unwrap(), shape).unwrap()
}

#[test]
fn fields_are_matched_by_name_in_any_order_and_layout() {
    for descr in LAYOUTS {
        let mut events = array(descr, &[2, 3]);
        let mut view = events.view_mut::<Event>().unwrap();
        for i in 0..6_u8 {
            view.set([usize::from(i / 3), usize::from(i % 3)], event(i)).unwrap();
        }
        let view = events.view::<Event>().unwrap();
        let turned: Vec<Event> = view.t().iter().collect();
        assert_eq!(turned, [0, 3, 1, 4, 2, 5].map(event), "{descr}");
        let when = events.dyn_view().unwrap().field("when").unwrap().view::<Ticks>().unwrap();
        assert_eq!(when.to_vec(), [-3, -2, -1, 0, 1, 2].map(Ticks), "{descr}");
    }
}

#[test]
fn a_record_has_a_dtype() {
    let expected: DType = LAYOUTS[0].parse().unwrap();
    assert_eq!(DType::of::<Event>(), expected);
    assert_eq!(DType::of::<Row>().to_string(), here(ROW));
    let packed: DType = DType::of::<Tight>();
    assert_eq!(
        packed.to_string(),
        format!("[('a', '|u1'), ('b', '{NATIVE}f8'), ('inner', [('x', '>f4'), ('y', '>f4')])]")
    );
}

#[test]
fn errors_name_the_difference() {
    assert_eq!(
        inner_error("[('x', '<f8')]"),
        here("record `Inner`, field `y`: the dtype has no such field, only `x`")
    );
    assert_eq!(
        inner_error("[('x', '<f8'), ('y', '<i2', (2,)), ('z', '<f4')]"),
        here(
            "record `Inner`, field `z`: stored as '<f4', but the record has no such field: add it, or allow other fields with `#[record(subset)]`"
        )
    );
    assert_eq!(
        inner_error("[('x', '>f4'), ('y', '<i2', (2,))]"),
        here("record `Inner`, field `x`: stored as '>f4', asked for `f64`: use `Be<f32>`")
    );
    assert_eq!(
        inner_error("[('x', '<f8'), ('y', '<i2', (3,))]"),
        here(
            "record `Inner`, field `y`: stored as ('<i2', (3,)), asked for `[i16; 2]`: use `[i16; 3]`"
        )
    );
    assert_eq!(inner_error("'<f8'"), here("stored as '<f8', asked for `Inner`: use `f64`"));
    let units = LAYOUTS[0].replace("M8[s]", "M8[ms]");
    assert_eq!(
        array(&here(&units), &[1]).view::<Event>().unwrap_err().to_string(),
        format!("record `Event`, field `when`: stored as '{NATIVE}M8[ms]', expected '<M8[s]'")
    );
    for (declared, stored) in
        [("('<M8[ns]', (2,))", "('<M8[s]', (2,))"), ("('<M8[ns]', (2,))", "('<m8[ns]', (2,))")]
    {
        let dtype: DType = format!("[('when', {stored})]").parse().unwrap();
        let array = MappedArray::zeros(&dtype, &[1]).unwrap();
        let error = array.view::<Times>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("record `Times`, field `when`: stored as {stored}, expected {declared}")
        );
    }
    assert!(array("[('when', '>M8[ns]', (2,))]", &[1]).view::<Times>().is_ok());
    let titled = array("[(('Speed [m.s]', 'v'), '<f4')]", &[1]);
    assert!(titled.dyn_view().unwrap().field("Speed [m.s]").is_ok());
    // One stored field is not two.
    let both = array("[(('b', 'a'), '<f4')]", &[1]);
    assert_eq!(
        both.view::<Both>().unwrap_err().to_string(),
        "record `Both`, field `b`: another field of the record is stored as `a`"
    );
    let nested = LAYOUTS[0].replace("('x', '<f8')", "('x', '<f4')");
    assert_eq!(
        array(&here(&nested), &[1]).view::<Event>().unwrap_err().to_string(),
        here(
            "record `Event`, field `inner`: record `Inner`, field `x`: stored as '<f4', asked for `f64`: use `f32`"
        )
    );
}

#[test]
fn declared_units_are_compared_as_elements_are_read() {
    for (span, grid, is_read) in [
        ("[('start', '<M8[s]'), ('end', '<M8[ns]')]", "('<M8[s]', (2, 2))", true),
        // Tuples are read by position.
        ("[('end', '>M8[s]'), ('start', '>M8[ns]')]", "(('>M8[s]', (2,)), (2,))", true),
        ("[('end', '<M8[ns]'), ('start', '<M8[s]')]", "('<M8[s]', (2, 2))", false),
        ("[('start', '<M8[s]'), ('end', '<M8[ns]')]", "(('<M8[ms]', (2,)), (2,))", false),
    ] {
        let spans = array(&format!("[('span', {span}), ('grid', {grid})]"), &[1]);
        assert_eq!(spans.view::<Spans>().is_ok(), is_read, "{span} {grid}");
    }
}

fn inner_error(descr: &str) -> String {
    array(&here(descr), &[1]).view::<Inner>().unwrap_err().to_string()
}

#[derive(Debug, PartialEq, Record)]
#[record(subset)]
struct Some {
    inner: Inner,
    name: String,
}

#[test]
fn a_subset_does_not_change_other_fields() {
    let mut events = array(LAYOUTS[1], &[2]);
    events.view_mut::<Event>().unwrap().fill(&event(4)).unwrap();
    let changed = Some { inner: Inner { x: -1.0, y: [5, 6] }, name: "é".to_owned() };
    let mut view = events.view_mut::<Some>().unwrap();
    assert_eq!(view.as_view().at(1).inner, event(4).inner);
    view.set(1, Some { inner: changed.inner.clone(), name: changed.name.clone() }).unwrap();
    let expected = Event { inner: changed.inner, name: changed.name, ..event(4) };
    assert_eq!(events.view::<Event>().unwrap().to_vec(), [event(4), expected]);
}

const ROW: &str = "[('id', '<u4'), ('', '|V4'), ('when', '<M8[ns]'), ('pos', '<f4', (3,)), ('ok', '|b1'), ('', '|V3')]";

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, Record)]
#[record(in_place)]
#[repr(C)]
struct Row {
    id: u32,
    gap: Pad<4>,
    #[record(dtype = "M8[ns]")]
    when: Ticks,
    pos: [f32; 3],
    ok: Bool,
    rest: Pad<3>,
}

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, Record)]
#[record(in_place)]
#[repr(C)]
struct Point {
    x: Be<f32>,
    y: Be<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, Record)]
#[record(in_place)]
#[repr(C, packed)]
struct Tight {
    a: u8,
    b: f64,
    inner: Point,
}

/// The bytes of padding are those of no field, so they are not written.
#[test]
fn padding_is_zero_in_files() {
    #[derive(Clone, Copy, Debug, Pod, Zeroable, Record)]
    #[record(in_place, subset)]
    #[repr(C)]
    struct Padded {
        a: u32,
        rest: Pad<4>,
    }

    let directory = tempfile::tempdir().unwrap();
    let [path, log] = ["a.npy", "log.npy"].map(|name| directory.path().join(name));
    let dtype: DType = here("[('a', '<u4'), ('b', '<f4')]").parse().unwrap();
    let rows = npymap::ndarray::arr1(&[Padded { a: 1, rest: Pad([1, 2, 3, 4]) }; 3]);
    let to_write = npymap::write::WithDType::new(&rows, dtype.clone());
    npymap::WriteOptions::new().write(&path, &to_write).unwrap();
    let mut to = npymap::Appender::create(&log, &dtype, &[], &CreateOptions::new()).unwrap();
    to.append_slice(rows.as_slice().unwrap()).unwrap();
    to.close().unwrap();
    for path in [path, log] {
        let found = MappedArray::load(&path).unwrap();
        assert_eq!(
            found.dyn_view().unwrap().field("a").unwrap().view::<u32>().unwrap().to_vec(),
            [1; 3]
        );
        assert_eq!(
            found.dyn_view().unwrap().field("b").unwrap().view::<f32>().unwrap().to_vec(),
            [0.0; 3]
        );
    }
}

#[test]
fn rows_are_borrowed_in_place() {
    let mut rows = array(&here(ROW), &[4]);
    let row = Row {
        id: 3,
        gap: Pad::default(),
        when: Ticks(9),
        pos: [1.0, 2.0, 3.0],
        ok: Bool::new(true),
        rest: Pad([1; 3]),
    };
    rows.as_slice_mut::<Row>().unwrap()[2] = row;
    assert_eq!(rows.as_slice::<Row>().unwrap()[2], row);
    assert_eq!(rows.view::<Row>().unwrap().at(2), row);
    let pos = rows.dyn_view().unwrap().field("pos").unwrap().view::<f32>().unwrap();
    assert_eq!(pos.index_axis(0, 2).unwrap().to_vec(), [1.0, 2.0, 3.0]);
    let turned = rows.view::<Row>().unwrap().slice(npymap::ndarray::s![..;-1]).unwrap();
    assert_eq!(turned.as_ndarray::<npymap::ndarray::Ix1>().unwrap()[1], row);

    let mut tight = MappedArray::zeros(&DType::of::<Tight>(), &[3]).unwrap();
    tight.as_slice_mut::<Tight>().unwrap()[1].inner.y.set(0.5);
    assert_eq!(
        tight.dyn_view().unwrap().field("inner.y").unwrap().view::<f32>().unwrap().to_vec(),
        [0.0, 0.5, 0.0]
    );
    let mut view = tight.view_mut::<Tight>().unwrap();
    view.map_inplace(|row| Tight { b: row.b + 1.5, ..row }).unwrap();
    let values: Vec<f64> = tight.as_slice::<Tight>().unwrap().iter().map(|row| row.b).collect();
    assert_eq!(values, [1.5, 1.5, 1.5]);
}

/// Decodes rows of a dtype that cannot be borrowed, and returns the error of
/// borrowing them.
fn borrow_error(descr: &str) -> String {
    let mut rows = array(&here(descr), &[3]);
    let mut view = rows.view_mut::<Row>().unwrap();
    let row = Row { id: 5, when: Ticks(-1), pos: [1.5; 3], ok: Bool::new(true), ..Row::zeroed() };
    view.set(1, row).unwrap();
    assert_eq!(rows.view::<Row>().unwrap().to_vec(), [Row::zeroed(), row, Row::zeroed()]);
    let typed = rows.view::<Row>().unwrap().as_slice().unwrap_err().to_string();
    let error = rows.as_slice::<Row>().unwrap_err().to_string();
    assert_eq!(typed, error);
    error
}

#[test]
fn rows_with_another_layout_are_decoded_and_not_borrowed() {
    assert_eq!(
        borrow_error(
            &ROW.replace("'<u4'), ('', '|V4')", "'<u4')").replace("('', '|V3')", "('', '|V7')")
        ),
        here(
            "record `Row`, field `when`: stored at byte 4, but at byte 8 of the record: reorder the fields, or add `Pad<N>` between them"
        )
    );
    assert_eq!(
        borrow_error(&ROW.replace("'<f4'", "'>f4'")),
        here(
            "record `Row`, field `pos`: stored as ('>f4', (3,)), asked for `[f32; 3]` in place: use `[Be<f32>; 3]`"
        )
    );
    assert_eq!(
        borrow_error(&ROW.replace("('', '|V3')", "('', '|V5')")),
        here(
            "record `Row`, field `ok`: elements have 34 bytes and the record has 32: add fields of type `Pad<N>` for padding, or use `view::<Row>()`"
        )
    );
}

#[test]
fn padding_in_the_file_is_never_written_through_a_view() {
    let mut rows = array(ROW, &[2]);
    let bytes = rows.dyn_view_mut().unwrap().view_as(&"|u1".parse().unwrap());
    // One axis of rows, with elements of 32 bytes.
    bytes.unwrap().into_view::<u8>().unwrap().fill(&0xab).unwrap();
    rows.view_mut::<Row>().unwrap().fill(&Row::zeroed()).unwrap();
    let view = rows.dyn_view().unwrap();
    for element in view.element_bytes() {
        assert_eq!((&element[4..8], &element[29..]), (&[0xab; 4][..], &[0xab; 3][..]));
    }
}

#[test]
fn files_of_records_are_read_and_written_whole() {
    let directory = crate::support::directory();
    let path = directory.path().join("tight.npy");
    let rows: Vec<Tight> = (0..5)
        .map(|i| Tight { a: i, b: f64::from(i), inner: Point { x: Be::new(1.0), y: Be::new(2.0) } })
        .collect();
    let rows = npymap::ndarray::Array1::from(rows);
    npymap::WriteOptions::new().write(&path, &rows).unwrap();
    let again: npymap::ndarray::Array1<Tight> =
        npymap::OpenOptions::new().read_ndarray(&path).unwrap();
    assert_eq!(rows, again);
    let _: Le<u8> = Le::new(again[0].a);
}

/// The derive checks dtypes by rules of its own. They accept the same type strings as the
/// library, and no other literals.
#[test]
fn dtypes_that_the_derive_accepts_are_dtypes() {
    let mut texts: Vec<String> = LAYOUTS.map(str::to_owned).into();
    texts.extend(
        ["[('x', '<f4', (2, 3)), ('', '|V2'), (('t', 'y'), '<U3')]", "([], (3,))"]
            .map(str::to_owned),
    );
    let typestrs = "<M8[25us] m8[generic] datetime64[D] >f8 |S10 <U3 V08 c16 longdouble ? str_";
    texts.extend(typestrs.split(' ').map(str::to_owned));
    let (mut accepted, mut checked) = (0, 0);
    for text in texts {
        let changes =
            ["", "'", "(", ")", "[", "]", ",", " ", "0", "1", "<", "V", "M", "s", "2147483647"];
        let cuts = (0..=text.len()).filter(|&at| text.is_char_boundary(at));
        for at in some(cuts) {
            let (before, after) = text.split_at(at);
            let shorter = after.chars().next().map_or("", |first| &after[first.len_utf8()..]);
            for change in changes {
                for after in [after, shorter] {
                    let text = format!("{before}{change}{after}");
                    checked += 1;
                    let dtype = text.parse::<DType>();
                    let is_literal = text.trim_start().starts_with(['[', '(', '{', '\'', '"']);
                    if !is_literal {
                        assert_eq!(typestr::is_typestr(&text), dtype.is_ok(), "{text}: {dtype:?}");
                    } else if descr::is_descr(&text) {
                        accepted += 1;
                        assert!(dtype.is_ok(), "{text}: {dtype:?}");
                    }
                }
            }
        }
    }
    let least = if quick() { 10 } else { 1000 };
    assert!(accepted > least && accepted < checked, "{accepted} of {checked}");
}

/// A record for any element type.
#[derive(Clone, Debug, PartialEq, Record)]
#[record(typed)]
struct Pair<T, const N: usize = 2> {
    left: T,
    #[record(title = "The others", rename = "right")]
    others: [T; N],
}

/// A generic record in place.
#[derive(
    Clone, Copy, Debug, PartialEq, npymap::bytemuck::Zeroable, npymap::bytemuck::Pod, Record,
)]
#[record(in_place)]
#[repr(C, packed)]
struct Sample<T> {
    #[record(title = "Time")]
    time: npymap::Le<u32>,
    value: T,
}

#[test]
fn records_are_generic() {
    let dtype = DType::of::<Pair<u16>>();
    let native = if cfg!(target_endian = "big") { ">u2" } else { "<u2" };
    let expected = format!("[('left', '{native}'), (('The others', 'right'), '{native}', (2,))]");
    assert_eq!(dtype.to_string(), expected);
    let mut array = MappedArray::zeros(&dtype, &[2]).unwrap();
    let pair = Pair { left: 1, others: [2, 3] };
    array.view_mut::<Pair<u16>>().unwrap().set(1, pair.clone()).unwrap();
    assert_eq!(array.view::<Pair<u16>>().unwrap().at(1), pair);
    let error = array.view::<Pair<f32>>().unwrap_err();
    assert!(error.to_string().starts_with("record `Pair`, field `left`: stored as"), "{error}");

    let words = "[('right', '<U3', (1,)), ('left', '<U3')]".parse().unwrap();
    let mut array = MappedArray::zeros(&words, &[1]).unwrap();
    let pair = Pair { left: "abc".to_owned(), others: ["de".to_owned()] };
    array.view_mut::<Pair<String, 1>>().unwrap().set(0, pair.clone()).unwrap();
    assert_eq!(array.view::<Pair<String, 1>>().unwrap().at(0), pair);
}

#[test]
fn generic_records_are_borrowed_in_place() {
    let dtype = DType::of::<Sample<Le<f64>>>();
    assert_eq!(dtype.to_string(), "[(('Time', 'time'), '<u4'), ('value', '<f8')]");
    let mut array = MappedArray::zeros(&dtype, &[2]).unwrap();
    array.as_slice_mut::<Sample<Le<f64>>>().unwrap()[1].value = Le::new(1.5);
    let value = array.view::<Sample<Le<f64>>>().unwrap().at(1).value;
    assert_eq!(value.get(), 1.5);
    // The stored dtype need not have the title.
    let plain = "[('time', '<u4'), ('value', '<f8')]".parse().unwrap();
    let plain = MappedArray::zeros(&plain, &[3]).unwrap();
    assert_eq!(plain.as_slice::<Sample<Le<f64>>>().unwrap().len(), 3);
    let error = plain.as_slice::<Sample<Le<i16>>>().map(<[_]>::len).unwrap_err();
    assert!(error.to_string().contains("field `value`"), "{error}");
}
