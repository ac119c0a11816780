import autocannon from "autocannon";

// Runs in a process of its own, so that it can have a core of its own: sends one request for a while and prints figures.
const { url, method, headers, body, connections, seconds, rate } = JSON.parse(process.argv[2]!);
const { requests, latency, non2xx, errors } = await autocannon({
  ...{ url, method, headers, connections, duration: seconds },
  ...(body !== undefined && { body: JSON.stringify(body) }),
  ...(rate !== undefined && { overallRate: rate }),
  idReplacement: Object.values<string>(headers).includes("[<id>]"),
});
const figures = {
  perSecond: requests.average,
  p50Ms: latency.p50,
  p99Ms: latency.p99,
  failed: non2xx + errors,
};
process.stdout.write(JSON.stringify(figures));
