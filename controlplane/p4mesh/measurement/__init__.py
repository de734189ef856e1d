"""(plan, reading) -> counts, statistics of latency, samples: what a trial, or a server, learns from registers.

Owns: the meaning of records and counters, by port, flow, class and message; the trend of queues; the names of lost
frames. Refuses: phases, verdicts, and knowing what a trial is.
"""
