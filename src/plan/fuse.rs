//! Folds scalings and additions into the products before them, so that a panel is written once.
//!
//! A product can end in `alpha · left · product + add` at no cost (its
//! [`Epilogue`](super::Epilogue)). Two rewrites use it. A diagonal that every reader of a product
//! applies moves into the product. A linear combination of values that are read once becomes a
//! chain of products, each of which adds the one before it.

use super::program::{Action, Program, ReadMut, Step, Term, Value};

/// An equivalent program with fewer panels.
pub(super) fn fuse(mut program: Program) -> Program {
    hoist_diagonals(&mut program);
    let replaced = chain_combinations(&mut program);
    sweep(program, &replaced)
}

/// The number of steps that read each value; the output of the program counts as one more.
fn readers(program: &Program) -> Vec<usize> {
    let mut readers = vec![0; program.steps.len() + 1];
    for step in &program.steps {
        for value in step.action.inputs() {
            readers[value.0] += 1;
        }
    }
    readers[program.output.0] += 1;
    readers
}

/// Moves a diagonal that every reader of a product applies into the product.
fn hoist_diagonals(program: &mut Program) {
    let mut reading_steps: Vec<Vec<usize>> = vec![Vec::new(); program.steps.len() + 1];
    for (position, step) in program.steps.iter().enumerate() {
        step.action.inputs().iter().for_each(|value| reading_steps[value.0].push(position));
    }
    for maker in 0..program.steps.len() {
        let value = Value(maker + 1);
        let is_free = program.steps[maker].action.epilogue().is_some_and(|e| e.left.is_none() && e.add.is_none());
        if !is_free || program.output == value {
            continue;
        }
        let for_each_read = |program: &mut Program, act: &mut dyn FnMut(ReadMut<'_>)| {
            for &step in &reading_steps[value.0] {
                let reads = program.steps[step].action.reads_mut().into_iter();
                reads.filter(|read| *read.value == value).for_each(&mut *act);
            }
        };
        let mut factors = Vec::new();
        for_each_read(program, &mut |read| factors.push(read.diagonal.and_then(|slot| slot.clone())));
        let Some(Some(shared)) = factors.first().cloned() else { continue };
        if factors.iter().any(|factor| factor.as_ref() != Some(&shared)) {
            continue;
        }
        for_each_read(program, &mut |read| read.diagonal.into_iter().for_each(|slot| *slot = None));
        if let Some(epilogue) = program.steps[maker].action.epilogue_mut() {
            epilogue.left = Some(shared);
        }
    }
}

/// Turns `c₁·v₁ + c₂·v₂ + …` into a chain of products, where no other step reads the values.
/// Returns the value that replaces each value.
fn chain_combinations(program: &mut Program) -> Vec<Value> {
    let mut readers = readers(program);
    let mut replaced: Vec<Value> = (0..=program.steps.len()).map(Value).collect();
    for combination in 0..program.steps.len() {
        let Action::Combine { terms, like } = &program.steps[combination].action else { continue };
        let (mut terms, like) = (terms.clone(), *like);
        for term in &mut terms {
            term.value = replaced[term.value.0];
        }
        terms.sort_by_key(|term| term.value);
        let mut rest: Vec<Term> = Vec::new();
        for term in merged(terms) {
            // A chain starts at a product, or adds the single term before it.
            let can_chain = rest.len() <= 1 && readers[term.value.0] == 1;
            let maker = term.value.0.checked_sub(1).filter(|_| can_chain);
            let epilogue = maker.and_then(|maker| program.steps[maker].action.epilogue_mut());
            match epilogue.filter(|epilogue| epilogue.add.is_none()) {
                None => rest.push(term),
                Some(epilogue) => {
                    epilogue.alpha *= term.coefficient;
                    epilogue.left = match (term.diagonal, epilogue.left.take()) {
                        (Some(outer), Some(inner)) => Some(outer.times(&inner)),
                        (outer, inner) => outer.or(inner),
                    };
                    epilogue.add = rest.pop();
                    rest.push(Term::plain(term.value));
                }
            }
        }
        match rest.as_slice() {
            [term] if term.is_plain() => {
                replaced[combination + 1] = term.value;
                // The readers of the combination now read the value; the combination does not.
                readers[term.value.0] = readers[term.value.0] + readers[combination + 1] - 1;
            }
            _ => program.steps[combination].action = Action::Combine { terms: rest, like },
        }
    }
    replaced
}

/// Adds up consecutive terms of the same value.
fn merged(terms: Vec<Term>) -> Vec<Term> {
    let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        match merged.last_mut().filter(|last| last.value == term.value) {
            Some(last) => *last = last.plus(&term),
            None => merged.push(term),
        }
    }
    merged
}

/// Removes the steps whose results are not read, and numbers the others anew.
fn sweep(mut program: Program, replaced: &[Value]) -> Program {
    program.output = replaced[program.output.0];
    for step in &mut program.steps {
        step.action.rename(|value| replaced[value.0]);
    }
    let mut is_read = vec![false; program.steps.len() + 1];
    is_read[program.output.0] = true;
    for step in (0..program.steps.len()).rev().filter(|&step| replaced[step + 1] == Value(step + 1)) {
        if is_read[step + 1] {
            program.steps[step].action.inputs().iter().for_each(|value| is_read[value.0] = true);
        }
    }
    let mut new_name = vec![Value::INPUT; program.steps.len() + 1];
    let mut kept: Vec<Step> = Vec::new();
    for (position, mut step) in program.steps.drain(..).enumerate() {
        if is_read[position + 1] {
            step.action.rename(|value| new_name[value.0]);
            kept.push(step);
            new_name[position + 1] = Value(kept.len());
        }
    }
    Program { input_rows: program.input_rows, output: new_name[program.output.0], steps: kept }
}
