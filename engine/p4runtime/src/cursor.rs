//! How far a read has come, and who takes what it finds. A read rests at a cursor while its client does not take the
//! answers; it stays right when the state changes meanwhile, for an entry keeps its place as long as it is there.

use crate::proto::entity::EntityKind;
use crate::refusal::Outcome;

/// Takes the entities that are found.
pub trait Sink {
    fn push(&mut self, entity: EntityKind);

    /// Notes that an entry or a cell was looked at; false when the read is to rest before the next one.
    fn goes_on(&mut self) -> bool {
        true
    }
}

impl Sink for Vec<EntityKind> {
    fn push(&mut self, entity: EntityKind) {
        Vec::push(self, entity);
    }
}

/// How far the read of one entity has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The table, counter or other object, counted from the first that is wanted.
    pub object: usize,
    /// The next entry, cell or id of that object.
    pub element: u64,
}

impl Cursor {
    /// Goes on to the element after this one; `None` when the read is to rest there.
    pub fn after(&mut self, element: u64, answers: &mut dyn Sink) -> Option<()> {
        self.element = element + 1;
        answers.goes_on().then_some(())
    }

    /// Goes on to the next object.
    pub fn leave_object(&mut self) {
        *self = Cursor { object: self.object + 1, element: 0 };
    }
}

/// The read of an entity: `None` when it rests at the cursor, else it is done.
pub type Step = Outcome<Option<()>>;

pub const DONE: Step = Ok(Some(()));
