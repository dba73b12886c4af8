//! The operations of a job: products, reductions, collectives.
//!
//! All workers must call the methods that communicate in the same order. Reduced values are equal
//! on all workers. Of a panel, each worker has its own rows.

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
use super::fetch::fetch_flow;
use super::flow::{Flow, Slot, gather_flow, reduce_flow, values_flow};
use super::message::{GatheredPanel, Message, Partial, Payload};
use super::row_exchange::{RowExchange, RowRequests};
use super::schedule::{ColumnSchedule, Schedule, columns_flow, program_flow, run_columns};
use super::shard::Shard;
use super::step::Context;
use super::stop::{StopSign, catch};
use super::trace;
use super::tree::{Combine, Tree};
use crate::kernel::buffer::advise_huge_pages;
use crate::kernel::{self, LANES, columns, random};
use crate::matrix::Dense;
use crate::plan::count::panel_bytes;
use crate::plan::{Layouts, Program, Value};

/// Longest sleep between two checks for a stop request.
const PARK_TIMEOUT: Duration = Duration::from_millis(20);

/// Time that a worker polls before it sleeps, if every worker has a core to itself. A wake-up takes
/// about as long, and a small step less.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// A worker's handle on a run.
pub struct Session<'a> {
    worker: &'a mut Worker,
    context: Rc<Context>,
    programs: Vec<Planned>,
    /// Dataflows that multiply by columns, by the programs that they run in sequence.
    by_columns: BTreeMap<Vec<usize>, Flow>,
    reduce: Flow,
    gather: Flow,
    /// Built when they are first used.
    values: Option<Flow>,
    fetch: Option<Flow>,
    stop: Arc<StopSign>,
    was_stopped: bool,
    /// Whether every worker of the process has a core to itself.
    has_own_core: bool,
    /// Workers of the process.
    workers: usize,
    /// Memory limit of the process. `None` with several processes, whose limits may differ.
    memory: Option<u64>,
    /// The number of epochs that this worker has entered, over all dataflows.
    epochs: u64,
    /// The agreement of the last epoch, until it is awaited.
    unconfirmed: Option<Awaited>,
}

/// Among several processes, panels that take more bytes are gathered one lane group of columns at a
/// time: a process has a part of the rows of its panels, but may gather nearly all of them.
const MOST_GATHERED_BYTES: u64 = 32 << 20;
/// The copies of a gathered panel may take this fraction of the memory, as a divisor.
const COPIES: u64 = 8;
/// Columns that are gathered at a time if they would take more.
const NARROW_COLUMNS: usize = 16;

