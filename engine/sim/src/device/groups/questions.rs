//! Questions about groups that a host has left, each asked several times (RFC 3376 6.6.3, RFC 3810 7.6.3).

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

/// A question on its way to the hosts behind a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    pub port: usize,
    pub vid: u16,
    pub group: IpAddr,
    pub sources: Vec<IpAddr>,
    pub records: bool,
}

#[derive(Debug)]
struct Pending {
    left: u64,
    question: Question,
}

/// Questions that are still to be asked.
#[derive(Debug)]
pub struct Questions {
    /// By the time at which each is due; those of one time in the order in which they began.
    pending: BTreeMap<(u64, u64), Pending>,
    asked: HashSet<Question>,
    begun: u64,
    /// Number of times that each question is asked.
    count: u64,
    interval_ps: u64,
}

impl Questions {
    pub fn new(count: u64, interval_ps: u64) -> Questions {
        Questions { pending: BTreeMap::new(), asked: HashSet::new(), begun: 0, count, interval_ps }
    }

    /// Time that hosts have to answer each.
    pub fn interval_ps(&self) -> u64 {
        self.interval_ps
    }

    /// Asks from now on; a question that is being asked is asked no more often for that.
    pub fn begin(&mut self, question: Question, now_ps: u64) {
        if self.count > 0 && self.asked.insert(question.clone()) {
            self.pending.insert((now_ps, self.begun), Pending { left: self.count, question });
            self.begun += 1;
        }
    }

    /// The questions of this moment.
    pub fn due(&mut self, now_ps: u64) -> Vec<Question> {
        let later = self.pending.split_off(&(now_ps + 1, 0));
        let now = std::mem::replace(&mut self.pending, later);
        let mut due = Vec::with_capacity(now.len());
        for ((_, number), mut it) in now {
            due.push(it.question.clone());
            it.left -= 1;
            if it.left > 0 {
                self.pending.insert((now_ps + self.interval_ps, number), it);
            } else {
                self.asked.remove(&it.question);
            }
        }
        due
    }

    /// When the next is due.
    pub fn next_ps(&self) -> Option<u64> {
        self.pending.keys().next().map(|&(at_ps, _)| at_ps)
    }

    /// Asks nothing more at the ports that `concerned` names.
    pub fn forget(&mut self, concerned: impl Fn(usize) -> bool) {
        self.pending.retain(|_, it| !concerned(it.question.port));
        self.asked.retain(|it| !concerned(it.port));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_so_often_and_so_far_apart() {
        let question =
            Question { port: 1, vid: 0, group: [225, 1, 1, 1].into(), sources: vec![], records: true };
        let mut it = Questions::new(2, 100);
        it.begin(question.clone(), 10);
        it.begin(question.clone(), 10);
        assert_eq!(it.due(10), std::slice::from_ref(&question));
        assert_eq!((it.next_ps(), it.due(109)), (Some(110), vec![]));
        assert_eq!(it.due(110), std::slice::from_ref(&question));
        assert_eq!(it.next_ps(), None);
        it.begin(question, 200);
        it.forget(|port| port == 1);
        assert_eq!(it.due(200), []);
    }
}
