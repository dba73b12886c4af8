use std::fmt;
use std::str::FromStr;

use ureq::http::Uri;

/// An address that has the files of the catalog under the same names as their source:
/// `ppi/train.txt.npy`, `ind.cora.x`, `ddi.zip`.
///
/// ```
/// use isvd_dist::dataset::fetch::Mirror;
/// let mirror: Mirror = "http://mirror.example/data".parse()?;
/// assert_eq!(mirror.as_str(), "http://mirror.example/data/");
/// assert!("mirror.example".parse::<Mirror>().is_err());
/// # Ok::<(), isvd_dist::dataset::fetch::MirrorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror(String);

/// Text that is no address of a mirror.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an address such as https://mirror.example/data/")]
pub struct MirrorError {
    /// The text as it was given.
    pub text: String,
}

impl Mirror {
    /// The address; it ends in a slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Mirror {
    type Err = MirrorError;

    fn from_str(text: &str) -> Result<Self, MirrorError> {
        let refused = || MirrorError { text: text.to_owned() };
        let uri: Uri = text.parse().map_err(|_| refused())?;
        let known =
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty());
        if !known || uri.query().is_some() || text.contains('#') {
            return Err(refused());
        }
        Ok(Self(format!("{}/", text.trim_end_matches('/'))))
    }
}

impl fmt::Display for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
