//! The doors to files. Other users of the machine may plant links, pipes and devices wherever they can write,
//! and scenarios and run directories come from strangers: the rest of farfield opens no file by itself.
//!
//! - [`input`]: what is read. A regular file of bounded size, opened without waiting; a pipe only where a
//!   user types its name.
//! - [`private`]: what a run makes. New files that their owner alone may read, and never through a link.
//! - [`temporary`]: folders that nobody else can name in advance or look into.
//! - [`output`]: files that a user names. Each is replaced in one step, and a stranger's link is refused.
//! - [`system`]: the kernel's and the machine's own files, by names that farfield itself knows.
//!
//! `clippy.toml` refuses the standard library's ways to the same outside this crate.

#![expect(clippy::disallowed_methods, reason = "these are the doors, which others are sent to")]

pub mod input;
pub mod kind;
pub mod output;
pub mod private;
pub mod system;
pub mod temporary;

pub use input::{Budget, open_regular, open_stream, read, read_below, read_text, read_typed_text};
pub use kind::{FileKind, NotRegular};
pub use output::replace;
pub use private::{Folder, Lock, create_private};
pub use temporary::{TempDir, temporary_folder};
