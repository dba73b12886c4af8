//! The stack machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Class, Node, Payload, Pickle, opcode};
use crate::dataset::budget::{Budget, Reservation, bytes_of};
use crate::dataset::format::FormatError;
use crate::dataset::format::error::excerpt;

const REMEDY: &str = "the file is cut off, damaged or no pickle: fetch it again, or save the data as .npy or .npz";

/// Reads instructions and does them; what they make stays in `nodes`.
pub(crate) struct Machine {
    pub path: PathBuf,
    pub sources: Vec<Vec<u8>>,
    pub nodes: Vec<Node>,
    /// Where the next instruction is.
    pub at: usize,
    /// Where the present instruction is.
    start: usize,
    stack: Vec<u32>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
    memo: HashMap<u64, u32>,
    /// Bytes of derived data, not contained in the file, that may still be made.
    budget: usize,
    memory: Budget,
    /// Memory of the sources, and of all else in steps.
    pub reserved: Vec<Reservation>,
    made: Reservation,
    /// Bytes of all else.
    bytes: u64,
}

impl Machine {
    /// A machine for a pickle whose memory is reserved.
    pub fn new(bytes: Vec<u8>, reserved: Reservation, path: &Path) -> Self {
        let budget = bytes.len().saturating_mul(4).saturating_add(4096);
        Self {
            path: path.to_owned(),
            sources: vec![bytes],
            nodes: vec![],
            at: 0,
            start: 0,
            stack: vec![],
            marks: vec![],
            memo: HashMap::new(),
            budget,
            memory: Budget::current(),
            reserved: vec![reserved],
            made: Reservation::default(),
            bytes: 0,
        }
    }

    pub fn finish(self, root: u32) -> Pickle {
        let mut reserved = self.reserved;
        reserved.push(self.made);
        Pickle { path: self.path, sources: self.sources, nodes: self.nodes, root, _reserved: reserved }
    }

    /// An error at the present instruction.
    pub fn wrong(&self, found: impl Into<String>, expected: &'static str) -> FormatError {
        FormatError::byte(&self.path, self.start as u64, found, expected, REMEDY)
    }

    /// Runs to the end of one pickle; others may follow it.
    pub fn run(&mut self) -> Result<u32, FormatError> {
        self.stack.clear();
        self.marks.clear();
        self.memo.clear();
        loop {
            self.start = self.at;
            let code = self.take(1)?[0];
            if code == opcode::STOP {
                return self.pop();
            }
            self.step(code)?;
        }
    }

