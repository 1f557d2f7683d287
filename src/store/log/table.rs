//! The table at the end of a compressed segment, with the location of each record.

use std::io;

use crate::store::disk::DiskFile;

const FOOTER: usize = 24;
const TABLE_MAGIC: &[u8; 8] = b"SPBRTAB\x01";
const ROW: usize = 16;

/// Location of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Row {
    /// Offset in the raw segment.
    pub(in crate::store) raw: u64,
    /// Offset in the file.
    pub(super) here: u64,
}

/// Whether a file ends like a compressed segment. Only the end is read.
pub(in crate::store) fn has_footer(file: &dyn DiskFile) -> io::Result<bool> {
    Ok(footer(file)?.is_some())
}

/// The footer of a compressed segment.
fn footer(file: &dyn DiskFile) -> io::Result<Option<Footer>> {
    let size = file.size()?;
    let Some(footer_at) = size.checked_sub(FOOTER as u64) else {
        return Ok(None);
    };
    let mut footer = [0; FOOTER];
    file.read_exact_at(&mut footer, footer_at)?;
    let footer = Footer::from_bytes(&footer);
    let fits = |footer: &Footer| footer.place.checked_add(u64::from(footer.rows) * ROW as u64) == Some(footer_at);
    Ok(footer.filter(fits))
}

/// The table at the end of a compressed segment, and where it begins; `None` if it is damaged.
pub(super) fn table(file: &dyn DiskFile) -> io::Result<Option<(Vec<Row>, u64)>> {
    let Some(footer) = footer(file)? else { return Ok(None) };
    let mut bytes = vec![0; footer.rows as usize * ROW];
    file.read_exact_at(&mut bytes, footer.place)?;
    if crc32fast::hash(&bytes) != footer.checksum {
        return Ok(None);
    }
    let rows = bytes.chunks_exact(ROW).filter_map(Row::from_bytes).collect();
    Ok(Some((rows, footer.place)))
}

impl Row {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (raw, here) = bytes.split_first_chunk::<8>()?;
        Some(Self {
            raw: u64::from_le_bytes(*raw),
            here: u64::from_le_bytes(here.try_into().ok()?),
        })
    }
}

struct Footer {
    place: u64,
    rows: u32,
    checksum: u32,
}

impl Footer {
    fn from_bytes(bytes: &[u8; FOOTER]) -> Option<Self> {
        let rest = bytes.strip_suffix(TABLE_MAGIC)?;
        let (place, rest) = rest.split_first_chunk::<8>()?;
        let (rows, checksum) = rest.split_first_chunk::<4>()?;
        Some(Self {
            place: u64::from_le_bytes(*place),
            rows: u32::from_le_bytes(*rows),
            checksum: u32::from_le_bytes(checksum.try_into().ok()?),
        })
    }
}

/// The table and the footer in their form on disk.
pub(super) fn table_bytes(rows: &[Row], place: u64) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = rows
        .iter()
        .flat_map(|row| [row.raw.to_le_bytes(), row.here.to_le_bytes()])
        .flatten()
        .collect();
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(place.to_le_bytes());
    bytes.extend(u32::try_from(rows.len()).ok()?.to_le_bytes());
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(TABLE_MAGIC);
    Some(bytes)
}
