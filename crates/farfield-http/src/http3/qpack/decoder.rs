//! The decoder of field sections (RFC 9204, 4.5).

use super::static_table::ENTRIES;
use super::{QpackError, Scratch};
use crate::compression::{integer, take_string};

/// Decodes a whole field section, and passes each field's name and value to `field`, as they are on the wire.
/// Allocates nothing once `scratch` has grown.
///
/// # Errors
/// [`QpackError`]; fields before the wrong one have been passed on by then.
pub fn decode(
    section: &[u8],
    scratch: &mut Scratch,
    field: &mut impl FnMut(&[u8], &[u8]),
) -> Result<(), QpackError> {
    let mut rest = section;
    decode_prefix(&mut rest)?;
    while let Some(&first) = rest.first() {
        match first {
            // 4.5.2: indexed field, 1, the bit of the static table, and a prefix of 6 bits.
            0x80.. => {
                let index = take_index(&mut rest, first & 0x40 != 0, 6)?;
                let (name, value) = entry(index)?;
                field(name, value);
            }
            // 4.5.4: literal with the name of an entry: 01, the bit of a credential, the bit of the static
            // table, and a prefix of 4 bits.
            0x40..0x80 => {
                let index = take_index(&mut rest, first & 0x10 != 0, 4)?;
                let (name, _) = entry(index)?;
                field(name, take_string(&mut rest, 7, &mut scratch.value)?);
            }
            // 4.5.6: literal with its own name: 001, the bit of a credential, and a string with a prefix of
            // 3 bits.
            0x20..0x40 => {
                let name = take_string(&mut rest, 3, &mut scratch.name)?;
                field(name, take_string(&mut rest, 7, &mut scratch.value)?);
            }
            // 4.5.3 and 4.5.5: post-Base references, which only the dynamic table has.
            0x00..0x20 => return Err(QpackError::DynamicReference),
        }
    }
    Ok(())
}

/// 4.5.1: Required Insert Count with a prefix of 8 bits; a sign, and Delta Base with a prefix of 7.
fn decode_prefix(rest: &mut &[u8]) -> Result<(), QpackError> {
    if integer::decode(rest, 8)? != 0 {
        return Err(QpackError::DynamicReference);
    }
    let is_negative = rest.first().is_some_and(|first| first & 0x80 != 0);
    // Without references the Base is of no use, and any that is not negative is valid.
    integer::decode(rest, 7)?;
    if is_negative { Err(QpackError::NegativeBase) } else { Ok(()) }
}

fn take_index(rest: &mut &[u8], is_static: bool, prefix_bits: u32) -> Result<u32, QpackError> {
    let index = integer::decode(rest, prefix_bits)?;
    if is_static { Ok(index) } else { Err(QpackError::DynamicReference) }
}

fn entry(index: u32) -> Result<(&'static [u8], &'static [u8]), QpackError> {
    ENTRIES.get(index as usize).copied().ok_or(QpackError::UnknownIndex)
}
