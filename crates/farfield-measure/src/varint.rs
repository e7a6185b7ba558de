//! Whole numbers in as few bytes as they need: seven bits a byte, the lowest first.

/// Appends `number`.
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends `number`, small in bytes if it is near zero.
pub(crate) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, (number << 1 ^ number >> 63).cast_unsigned());
}

/// Takes a number from the front; what [`put`] did not write gives some number.
pub(crate) fn take(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    let mut shift = 0;
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        shift = (shift + 7).min(63);
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

/// Takes a number that [`put_signed`] wrote.
pub(crate) fn take_signed(bytes: &mut &[u8]) -> i64 {
    let number = take(bytes);
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gives_back_any_numbers(numbers in prop::collection::vec(any::<i64>(), 0..20)) {
            let edges = [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN];
            let all: Vec<i64> = numbers.into_iter().chain(edges).collect();
            let mut bytes = Vec::new();
            for number in &all {
                put_signed(&mut bytes, *number);
                put(&mut bytes, number.cast_unsigned());
            }
            let mut rest = bytes.as_slice();
            for number in &all {
                prop_assert_eq!(take_signed(&mut rest), *number);
                prop_assert_eq!(take(&mut rest), number.cast_unsigned());
            }
            prop_assert!(rest.is_empty());
        }
    }
}
