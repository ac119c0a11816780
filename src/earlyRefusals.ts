import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface Refusing {
  /** Whether what comes now is too much. */
  isFull(): boolean;
  /** Whether it may soon be too much, so that it pays to know where requests begin. */
  isBusy(): boolean;
  /** The whole answer to a request for that address, or nothing when it is not refused. */
  refuse(url: string): Buffer | undefined;
  /** Told after each refusal how long that took. */
  refused(tookMs: number): void;
}

/** A connection on which something was refused. */
interface Connection {
  /** Whether its bytes come here before Node.js. */
  isTaken: boolean;
  /** Whether what comes next is the beginning of a request, and everything before it was answered. */
  isBetween: boolean;
  /** What Node.js began to read last, as long as more of its body may come. */
  arriving: IncomingMessage | undefined;
  /** The answer to what has begun with the bytes that Node.js is reading. */
  answer: ServerResponse | undefined;
  /** How many times Node.js was given bytes from here. */
  givenCount: number;
}

const HEADER = String.raw`(?!(?:proxy-)?connection:(?! keep-alive\r)|(?:content-length|expect|origin|transfer-encoding|upgrade):)[\w!#-'*+.^\`|~-]+:[\t -~\x80-\xff]*\r\n`;
/** Nothing in it can be read in two ways, or asks for another answer than most do. */
const PLAIN_HEAD = new RegExp(
  String.raw`^(?:GET|POST|PUT|PATCH|DELETE) (/[!-~]*) HTTP/1\.1\r\n(?i:(?:${HEADER})*(?:content-length: ?(\d{1,7})\r\n(?:${HEADER})*)?)$`,
);
const LONGEST_HEAD = 8 * 1024; // half of what Node.js takes
const END_OF_LINE = "\r\n";
const END_OF_HEAD = "\r\n\r\n";

/**
 * Refuses requests before Node.js reads them, on connections where it refused one before: reading and answering with
 * node:http cost twice as much, and what goes into refusing is not there for serving. All that is not surely one whole
 * request, alone on its connection, is left to Node.js.
 */
export function createEarlyRefusals({ isFull, isBusy, refuse, refused }: Refusing) {
  const connections = new WeakMap<Socket, Connection>();

  const give = (connection: Connection, chunk: Buffer, readByNode: (chunk: Buffer) => void) => {
    const givenCount = ++connection.givenCount;
    const wasComplete = connection.arriving?.complete !== false;
    connection.isBetween = false;
    connection.answer = undefined as ServerResponse | undefined; // which reading may change
    readByNode(chunk);
    const { arriving, answer } = connection;
    forget(connection);
    if (!answer || !arriving?.complete || !wasComplete || !isBusy() || !readPlain(chunk)) return;
    answer.once("finish", () => {
      connection.isBetween = givenCount === connection.givenCount;
    });
  };

  const take = (socket: Socket, connection: Connection) => {
    const [readByNode, ...others] = socket.listeners("data");
    // Where Node.js does not read now, it would not know how to go on.
    const isReading = !socket.destroyed && !socket.isPaused();
    if (connection.isTaken || !isReading || !readByNode || others.length > 0) return;
    connection.isTaken = true;
    forget(connection);
    socket.removeListener("data", readByNode as () => void);
    // With another listener than its own, Node.js no longer has its parser read the socket, which saved some microseconds.
    socket.on("data", (chunk: Buffer) => {
      const mayRefuse = connection.isBetween && socket.writableLength === 0 && isFull();
      const begun = mayRefuse ? performance.now() : 0;
      const url = mayRefuse ? readPlain(chunk) : undefined;
      const answer = url === undefined ? undefined : refuse(url);
      if (!answer) return give(connection, chunk, (bytes) => readByNode.call(socket, bytes));
      socket.write(answer);
      refused(performance.now() - begun);
    });
  };

  return {
    /** To be told of each request as it begins. */
    begin: (request: IncomingMessage, response: ServerResponse): void => {
      const connection = connections.get(request.socket);
      if (!connection) return;
      connection.arriving = request;
      connection.answer = response;
    },
    /** To be told of each request that is refused late, for those after it to be refused early. */
    watch: (request: IncomingMessage, response: ServerResponse): void => {
      const { socket } = request;
      const connection = connections.get(socket) ?? knownSince(request);
      connections.set(socket, connection);
      // Not while Node.js is reading, or about to go on after a pause.
      if (!connection.isTaken) response.once("finish", () => setImmediate(take, socket, connection));
    },
  };
}

function knownSince(arriving: IncomingMessage): Connection {
  return { isTaken: false, isBetween: false, arriving, answer: undefined, givenCount: 0 };
}

/** What many connections held for as long as they are refused would be collected among old objects. */
function forget(connection: Connection): void {
  connection.answer = undefined;
  if (connection.arriving?.complete) connection.arriving = undefined;
}

/**
 * The address in bytes that are one plain request, whole and with nothing after it. Even where an unfinished head came
 * before them, Node.js finds the end of a request at their end, or none: their first line can only become the value of a
 * header then, and a second length would not be taken.
 */
function readPlain(chunk: Buffer): string | undefined {
  const end = chunk.indexOf(END_OF_HEAD);
  if (end < 0 || end > LONGEST_HEAD) return;
  const head = chunk.toString("latin1", 0, end + END_OF_LINE.length);
  const [, url, bodyBytes = 0] = PLAIN_HEAD.exec(head) ?? [];
  return chunk.length === end + END_OF_HEAD.length + Number(bodyBytes) ? url : undefined;
}
