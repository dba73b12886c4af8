//! The first message of a connection, and the proof that both sides know the secret.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The first bytes of every connection.
const MAGIC: [u8; 8] = *b"isvdmesh";
/// Protocol version. It changes with anything that follows the hello.
pub(super) const PROTOCOL: u32 = 1;

/// The shared secret of a cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A secret; `None` if it is empty.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        Some(bytes.into()).filter(|bytes| !bytes.is_empty()).map(Self)
    }

    /// A public secret, for processes that only programs of the same machine can reach.
    pub const fn known_to_all() -> Self {
        Self(Vec::new())
    }

    /// Random bytes of the system, in hexadecimal digits.
    pub fn random() -> Result<String, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

/// The first message of each side. Both proofs cover all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    /// The sender.
    pub(super) from: u32,
    /// The receiver.
    pub(super) to: u32,
    /// The number of processes.
    pub(super) processes: u32,
    /// The number of the connection between the two: 0 is for control, each other for one run.
    pub(super) generation: u64,
    /// A nonce, so that a proof cannot be replayed.
    pub(super) nonce: [u8; 32],
}

impl Hello {
    pub(super) const BYTES: usize = 64;

    /// A hello with a nonce of its own.
    pub(super) fn fresh(from: usize, to: usize, processes: usize, generation: u64) -> Result<Self, getrandom::Error> {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce)?;
        let [from, to, processes] = [from, to, processes].map(|number| number as u32);
        Ok(Self { protocol: PROTOCOL, from, to, processes, generation, nonce })
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        let words = [self.protocol, self.from, self.to, self.processes];
        bytes[8..24].copy_from_slice(bytemuck::bytes_of(&words.map(u32::to_le)));
        bytes[24..32].copy_from_slice(&self.generation.to_le_bytes());
        bytes[32..].copy_from_slice(&self.nonce);
        bytes
    }

    /// `None` if the bytes are not a hello.
    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let word = |place: usize| rest[4 * place..].first_chunk().map(|word| u32::from_le_bytes(*word));
        let generation = u64::from_le_bytes(*rest[16..].first_chunk()?);
        let nonce = *rest[24..].first_chunk()?;
        Some(Self { protocol: word(0)?, from: word(1)?, to: word(2)?, processes: word(3)?, generation, nonce })
    }
}

/// The side that gives a proof. Proofs of both sides differ, so that they cannot be reflected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Caller,
    Answerer,
}

impl Role {
    fn name(self) -> &'static [u8; 8] {
        match self {
            Self::Caller => b"caller  ",
            Self::Answerer => b"answerer",
        }
    }
}

pub(super) const PROOF_BYTES: usize = 32;

/// The two hellos of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hellos {
    pub(super) caller: Hello,
    pub(super) answerer: Hello,
}

impl Hellos {
    fn mac(&self, secret: &Secret, role: Role) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes keys of any length");
        mac.update(role.name());
        mac.update(&self.caller.to_bytes());
        mac.update(&self.answerer.to_bytes());
        mac
    }

    pub(super) fn prove(&self, secret: &Secret, role: Role) -> [u8; PROOF_BYTES] {
        self.mac(secret, role).finalize().into_bytes().into()
    }

    /// Verifies a proof in constant time.
    pub(super) fn is_proven(&self, secret: &Secret, role: Role, proof: &[u8; PROOF_BYTES]) -> bool {
        self.mac(secret, role).verify_slice(proof).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hellos() -> Hellos {
        Hellos { caller: Hello::fresh(2, 0, 3, 7).unwrap(), answerer: Hello::fresh(0, 2, 3, 7).unwrap() }
    }

    #[test]
    fn a_proof_holds_for_its_secret_its_role_and_its_hellos_only() {
        let (hellos, secret) = (hellos(), Secret::new("s").unwrap());
        let proof = hellos.prove(&secret, Role::Caller);
        assert!(hellos.is_proven(&secret, Role::Caller, &proof));
        assert!(!hellos.is_proven(&Secret::new("t").unwrap(), Role::Caller, &proof), "another secret");
        assert!(!hellos.is_proven(&secret, Role::Answerer, &proof), "reflected");
        let later = Hellos { answerer: Hello::fresh(0, 2, 3, 7).unwrap(), ..hellos };
        assert!(!later.is_proven(&secret, Role::Caller, &proof), "replayed");
        let other = Hellos { caller: Hello { generation: 8, ..hellos.caller }, ..hellos };
        assert!(!other.is_proven(&secret, Role::Caller, &proof), "for another run");
    }

    #[test]
    fn a_secret_has_something_in_it_and_is_not_shown() {
        assert_eq!(Secret::new(""), None);
        assert!(!format!("{:?}", Secret::new("hidden")).contains("hidden"));
        assert_ne!(Secret::random().unwrap(), Secret::random().unwrap());
    }
}
