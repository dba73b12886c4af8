//! The operations of a job: products, reductions, collectives.
//!
//! All workers must call the methods that reduce or multiply in the same order. Sums are the same
//! on every worker; of panels each worker has its own rows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use timely::dataflow::ProbeHandle;
use timely::worker::Worker;

use super::cluster::Cluster;
use super::error::EngineError;
use super::flow::{Flow, Slot, broadcast_flow, gather_flow, reduce_flow};
use super::message::{GatheredPanel, Message, Partial, Payload};
use super::row_exchange::{RowExchange, RowRequests};
use super::schedule::{ColumnSchedule, Schedule, columns_flow, program_flow, run_columns};
use super::shard::Shard;
use super::step::Context;
use super::stop::{StopSign, catch};
use super::trace;
use super::tree::{Combine, Tree};
use crate::kernel::buffer::advise_huge_pages;
use crate::kernel::{self, columns, gemm, gram, random};
use crate::matrix::Dense;
use crate::plan::count::panel_bytes;
use crate::plan::{Layouts, Program, Value};

/// Sleep between two checks for a stop request.
const PARK_TIMEOUT: Duration = Duration::from_millis(20);

/// Time a worker polls before it sleeps, where every worker has a core to itself: to wake up takes
/// about as long, and a small step less.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// A worker's handle on a run.
pub struct Session<'a> {
    worker: &'a mut Worker,
    context: Rc<Context>,
    programs: Vec<Planned>,
    /// Dataflows that multiply by columns, by the programs that they run in turn.
    by_columns: BTreeMap<Vec<usize>, Flow>,
    reduce: Flow,
    gather: Flow,
    /// Built when it is first used.
    broadcast: Option<Flow>,
    gram_scratch: gram::Scratch,
    stop: Arc<StopSign>,
    was_stopped: bool,
    /// Whether every worker of the process has a core to itself.
    has_own_core: bool,
    /// Workers of the process.
    workers: usize,
    /// Memory limit of the process; none with several processes, whose limits may differ.
    memory: Option<u64>,
    /// Epochs that this worker has entered, over all dataflows.
    epochs: u64,
    /// The agreement on the last epoch, until somebody waits for it.
    unconfirmed: Option<Awaited>,
}

/// Copies of a panel may take one part in this many of the memory.
const COPIES: u64 = 8;
/// Columns of a panel that are collected at a time otherwise.
const NARROW_COLUMNS: usize = 16;

/// A program, and its dataflow once it was used.
struct Planned {
    program: Arc<Program>,
    /// Values of which other processes get needed rows only.
    needs: BTreeMap<Value, Rc<RowExchange>>,
    by_rows: Option<Flow>,
    /// To multiply by columns, where columns do not mix.
    by_columns: Option<Rc<ColumnSchedule>>,
}

/// An output that a dataflow will deliver.
struct Awaited {
    slot: Slot,
    epoch: u64,
    probe: ProbeHandle<u64>,
}

impl<'a> Session<'a> {
    pub(super) fn new(worker: &'a mut Worker, layouts: Layouts, cluster: Cluster, stop: Arc<StopSign>) -> Self {
        let context = Rc::new(Context {
            worker: worker.index(),
            is_first: worker.index().is_multiple_of(cluster.workers),
            transfer: cluster.transfer(),
            layouts,
            pool: Rc::default(),
            operands: Rc::default(),
            permuted: None,
            dense_scratch: RefCell::default(),
            joined: RefCell::default(),
            seconds: RefCell::default(),
        });
        let reduce = reduce_flow(worker);
        let gather = gather_flow(worker, &context);
        let gram_scratch = gram::Scratch::default();
        Self {
            worker,
            context,
            programs: Vec::new(),
            by_columns: BTreeMap::new(),
            reduce,
            gather,
            broadcast: None,
            gram_scratch,
            stop,
            was_stopped: false,
            has_own_core: cluster.workers <= kernel::cores(),
            workers: cluster.workers,
            memory: cluster.memory.filter(|_| cluster.mesh.is_none()),
            epochs: 0,
            unconfirmed: None,
        }
    }

