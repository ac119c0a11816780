import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";

// Stands in for curl on machines that have none: the options that the documents use, and curl's exit codes.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    header: { type: "string", short: "H", multiple: true, default: [] },
    data: { type: "string", short: "d" },
    include: { type: "boolean" },
    output: { type: "string" },
  },
});
const [address] = positionals;
if (positionals.length !== 1) process.exit(2);
const asked = request(address!.includes("://") ? address! : `http://${address}`, {
  method: values.data === undefined ? "GET" : "POST",
  headers: Object.fromEntries(values.header.map((line) => line.split(/:\s*(.*)/, 2))),
}).end(values.data);
const [response] = (await once(asked, "response").catch(() => process.exit(7))) as [IncomingMessage];
const { statusCode, statusMessage, rawHeaders } = response;
let head = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
for (let at = 0; at < rawHeaders.length; at += 2) head += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
const body = await text(response);
if (values.output) await writeFile(values.output, body);
else process.stdout.write(values.include ? `${head}\r\n${body}` : body);
if (statusCode! >= 400) process.exitCode = 22;
