//! An event file as records: created, opened, filtered by a field, and edited
//! in place.
//!
//! ```console
//! $ cargo run --features derive --example events
//! ```
#![allow(unsafe_code, reason = "maps a file of its own")]

use npymap::bytemuck::{Pod, Zeroable};
use npymap::{
    DType, Le, MappedArray, Record,
    element::{Bytes, Pad, Ticks},
};

/// A row as stored in the file, so that `&[Event]` borrows the file's memory.
///
/// `Le` fields work at any address and on any machine; `Pad` fields are the
/// bytes that belong to no field.
#[derive(Clone, Copy, Pod, Zeroable, Record)]
#[record(in_place)]
#[repr(C)]
struct Event {
    #[record(dtype = "<M8[ms]")]
    when: Le<Ticks>,
    station: Bytes<4>,
    pos: [Le<f32>; 3],
    energy: Le<f32>,
    valid: npymap::element::Bool,
    pad: Pad<3>,
}

/// Some of the fields, decoded from any layout and byte order.
#[derive(Debug, Record)]
#[record(subset)]
struct Reading {
    station: String,
    energy: f64,
}

/// The dtype of a file from another program: big-endian, in another order.
const FOREIGN: &str = "[('energy', '>f8'), ('station', '<U8'), ('detector', '>i2')]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("events.npy");

    // The struct gives the file its dtype, which NumPy reads.
    let dtype = DType::of::<Event>();
    println!("{dtype}");
    // SAFETY: no other process uses the file.
    let mut file = unsafe { MappedArray::create(&path, &dtype, &[1000])? };
    for (number, event) in (0_u16..).zip(file.as_slice_mut::<Event>()?) {
        event.when = Le::new(Ticks(1_582_977_600_000 + 40 * i64::from(number)));
        event.station = if number % 3 == 0 { "EGLL" } else { "LFPG" }.parse()?;
        event.energy = Le::new(f32::from(number) / 10.0);
        event.valid = (number % 2 == 0).into();
    }
    file.close()?;

    // SAFETY: no other process uses the file.
    let mut file = unsafe { MappedArray::open_mut(&path)? };

    // One field of all records is a view like any other.
    let energies = file.dyn_view()?.field("energy")?.view::<f32>()?;
    println!("energies to {:?}, {:.1} on average", energies.stats().max, energies.sum() / 1000.0);

    // Rows are filtered in place.
    let events = file.as_slice::<Event>()?;
    for event in events.iter().filter(|event| event.valid.get() && event.energy.get() > 99.0) {
        println!("{} {}", event.station.as_str()?, event.energy);
    }

    // Edits go to the file: row by row, or one field of all rows.
    for event in file.as_slice_mut::<Event>()?.iter_mut().filter(|event| !event.valid.get()) {
        event.energy.set(0.0);
    }
    file.dyn_view_mut()?.into_field("pos")?.into_view::<f32>()?.fill(&-1.0)?;
    file.close()?;

    // SAFETY: no other process uses the file.
    let file = unsafe { MappedArray::open(&path)? };
    println!("{}", file.dyn_view()?.at(998));

    // Other layouts are decoded, with fields matched by name.
    let mut foreign = MappedArray::zeros(&FOREIGN.parse()?, &[2])?;
    foreign
        .dyn_view_mut()?
        .into_field("station")?
        .into_view::<String>()?
        .set(1, "EDDF".to_owned())?;
    println!("{:?}", foreign.view::<Reading>()?.at(1));
    Ok(())
}