    /// Prepares the programs, once all processes have exchanged their needs.
    pub(super) fn start(&mut self, programs: &[Arc<Program>], wanted: &RowRequests) -> Result<(), EngineError> {
        let mut needs = self.plan_row_exchanges(wanted)?.into_iter();
        for program in programs {
            self.context.seconds.borrow_mut().push(vec![0.0; program.steps().len()]);
            let is_near = !self.context.transfer.in_chunks;
            let by_columns = if is_near { ColumnSchedule::new(program, &self.context) } else { None };
            self.programs.push(Planned {
                program: program.clone(),
                needs: needs.next().unwrap_or_default(),
                by_rows: None,
                by_columns: by_columns.map(Rc::new),
            });
        }
        Ok(())
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// This worker's number.
    pub fn worker(&self) -> usize {
        self.context.worker
    }

    /// The number of workers of all processes.
    pub fn workers(&self) -> usize {
        self.worker.peers()
    }

    /// Multiplies a panel by the matrix of a program, given by position.
    ///
    /// # Panics
    /// If there is no such program, or the panel has another number of rows than it takes.
    pub fn multiply(&mut self, program: usize, x: &Shard) -> Result<Shard, EngineError> {
        self.multiply_in_turn(&[program], x)
    }

    /// Multiplies a panel by the matrices of some programs, one after the other.
    ///
    /// # Panics
    /// If there is no such program, or one takes another number of rows than there are.
    pub fn multiply_in_turn(&mut self, programs: &[usize], x: &Shard) -> Result<Shard, EngineError> {
        let mut rows = x.total_rows();
        for &program in programs {
            let program = &self.programs[program].program;
            assert_eq!(rows, program.input_rows(), "the panel must fit the program");
            rows = program.output_rows();
        }
        if x.cols() == 0 {
            return self.context.shard(rows, 0, |_, _| Ok(()));
        }
        let schedules = programs.iter().map(|&program| self.programs[program].by_columns.as_ref());
        match Schedule::choose(schedules, x.cols(), self.worker.peers()) {
            Schedule::ByColumns(schedules) => self.multiply_by_columns(programs, schedules, x.clone()),
            Schedule::ByRows => programs.iter().try_fold(x.clone(), |x, &program| self.multiply_by_rows(program, x)),
        }
    }

    /// A product by columns. A worker alone has them all, and needs no dataflow.
    fn multiply_by_columns(
        &mut self,
        programs: &[usize],
        schedules: Vec<Rc<ColumnSchedule>>,
        x: Shard,
    ) -> Result<Shard, EngineError> {
        if self.workers() == 1 {
            trace::enter("before a product");
            let product = || trace::computing("a product", || run_columns(&schedules, x));
            let made = catch(self.worker(), "a product", product);
            trace::leave();
            return made?;
        }
        if !self.by_columns.contains_key(programs) {
            let flow = columns_flow(self.worker, programs, schedules, &self.context);
            self.by_columns.insert(programs.to_vec(), flow);
        }
        self.product(x, |session| session.by_columns.get_mut(programs))
    }

    /// Seconds that each step of a program took on this worker in its last run by rows, without
    /// waiting.
    pub fn step_seconds(&self, program: usize) -> Vec<f64> {
        self.context.seconds.borrow()[program].clone()
    }

    /// A product by rows: one epoch of a program.
    pub(super) fn multiply_by_rows(&mut self, program: usize, x: Shard) -> Result<Shard, EngineError> {
        let planned = &mut self.programs[program];
        if planned.by_rows.is_none() {
            let needs = std::mem::take(&mut planned.needs);
            planned.by_rows = Some(program_flow(self.worker, program, &planned.program, needs, &self.context));
        }
        self.product(x, |session| session.programs[program].by_rows.as_mut())
    }

    /// One epoch of a dataflow that multiplies.
    fn product(&mut self, x: Shard, flow: impl Fn(&mut Self) -> Option<&mut Flow>) -> Result<Shard, EngineError> {
        match self.run_epoch("before a product", flow, Payload::Shard(x))? {
            Payload::Shard(shard) => Ok(shard),
            _ => Err(self.missing_answer("a product")),
        }
    }

    /// A panel of independent normal numbers, from a counter-based generator: the same for any
    /// number of workers.
    pub fn random_normal(&mut self, rows: usize, cols: usize, seed: u64, stream: u32) -> Result<Shard, EngineError> {
        self.context.shard_by_tiles(rows, cols, |rows, out| {
            random::fill_normal(seed, stream, rows.start as u64, out);
            Ok(())
        })
    }

    /// `xᵀ·x`, row after row.
    pub fn gram(&mut self, x: &Shard) -> Result<Vec<f64>, EngineError> {
        let scratch = &mut self.gram_scratch;
        let partial =
            self.context.partial(x.total_rows(), Combine::Sum, x.cols() * x.cols(), x.cols(), |rows, sums| {
                gram::gram(x.panel_of(rows), sums, scratch);
            });
        self.reduce(partial, "a Gram matrix")
    }

    /// The entry of largest magnitude of every column, with its sign; of equal ones, the first.
    pub fn column_peaks(&mut self, x: &Shard) -> Result<Vec<f64>, EngineError> {
        let partial = self.context.partial(x.total_rows(), Combine::Peak, x.cols(), x.cols(), |rows, peaks| {
            columns::column_peaks(x.panel_of(rows), peaks);
        });
        self.reduce(partial, "column peaks")
    }

    /// The squared norm of every column of `x − y·diag(scale)`.
    ///
    /// # Panics
    /// If the panels differ in shape.
    pub fn distance_squares(&mut self, x: &Shard, y: &Shard, scale: &[f64]) -> Result<Vec<f64>, EngineError> {
        assert_eq!((x.total_rows(), x.cols()), (y.total_rows(), y.cols()), "both panels must have the same shape");
        let partial = self.context.partial(x.total_rows(), Combine::Sum, x.cols(), x.cols(), |rows, sums| {
            columns::distance_squares(x.panel_of(rows.clone()), y.panel_of(rows), scale, sums);
        });
        self.reduce(partial, "residuals")
    }

    /// The sum over `count` pieces of work, which workers share: `of_piece` fills in the summand of
    /// one.
    pub fn sum_over(
        &mut self,
        count: usize,
        length: usize,
        of_piece: impl FnMut(usize, &mut [f64]),
    ) -> Result<Vec<f64>, EngineError> {
        let (worker, workers) = (self.worker(), self.workers());
        let own = worker * count / workers..(worker + 1) * count / workers;
        let tree = Tree::of_tiles(count, own, Combine::Sum, length, of_piece);
        let partial = Partial { combine: Combine::Sum, tiles: count, length, cols: length, nodes: tree.into_nodes() };
        self.reduce(partial, "a sum")
    }

    /// The shard of a panel of which every worker has all rows. Columns beyond those of `dense` are
    /// random.
    pub fn panel_from(&mut self, dense: &Dense, cols: usize, seed: u64, stream: u32) -> Result<Shard, EngineError> {
        let given = dense.columns().min(cols);
        self.context.shard_by_tiles(dense.rows(), cols, |rows, mut out| {
            if given < cols {
                random::fill_normal(seed, stream, rows.start as u64, out.reborrow());
            }
            let stride = out.stride();
            for (entries, row) in out.data_mut().chunks_exact_mut(stride.max(1)).zip(rows) {
                entries[..given].copy_from_slice(&dense.row(row)[..given]);
                entries[cols..].fill(0.0);
            }
            Ok(())
        })
    }

    /// `x·small`, where `small` has `cols` columns, row after row. Every worker does its own rows.
    pub fn times_small(&mut self, x: &Shard, small: &[f32], cols: usize) -> Result<Shard, EngineError> {
        let scratch = &mut *self.context.dense_scratch.borrow_mut();
        self.context.shard_by_tiles(x.total_rows(), cols, |rows, out| {
            gemm::multiply_small(x.panel_of(rows), small, out, scratch);
            Ok(())
        })
    }

    /// The whole panel on the first worker of each process; `None` on the others.
    pub fn collect(&mut self, x: &Shard) -> Result<Option<Dense>, EngineError> {
        let (rows, columns) = (x.total_rows(), x.cols());
        let at_a_time = self.columns_at_a_time(rows, columns);
        // Free idle buffers first: they would add to the peak.
        self.context.pool.borrow_mut().free_idle();
        let length = if self.context.is_first { rows * columns } else { 0 };
        let mut data = Vec::with_capacity(length);
        advise_huge_pages(&data);
        if at_a_time >= columns {
            let whole = self.gathered(x)?;
            if self.context.is_first {
                whole.rows_in_order().for_each(|row| data.extend_from_slice(row));
            }
        } else {
            data.resize(length, 0.0);
            for first in (0..columns).step_by(at_a_time) {
                let part = first..columns.min(first + at_a_time);
                let narrow = self.columns(x, part.clone())?;
                let whole = self.gathered(&narrow)?;
                let to = data.chunks_exact_mut(columns);
                whole.rows_in_order().zip(to).for_each(|(row, to)| to[part.clone()].copy_from_slice(row));
            }
        }
        if !self.context.is_first {
            return Ok(None);
        }
        let dense = Dense::new(rows, columns, data);
        dense.map(Some).map_err(|_| self.missing_answer("a panel"))
    }

    /// Columns of a panel that every worker may gather at a time: all, unless the copies of all
    /// workers took a good part of the memory limit. Results do not depend on it.
    pub fn columns_at_a_time(&self, rows: usize, columns: usize) -> usize {
        let copies = self.workers as u64 * panel_bytes(rows, columns);
        let is_tight = self.workers > 1 && self.memory.is_some_and(|memory| copies > memory / COPIES);
        if is_tight { columns.min(NARROW_COLUMNS) } else { columns }
    }

    /// The whole panel, in blocks, on every worker.
    pub(super) fn gathered(&mut self, x: &Shard) -> Result<Arc<GatheredPanel>, EngineError> {
        match self.run_epoch(
            "before a panel is collected",
            |session| Some(&mut session.gather),
            Payload::Shard(x.clone()),
        )? {
            Payload::Gathered(whole) => Ok(whole),
            _ => Err(self.missing_answer("a panel")),
        }
    }

    /// Broadcasts the bytes of the one worker that gives some.
    pub(super) fn broadcast(&mut self, own: Payload) -> Result<Arc<[u8]>, EngineError> {
        if self.broadcast.is_none() {
            self.broadcast = Some(broadcast_flow(self.worker));
        }
        match self.run_epoch("before a broadcast", |session| session.broadcast.as_mut(), own)? {
            Payload::Bytes(bytes) => Ok(bytes),
            _ => Err(self.missing_answer("a broadcast")),
        }
    }

    /// Ends this worker because the leader failed.
    pub(super) fn stopped_by_leader(&mut self, message: String) -> EngineError {
        self.was_stopped = true;
        EngineError::Stopped { worker: 0, message }
    }

    /// How many epochs this worker has entered.
    pub(super) fn epochs(&self) -> u64 {
        self.epochs
    }

    /// True when another worker asked this one to stop.
    pub(super) fn was_stopped(&self) -> bool {
        self.was_stopped
    }

    pub(super) fn reduce(&mut self, partial: Partial, what: &str) -> Result<Vec<f64>, EngineError> {
        let payload = self.run_epoch(what, |session| Some(&mut session.reduce), Payload::Partial(Arc::new(partial)))?;
        let Payload::Reduced(reduced) = payload else { return Err(self.missing_answer(what)) };
        // All workers have the same sums, and see the same overflow.
        if !reduced.values.iter().all(|value| value.is_finite()) {
            return Err(EngineError::NotFinite { step: what.into() });
        }
        Ok(Arc::try_unwrap(reduced).map_or_else(|shared| shared.values.clone(), |reduced| reduced.values))
    }

    /// Runs one epoch of a dataflow: sends this worker's input, and steps until its answer is
    /// there.
    ///
    /// The agreement of all workers is awaited one epoch later, so that a worker that is done goes
    /// on: imbalances of two epochs may cancel.
    fn run_epoch(
        &mut self,
        what: &str,
        pick: impl Fn(&mut Self) -> Option<&mut Flow>,
        input: Payload,
    ) -> Result<Payload, EngineError> {
        trace::enter(what);
        let answer = self.answer_of_epoch(pick, input);
        trace::leave();
        answer
    }

    fn answer_of_epoch(
        &mut self,
        pick: impl Fn(&mut Self) -> Option<&mut Flow>,
        input: Payload,
    ) -> Result<Payload, EngineError> {
        self.epochs += 1;
        let flow = pick(self).expect("the dataflow was built");
        let epoch = *flow.input.time();
        flow.input.send_batch(&mut Message::local(input));
        flow.input.advance_to(epoch + 1);
        let answers = Awaited { slot: flow.answers.clone(), epoch, probe: flow.probe.clone() };
        let agreement = Awaited { slot: flow.agreements.clone(), epoch, probe: flow.probe.clone() };
        if let Some(before) = self.unconfirmed.take() {
            self.wait_for(&before)?;
        }
        match self.wait_for(&answers) {
            // All workers return the error that all agree on.
            Err(error) => self.wait_for(&agreement).and(Err(error)),
            Ok(answer) => {
                self.unconfirmed = Some(agreement);
                Ok(answer)
            }
        }
    }

    /// Steps until an output is there; a failure is returned as an error.
    fn wait_for(&mut self, awaited: &Awaited) -> Result<Payload, EngineError> {
        let mut idle_since = None;
        loop {
            match awaited.slot.borrow_mut().remove(&awaited.epoch) {
                Some(Payload::Failure(error)) => return Err((*error).clone()),
                Some(payload) => return Ok(payload),
                None => {}
            }
            if let Some(reason) = self.stop.reason_to_stop(self.epochs) {
                self.was_stopped = true;
                return Err(reason);
            }
            if !awaited.probe.less_equal(&awaited.epoch) {
                return Err(self.missing_answer("an answer"));
            }
            let idle = idle_since.get_or_insert_with(Instant::now).elapsed();
            let is_awake = self.has_own_core && idle < SPIN_TIME;
            if is_awake {
                spin_loop();
            }
            let before = trace::computed();
            self.worker.step_or_park(Some(if is_awake { Duration::ZERO } else { PARK_TIMEOUT }));
            if trace::computed() != before {
                idle_since = None;
            }
        }
    }

    pub(super) fn missing_answer(&self, what: &str) -> EngineError {
        EngineError::BlocksMissing { step: what.into(), worker: self.worker(), received: 0, expected: 1 }
    }
}
