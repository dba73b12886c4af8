//! What a job can ask of its worker.
//!
//! Every method that sums or multiplies involves all workers: all must call it, in the same order. What it returns is
//! then the same everywhere (sums), or everybody's own rows of the same panel.

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
use crate::kernel::{self, columns, gemm, gram, random, small};
use crate::matrix::Dense;
use crate::plan::count::panel_bytes;
use crate::plan::{Layouts, Program, Value};

/// How long a worker sleeps before it looks whether it was asked to stop.
const PARK_TIMEOUT: Duration = Duration::from_millis(20);

/// How long a worker looks for news before it goes to sleep, where every worker has a core to itself: to be woken up takes about
/// as long, and a small step less.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// One worker's part in a run.
pub struct Session<'a> {
    worker: &'a mut Worker,
    context: Rc<Context>,
    programs: Vec<Planned>,
    /// What multiplies by columns, by the positions of the programs that columns go through.
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
    /// The most bytes that the process may hold, if there is a limit and no other process that might have another one.
    memory: Option<u64>,
    /// Epochs of all dataflows together that this worker has entered.
    epochs: u64,
    /// The agreement on the last turn, which nobody has waited for yet.
    unconfirmed: Option<Awaited>,
}

/// The part of the memory that copies of a panel may take: one in so many.
const COPIES: u64 = 8;
/// Columns of a panel at a time where they would take more.
const NARROW_COLUMNS: usize = 16;

/// A program, and the dataflow that runs it, once there was use for it.
struct Planned {
    program: Arc<Program>,
    /// The values of which only needed rows go to other processes.
    needs: BTreeMap<Value, Rc<RowExchange>>,
    by_rows: Option<Flow>,
    /// To multiply by columns, where columns do not mix.
    by_columns: Option<Rc<ColumnSchedule>>,
}

/// Something that a dataflow will leave in a slot.
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

    /// Takes the programs up, once all processes know what each needs.
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

    /// The number of workers, those of other processes included.
    pub fn workers(&self) -> usize {
        self.worker.peers()
    }

    /// Multiplies a panel by the matrix of a program, by the program's position.
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

    /// Seconds that each step of a program took this worker when it was last run; waiting for others is no part of it.
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

    /// What a dataflow that was built makes of a panel.
    fn product(&mut self, x: Shard, flow: impl Fn(&mut Self) -> Option<&mut Flow>) -> Result<Shard, EngineError> {
        match self.run_epoch("before a product", flow, Payload::Shard(x))? {
            Payload::Shard(shard) => Ok(shard),
            _ => Err(self.missing_answer("a product")),
        }
    }

    /// A panel of independent normal numbers, from a counter-based generator: the same for any number of workers.
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

    /// The triangular factor R of x = Q·R, by Householder reflections along the tile tree.
    pub fn triangular_factor(&mut self, x: &Shard) -> Result<Vec<f64>, EngineError> {
        let cols = x.cols();
        let partial =
            self.context.partial(x.total_rows(), Combine::Triangle(cols), cols * cols, cols, |rows, upper| {
                upper.copy_from_slice(&small::panel_upper(x.panel_of(rows)));
            });
        self.reduce(partial, "a triangular factor")
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

    /// The sum of something over `count` pieces of work, which workers share out among them: `of_piece` fills in what one
    /// piece gives.
    pub fn sum_over(
        &mut self,
        count: usize,
        length: usize,
        of_piece: impl FnMut(usize, &mut [f64]),
    ) -> Result<Vec<f64>, EngineError> {
        let (worker, workers) = (self.worker(), self.workers());
        let own = worker * count / workers..(worker + 1) * count / workers;
        let tree = Tree::of_run(count, own, Combine::Sum, length, of_piece);
        let partial = Partial { combine: Combine::Sum, tiles: count, length, cols: length, nodes: tree.into_nodes() };
        self.reduce(partial, "a sum")
    }

    /// A panel of which every worker has all rows, as columns of the shards. Columns beyond those of `dense` are drawn
    /// from the counter-based generator.
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

    /// The whole panel, handed out on the first worker of each process; `None` on the others.
    pub fn collect(&mut self, x: &Shard) -> Result<Option<Dense>, EngineError> {
        let (rows, columns) = (x.total_rows(), x.cols());
        let at_a_time = self.columns_at_a_time(rows, columns);
        // Panels are collected when the steps that made them are over: what was kept for those would only add to the peak.
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

    /// How many columns of a panel every worker may put together at a time: all, unless the copies of all workers were a good
    /// part of the memory there is. Results do not depend on it.
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

    /// The bytes of the one worker that gives some, on every worker.
    pub(super) fn broadcast(&mut self, own: Payload) -> Result<Arc<[u8]>, EngineError> {
        if self.broadcast.is_none() {
            self.broadcast = Some(broadcast_flow(self.worker));
        }
        match self.run_epoch("before a broadcast", |session| session.broadcast.as_mut(), own)? {
            Payload::Bytes(bytes) => Ok(bytes),
            _ => Err(self.missing_answer("a broadcast")),
        }
    }

    /// The error of the leader, of which the end of this worker is a consequence.
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
        // Everybody has the same sums, so everybody sees the same overflow.
        if !reduced.values.iter().all(|value| value.is_finite()) {
            return Err(EngineError::NotFinite { step: what.into() });
        }
        Ok(Arc::try_unwrap(reduced).map_or_else(|shared| shared.values.clone(), |reduced| reduced.values))
    }

    /// One epoch of a dataflow: gives it this worker's input and steps until this worker has its answer.
    ///
    /// Whether the others have theirs is asked one turn later, so that a worker that is done goes on: the work of two
    /// epochs can be balanced where that of each cannot.
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
            // All end with the error that all agree on.
            Err(error) => self.wait_for(&agreement).and(Err(error)),
            Ok(answer) => {
                self.unconfirmed = Some(agreement);
                Ok(answer)
            }
        }
    }

    /// Steps until something has arrived; an error that arrives in its place is returned.
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
