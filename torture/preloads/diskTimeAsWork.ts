import "./slowDisk.ts";

// For a control that must fail: the time that the disk takes counts as the processor's.
process.threadCpuUsage = () => ({ user: performance.now() * 1_000, system: 0 });