/// A program, and its dataflow once it was built.
struct Planned {
    program: Arc<Program>,
    /// Values of which only needed rows are sent to other processes.
    exchanges: BTreeMap<Value, Rc<RowExchange>>,
    by_rows: Option<Flow>,
    /// The schedule by columns, if columns are independent.
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
        Self {
            worker,
            context,
            programs: Vec::new(),
            by_columns: BTreeMap::new(),
            reduce,
            gather,
            values: None,
            fetch: None,
            stop,
            was_stopped: false,
            has_own_core: cluster.workers <= kernel::cores(),
            workers: cluster.workers,
            memory: cluster.memory.filter(|_| cluster.mesh.is_none()),
            epochs: 0,
            unconfirmed: None,
        }
    }

    /// Exchanges the needs of all processes, and prepares the programs.
    pub(super) fn start(&mut self, programs: &[Arc<Program>], wanted: &RowRequests) -> Result<(), EngineError> {
        let mut exchanges = self.plan_row_exchanges(wanted)?.into_iter();
        for program in programs {
            self.context.seconds.borrow_mut().push(vec![0.0; program.steps().len()]);
            let shares_memory = !self.context.transfer.in_chunks;
            let by_columns = if shares_memory { ColumnSchedule::new(program, &self.context) } else { None };
            self.programs.push(Planned {
                program: program.clone(),
                exchanges: exchanges.next().unwrap_or_default(),
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

    /// Multiplies a panel by the matrix of a program, given by number.
    ///
    /// # Panics
    /// If there is no such program, or the panel has another number of rows than it takes.
    pub fn multiply(&mut self, program: usize, x: &Shard) -> Result<Shard, EngineError> {
        self.multiply_in_turn(&[program], x)
    }

    /// Multiplies a panel by the matrices of several programs, in sequence.
    ///
    /// # Panics
    /// If there is no such program, or the shapes do not fit.
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
            Schedule::ByRows => self.multiply_in_parts(programs, x, rows.max(x.total_rows())),
        }
    }

    /// A product by rows, of as many columns at a time as may be gathered.
    fn multiply_in_parts(&mut self, programs: &[usize], x: &Shard, rows: usize) -> Result<Shard, EngineError> {
        let at_a_time = if self.has_other_processes() { self.columns_at_a_time(rows, x.cols()) } else { x.cols() };
        let multiply = |session: &mut Self, x: Shard| {
            programs.iter().try_fold(x, |x, &program| session.multiply_by_rows(program, x))
        };
        if at_a_time >= x.cols() {
            return multiply(self, x.clone());
        }
        let mut parts = Vec::with_capacity(x.cols().div_ceil(at_a_time));
        for first in (0..x.cols()).step_by(at_a_time) {
            let part = self.columns(x, first..x.cols().min(first + at_a_time))?;
            parts.push(multiply(self, part)?);
        }
        self.hstack(&parts.iter().collect::<Vec<_>>())
    }

    /// A product by columns. A single worker computes all columns, without a dataflow.
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

    /// Seconds of each step of a program on this worker, in its last run by rows, without waiting.
    pub fn step_seconds(&self, program: usize) -> Vec<f64> {
        self.context.seconds.borrow()[program].clone()
    }

    /// A product by rows: one epoch of a program.
    pub(super) fn multiply_by_rows(&mut self, program: usize, x: Shard) -> Result<Shard, EngineError> {
        let planned = &mut self.programs[program];
        if planned.by_rows.is_none() {
            let exchanges = std::mem::take(&mut planned.exchanges);
            planned.by_rows = Some(program_flow(self.worker, program, &planned.program, exchanges, &self.context));
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

    /// `xᵀ·x`, row-major.
    pub fn gram(&mut self, x: &Shard) -> Result<Vec<f64>, EngineError> {
        self.gram_against(&[], x)
    }

    /// The entry of largest magnitude of every column, with its sign; the first of equal ones.
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

    /// The sum over `count` pieces of work, distributed over the workers. `of_piece` computes the
    /// summand of a piece.
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

    /// `x·small`, where `small` is row-major and has `cols` columns.
    pub fn times_small(&mut self, x: &Shard, small: &[f32], cols: usize) -> Result<Shard, EngineError> {
        self.blocks_times_small(&[x], small, cols)
    }

    /// All rows of a panel on the first worker of each process; `None` on the others.
    pub fn collect(&mut self, x: &Shard) -> Result<Option<Dense>, EngineError> {
        let (rows, columns) = (x.total_rows(), x.cols());
        let at_a_time = self.columns_at_a_time(rows, columns);
        // Free idle buffers first: they would add to the peak.
        self.context.pool.borrow_mut().free_idle();
        let length = if self.context.is_first { rows * columns } else { 0 };
        let mut data = Vec::with_capacity(length);
        advise_huge_pages(&data);
        if at_a_time >= columns {
            let gathered = self.gathered(x)?;
            if self.context.is_first {
                gathered.rows_in_order().for_each(|row| data.extend_from_slice(row));
            }
        } else {
            data.resize(length, 0.0);
            for first in (0..columns).step_by(at_a_time) {
                let part = first..columns.min(first + at_a_time);
                let narrow = self.columns(x, part.clone())?;
                let gathered = self.gathered(&narrow)?;
                let to = data.chunks_exact_mut(columns);
                gathered.rows_in_order().zip(to).for_each(|(row, to)| to[part.clone()].copy_from_slice(row));
            }
        }
        if !self.context.is_first {
            return Ok(None);
        }
        let dense = Dense::new(rows, columns, data);
        dense.map(Some).map_err(|_| self.missing_answer("a panel"))
    }

    /// The columns of a panel that are gathered at a time: all, unless the copies of all workers
    /// would take too much of the memory limit. Results do not depend on it.
    pub fn columns_at_a_time(&self, rows: usize, columns: usize) -> usize {
        let copies = self.workers as u64 * panel_bytes(rows, columns);
        if self.has_other_processes() && panel_bytes(rows, columns) > MOST_GATHERED_BYTES {
            return columns.min(LANES);
        }
        let is_tight = self.workers > 1 && self.memory.is_some_and(|memory| copies > memory / COPIES);
        if is_tight { columns.min(NARROW_COLUMNS) } else { columns }
    }

    /// All rows of a panel, in blocks, on every worker.
    pub(super) fn gathered(&mut self, x: &Shard) -> Result<Arc<GatheredPanel>, EngineError> {
        match self.run_epoch(
            "before a panel is collected",
            |session| Some(&mut session.gather),
            Payload::Shard(x.clone()),
        )? {
            Payload::Gathered(panel) => Ok(panel),
            _ => Err(self.missing_answer("a panel")),
        }
    }

    /// Answers requests for rows.
    pub(super) fn fetch_epoch(&mut self, own: Payload) -> Result<Payload, EngineError> {
        if self.fetch.is_none() {
            self.fetch = Some(fetch_flow(self.worker, &self.context));
        }
        self.run_epoch("before rows are fetched", |session| session.fetch.as_mut(), own)
    }

    /// The bytes of every worker, by worker; none of a worker that gives none.
    pub(super) fn gather_bytes(&mut self, own: Option<Vec<u8>>) -> Result<Arc<Vec<Vec<u8>>>, EngineError> {
        if self.values.is_none() {
            self.values = Some(values_flow(self.worker));
        }
        let own = own.map_or(Payload::Nothing, |bytes| Payload::Bytes(self.worker(), bytes.into()));
        match self.run_epoch("before values are gathered", |session| session.values.as_mut(), own)? {
            Payload::Values(values) => Ok(values),
            _ => Err(self.missing_answer("the values of the workers")),
        }
    }

    /// Ends this worker because the leader failed.
    pub(super) fn stopped_by_leader(&mut self, message: String) -> EngineError {
        self.was_stopped = true;
        EngineError::Stopped { worker: 0, message }
    }

    /// The number of epochs that this worker has entered.
    pub(super) fn epochs(&self) -> u64 {
        self.epochs
    }

    /// Whether another worker asked this one to stop.
    pub(super) fn was_stopped(&self) -> bool {
        self.was_stopped
    }

    pub(super) fn reduce(&mut self, partial: Partial, what: &str) -> Result<Vec<f64>, EngineError> {
        let payload = self.run_epoch(what, |session| Some(&mut session.reduce), Payload::Partial(Arc::new(partial)))?;
        let Payload::Reduced(reduced) = payload else { return Err(self.missing_answer(what)) };
        // The sums are equal on all workers, and so is the error.
        if !reduced.values.iter().all(|value| value.is_finite()) {
            return Err(EngineError::NotFinite { step: what.into() });
        }
        Ok(Arc::try_unwrap(reduced).map_or_else(|shared| shared.values.clone(), |reduced| reduced.values))
    }

    /// Runs one epoch of a dataflow: sends this worker's input, and waits for its output.
    ///
    /// The agreement of all workers is awaited one epoch later, so that a fast worker continues:
    /// imbalances of consecutive epochs may cancel.
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

    /// Steps until an output arrives. A failure is returned as an error.
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
