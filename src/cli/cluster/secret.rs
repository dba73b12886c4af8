//! Where the secret of a cluster is.

use std::path::Path;

use super::ClusterError;
use crate::dataset::format::read_short;
use crate::engine::mesh::Secret;

/// The variable of the environment that holds the secret.
pub const VARIABLE: &str = "ISVD_CLUSTER_SECRET";

/// The most bytes of a secret: what is longer is another file.
const LONGEST: usize = 1 << 16;

/// The secret of the file, or else of the environment, if there is one.
pub(super) fn find(file: Option<&Path>, variable: Option<String>) -> Result<Option<Secret>, ClusterError> {
    let (place, text) = match (file, variable) {
        (Some(path), _) => {
            let unreadable = |source| ClusterError::Unreadable { path: path.to_owned(), source };
            if is_open(path).map_err(unreadable)? {
                return Err(ClusterError::OpenSecret { path: path.to_owned() });
            }
            (path.display().to_string(), read_short(path, LONGEST).map_err(unreadable)?)
        }
        (None, Some(text)) => (VARIABLE.to_owned(), text.into_bytes()),
        (None, None) => return Ok(None),
    };
    // An editor ends a file with a new line.
    Secret::new(text.trim_ascii()).map(Some).ok_or(ClusterError::EmptySecret { place })
}

/// Whether everybody on the machine can read or change a file.
#[cfg(unix)]
pub(super) fn is_open(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o007 != 0)
}

#[cfg(not(unix))]
pub(super) fn is_open(_: &Path) -> std::io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_comes_before_the_environment_and_nothing_is_no_secret() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let find_in = |text: &str, variable: Option<&str>| {
            fs::write(file.path(), text).unwrap();
            find(Some(file.path()), variable.map(str::to_owned))
        };
        assert_eq!(find_in("one\n", Some("two")).unwrap(), Secret::new("one"));
        assert!(matches!(find_in(" \n", Some("two")), Err(ClusterError::EmptySecret { .. })));
        assert_eq!(find(None, Some("two".to_owned())).unwrap(), Secret::new("two"));
        assert!(matches!(find(None, Some(String::new())), Err(ClusterError::EmptySecret { .. })));
        assert_eq!(find(None, None).unwrap(), None);
    }

    #[test]
    fn a_file_too_long_for_a_secret_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (length, is_read) in [(LONGEST, true), (LONGEST + 1, false)] {
            fs::write(file.path(), "s".repeat(length)).unwrap();
            assert_eq!(find(Some(file.path()), None).is_ok(), is_read, "{length} bytes");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_that_everybody_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "one").unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(find(Some(file.path()), None), Err(ClusterError::OpenSecret { .. })));
    }
}
