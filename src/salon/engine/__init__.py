"""Where work runs: in this process, on a pool of processes, or on Ray."""
