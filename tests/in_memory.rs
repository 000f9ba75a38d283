//! Checks that need neither a file system nor memory maps, threads or a clock,
//! as in a browser. `.ci/wasm` calls these functions there.

use ndarray::{Array2, Ix2, array, s};
use npymap::{
    DType, MappedArray, OpenOptions, Result, Source,
    write::{read_npy_from, write_npy_to},
};

/// Runs everything here.
pub(crate) fn all() -> Result<()> {
    arrays()?;
    records()?;
    #[cfg(feature = "npz")]
    npz()?;
    ten()?;
    #[cfg(feature = "tar")]
    tar()?;
    rows()?;
    missing_files_are_errors();
    Ok(())
}

fn table() -> Array2<f64> {
    array![[1.5, -2.0, 3.25], [4.0, 5.0, -6.5]]
}

fn arrays() -> Result<()> {
    let mut bytes = Vec::new();
    write_npy_to(&mut bytes, &table())?;
    assert_eq!(read_npy_from::<f64, Ix2>(&*bytes)?, table());

    let mut streamed = OpenOptions::new().read_from(&*bytes)?;
    streamed.as_slice_mut::<f64>()?[0] = 7.0;
    assert_eq!(streamed.view::<f64>()?.slice(s![.., 0]).to_vec(), [7.0, 4.0]);

    let array = MappedArray::from_bytes(&bytes)?;
    assert_eq!(array.shape(), [2, 3]);
    assert_eq!(array.view::<f64>()?.to_vec(), table().into_raw_vec_and_offset().0);

    // Elements in new memory are always aligned.
    for dtype in ["<f8", ">c16", "<U3", "|u1"] {
        let array = MappedArray::anonymous(&dtype.parse()?, &[3])?;
        assert_eq!(array.as_bytes()?.as_ptr().addr() % 16, 0);
    }
    Ok(())
}

fn records() -> Result<()> {
    let dtype: DType = "[('t', '<M8[s]'), ('x', '>f4', (2,)), ('name', '<U8')]".parse()?;
    let mut events = MappedArray::anonymous(&dtype, &[2])?;
    events.field_mut("x")?.into_view::<f32>()?.fill(&0.5)?;
    let first = events.dyn_view()?.at(0).to_string();
    assert_eq!(first, "('1970-01-01T00:00:00', [0.5, 0.5], '')");
    Ok(())
}

#[cfg(feature = "npz")]
fn npz() -> Result<()> {
    use npymap::npz::Compression;
    use npymap::{Npz, npz::NpzWriter};

    let mut writer = NpzWriter::new(Vec::new());
    writer.write("stored", &table())?;
    writer.compression(Compression::Deflated(6)).write("deflated", &table())?;
    let npz = Npz::open(Source::bytes(writer.into_inner()?))?;
    npz.verify()?;
    for array in npz.get_many(&["stored", "deflated"]) {
        assert_eq!(array?.as_ndarray::<f64, Ix2>()?, table());
    }
    Ok(())
}

fn ten() -> Result<()> {
    use npymap::ten::{self, Ten};

    let bytes = ten::encode_buffer(&[&table()])?;
    let array = Ten::open(Source::bytes(bytes))?.get(0)?;
    assert_eq!(array.view::<f64>()?.to_vec(), table().into_raw_vec_and_offset().0);
    Ok(())
}

#[cfg(feature = "tar")]
fn tar() -> Result<()> {
    let mut member = Vec::new();
    write_npy_to(&mut member, &table())?;
    // The header of a tar member: its name, its size and a checksum.
    let mut header = [0_u8; 512];
    header[..5].copy_from_slice(b"a.npy");
    header[124..135].copy_from_slice(format!("{:011o}", member.len()).as_bytes());
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = member.len().next_multiple_of(512) - member.len() + 1024;
    let bytes = [&header[..], &member, &vec![0; padding]].concat();
    let array = npymap::tar::Shard::open(Source::bytes(bytes))?.get("a.npy")?;
    assert_eq!(array.view::<f64>()?.to_vec(), table().into_raw_vec_and_offset().0);
    Ok(())
}

fn rows() -> Result<()> {
    let mut bytes = Vec::new();
    write_npy_to(&mut bytes, &table())?;
    let array = OpenOptions::new().read_from(&*bytes)?.into_read_only()?;
    let mut taken = [0.0; 6];
    array.rows()?.take(&[1, 0], &mut taken)?;
    assert_eq!(taken, [4.0, 5.0, -6.5, 1.5, -2.0, 3.25]);
    Ok(())
}

fn missing_files_are_errors() {
    assert!(MappedArray::read("no such file.npy").is_err());
    assert!(npymap::Source::read("no such file.npy").is_err());
}

#[test]
fn checks_pass_in_memory() {
    all().unwrap();
}
