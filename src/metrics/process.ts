import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import packageJson from "../../package.json" with { type: "json" };
import { type Family, single } from "./families.ts";

const RESOLUTION_MS = 20;

/** Measures the process, under the usual names of Node.js metrics. */
export function watchProcess() {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let used = performance.eventLoopUtilization();
  const families = async (): Promise<Family[]> => {
    const { user, system } = process.cpuUsage();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    const gauge = (name: string, help: string, value: number) => single(name, "gauge", help, value);
    // The measured delay includes the resolution, for which the timer sleeps.
    const lag = (ns: number) => Math.max(0, ns / 1e9 - RESOLUTION_MS / 1_000) || 0;
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, used);
    const lines = [
      gauge(
        "nodejs_eventloop_lag_mean_seconds",
        "How late timers were, since the last scrape.",
        lag(delay.mean),
      ),
      gauge(
        "nodejs_eventloop_lag_p99_seconds",
        "How late 99 of 100 timers were at most.",
        lag(delay.percentile(99)),
      ),
      gauge("nodejs_eventloop_lag_max_seconds", "How late the latest timer was.", lag(delay.max)),
      gauge(
        "nodejs_eventloop_utilization",
        "The share of time in which the event loop was busy, since the last scrape.",
        utilization,
      ),
      single(
        "process_cpu_seconds_total",
        "counter",
        "Processor time used, of all cores.",
        (user + system) / 1e6,
      ),
      gauge("process_resident_memory_bytes", "Memory that the process holds.", rss),
      gauge(
        "process_start_time_seconds",
        "When the process started, in seconds since 1970.",
        performance.timeOrigin / 1_000,
      ),
      gauge("nodejs_heap_size_total_bytes", "Heap of JavaScript, including what is free.", heapTotal),
      gauge("nodejs_heap_size_used_bytes", "Heap of JavaScript that is in use.", heapUsed),
      gauge("nodejs_external_memory_bytes", "Memory outside of the heap that JavaScript holds.", external),
      ...(await openFiles()),
      {
        ...gauge("gabbro_info", "The versions of Gabbro and Node.js.", 1),
        samples: [{ labels: { version: packageJson.version, node: process.version }, value: 1 }],
      },
    ];
    delay.reset();
    used = now;
    return lines;
  };
  return { families, stop: () => void delay.disable() };
}

/** Only Linux has this folder. */
async function openFiles(): Promise<Family[]> {
  const files = await readdir("/proc/self/fd").catch(() => null);
  return files ? [single("process_open_fds", "gauge", "Open files and sockets.", files.length)] : [];
}
