"""Traffic of the user's own: the classes of a traffic file laid over ports, measured, and judged one by one."""
