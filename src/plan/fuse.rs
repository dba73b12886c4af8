//! Folds scalings and additions into the products before them, so that a panel is written once.
//!
//! A product can end in `alpha · left · product + add` at no cost (its [`Epilogue`](super::Epilogue)). Two rewrites use it:
//! a diagonal that every reader of a product applies moves into the product, and a linear combination, in which a value is read
//! once, becomes a chain of products, each adding what came before it.

use super::program::{Action, Diagonal, Program, Step, Term, Value};

/// Rewrites a program so that it does the same with fewer panels.
pub(super) fn fuse(mut program: Program) -> Program {
    hoist_diagonals(&mut program);
    let replaced = chain_combinations(&mut program);
    sweep(program, &replaced)
}

/// How often a value is read, the answer counting as one reader.
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

/// The diagonal slots through which an action reads a value; `None` where it reads it bare.
fn diagonal_slots(action: &mut Action, value: Value) -> Vec<Option<&mut Option<Diagonal>>> {
    let mut slots = Vec::new();
    match action {
        Action::Sparse { input, right, epilogue, .. } => {
            if *input == value {
                slots.push(Some(right));
            }
            slots.extend(epilogue.add.as_mut().filter(|add| add.value == value).map(|add| Some(&mut add.diagonal)));
        }
        Action::Combine { terms, .. } => {
            slots.extend(terms.iter_mut().filter(|term| term.value == value).map(|term| Some(&mut term.diagonal)));
        }
        other => {
            if other.inputs().contains(&value) {
                slots.push(None);
            }
        }
    }
    slots
}

/// Moves a diagonal that every reader applies into the product that it is applied to.
fn hoist_diagonals(program: &mut Program) {
    for maker in 0..program.steps.len() {
        let value = Value(maker + 1);
        let is_free = program.steps[maker].action.epilogue().is_some_and(|e| e.left.is_none() && e.add.is_none());
        if !is_free || program.output == value {
            continue;
        }
        let mut slots: Vec<_> =
            program.steps[maker + 1..].iter_mut().flat_map(|step| diagonal_slots(&mut step.action, value)).collect();
        let Some(Some(Some(shared))) = slots.first().map(|slot| slot.as_deref()) else { continue };
        let shared = shared.clone();
        let is_shared =
            |slot: &Option<&mut Option<Diagonal>>| slot.as_deref().is_some_and(|s| s.as_ref() == Some(&shared));
        if !slots.iter().all(is_shared) {
            continue;
        }
        for slot in slots.iter_mut().flatten() {
            **slot = None;
        }
        if let Some(epilogue) = program.steps[maker].action.epilogue_mut() {
            epilogue.left = Some(shared);
        }
    }
}

/// Turns `c₁·v₁ + c₂·v₂ + …` into products that add each other up, where nobody else reads them. Returns, for every
/// value, the one that now stands for it.
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
            // A chain starts at a product, or adds to a single term that came before it.
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
                // Whoever read the combination now reads the value; the combination itself does not.
                readers[term.value.0] = readers[term.value.0] + readers[combination + 1] - 1;
            }
            _ => program.steps[combination].action = Action::Combine { terms: rest, like },
        }
    }
    replaced
}

/// Terms of which those of the same value, which follow each other, are one.
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

/// Removes the steps whose results nobody reads, and numbers the others anew.
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
