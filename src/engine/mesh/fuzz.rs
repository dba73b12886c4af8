//! Fuzzing targets for messages between processes.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use super::agreement::ClusterAgreement;
use super::control::Message;
use super::handshake::{answer, call};
use super::hello::{Hello, Hellos, PROOF_BYTES, PROTOCOL, Role, Secret};
use crate::engine::fuzz::{Draw, OVERHEAD, Target};

/// Bytes that each side sends in a handshake.
const TRANSCRIPT: usize = Hello::BYTES + PROOF_BYTES;

pub(in crate::engine) fn targets() -> [Target; 4] {
    [
        Target { name: "facts", example: example_facts, accepts: accepts_facts, overhead: OVERHEAD },
        Target { name: "messages", example: example_messages, accepts: accepts_messages, overhead: OVERHEAD },
        Target { name: "a caller", example: no_change, accepts: lets_a_caller_in, overhead: OVERHEAD },
        Target { name: "an answerer", example: no_change, accepts: trusts_an_answerer, overhead: OVERHEAD },
    ]
}

fn example_facts(draw: &mut Draw<'_>) -> Vec<u8> {
    let mut agreement = ClusterAgreement::default();
    agreement.memory = (draw(2) == 0).then(|| draw(1 << 40) as u64);
    (0..draw(6)).for_each(|number| agreement.add(format!("fact {number}"), draw(1000)));
    agreement.add_digest("a „text“", "so");
    let mut bytes = Vec::new();
    agreement.write(&mut bytes).expect("there is room");
    bytes
}

fn accepts_facts(bytes: &[u8]) -> bool {
    let Ok(agreement) = ClusterAgreement::read(&mut &*bytes) else { return false };
    let mut again = Vec::new();
    agreement.write(&mut again).expect("it is no longer than it was");
    assert_eq!(ClusterAgreement::read(&mut again.as_slice()).expect("it was written"), agreement);
    true
}

fn example_messages(draw: &mut Draw<'_>) -> Vec<u8> {
    let mut message = || match draw(3) {
        0 => Message::Heartbeat,
        1 => Message::Goodbye,
        _ => Message::Failure("„so“ ".repeat(draw(700))),
    };
    [message(), message()].iter().flat_map(Message::to_bytes).collect()
}

fn accepts_messages(bytes: &[u8]) -> bool {
    let mut unread = bytes.to_vec();
    loop {
        let length = unread.len();
        match Message::take(&mut unread) {
            Ok(None) => return unread.is_empty(),
            Err(_) => return false,
            Ok(Some(message)) => {
                let start = bytes.len() - length;
                assert_eq!(message.to_bytes(), bytes[start..bytes.len() - unread.len()]);
            }
        }
    }
}

/// The other side of a connection, in memory.
struct Opposite<F> {
    /// Its output that was not read yet.
    said: VecDeque<u8>,
    /// Its answer to what it reads.
    answers: F,
    heard: Vec<u8>,
}

impl<F: FnMut(&[u8]) -> Vec<u8>> Opposite<F> {
    fn new(said: Vec<u8>, answers: F) -> Self {
        Self { said: said.into(), answers, heard: Vec::new() }
    }
}

impl<F> Read for Opposite<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.said.read(buffer)
    }
}

impl<F: FnMut(&[u8]) -> Vec<u8>> Write for Opposite<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard.extend_from_slice(bytes);
        self.said.extend((self.answers)(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An empty mask. Bytes beyond a mask stay as they are.
fn no_change(draw: &mut Draw<'_>) -> Vec<u8> {
    vec![0; TRANSCRIPT + draw(9)]
}

/// `bytes` with a mask applied from `start` on.
fn masked(bytes: &[u8], mask: &[u8], start: usize) -> Vec<u8> {
    bytes.iter().zip(mask.iter().skip(start)).map(|(byte, mask)| byte ^ mask).collect()
}

fn secret() -> Secret {
    Secret::new("of the fuzzer").expect("it is not empty")
}

fn of_process(from: u32, to: u32) -> Hello {
    Hello { protocol: PROTOCOL, from, to, processes: 3, generation: 7, nonce: [7; 32] }
}

/// The caller knows the secret, and the mask changes its bytes. An odd last byte makes it prove the
/// changed bytes.
fn lets_a_caller_in(mask: &[u8]) -> bool {
    let should_say = of_process(2, 0);
    let said = masked(&should_say.to_bytes(), mask, 0);
    let did_say = <&[u8; Hello::BYTES]>::try_from(said.as_slice()).ok().and_then(Hello::from_bytes);
    assert!(did_say.is_none_or(|hello| hello.to_bytes() == *said));
    let is_insider = mask.len() > TRANSCRIPT && mask[mask.len() - 1] % 2 == 1;
    let proven = did_say.filter(|_| is_insider).unwrap_or(should_say);
    let mut caller = Opposite::new(said, |heard| {
        let answerer = heard.try_into().ok().and_then(Hello::from_bytes);
        let hellos = answerer.map(|answerer| Hellos { caller: proven, answerer });
        hellos.map_or(Vec::new(), |hellos| masked(&hellos.prove(&secret(), Role::Caller), mask, Hello::BYTES))
    });
    let answered = answer(&mut caller, 0, 3, &secret());
    let is_proven = mask.len() >= TRANSCRIPT && mask[Hello::BYTES..TRANSCRIPT].iter().all(|&byte| byte == 0);
    let is_right = is_proven && did_say == Some(proven);
    assert_eq!(caller.heard.len() > Hello::BYTES, is_right, "only who proves itself is given a proof");
    let fits = |hello: Hello| {
        [1, 2]
            .map(|from| Hello { from, nonce: hello.nonce, generation: hello.generation, ..should_say })
            .contains(&hello)
    };
    assert_eq!(answered.as_ref().ok().copied(), did_say.filter(|&hello| is_right && fits(hello)));
    answered.is_ok()
}

/// The same for the answering process.
fn trusts_an_answerer(mask: &[u8]) -> bool {
    let (caller, should_say) = (of_process(2, 0), of_process(0, 2));
    let mut parts = [
        masked(&should_say.to_bytes(), mask, 0),
        masked(&Hellos { caller, answerer: should_say }.prove(&secret(), Role::Answerer), mask, Hello::BYTES),
    ]
    .into_iter();
    let mut answerer = Opposite::new(Vec::new(), |_| parts.next().unwrap_or_default());
    let is_trusted = call(&mut answerer, caller, &secret()).is_ok();
    let is_right = mask.len() >= TRANSCRIPT && mask[..TRANSCRIPT].iter().all(|&byte| byte == 0);
    assert_eq!(is_trusted, is_right);
    is_trusted
}
