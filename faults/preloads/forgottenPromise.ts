// SIGUSR2 has a promise fail that nothing waits for.
process.on("SIGUSR2", () => void Promise.reject(new Error("nothing waits for this")));
