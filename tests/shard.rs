//! Tar files of arrays.

use npymap::{AnyFile, Format, Mode, Shard};

use crate::support::{directory, file};
use crate::tars::shard;

#[test]
fn members_are_used_where_they_lie() {
    let directory = directory();
    let path = file(&directory, "x.tar", &shard());
    // SAFETY: nobody changes the test's own files.
    let mapped = unsafe { Shard::open(&path) }.unwrap();
    for shard in [&mapped, &Shard::read(&path).unwrap(), &Shard::from_bytes(shard()).unwrap()] {
        assert_eq!(shard.len(), 7);
        let array = shard.get("000000.npy").unwrap();
        assert_eq!(array.view::<f32>().unwrap().to_vec(), [0.5, 1.5, 2.5, 3.5]);
        let offset = shard.member("000000.npy").unwrap().offset();
        assert_eq!(array.data_offset(), Some(offset + 128));
        let ten = shard.member("000000.ten").unwrap().ten().unwrap();
        assert_eq!(ten.named("y").unwrap().view::<f64>().unwrap().to_vec(), [0.5]);
        let is_array = |name| shard.member(name).unwrap().header().unwrap().is_some();
        assert!(is_array("000000.npy") && !is_array("000000.txt") && !is_array("000000.ten"));
        let long = shard.members().find(|member| member.name().ends_with("deep.npy")).unwrap();
        assert_eq!(long.open().unwrap().shape(), [2, 2]);
        assert!(shard.member("empty.ten").unwrap().ten().unwrap().is_empty());
        let kinds: Vec<_> = shard.members().map(|member| member.is_ten().unwrap()).collect();
        assert_eq!(kinds, [false, true, false, false, true, true, false]);
    }
    let array = mapped.get("000000.npy").unwrap();
    assert_eq!((array.mode(), array.member()), (Some(Mode::ReadOnly), Some("000000.npy")));
    drop(mapped);
    assert_eq!(array.as_slice::<f32>().unwrap()[3..], [3.5]);
    assert_eq!(Format::recognize(&path).unwrap(), Format::Tar);
    // SAFETY: nobody changes the test's own files.
    let file = unsafe { npymap::open_any(&path) }.unwrap();
    assert!(matches!(file, AnyFile::Tar(_)));
    assert_eq!(file.get(Some("000000.ten[x]")).unwrap().view::<u8>().unwrap().to_vec(), [1, 2]);
    assert_eq!(file.get(Some("000000.ten[1]")).unwrap().view::<f64>().unwrap().to_vec(), [0.5]);
}

#[test]
fn what_is_wrong_is_said() {
    let whole = shard();
    let text = |bytes: &[u8], name: &str| {
        let shard = Shard::from_bytes(bytes.to_vec());
        shard.and_then(|shard| shard.get(name)).map(drop).unwrap_err().to_string()
    };
    assert_eq!(text(&whole, "x"), "no member `x`: there are 7 others");
    assert_eq!(
        text(&whole, "000000.txt"),
        "[000000.txt]: starts with b\"text\", expected b\"\\x93NUMPY\""
    );
    let hello = text(&[b'h'; 600], "x");
    assert!(hello.starts_with("no tar file, or a damaged one"), "{hello}");
    let mut checksum = whole.clone();
    checksum[0] ^= 1;
    assert!(text(&checksum, "x").contains("checksum"));
    let short = text(&whole[..600], "000000.npy");
    assert_eq!(
        short,
        "[000000.npy]: its 144 bytes from 512 end behind 600: the tar file was truncated, or is still being written"
    );
    for len in 0..whole.len() {
        let Ok(shard) = Shard::from_bytes(whole[..len].to_vec()) else { continue };
        for member in shard.members() {
            let _ = (member.open().map(drop), member.ten().map(drop));
        }
    }
    let mut sizes = whole.clone();
    sizes[124..136].copy_from_slice(b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff");
    let sum: u32 = sizes[..148].iter().chain(&sizes[156..512]).map(|&b| u32::from(b)).sum();
    sizes[148..156].copy_from_slice(format!("{:06o}\0 ", sum + 256).as_bytes());
    assert!(Shard::from_bytes(sizes).and_then(|shard| shard.get("000000.npy")).is_err());
}
