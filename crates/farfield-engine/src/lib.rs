//! The planes, threads and clocks: the only room that touches the operating system.
