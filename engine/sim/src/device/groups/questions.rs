//! Questions about groups that a host has left, each asked several times (RFC 3376 6.6.3, RFC 3810 7.6.3).

use std::net::IpAddr;

/// A question on its way to the hosts behind a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub port: usize,
    pub vid: u16,
    pub group: IpAddr,
    pub sources: Vec<IpAddr>,
    pub records: bool,
}

#[derive(Debug)]
struct Pending {
    at_ps: u64,
    left: u64,
    question: Question,
}

/// What is still to be asked.
#[derive(Debug)]
pub struct Questions {
    pending: Vec<Pending>,
    /// Number of times that each question is asked.
    count: u64,
    interval_ps: u64,
}

impl Questions {
    pub fn new(count: u64, interval_ps: u64) -> Questions {
        Questions { pending: Vec::new(), count, interval_ps }
    }

    /// Time that hosts have to answer each.
    pub fn interval_ps(&self) -> u64 {
        self.interval_ps
    }

    /// Asks from now on; a question that is being asked is asked no more often for that.
    pub fn begin(&mut self, question: Question, now_ps: u64) {
        if self.count > 0 && !self.pending.iter().any(|it| it.question == question) {
            self.pending.push(Pending { at_ps: now_ps, left: self.count, question });
        }
    }

    /// The questions of this moment.
    pub fn due(&mut self, now_ps: u64) -> Vec<Question> {
        let mut due = Vec::new();
        for it in self.pending.iter_mut().filter(|it| it.at_ps <= now_ps) {
            due.push(it.question.clone());
            it.left -= 1;
            it.at_ps = now_ps + self.interval_ps;
        }
        self.pending.retain(|it| it.left > 0);
        due
    }

    /// When the next is due.
    pub fn next_ps(&self) -> Option<u64> {
        self.pending.iter().map(|it| it.at_ps).min()
    }

    /// Asks nothing more at the ports that `concerned` names.
    pub fn forget(&mut self, concerned: impl Fn(usize) -> bool) {
        self.pending.retain(|it| !concerned(it.question.port));
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
