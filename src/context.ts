import type { Database, EntityManager } from "./database/open.ts";
import type { ErrorCode } from "./errors.ts";
import type { AnswerBudget } from "./limits/answerBudget.ts";
import type { Deadline } from "./limits/deadline.ts";
import type { Scope } from "./scopes.ts";

/** The context of every resolver: the database and the caller. */
export interface Context {
  database: Database;
  /** The unit of work of this request; it reads only the workspace of `access`. */
  em: EntityManager;
  /** Null when the request came without a token; resolvers call `authorize` instead of reading it. */
  access: Access | null;
  /** Looks the token up again, as a long answer must end with it. Throws when the token is no longer valid. */
  reauthenticate: () => Promise<Access | null>;
  /** The request timeout, shared by all work for the request. */
  deadline: Deadline;
  /** How much may still be read for the answer. */
  answerBudget: AnswerBudget;
  /** The origin at which the client reaches the service, such as `https://gabbro.example.com`; empty on the command line. */
  origin: () => string;
  /** How many days traces are kept; null for ever. */
  retentionDays: number | null;
  /** Set by `authorize`: the request may write. */
  mayWrite?: boolean;
  /** Set by the first read that waits for no turn. */
  hasRead?: boolean;
  /** Set by a subscription: ends the turn of its event, once the answer is made. */
  endEvent?: () => void;
  /** Set by GraphQL: whether the answer goes on, event by event. */
  isSubscription?: boolean;
  /** Set by GraphQL: the root field of a valid operation. */
  topField?: string;
  /** Set by GraphQL: what a valid operation uses of what is deprecated. */
  deprecated?: readonly string[];
  /** Set by GraphQL: the code of the first error of the answer. */
  errorCode?: ErrorCode;
}

/** The rights of a valid token. */
export interface Access {
  /** Null on the command line and for signed URLs, which need no token. */
  tokenId: string | null;
  tokenName: string;
  workspaceId: string;
  scopes: Scope[];
  /** The session of the console that stands for the token, where it does. */
  sessionId?: string;
}
