"""Takes the samples that a trial asks for, for somebody who watches it."""

from __future__ import annotations

from fractions import Fraction

from p4mesh.measurement.samples import Sampler
from p4mesh.trial.onlooker import Onlooker
from p4mesh.trial.parts.base import Part, Sending, Trial
from p4mesh.trial.sampling import Sampling


class TakingSamples(Part):
    """Samples at equal distances; where reading takes longer, they follow each other."""

    @classmethod
    def is_wanted(cls, trial: Trial) -> bool:
        return trial.spec.sampling is not None and trial.onlooker is not None

    @property
    def _asked(self) -> tuple[Sampling, Onlooker]:
        assert self.trial.spec.sampling is not None and self.trial.onlooker is not None
        return self.trial.spec.sampling, self.trial.onlooker

    def started(self, sending: Sending) -> None:
        sampling, _ = self._asked
        self._sampler = Sampler(sending.plan, sending.tester.tick_ps, flows=sampling.flows)
        self._next_ns: int | Fraction = sending.lead_ns + sampling.every_ns
        self.due_ns = self._next_ns

    def act(self, sending: Sending) -> None:
        sampling, onlooker = self._asked
        at_ns = int(sending.now_ns) - sending.lead_ns
        self._next_ns = self.due_ns = max(self._next_ns + sampling.every_ns, sending.now_ns)
        records = sending.read(self._sampler.cells)
        onlooker.take_sample(self._sampler.sample(at_ns, records, sending.tester.reason_counts()))
