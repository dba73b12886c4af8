//! Products by rows: a program as a dataflow with one operator a step.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use timely::dataflow::Scope;
use timely::worker::Worker;

use super::interpreter::{Backend, Interpreter};
use crate::engine::collective::{all_gather, all_reduce};
use crate::engine::error::EngineError;
use crate::engine::flow::{Flow, flow};
use crate::engine::gather_needed::gather_needed;
use crate::engine::operator::{Link, local};
use crate::engine::row_exchange::RowExchange;
use crate::engine::step::Context;
use crate::plan::{Program, Value};

/// Builds the dataflow of a program, given with its number. `exchanges` lists the values of which
/// only needed rows are sent to other processes.
pub(in crate::engine) fn program_flow(
    worker: &mut Worker,
    number: usize,
    program: &Arc<Program>,
    exchanges: BTreeMap<Value, Rc<RowExchange>>,
    context: &Rc<Context>,
) -> Flow {
    let interpreter = Rc::new(Interpreter::new(program.clone()));
    flow(worker, "program", |scope, input| {
        let mut rows = Rows { scope, number, interpreter: interpreter.clone(), exchanges, context: context.clone() };
        interpreter.run(input, &mut rows).expect("an operator fails when it runs, not when it is built")
    })
}

/// The values are streams of this worker's shards.
struct Rows<'scope> {
    scope: Scope<'scope, u64>,
    number: usize,
    interpreter: Rc<Interpreter>,
    exchanges: BTreeMap<Value, Rc<RowExchange>>,
    context: Rc<Context>,
}

impl<'scope> Backend for Rows<'scope> {
    type Value = Link<'scope>;

    fn gather(&mut self, value: Value, own: &Link<'scope>) -> Link<'scope> {
        let (name, transfer, pool) = (value.to_string(), self.context.transfer, &self.context.pool);
        match self.exchanges.get(&value) {
            Some(exchange) => gather_needed(self.scope, &name, own, exchange, transfer, pool),
            None => all_gather(self.scope, &name, own, transfer, pool),
        }
    }

    fn compute(&mut self, position: usize, inputs: Vec<Link<'scope>>) -> Result<Link<'scope>, EngineError> {
        let (interpreter, context, number) = (self.interpreter.clone(), self.context.clone(), self.number);
        Ok(local(self.scope, self.interpreter.name(position), &inputs, move |payloads| {
            let start = Instant::now();
            let made = interpreter.compute(position, payloads, &context)?;
            context.seconds.borrow_mut()[number][position] = start.elapsed().as_secs_f64();
            Ok(made)
        }))
    }

    fn reduce(&mut self, value: Value, partial: Link<'scope>) -> Result<Link<'scope>, EngineError> {
        Ok(all_reduce(self.scope, &value.to_string(), &partial))
    }
}
