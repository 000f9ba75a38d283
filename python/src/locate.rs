//! Finds the elements of members of archives, without reading them.

use npymap::any::{AnyFile, open_any};
use npymap::array::RawSpec;
use npymap::source::MapMut;
use npymap::tar::TarFile;
use npymap::ten::Ten;
use npymap::{Error, ErrorKind, Npz, OpenOptions, Order, Result, Source};

/// Options that open the elements of a member, and their order.
type Located = (OpenOptions, Order);

/// Finds a member by its name; `None` if it is compressed.
pub(crate) fn locate(source: Source<MapMut>, member: &str) -> Result<Option<Located>> {
    match open_any(source)? {
        AnyFile::Npz(npz) => in_npz(&npz, member),
        AnyFile::Ten(ten) => in_ten(&ten, member).map(Some),
        AnyFile::Tar(tar) => in_tar(&tar, member),
        // A `.npy`, which has no members: the error says so.
        file => file.get(Some(member)).map(|_| None),
    }
}

fn in_npz(npz: &Npz<MapMut>, name: &str) -> Result<Option<Located>> {
    let member = npz.member(name)?;
    let Some(header) = member.header()? else {
        return Err(Error::new(ErrorKind::Corrupt, format!("the member '{name}' is not an array")));
    };
    let Some(offset) = member.data_offset()? else { return Ok(None) };
    let raw = RawSpec::new(header.dtype).shape(&header.shape).order(header.order);
    Ok(Some((OpenOptions::new().raw(raw.offset(offset)), header.order)))
}

fn in_ten(ten: &Ten<MapMut>, name: &str) -> Result<Located> {
    let index = ten.index(name)?;
    let offset = ten.data_offset(index)?;
    let Some(header) = ten.headers().nth(index) else {
        return Err(Error::new(ErrorKind::NotFound, format!("no array {index}")));
    };
    let raw = RawSpec::new(header.dtype.clone()).shape(&header.shape).offset(offset);
    Ok((OpenOptions::new().raw(raw), Order::C))
}

fn in_tar(tar: &TarFile<MapMut>, name: &str) -> Result<Option<Located>> {
    // `000000.ten[0]`, unless a member is called that.
    if tar.member(name).is_err() {
        let inside = name.strip_suffix(']').unwrap_or_default();
        let splits = inside.match_indices('[').rev();
        let mut splits = splits.filter_map(|(at, _)| {
            let (outer, inner) = inside.split_at_checked(at)?;
            Some((outer, inner.strip_prefix('[')?))
        });
        if let Some((outer, inner)) = splits.find(|(outer, _)| tar.member(outer).is_ok()) {
            let outer = tar.member(outer)?;
            if outer.is_npz()? {
                return in_npz(&outer.npz()?, inner);
            }
            return in_ten(&outer.ten()?, inner).map(Some);
        }
    }
    let member = tar.member(name)?;
    let Some(header) = member.header()? else {
        return Err(Error::new(ErrorKind::Corrupt, format!("the member '{name}' is not an array")));
    };
    Ok(Some((OpenOptions::new().offset(member.offset()), header.order)))
}