    fn step(&mut self, code: u8) -> Result<(), FormatError> {
        match code {
            opcode::PROTO => match self.unsigned(1)? {
                2..=5 => {}
                other => return Err(self.wrong(format!("protocol {other}"), "a pickle of protocol 2 to 5")),
            },
            opcode::FRAME => {
                self.unsigned(8)?;
            }
            opcode::READONLY_BUFFER => {}
            opcode::MARK => {
                self.charge_memory(bytes_of::<usize>(1))?;
                self.marks.push(self.stack.len());
            }
            opcode::POP => {
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            opcode::POP_MARK => {
                self.pop_mark()?;
            }
            opcode::DUP => {
                let top = self.top()?;
                self.push_known(top)?;
            }
            opcode::NONE => self.push(Node::None)?,
            opcode::NEWTRUE => self.push(Node::Bool(true))?,
            opcode::NEWFALSE => self.push(Node::Bool(false))?,
            opcode::BININT1 => self.push_unsigned(1)?,
            opcode::BININT2 => self.push_unsigned(2)?,
            opcode::BININT => {
                let number = self.unsigned(4)? as u32 as i32;
                self.push(Node::Int(i64::from(number)))?;
            }
            opcode::LONG1 => self.push_long(1)?,
            opcode::LONG4 => self.push_long(4)?,
            opcode::BINFLOAT => {
                let bits = self.take(8)?.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
                self.push(Node::Float(f64::from_bits(bits)))?;
            }
            opcode::SHORT_BINSTRING | opcode::SHORT_BINBYTES | opcode::SHORT_BINUNICODE => self.push_text(1)?,
            opcode::BINSTRING | opcode::BINBYTES | opcode::BINUNICODE => self.push_text(4)?,
            opcode::BINUNICODE8 | opcode::BINBYTES8 | opcode::BYTEARRAY8 => self.push_text(8)?,
            opcode::EMPTY_LIST | opcode::EMPTY_TUPLE | opcode::EMPTY_SET => self.push(Node::List(vec![]))?,
            opcode::EMPTY_DICT => self.push(Node::Dict(vec![]))?,
            opcode::LIST | opcode::TUPLE | opcode::FROZENSET => {
                let items = self.pop_mark()?;
                self.push(Node::List(items))?;
            }
            opcode::TUPLE1 | opcode::TUPLE2 | opcode::TUPLE3 => {
                let count = usize::from(code - opcode::TUPLE1) + 1;
                let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
                items.reverse();
                self.push(Node::List(items))?;
            }
            opcode::DICT => {
                let items = self.pop_mark()?;
                self.push(Node::Dict(vec![]))?;
                self.set_items(&items)?;
            }
            opcode::APPEND => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            opcode::APPENDS | opcode::ADDITEMS => {
                let items = self.pop_mark()?;
                self.append(&items)?;
            }
            opcode::SETITEM => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set_items(&[key, value])?;
            }
            opcode::SETITEMS => {
                let items = self.pop_mark()?;
                self.set_items(&items)?;
            }
            opcode::BINPUT | opcode::LONG_BINPUT => {
                let key = self.unsigned(if code == opcode::BINPUT { 1 } else { 4 })?;
                self.remember(key)?;
            }
            opcode::MEMOIZE => self.remember(self.memo.len() as u64)?,
            opcode::BINGET | opcode::LONG_BINGET => {
                let key = self.unsigned(if code == opcode::BINGET { 1 } else { 4 })?;
                self.recall(key)?;
            }
            opcode::GLOBAL => {
                let module = String::from_utf8_lossy(self.line()?).into_owned();
                let name = String::from_utf8_lossy(self.line()?).into_owned();
                self.push_class(&module, &name)?;
            }
            opcode::STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |node| self.text(node).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                let (Some(module), Some(name)) = (text(module), text(name)) else {
                    return Err(self.wrong("no text", "the name of a class"));
                };
                self.push_class(&module, &name)?;
            }
            opcode::REDUCE | opcode::NEWOBJ => {
                let (arguments, callable) = (self.pop()?, self.pop()?);
                let made = self.make(callable, arguments)?;
                self.push_known(made)?;
            }
            opcode::NEWOBJ_EX => {
                let (_, arguments, callable) = (self.pop()?, self.pop()?, self.pop()?);
                let made = self.make(callable, arguments)?;
                self.push_known(made)?;
            }
            opcode::BUILD => {
                let state = self.pop()?;
                let object = self.top()?;
                self.fill(object, state)?;
            }
            opcode::BINPERSID => {
                let key = self.pop()?;
                let storage = self.storage(key)?;
                self.push(storage)?;
            }
            other => {
                let found = format!("the instruction {}", excerpt(&[other]));
                return Err(self.wrong(found, "an instruction of protocol 2 to 5 that holds data"));
            }
        }
        Ok(())
    }

    fn push_class(&mut self, module: &str, name: &str) -> Result<(), FormatError> {
        let Some(class) = Class::of(module, name) else {
            let class = excerpt(format!("{module}.{name}").as_bytes()).trim_matches('`').to_owned();
            return Err(FormatError::UnknownClass { path: self.path.clone(), offset: self.start as u64, class });
        };
        self.push(Node::Class(class))
    }

    /// The next bytes of the file.
    pub fn take(&mut self, count: usize) -> Result<&[u8], FormatError> {
        let left = self.sources[0].len() - self.at;
        if count > left {
            let found = format!("the end of the file, {left} bytes on");
            let expected = format!("{count} bytes");
            return Err(FormatError::byte(&self.path, self.at as u64, found, expected, REMEDY));
        }
        self.at += count;
        Ok(&self.sources[0][self.at - count..self.at])
    }

    /// A little-endian number of some bytes.
    pub fn unsigned(&mut self, bytes: usize) -> Result<u64, FormatError> {
        Ok(self.take(bytes)?.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    fn line(&mut self) -> Result<&[u8], FormatError> {
        let rest = &self.sources[0][self.at..];
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return Err(self.wrong("the end of the file", "the end of a line"));
        };
        self.at += end + 1;
        let line = &self.sources[0][self.at - end - 1..self.at - 1];
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn push_unsigned(&mut self, bytes: usize) -> Result<(), FormatError> {
        let number = self.unsigned(bytes)? as i64;
        self.push(Node::Int(number))
    }

    fn push_long(&mut self, width: usize) -> Result<(), FormatError> {
        let count = self.unsigned(width)? as usize;
        if count > 8 {
            return Err(self.wrong(format!("a number of {count} bytes"), "a whole number of 64 bits"));
        }
        let number = self.unsigned(count)?;
        let unused = 64 - 8 * count as u32;
        let number = if count == 0 { 0 } else { (number << unused) as i64 >> unused };
        self.push(Node::Int(number))
    }

    fn push_text(&mut self, width: usize) -> Result<(), FormatError> {
        let len = usize::try_from(self.unsigned(width)?).unwrap_or(usize::MAX);
        let start = self.at;
        self.take(len)?;
        self.push(Node::Text(Payload { source: 0, start, len }))
    }

    /// Adds text that was decoded.
    pub fn add_text(&mut self, text: Vec<u8>) -> Result<Node, FormatError> {
        self.charge_copy(text.len())?;
        self.charge_memory(text.len() as u64)?;
        let payload = Payload { source: self.sources.len() as u32, start: 0, len: text.len() };
        self.sources.push(text);
        Ok(Node::Text(payload))
    }

    /// Counts bytes of derived data, so that a small file cannot make a large result.
    pub fn charge_copy(&mut self, bytes: usize) -> Result<(), FormatError> {
        match self.budget.checked_sub(bytes.saturating_add(64)) {
            Some(left) => self.budget = left,
            None => return Err(self.wrong("data repeated beyond measure", "data of about the size of the file")),
        }
        Ok(())
    }

    /// Allows derived data of another file of the same archive.
    pub fn allow_copies_of(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_add(bytes.saturating_mul(4));
    }

    /// Reserves memory for values and the stack, which take more bytes than their instructions.
    pub fn charge_memory(&mut self, bytes: u64) -> Result<(), FormatError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.made.bytes() {
            return Ok(());
        }
        let more = self.memory.resize(&mut self.made, self.bytes + self.bytes / 8);
        more.map_err(|over| over.reading(&self.path))
    }

    pub fn add(&mut self, node: Node) -> Result<u32, FormatError> {
        self.charge_memory(node.bytes())?;
        let number = u32::try_from(self.nodes.len()).map_err(|_| self.wrong("too many values", "fewer than 2³²"))?;
        self.nodes.push(node);
        Ok(number)
    }

    fn push(&mut self, node: Node) -> Result<(), FormatError> {
        let number = self.add(node)?;
        self.push_known(number)
    }

    fn push_known(&mut self, number: u32) -> Result<(), FormatError> {
        if self.stack.len() == self.stack.capacity() {
            self.charge_memory(bytes_of::<u32>(self.stack.len()))?;
        }
        self.stack.push(number);
        Ok(())
    }

    fn top(&self) -> Result<u32, FormatError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let top = self.stack.get(floor..).and_then(<[u32]>::last).copied();
        top.ok_or_else(|| self.wrong("an instruction that lacks its values", "values before it"))
    }

    fn pop(&mut self) -> Result<u32, FormatError> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_mark(&mut self) -> Result<Vec<u32>, FormatError> {
        let mark = self.marks.pop().filter(|&mark| mark <= self.stack.len());
        let mark = mark.ok_or_else(|| self.wrong("an instruction that lacks its mark", "a mark before it"))?;
        Ok(self.stack.split_off(mark))
    }

    fn append(&mut self, items: &[u32]) -> Result<(), FormatError> {
        let top = self.top()?;
        self.charge_memory(bytes_of::<[u32; 2]>(items.len()))?;
        match &mut self.nodes[top as usize] {
            Node::List(list) => list.extend_from_slice(items),
            _ => return Err(self.wrong("items for what is no list", "a list")),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[u32]) -> Result<(), FormatError> {
        let top = self.top()?;
        self.charge_memory(bytes_of::<[u32; 2]>(items.len()))?;
        match &mut self.nodes[top as usize] {
            Node::Dict(entries) if items.len().is_multiple_of(2) => {
                entries.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            _ => return Err(self.wrong("entries for what is no dict", "a dict")),
        }
        Ok(())
    }

    fn remember(&mut self, key: u64) -> Result<(), FormatError> {
        let top = self.top()?;
        // An entry of a table that is half full.
        self.charge_memory(bytes_of::<[(u64, u32); 2]>(1))?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall(&mut self, key: u64) -> Result<(), FormatError> {
        let node = self.memo.get(&key).copied();
        let node = node.ok_or_else(|| self.wrong(format!("the unknown value {key}"), "a value from before"))?;
        self.push_known(node)
    }

    /// The bytes of a text.
    pub fn text(&self, node: u32) -> Option<&[u8]> {
        match self.nodes[node as usize] {
            Node::Text(Payload { source, start, len }) => Some(&self.sources[source as usize][start..][..len]),
            _ => None,
        }
    }
}
