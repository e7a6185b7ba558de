//! Indices with a type, so that a slot of one table is never taken for a slot of another.

/// Defines an index type over `u32`. `u32::MAX` is no index, so that an `Option` of one takes four bytes.
///
/// ```
/// farfield_base::index_type! {
///     /// A row.
///     pub struct Row;
/// }
/// assert_eq!((Row::new(7).get(), Row::at(7).index()), (7, 7));
/// assert_eq!(size_of::<Option<Row>>(), 4);
/// ```
#[macro_export]
macro_rules! index_type {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident;) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(core::num::NonZeroU32);

        #[allow(dead_code, reason = "each kind of index uses some of these")]
        impl $name {
            /// The index `index`, which is below `u32::MAX`.
            #[inline]
            $visibility const fn new(index: u32) -> $name {
                $name(core::num::NonZeroU32::new(index.wrapping_add(1)).expect("an index below u32::MAX"))
            }

            /// The index of a key of a `Slab` or a place in a `Vec`, whose size `u32` bounds.
            #[inline]
            $visibility const fn at(key: usize) -> $name {
                $name::new(key as u32)
            }

            /// The number itself.
            #[inline]
            $visibility const fn get(self) -> u32 {
                self.0.get() - 1
            }

            /// The number, to index with.
            #[inline]
            $visibility const fn index(self) -> usize {
                self.get() as usize
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.get()).finish()
            }
        }
    };
}
