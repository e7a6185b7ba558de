//! What a server model knows of the objects that it is asked for, by their paths.

use farfield_base::Duration;
use std::collections::BTreeMap;

/// What is known of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Bytes of its body.
    pub size: u64,
    /// How long a worker takes for it, beside what any request takes.
    pub cost: Duration,
}

/// Objects by their paths. Whatever they are, `/bytes/N` is an object of N bytes, as it is at the built-in server.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    by_path: BTreeMap<Box<str>, Known>,
}

impl FromIterator<(Box<str>, Known)> for Objects {
    fn from_iter<T: IntoIterator<Item = (Box<str>, Known)>>(objects: T) -> Objects {
        Objects { by_path: objects.into_iter().collect() }
    }
}

impl Objects {
    /// What is known of the object at `path`; what stands behind a `?` matters only where an object is named so.
    pub fn of(&self, path: &str) -> Option<Known> {
        let bare = path.split_once('?').map_or(path, |(bare, _)| bare);
        let named = || self.by_path.get(path).or_else(|| self.by_path.get(bare)).copied();
        let bytes = || {
            let size = bare.strip_prefix("/bytes/")?.parse().ok()?;
            Some(Known { size, cost: Duration::ZERO })
        };
        named().or_else(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_by_its_path_and_bytes_by_their_number() {
        let known = |size| Known { size, cost: Duration::from_ms(size) };
        let objects: Objects = [("/a", 1), ("/a?b=c", 2), ("/bytes/9", 3)]
            .map(|(path, size)| (path.into(), known(size)))
            .into_iter()
            .collect();
        let size = |path| objects.of(path).map(|known| known.size);
        assert_eq!(
            ["/a", "/a?x", "/a?b=c", "/b", "/bytes/9"].map(size),
            [Some(1), Some(1), Some(2), None, Some(3)]
        );
        assert_eq!(["/bytes/77?/a", "/bytes/", "/bytes/x"].map(size), [Some(77), None, None]);
        assert_eq!(objects.of("/a?b=c"), Some(known(2)));
    }
}
